"""The text of a new case's file, for a person to complete: the order of the records, block style."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from evenpace.errors import Problem
from evenpace.library import records
from evenpace.library.records import FACETS

_ENGLISH = ("trigger", "cause", "detection", "actions", "follow_up", "lesson")
_ID = re.compile(r"\bIL-([0-9]{4})\b")
_LAST = 9999
_LISTS = ("actions", "follow_up")


def next_id(files: Iterable[Path]) -> str:
    """Return the id after the highest that any file has or mentions, so that none is ever used twice."""
    taken = {0}
    for path in files:
        taken.update(int(number) for number in _ID.findall(f"{path.stem}\n{_source(path)}"))
    if max(taken) >= _LAST:
        raise Problem(f"ids end at IL-{_LAST}; choose one with --id")
    return f"IL-{max(taken) + 1:04d}"


def scaffold(fields: Mapping[str, Any]) -> str:
    """Return the YAML of a case: `fields` are its id, facts, terms, source, title and symptom.

    What the report may not say stands as a comment; the Korean texts are left to be written.
    """
    head = {name: fields[name] for name in ("id", "organisation", "year", "scope", "kind", "verified")}
    parts = [_yaml(head), "terms:\n", *(f"  {facet}: [{', '.join(fields[facet])}]\n" for facet in FACETS)]
    parts += ["sources:\n", _indented(_yaml([{"url": fields["url"], "title": fields["source_title"]}]))]
    parts += ["en:\n", _indented(_yaml({"title": fields["title"], "symptom": fields["symptom_text"]}))]
    parts += ["  # Delete what the report does not say; never guess.\n", *_comments(_ENGLISH)]
    parts += ["ko:\n", "  title:\n", "  symptom:\n", *_comments(_ENGLISH)]
    return "".join(parts)


def _comments(names: Sequence[str]) -> list[str]:
    return [f"  # {name}:\n  #   -\n" if name in _LISTS else f"  # {name}:\n" for name in names]


def _yaml(data: object) -> str:
    return str(yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=108))


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


def _source(path: Path) -> str:
    try:
        return records.source(path)
    except Problem:
        return ""
