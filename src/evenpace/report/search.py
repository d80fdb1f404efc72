"""What was compared, measured and weighed for one finding, as lines and tables ready to be shown."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from evenpace.report.story import Raised, Story
from evenpace.report.words import clock
from evenpace.respond.telling import NodeOf, link_name, narrowed, option, options, probed, rank_name, strategy
from evenpace.respond.telling import adapted as adapted_words
from evenpace.respond.telling import times as ratio
from evenpace.terms import say
from evenpace.terms.spelling import duration, line, percent, ranges, size
from evenpace.watch import events as ev

_E = TypeVar("_E")  # a kind of event
MOST = 16  # searches, probes or changes of strategy that are told of one finding
_PAIR = 2
_ROWS = 32  # of a table
_MARKED = 1.1  # times the expected from which a row is marked


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table; `marked` where something is wrong with it."""

    cells: list[str]
    line: str = ""  # the same in one line
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A small table, ready to be shown: the slowest first, `left_out` rows more."""

    title: str
    headings: list[str]
    rows: list[Row]
    left_out: int = 0
    folded: bool = True  # of secondary interest

    @property
    def marked(self) -> list[Row]:
        """Return the rows with which something is wrong."""
        return [row for row in self.rows if row.marked]


@dataclass(frozen=True, slots=True)
class Measured:
    """What was said at a time (as a clock), and the tables behind it."""

    at: str
    text: str
    tables: list[Table] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Search:
    """What is known of how a finding's cause was sought and answered, each in order of time."""

    narrowed: list[Measured]
    probed: list[Measured]
    weighed: Table | None
    strategies: list[Measured]

    def __bool__(self) -> bool:
        return bool(self.narrowed or self.probed or self.weighed or self.strategies)


def search(story: Story, raised: Raised, lang: str) -> Search:
    """Return what belongs to one finding: it is the latest begun when the event was written.

    What was narrowed when that was over belongs to none, and is in the timeline only.
    """
    node_of = story.incarnation(raised.incarnation).node_of
    mine = _owned(story).get((raised.incarnation, raised.id), _Owned())
    return Search(
        _some(mine.narrowed, lambda at, one: _narrowed(at, one, node_of, lang), lang),
        _some(mine.probed, lambda at, one: _probed(at, one, node_of, lang), lang),
        _weighed([(at, one) for at, one in story.decisions if one.finding == raised.id], lang),
        _some(mine.adapted, lambda at, one: Measured(clock(at), adapted_words(one, lang)), lang),
    )


@dataclass(frozen=True, slots=True)
class _Owned:
    """What was searched, measured and done for one finding, each in the order of the log."""

    narrowed: list[tuple[float, ev.Narrowed]] = field(default_factory=list)
    probed: list[tuple[float, ev.Probed]] = field(default_factory=list)
    adapted: list[tuple[float, ev.Adapted]] = field(default_factory=list)


def _owned(story: Story) -> dict[tuple[int, int], _Owned]:
    """Return what belongs to each finding, by incarnation and number."""
    if "owned" not in story.memo:
        story.memo["owned"] = _share_out(story)
    found: dict[tuple[int, int], _Owned] = story.memo["owned"]
    return found


def _share_out(story: Story) -> dict[tuple[int, int], _Owned]:
    begun: dict[int, list[tuple[float, int]]] = {}
    for one in story.findings.values():
        if one.iteration is not None:
            begun.setdefault(one.incarnation, []).append((one.onset, one.id))
    for onsets in begun.values():
        onsets.sort()
    found: dict[tuple[int, int], _Owned] = {}
    for name in ("narrowed", "probed", "adapted"):
        for at, event in getattr(story, name):
            onsets = begun.get(event.incarnation, [])
            if place := bisect_right(onsets, at, key=lambda entry: entry[0]):
                number = onsets[place - 1][1]
                if name == "narrowed" and at > (story.findings[number].closed or at):
                    continue  # of a slowness that has not been told
                getattr(found.setdefault((event.incarnation, number), _Owned()), name).append((at, event))
    return found


def _some(events: list[tuple[float, _E]], tell: Callable[[float, _E], Measured], lang: str) -> list[Measured]:
    """Tell the first and the last of too many events, and between them how many are left out."""
    if len(events) <= MOST:
        return [tell(at, event) for at, event in events]
    half, middle = MOST // 2, events[MOST // 2 : -(MOST // 2)]
    until = clock(middle[-1][0])
    gap = Measured(clock(middle[0][0]), say("report-left-out", lang, count=len(middle), until=until))
    told = [tell(at, event) for at, event in [*events[:half], *events[-half:]]]
    return [*told[:half], gap, *told[half:]]


def _table(title: str, columns: tuple[str, ...], rows: list[Row], lang: str) -> Table:
    headings = [say(f"report-col-{name}", lang) for name in columns]
    return Table(say(f"report-table-{title}", lang), headings, rows[:_ROWS], max(len(rows) - _ROWS, 0))


def _slowness(one: ev.GroupTime | ev.ComputeProbe | ev.LinkProbe) -> float:
    return one.seconds / one.expected if one.expected > 0 else 0.0


def _line(what: str, one: ev.GroupTime | ev.ComputeProbe | ev.LinkProbe, lang: str) -> str:
    took, expected = duration(one.seconds), duration(one.expected)
    return say("report-measured", lang, what=what, took=took, expected=expected, ratio=ratio(one))


def _narrowed(at: float, event: ev.Narrowed, node_of: NodeOf, lang: str) -> Measured:
    rows = [_group(one, event, lang) for one in sorted(event.groups, key=_slowness, reverse=True)]
    columns = ("group", "ranks", "took", "expected", "ratio", "bytes", "last")
    tables = [_table("groups", columns, rows, lang)] if rows else []
    return Measured(clock(at), narrowed(event, node_of, lang), tables)


def _group(one: ev.GroupTime, event: ev.Narrowed, lang: str) -> Row:
    last = "" if one.last is None else f"rank {one.last} ({percent(one.share_last)})"
    took, expected = duration(one.seconds), duration(one.expected)
    several = len({rank for group in event.groups for rank in group.ranks}) > _PAIR
    named = f"[{','.join(map(str, one.ranks))}]" in one.group
    pair = len(one.ranks) == _PAIR and several and not named
    ranks = f"{one.ranks[0]} -> {one.ranks[1]}" if pair else ranges(one.ranks)
    name = line(one.group) if named else f"{line(one.group)}, rank {ranks}"
    cells = [line(one.group), ranks, took, expected, ratio(one), size(one.bytes), last]
    told = _line(name, one, lang)
    told = say("report-measured-last", lang, measured=told, last=last) if last else told
    late = event.cause != "link" and one.last in event.suspects
    return Row(cells, told, late or _slowness(one) >= _MARKED)


def _probed(at: float, event: ev.Probed, node_of: NodeOf, lang: str) -> Measured:
    tables = []
    if event.compute:
        rows = [
            _worker(one, event, node_of, lang) for one in sorted(event.compute, key=_slowness, reverse=True)
        ]
        tables.append(_table("compute", ("rank", "took", "expected", "ratio", "wrong"), rows, lang))
    if event.links:
        rows = [_link(one, event, lang) for one in sorted(event.links, key=_slowness, reverse=True)]
        tables.append(_table("links", ("link", "took", "expected", "ratio", "bytes"), rows, lang))
    return Measured(clock(at), probed(event, node_of, lang), tables)


def _worker(one: ev.ComputeProbe, event: ev.Probed, node_of: NodeOf, lang: str) -> Row:
    name, wrong = rank_name(one.rank, node_of, lang), str(one.wrong) if one.wrong else ""
    cells = [name, duration(one.seconds), duration(one.expected), ratio(one), wrong]
    return Row(cells, _line(name, one, lang), one.rank in event.slow_ranks or one.wrong > 0)


def _link(one: ev.LinkProbe, event: ev.Probed, lang: str) -> Row:
    ends = (one.source, one.target)
    name = link_name(ends)
    cells = [name, duration(one.seconds), duration(one.expected), ratio(one), size(one.bytes)]
    return Row(cells, _line(name, one, lang), ends in event.slow_links)


def _weighed(decisions: list[tuple[float, ev.Decision]], lang: str) -> Table | None:
    """Return the decisions that have numbers, a column a strategy."""
    decisions = [(at, one) for at, one in decisions if options(one)]
    if not decisions:
        return None
    names = list(dict.fromkeys(name for _, one in decisions for name in options(one)))

    def cell(one: ev.Decision, name: str) -> str:
        return option(one, name, lang) if name in options(one) else ""

    rows = [
        Row(
            [
                clock(at),
                strategy(one.strategy, lang),
                duration(one.lost),
                *(cell(one, name) for name in names),
            ]
        )
        for at, one in decisions
    ]
    table = _table("weighed", ("when", "chosen", "lost"), rows[-_ROWS:], lang)
    return Table(
        table.title, [*table.headings, *(strategy(name, lang) for name in names)], table.rows, folded=False
    )


def in_lines(measured: Measured, most: int, lang: str) -> list[str]:
    """Return what was measured as lines of text: of each table at most so many rows, slow ones only."""
    found = [f"{measured.at} {measured.text}"]
    for table in measured.tables:
        shown = [row.line for row in table.marked[:most]]
        rest = len(table.rows) + table.left_out - len(shown)
        key = "report-as-expected" if shown else "report-all-as-expected"
        slow = len(table.marked) > len(shown)
        found += [f"  {text}" for text in shown]
        if rest:
            what = "" if shown else f"{table.headings[0]}: "
            found.append(f"  {what}{say('report-more' if slow else key, lang, count=rest)}")
    return found
