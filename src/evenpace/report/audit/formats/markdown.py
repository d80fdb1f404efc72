"""The audit as Markdown, for an issue, a pull request or a chat.

What a cluster holds cannot become a heading, a link, a picture or HTML, nor call somebody or another issue.
"""

from __future__ import annotations

from collections.abc import Iterator

from evenpace.report.answer.markdown import fenced, harmless
from evenpace.report.audit import Audit
from evenpace.report.audit.groups import (
    Group,
    beside,
    counted,
    groups,
    shortened,
    sources,
    undecided,
    verdict,
)
from evenpace.terms import say

MOST_SUBJECTS = 8  # of a check that are shown with their evidence
_INDENT = "   "


def render(audit: Audit) -> Iterator[str]:
    """Yield the audit as Markdown."""
    shown = groups(audit)
    parts = [f"# {say('audit-title', audit.lang)}\n", f"**{harmless(verdict(audit))}**\n"]
    parts += [harmless(text) + "\n" for text in sources(audit)]
    parts += [_table(shown, audit.lang)] if shown else []
    for group in shown:
        parts += _group(group, audit.lang)
    if told := beside(audit):
        parts += [f"## {say('audit-beside', audit.lang)}\n", "".join(f"- {harmless(one)}\n" for one in told)]
    if reasons := undecided(audit):
        parts.append(f"## {say('audit-undecided', audit.lang)}\n")
        parts.append("".join(f"- {harmless(why)}: {_ids(ids)}\n" for why, ids in reasons))
    yield "\n".join([*parts, harmless(counted(audit)) + "\n"])


def _ids(ids: list[str]) -> str:
    return ", ".join(f"`{id_}`" for id_ in ids)


def _table(shown: list[Group], lang: str) -> str:
    heads = ("report-severity", "audit-check", "audit-subjects-head", "audit-expected")
    rows = [
        f"| {group.severity_label} | `{group.check.id}` | {group.count} | {harmless(group.title)} |"
        for group in shown
    ]
    head = f"| {' | '.join(say(key, lang) for key in heads)} |"
    return "\n".join([head, "|---|---|---:|---|", *rows]) + "\n"


def _group(group: Group, lang: str) -> Iterator[str]:
    yield f"## {group.severity_label}: {harmless(group.fault)} (`{group.check.id}`)\n"
    for item in group.items[:MOST_SUBJECTS]:
        about = f"{item.sentence} ({'; '.join(item.facts)})" if item.facts else item.sentence
        block = f"\n{fenced(chr(10).join(item.evidence), 'text', '  ')}" if item.evidence else ""
        yield f"- {harmless(about)}\n{block}"
    if rest := group.items[MOST_SUBJECTS:]:
        named = shortened((one.who for one in rest), lang)
        yield f"- {harmless(say('audit-also', lang, names=named))}\n"
    if group.unlisted:
        yield f"- {harmless(say('audit-unlisted', lang, count=group.unlisted))}\n"
    yield f"**{say('audit-why', lang)}**\n"
    yield f"{harmless(group.why)}\n"
    yield f"**{say('audit-advice', lang)}**\n"
    for number, step in enumerate(group.steps, 1):
        block = f"\n{fenced(chr(10).join(step.commands), 'sh', _INDENT)}" if step.commands else ""
        yield f"{number}. {harmless(step.text)}\n{block}"
    yield from _behind(group, lang)


def _behind(group: Group, lang: str) -> Iterator[str]:
    cases = [f"- {id_}: {harmless(why)}\n" for id_, why in group.incidents]
    documents = [f"- [{harmless(title)}](<{url}>)\n" for title, url in group.documents]
    for key, items in (("audit-incidents", cases), ("audit-documents", documents)):
        if items:
            yield f"**{say(key, lang)}**\n"
            yield "".join(items)
