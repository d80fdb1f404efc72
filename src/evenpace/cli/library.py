"""Search the public incidents of training runs and GPU clusters, and contribute a case."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from evenpace.errors import Problem
from evenpace.terms import LANGUAGES

_FILTERS = ("cause", "component", "symptom", "factor", "organisation", "year", "scope")
_LANG = click.option("--lang", type=click.Choice(LANGUAGES), default="en", help="Language of the output.")
_FOLDER = click.option(
    "--folder", type=click.Path(path_type=Path), help="Folder of cases instead of evenpace's own."
)


def _form(*forms: str) -> Callable[..., Any]:
    return click.option(
        "--format", "form", type=click.Choice(forms), default=forms[0], help="Form of the output."
    )


def _filters(command: Callable[..., Any]) -> Callable[..., Any]:
    for name in reversed(_FILTERS):
        told = f"Only cases with this {name}; repeat it or put commas between for alternatives."
        command = click.option(f"--{name}", multiple=True, metavar="VALUE", help=told)(command)
    return command


class _Group(click.Group):
    """Keep what an error quotes of a stranger's files from steering the terminal."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command below."""
        try:
            return super().invoke(ctx)
        except Problem as problem:
            from evenpace.terms.spelling import line

            raise Problem(line(str(problem))) from problem


@click.group(cls=_Group)
def command() -> None:
    """Search the public incidents of training runs and GPU clusters, and contribute a case.

    \b
        evenpace library search "Xid 79"
        evenpace library search hang --component nccl --lang ko
        evenpace library show IL-0004
    """


@command.command()
@click.argument("words", nargs=-1)
@_filters
@click.option("--page", type=click.IntRange(1, 1_000_000), default=1, help="Page of the answer.")
@click.option("--limit", type=click.IntRange(1, 500), default=10, show_default=True, help="Cases a page.")
@click.option(
    "--finding",
    type=click.Path(path_type=Path, allow_dash=True),
    help="JSON of findings (`-`: standard input).",
)
@_form("text", "json", "markdown")
@_LANG
@_FOLDER
def search(words: tuple[str, ...], page: int, limit: int, form: str, lang: str, **options: Any) -> None:
    """Find cases by WORDS in either language and by filters; without WORDS the newest come first.

    Every word must match. With --finding, find the cases closest to each finding of
    `evenpace report RUN --format json`.
    """
    from evenpace.cli._library import choosing, looking
    from evenpace.library.catalogue import Library

    finding = options["finding"]
    if finding is not None and (words or page > 1 or any(options[name] for name in _FILTERS)):
        raise Problem("--finding asks by itself; leave words, filters and --page out")
    library = Library.open(options["folder"])
    if finding is not None:
        looking.findings(library, finding, form, lang)
    else:
        looking.search(library, choosing.query(library, words, options), (page, limit), form, lang)


@command.command()
@click.argument("id_", metavar="ID")
@_form("text", "json", "markdown")
@_LANG
@_FOLDER
def show(id_: str, form: str, lang: str, folder: Path | None) -> None:
    """Show the case ID whole, such as IL-0004 (or 4)."""
    from evenpace.cli._library import looking
    from evenpace.library.catalogue import Library

    looking.show(Library.open(folder), id_, form, lang)


@command.command()
@click.argument("facet", required=False, type=click.Choice(_FILTERS[:4]))
@click.argument("slug", required=False)
@_form("text", "json", "markdown")
@_LANG
@_FOLDER
def terms(facet: str | None, slug: str | None, form: str, lang: str, folder: Path | None) -> None:
    """List the vocabulary, a FACET of it, or one term with its definition and cases."""
    from evenpace.cli._library import overview
    from evenpace.library.catalogue import Library

    overview.terms(Library.open(folder), facet, slug, form, lang)


@command.command()
@click.argument("words", nargs=-1)
@_filters
@click.option("--limit", type=click.IntRange(1, 500), default=30, show_default=True, help="Ties to list.")
@_form("text", "json", "markdown")
@_LANG
@_FOLDER
def graph(words: tuple[str, ...], limit: int, form: str, lang: str, **options: Any) -> None:
    """List the terms that occur in the same cases, strongest ties first, with their lift."""
    from evenpace.cli._library import choosing, overview
    from evenpace.library.catalogue import Library

    library = Library.open(options["folder"])
    overview.ties(library, choosing.query(library, words, options), limit, form, lang)


@command.command()
@_form("text", "json", "markdown")
@_LANG
@_FOLDER
def stats(form: str, lang: str, folder: Path | None) -> None:
    """Count the cases by verification, kind, scope, year, organisation and term."""
    from evenpace.cli._library import overview
    from evenpace.library.catalogue import Library

    overview.stats(Library.open(folder), form, lang)


@command.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@_form("text", "json")
@_FOLDER
def validate(files: tuple[Path, ...], form: str, folder: Path | None) -> int:
    """Check FILES, or all cases of the folder: each flaw with its line and how to mend it.

    Exit code 0 where there is none, 1 where there are some.
    """
    from evenpace.cli._library import checking

    return checking.validate(files, folder, form)


@command.command()
@_filters
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "csv", "markdown"]), default="jsonl", help="Form."
)
@click.option("--output", type=click.Path(path_type=Path), help="Write to this new file.")
@_LANG
@_FOLDER
def export(form: str, output: Path | None, lang: str, **options: Any) -> None:
    """Write all cases, or those that the filters leave, for other tools."""
    from evenpace.cli._library import choosing, looking
    from evenpace.library.catalogue import Library

    library = Library.open(options["folder"])
    looking.export(library, choosing.query(library, (), options), form, output, lang)


@command.command()
@click.option("--id", "id_", metavar="IL-NNNN", help="Id of the case; the next free one by default.")
@click.option("--organisation", help="Whose report it is.")
@click.option("--year", type=click.IntRange(1990, 2100), help="Year of the event.")
@click.option("--scope", type=click.Choice(["training", "serving", "k8s", "hpc", "facility"]))
@click.option("--kind", type=click.Choice(["incident", "known-issue", "study"]))
@click.option("--verified", type=click.Choice(["opened", "excerpt"]), help="How far you read the source.")
@click.option("--url", help="Address of the public report.")
@click.option("--source-title", help="What the report is called.")
@click.option("--title", help="One sentence: what failed and what it did.")
@click.option("--symptom-text", help="What people saw first.")
@click.option("--cause", multiple=True, help="Terms of the cause, the main one first.")
@click.option("--component", multiple=True, help="Terms of the component.")
@click.option("--symptom", multiple=True, help="Terms of the symptom.")
@click.option("--factor", multiple=True, help="Terms of contributing factors.")
@_FOLDER
def new(folder: Path | None, **given: Any) -> None:
    """Ask for the fields of a new case and write its file, to be completed in an editor.

    What is given as an option is not asked for. Nothing is ever overwritten.
    """
    from evenpace.cli._library import asking

    asking.new(folder, given)
