"""What kept the ranks that the others wait for: a checkpoint, or work of their own.

Timeouts say when the wait began. A save that began then and did not end, or a progress bar that was still
going, tells what the missing rank was doing; which rank that is, only a prefix or its absence tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import re2

from evenpace.diagnose.formats import c10d
from evenpace.diagnose.formats.activity import Activity, activity, busy_files, seconds
from evenpace.diagnose.formats.c10d import LateRoot, Stuck, spelled
from evenpace.diagnose.formats.counters import Counter, counters_in
from evenpace.diagnose.formats.process_groups import World, rank_of, world_of
from evenpace.diagnose.formats.tracebacks import split_prefix
from evenpace.diagnose.judges.collectives import after_death, evidence, ranks
from evenpace.diagnose.matching import options
from evenpace.diagnose.model import NOBODY, Case, Identity, Line, Sighting

_LONGEST = 8192
_SHARDED = re.compile(
    r"(?i)shard|torch_dist|dist[_ ]?c(?:heckpoint|kpt)|distributed checkpoint|\bDCP\b|zero_pp_rank|"
    r"mp_rank_\d|saving checkpoint at iteration|staging"
)
_ON_RANK = re.compile(r"(?i)\bon (?:only )?rank (\d{1,6})\b")
_KEPT = 6
_GUESS = 0.5  # less certain than this, it is a hint
_USUAL_LIMIT = 1800.0  # seconds, where no timeout says its own
_GATHERS = frozenset({"_ALLGATHER_BASE", "ALLGATHER_BASE", "ALLGATHER_COALESCED"})  # of sharded states
_IO_ERROR = re.compile(
    r"\[Errno (?:5|112|116|121)\]|Input/output error|Remote I/O error|Stale file handle|Host is down"
)
_LEFT = re2.compile(
    r"(?i)\btraining (?:is |has )?(?:finished|done|completed?|ended)\b|\bfinished training\b|"
    r"'train_runtime':|"
    r"\bexiting\b|\bleaving\b",
    options(),
)
_BAR_LINE = re2.compile(r"%\|", options())
_LAST = 6  # lines after which a beginning of some work no longer is the last that was heard


def judge(case: Case) -> Iterator[Sighting]:
    """Yield what the ranks that the others gave up waiting for were busy with."""
    records = case.once(c10d.records_in)
    if late := [one for one in records if isinstance(one, LateRoot)]:
        yield from _late_roots(late, _bars_before(case, late[0].line))
    stuck = [one for one in records if isinstance(one, Stuck)]
    if not stuck:
        return
    wait = _Wait(stuck, world_of(case, stuck))
    until: dict[str, list[Line]] = {}
    for one in stuck:
        until.setdefault(one.line.source, []).append(one.line)
    busy = busy_files(case)
    files = [
        activity(lines, until.get(source, ())) for source, lines in case.by_source.items() if source in busy
    ]
    saving = (_saving(case, one, wait) for one in files)
    working = (_counting(counters_in(case), wait), *(_working(one, wait) for one in files))
    if found := next((seen for seen in (*saving, *working) if seen), None):
        named = found.culprit.rank
        left = after_death(case, [named]) if isinstance(named, int) else None
        told = left is None or found.signature == "save-io-error"
        yield found if told else replace(found, certainty=left)


@dataclass(frozen=True)
class _Wait:
    """The timeouts, and the world they happened in."""

    stuck: Sequence[Stuck]
    world: World

    @property
    def limit(self) -> float | None:
        """Return how long the ranks waited (seconds)."""
        return max((one.limit for one in self.stuck if one.limit is not None), default=None)

    @property
    def reporters(self) -> set[int]:
        """Return the global ranks that gave up, as far as known."""
        return {rank for one in self.stuck if (rank := rank_of(one, self.world)) is not None}

    @property
    def gathers(self) -> bool:
        """Tell whether somebody waits in the gathering of a sharded state, which a save may belong to."""
        return any(one.op in _GATHERS for one in self.stuck)

    @property
    def lines(self) -> list[Line]:
        """Return the timeouts to show: one for each rank that gave up."""
        first = {(one.rank, one.group_rank): one.line for one in reversed(self.stuck) if one.op or one.limit}
        return list(reversed(first.values())) or [self.stuck[0].line]

    def since(self, line: Line) -> float | None:
        """Return the seconds from `line` to the first timeout, where their clocks compare."""
        times = [
            one.line.time - line.time
            for one in self.stuck
            if one.line.time is not None
            and line.time is not None
            and (one.line.source == line.source or (one.line.dated and line.dated))
        ]
        return min(times, default=None)

    def began_with(self, line: Line) -> bool:
        """Tell whether the wait can have begun after `line`: about one limit before it ended."""
        since = self.since(line)
        if since is None or self.limit is None or since < 0:  # clocks that disagree say nothing
            return True
        return 0.5 * self.limit <= since <= 3 * self.limit + 900

    def late(self, line: Line) -> int | None:
        """Return the rank that printed `line` or that it names, or the one that did not give up."""
        printer = c10d.global_rank(line)
        if named := _ON_RANK.search(line.text[:_LONGEST]):
            printer = int(named[1])
        if printer is not None:
            return printer if printer not in self.reporters else None
        absent = self.world.absent(self.reporters)
        certain = self.world.size is not None or (absent == {0} and len(self.reporters) > 1)
        return next(iter(absent)) if certain and len(absent) == 1 and not self.world.split else None


def _bars_before(case: Case, late: Line) -> list[Line]:
    """Return the last progress bars that were still going when somebody gave up."""
    before = [line for line in case.lines_with(_BAR_LINE) if line.source == late.source]
    return [line for line in before if line.number <= late.number and not _full(line)][-2:]


def _full(line: Line) -> bool:
    return "100%|" in line.text[-_LONGEST:]


def _late_roots(late: Sequence[LateRoot], going: Sequence[Line]) -> Iterator[Sighting]:
    """Yield the root that did not publish the id of the NCCL communicator in time."""
    done = set[int]()
    for one in late:
        if one.root in done:
            continue
        done.add(one.root)
        waiting = sorted({other.rank for other in late if other.root == one.root})
        in_group = any(other.reporter not in (None, other.rank) for other in late)
        lines = evidence(one.line, [*going, *(other.line for other in late if other.root == one.root)])
        captures = {"root": str(one.root), "waiting": spelled(waiting)}
        culprit, victims = (NOBODY, ()) if in_group else (ranks([one.root]), (ranks(waiting),))
        yield Sighting("nccl-id-late", lines, culprit, victims, captures)


def _saving(case: Case, state: Activity, wait: _Wait) -> Sighting | None:
    """Return a checkpoint that was begun about when the wait began, and not ended."""
    if not state.save or not wait.began_with(state.save[0]):
        return None
    first, last = state.save[0], state.save[-1]
    lines = evidence(first, [*state.save[-_KEPT + 1 :], *wait.lines])
    captures = {"limit": _minutes(wait.limit), "saying": last.text.strip()[:160]}
    if broken := [line for line in state.save if _IO_ERROR.search(line.text[:_LONGEST])]:
        who = ranks(rank for line in broken if (rank := _printer(line)) is not None)
        return Sighting(
            "save-io-error", evidence(broken[0], (*broken, *lines)), who, _victims(wait), captures
        )
    everybody_s = any(_SHARDED.search(line.text[:_LONGEST]) for line in state.save)
    whose = Sighting("sharded-save-stalled", lines, NOBODY, _victims(wait), captures)
    return whose if everybody_s else _by_one_rank(case, _printer(first), wait, whose)


def _by_one_rank(case: Case, printer: int | None, wait: _Wait, whose: Sighting) -> Sighting:
    """Return whose a full save is: of whoever says so, else rank 0's unless it may gather a sharded state."""
    rank = 0 if printer is None else printer
    saving = ranks([rank])
    if wait.gathers and (printer is None or rank in wait.reporters):
        left = _left(case, rank) if wait.reporters == {rank} else []
        lines = evidence(whose.lines[0], (*left[:1], *left[-2:], *whose.lines))
        return (
            replace(whose, signature="save-gather-alone", lines=lines, culprit=saving, victims=())
            if left
            else whose
        )
    if rank in wait.reporters:
        return replace(whose, certainty=0.6)
    return replace(whose, signature="full-save-stalled", culprit=saving)


def _left(case: Case, saver: int) -> list[Line]:
    """Return the lines in which the others say that they are done."""
    done = case.lines_with(_LEFT)
    others = [line for line in done if _printer(line) not in (None, saver)]
    return [*done[:1], *others] if others else []


def _printer(line: Line) -> int | None:
    """Return the global rank that a line's prefix names, also one without a colon (`[rank3] text`)."""
    rank = c10d.global_rank(line)
    said = split_prefix(line.text)[0].rank if rank is None else rank
    return said if isinstance(said, int) else None


def _counting(counts: Sequence[Counter], wait: _Wait) -> Sighting | None:
    """Return work that one rank alone still counted when the others gave up."""
    for one in counts:
        since = wait.since(one.line)
        recent = since is None or since <= 0.25 * (wait.limit or _USUAL_LIMIT)
        if recent and one.rank not in wait.reporters:
            percent = f"{100 * one.done / one.total:.0f}"
            captures = {"percent": percent, "elapsed": "", "limit": _minutes(wait.limit)}
            return _late(one.line, wait, captures, None, one.rank)
    return None


def _working(state: Activity, wait: _Wait) -> Sighting | None:
    """Return own work that was going on while the others waited."""
    going = [bar for bar in state.bars.values() if int(bar[1]["percent"]) < 100]
    if going:
        line, bar = max(going, key=lambda one: seconds(one[1]["elapsed"]))
        long = seconds(bar["elapsed"]) >= 0.5 * (wait.limit or _USUAL_LIMIT)
        captures = {"percent": bar["percent"], "elapsed": bar["elapsed"], "limit": _minutes(wait.limit)}
        return _late(line, wait, captures, None if long else 0.45)
    untrained = state.step is None
    last = state.work and untrained and not state.bar_of_training and state.since_work <= _LAST
    if last and wait.began_with(state.work[-1]):
        return _late(state.work[-1], wait, {"limit": _minutes(wait.limit)}, 0.45)
    if untrained and state.bar_of_training and _spans(state.bar_of_training[1], wait.limit):
        return _late(state.bar_of_training[0], wait, {"limit": _minutes(wait.limit)}, 0.55)
    return None


def _spans(bar: re.Match[str], limit: float | None) -> bool:
    """Tell whether a bar without a name was still going and ran for just as long as the others waited."""
    elapsed = seconds(bar["elapsed"])
    return limit is not None and int(bar["percent"]) < 100 and 0.9 * limit <= elapsed <= 1.3 * limit + 120


def _late(
    line: Line, wait: _Wait, captures: dict[str, str], certainty: float | None, who: int | None = None
) -> Sighting | None:
    """Return that somebody was late with own work, unless all ranks are known to have waited."""
    if wait.world.size is not None and not wait.world.absent(wait.reporters):
        return None
    rank = wait.late(line) if who is None else who
    lines = evidence(line, wait.lines)
    name = "preprocessing-outlasts-timeout" if rank is None else "rank-late-preprocessing"
    if certainty is not None and certainty < _GUESS and not _ON_RANK.search(line.text[:_LONGEST]):
        name, certainty = "own-work-was-last", None
    culprit = NOBODY if rank is None else ranks([rank])
    return Sighting(name, lines, culprit, _victims(wait), captures, certainty)


def _victims(wait: _Wait) -> tuple[Identity, ...]:
    return (ranks(wait.reporters),) if wait.reporters else ()


def _minutes(limit: float | None) -> str:
    return "" if limit is None else f"{limit / 60:g}"
