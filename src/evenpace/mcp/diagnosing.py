"""The diagnosis of logs, in pages."""

from __future__ import annotations

from collections.abc import Sequence

from evenpace.diagnose.reading import read
from evenpace.errors import Problem
from evenpace.mcp.answers import DiagnosisPage
from evenpace.mcp.paging import Whole, size
from evenpace.mcp.quoting import found, quote
from evenpace.mcp.reach import Reach
from evenpace.report.answer import answer_of

MOST_UNUSUAL = 12  # lines


def diagnosed(reach: Reach, paths: Sequence[str], lang: str) -> Whole[DiagnosisPage]:
    """Read the logs that were named and return what they say; raises Problem."""
    inputs = reach.logs(paths)
    case = read(inputs)
    skipped = {reason: len(names) for reason, names in inputs.skipped.items()}
    if not case.sources and not case.dumps:
        told = ", ".join(f"{count} {reason}" for reason, count in skipped.items())
        raise Problem(f"no log could be read ({told or 'there is none'}); name text files that may be read")
    answer = answer_of(case, inputs, lang)
    items = [found(one, None, lang) for one in answer.findings]
    head = DiagnosisPage(
        files=len(answer.files),
        lines=answer.lines,
        bytes=answer.size,
        skipped=skipped,
        findings=len(items),
        items=[],
        quoted_unusual=[quote(one) for one in answer.unusual[:MOST_UNUSUAL]],
    )

    def page(start: int, end: int, cursor: str | None) -> DiagnosisPage:
        return head.model_copy(update={"items": items[start:end], "cursor": cursor})

    return Whole([size(one) for one in items], page)
