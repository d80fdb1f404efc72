"""Put every event of a run where it belongs: log, ledger, and whoever listens (terminal, metrics)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from evenpace.respond.continuity import Continuity
from evenpace.respond.ledger import Ledger
from evenpace.watch.eventlog import EventWriter
from evenpace.watch.events import (
    Event,
    FindingClosed,
    FindingRaised,
    IncarnationStarted,
    Iteration,
    PeriodFound,
    WatchDegraded,
    WorkerExited,
    WorkerJoined,
)

Listener = Callable[[Event], None]


class Recorder:
    """Record events. A watcher's ids of findings are its own; in the log they count within the run."""

    def __init__(self, writer: EventWriter, listeners: Sequence[Listener] = ()) -> None:
        self.ledger = Ledger()
        self._writer = writer
        self._listeners = list(listeners)
        self._ids: dict[int, int] = {}
        self._said: set[tuple[object, ...]] = set()  # of this incarnation, in the log
        self._seen: set[tuple[object, ...]] = set()  # of it, what a watcher before this one said
        self._last: Iteration | None = None
        self._continuity = Continuity()

    @property
    def lost(self) -> int:
        """Return how many events could not be written."""
        return self._writer.lost

    def listen(self, listener: Listener) -> None:
        """Let one more hear of every event that is written from now on."""
        self._listeners.append(listener)

    def load(self, event: Event) -> None:
        """Take in an event of the log; what a watcher says again after that is not written again."""
        self._note(event)

    def watched_anew(self) -> None:
        """Expect a new watcher of the same incarnation, which begins at the start of its rings."""
        self._ids, self._seen, self._continuity = {}, set(self._said), Continuity()
        if self._last is not None:
            self._continuity.remember(self._last)

    def _note(self, event: Event) -> None:
        """Keep what a later watcher of this incarnation would say again."""
        self.ledger.apply(event)
        if isinstance(event, IncarnationStarted):
            self._said, self._last = set(), None
            self.watched_anew()
        elif isinstance(event, Iteration):
            self._last = event
        elif key := _identity(event):
            self._said.add(key)

    def write(self, event: Event) -> None:
        """Record an event of our own."""
        self._note(event)
        self._writer.write(event)
        for listener in list(self._listeners):
            self._tell(listener, event)

    def _tell(self, listener: Listener, event: Event) -> None:
        """Let a listener hear of an event; one that fails is dropped, and that is said."""
        try:
            listener(event)
        except Exception as error:
            self._listeners.remove(listener)
            self.write(WatchDegraded(time=event.time, text=f"{type(error).__name__} in a listener: {error}"))

    def write_watched(self, event: Event) -> None:
        """Record an event of a watcher, unless a watcher before it has said the same."""
        if _identity(event) in self._seen:
            return
        if isinstance(event, Iteration):
            self._write_iteration(event)
        elif isinstance(event, FindingRaised | FindingClosed):
            self._write_finding(event)
        else:
            self.write(event)

    def _write_iteration(self, event: Iteration) -> None:
        new = self._continuity.follow(event)
        if new is not None:
            self.write(new)

    def _write_finding(self, event: FindingRaised | FindingClosed) -> None:
        if self._continuity.repeating and event.iteration is not None:
            known = self._known(event) if isinstance(event, FindingRaised) else None
            if known is not None:
                self._ids[event.id] = known
            return
        self.write(replace(self._continuity.place(event), id=self._number(event)))

    def _number(self, event: FindingRaised | FindingClosed) -> int:
        if event.id not in self._ids:
            known = self._known(event) if isinstance(event, FindingRaised) else None
            self._ids[event.id] = self.ledger.last_id + 1 if known is None else known
        return self._ids[event.id]

    def _known(self, event: FindingRaised) -> int | None:
        """Return the id of an open finding that says the same, from a watcher before this one."""
        for number, raised in self.ledger.open.items():
            same = (raised.finding.fault, raised.finding.subject) == (
                event.finding.fault,
                event.finding.subject,
            )
            if same and number not in self._ids.values():
                return number
        return None


def _identity(event: Event) -> tuple[object, ...] | None:
    """Return what makes an event the same when a second watcher reads the same rings, if anything."""
    match event:
        case WorkerJoined():
            return ("joined", event.rank, event.pid)
        case WorkerExited():
            return ("exited", event.rank, event.pid)
        case PeriodFound():
            return ("period", event.rank, event.operations)
    return None
