"""Explain a check and list them all, in the form that was asked for."""

from __future__ import annotations

from evenpace.checks.catalogue import checks, find
from evenpace.errors import Problem
from evenpace.report.audit import explained
from evenpace.report.output import destination, terminal, write

FORMS = ("text", "json", "markdown")


def list_checks(form: str, output: str | None, lang: str) -> int:
    """Write one line a check; return the exit code. Raises Problem for a form that lists do not have."""
    file = destination(_known(form), output)
    if form == "text" and file is None:
        explained.print_list(checks().values(), lang, terminal())
    else:
        write(explained.list_as(form, checks().values(), lang).encode(), file, ())
    return 0


def explain(id_: str, form: str, output: str | None, lang: str) -> int:
    """Write what a check looks for and why; raises Problem for an unknown one."""
    check = find(id_)
    file = destination(_known(form), output)
    if form == "text" and file is None:
        explained.print_check(check, lang, terminal())
    else:
        write(explained.explained_as(form, check, lang).encode(), file, ())
    return 0


def _known(form: str) -> str:
    if form not in FORMS:
        raise Problem(f"a check is explained as {', '.join(FORMS)}, not as {form}; choose another --format")
    return form
