"""How a gap is called: by people in a suppression, and by machines that compare two audits."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from hashlib import sha256

import msgspec

from evenpace.checks.answers import Gap
from evenpace.findings import Subject, several


def fingerprint(check: str, gap: Gap) -> str:
    """Return what a gap keeps from audit to audit: its check and what it is known by, never the evidence."""
    said = {name: value for name, value in msgspec.to_builtins(gap.subject).items() if value is not None}
    ordered = {name: sorted(value) if isinstance(value, list) else value for name, value in said.items()}
    told = json.dumps([check, gap.known_by or ordered], sort_keys=True)
    return sha256(told.encode()).hexdigest()[:32]


def names(subject: Subject) -> tuple[str, ...]:
    """Return the names of a subject: `JobSet/ml/train`, or each of its nodes."""
    return several(subject.node) or (subject.object or subject.job or subject.kind,)


def matches(pattern: str, subject: Subject) -> bool:
    """Tell whether a shell pattern covers all names of a subject; `Node/gpu-017` does for `gpu-017`."""
    return all(
        fnmatchcase(name, pattern) or (subject.node is not None and fnmatchcase(f"Node/{name}", pattern))
        for name in names(subject)
    )
