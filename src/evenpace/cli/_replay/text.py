"""A replay on the terminal: the verdict, what was read, who and what, the detector, the planner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from evenpace.cli._replay.beside import beside
from evenpace.cli._replay.planned import decided, planner
from evenpace.diagnose.retelling import retold
from evenpace.report.text import pairs
from evenpace.simulate.detecting import Spell
from evenpace.simulate.finding import verdict_of, who
from evenpace.simulate.replay import Replay, Section
from evenpace.simulate.whatif.analysis import Cause, Part, WhatIf
from evenpace.terms import say
from evenpace.terms.spelling import duration, line, ranges

MOST_STEPS = 12  # that are named


def print_replay(found: Replay, console: Console, lang: str, top: int) -> None:
    """Print a replay; colours only where the console is a terminal."""
    for part in _page(found, lang, top):
        console.print(part)


def _page(found: Replay, lang: str, top: int) -> Iterator[RenderableType]:
    yield Text(say("replay-title", lang, source=line(found.source)), style="dim")
    yield from _verdict(found, lang)
    if known := _known(found, lang):
        yield pairs(known)
    yield Text()
    rows = [(say("replay-read", lang), _read(found, lang)), *_left_out(found, lang)]
    if found.recording is None:
        rows += _figures(found.sections[0].whatif, lang, run=False)
    yield pairs(rows)
    for section in found.sections:
        yield from _section(found, section, lang, top)
    if found.sections:
        yield Text(say("replay-columns", lang), style="dim")
    if found.recording is not None:
        yield Text()
        yield _heading(say("replay-beside", lang))
        yield beside(found, lang)
        if rows := [*decided(found, lang), *planner(found, lang)]:
            yield Text()
            yield pairs(rows)
        return
    yield Text()
    rows = [(say("replay-detector", lang), _detector(found, lang)), *planner(found, lang)]
    yield pairs(rows)


def _verdict(found: Replay, lang: str) -> Iterator[Text]:
    """Yield the answer: of a trace what explains it, of a run what the detector sees in it."""
    if found.recording is None:
        whole, *slow = found.sections
        if not slow or whole.whatif.blames[0].cause is not Cause.NOBODY:
            yield Text(verdict_of(whole.whatif, lang), style="bold")
        for section in slow:
            said = verdict_of(section.whatif, lang)
            text = say("replay-steps", lang, first=section.first, last=section.last, verdict=said)
            yield Text(text, style="bold")
        return
    for finding in found.findings:
        yield Text(line(finding.sentence(lang)), style="bold")
    if not found.findings:
        yield Text(f"{say('replay-detector', lang)}: {say('replay-detector-nothing', lang)}.", style="bold")


def _known(found: Replay, lang: str) -> list[tuple[str, str]]:
    """Return what to do about the findings, and what would make them surer; nothing said twice."""
    told = [retold(finding, lang) for finding in found.findings]
    advice = dict.fromkeys(one.text for finding in told for one in finding.advice)
    missing = dict.fromkeys(text for finding in told for text in finding.missing)
    rows = (("advice", advice), ("missing", missing))
    return [(say(f"report-{key}", lang), "\n".join(map(line, texts))) for key, texts in rows if texts]


def _read(found: Replay, lang: str) -> str:
    if found.recording is not None:
        starts = len({stretch.incarnation for stretch in found.recording.stretches})
        return say("replay-read-run", lang, ranks=found.ranks, iterations=found.steps, starts=starts)
    section = found.sections[0]
    return say(
        "replay-read-trace",
        lang,
        workers=found.ranks,
        replicas=found.replicas,
        stages=found.stages,
        steps=found.steps,
        first=section.first,
        last=section.last,
        operations=found.operations,
    )


def _left_out(found: Replay, lang: str) -> list[tuple[str, str]]:
    left, recording, said = found.left_out, found.recording, []
    if left.unknown:
        names = ", ".join(f"{line(name)} ({count:,})" for name, count in left.unknown.items())
        said.append(say("replay-left-unknown", lang, names=names))
    if left.rare:
        said.append(say("replay-left-rare", lang, count=left.rare))
    if left.steps:
        some = ranges(left.steps[:MOST_STEPS]) + (", …" if len(left.steps) > MOST_STEPS else "")
        missing = line(left.missing)
        said.append(say("replay-left-steps", lang, count=len(left.steps), steps=some, missing=missing))
    if left.ranks:
        said.append(say("replay-left-ranks", lang, count=left.ranks))
    if recording and recording.damaged:
        said.append(say("replay-left-damaged", lang, count=recording.damaged))
    if recording and recording.unread:
        said.append(say("replay-left-unread", lang, count=recording.unread))
    if found.unfaithful:
        said.append(say("replay-left-unfaithful", lang, count=found.unfaithful))
    return [(say("replay-left-out", lang), "\n".join(said))] if said else []


def _section(found: Replay, section: Section, lang: str, top: int) -> Iterator[RenderableType]:
    whatif = section.whatif
    if section is not found.sections[0] and section.incarnation is None:
        yield Text()
        yield _heading(say("replay-section-steps", lang, first=section.first, last=section.last))
        yield pairs(_figures(whatif, lang, run=False))
    if section.incarnation is not None:
        place = {"incarnation": section.incarnation, "first": section.first, "last": section.last}
        yield Text()
        yield _heading(say("replay-section", lang, **place))
        yield Text(verdict_of(whatif, lang, run=True))
        yield pairs(_figures(whatif, lang, run=True))
    yield Text()
    shown = whatif.workers[:top]
    yield _heading(say("replay-workers", lang, shown=len(shown), count=len(whatif.workers)))
    yield _workers(shown, lang, trace=found.recording is None)
    if found.recording is None:
        if len(whatif.stages) > 1:
            yield Text()
            yield _heading(say("replay-stages", lang))
            yield _parts("stage", whatif.stages[:top], lang)
        yield Text()
        yield _heading(say("replay-types", lang))
        yield _parts("type", whatif.types[:top], lang)


def _figures(whatif: WhatIf, lang: str, *, run: bool) -> list[tuple[str, str]]:
    times = {"actual": duration(whatif.actual), "ideal": duration(whatif.ideal)}
    rows = [
        ("step", say("replay-step-times", lang, slowdown=whatif.slowdown, **times)),
        ("lost", say("replay-lost-time", lang, lost=duration(whatif.lost), steps=whatif.steps)),
        ("faithful", say("replay-faithful-share", lang, share=whatif.fidelity)),
    ]
    if not run:
        shares = {"worst": whatif.worst, "last": whatif.last_stage, "uneven": whatif.uneven}
        shares = {name: value + 0.0 if abs(value) >= 0.005 else 0.0 for name, value in shares.items()}
        rows.append(("explained", say("replay-explained-by", lang, **shares)))
    return [(say(f"replay-{key}", lang), text) for key, text in rows]


def _heading(text: str) -> Text:
    return Text(text, style="bold underline")


def _table(columns: Sequence[str], lang: str) -> Table:
    made = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for column in columns:
        justify: Literal["left", "right"] = "left" if column == "type" else "right"
        made.add_column(say(f"replay-col-{column}", lang), justify=justify, overflow="fold")
    return made


def _workers(parts: Sequence[Part], lang: str, *, trace: bool) -> Table:
    places = ("replica", "stage") if trace else ()
    made = _table(("rank", *places, "slowdown", "share", "ratio"), lang)
    for part in parts:
        where = (str(part.replica), str(part.stage)) if trace else ()
        ratio = "" if part.ratio is None else f"{part.ratio:.2f}"
        style = "bold" if part.ratio is not None else ""
        made.add_row(part.name, *where, f"{part.slowdown:.3f}", _share(part), ratio, style=style)
    return made


def _parts(column: str, parts: Sequence[Part], lang: str) -> Table:
    made = _table((column, "slowdown", "share"), lang)
    for part in parts:
        made.add_row(part.name, f"{part.slowdown:.3f}", _share(part))
    return made


def _share(part: Part) -> str:
    """Show a share; what is made ideal may also cost a little, which is no news."""
    return "" if part.share is None else f"{max(part.share, 0.0):.0%}"


def _detector(found: Replay, lang: str) -> str:
    if not found.spells:
        return say("replay-detector-nothing", lang)
    return "\n".join(_spell(spell, lang) for spell in found.spells)


def _spell(spell: Spell, lang: str) -> str:
    key = "replay-detector-start" if spell.from_start else "replay-detector-onset"
    text = say(
        key,
        lang,
        who=who(spell, {}) or say("replay-detector-nobody", lang),
        onset=spell.onset,
        relief=say("replay-detector-end", lang) if spell.relief is None else spell.relief,
        ratio=spell.ratio,
        decided=spell.decided,
    )
    return text if spell.told else f"{text}; {say('replay-detector-small', lang)}"
