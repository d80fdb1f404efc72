"""The events of a run: one line of JSON each in `events.jsonl`, which is the truth about the run.

Additions only: a reader ignores fields and kinds that it does not know.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from evenpace.findings import Finding


def stamp(seconds: float) -> str:
    """Format seconds since the epoch as RFC 3339 in UTC with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds(time: str) -> float:
    """Parse what `stamp` wrote; raises ValueError where it is something else."""
    return datetime.fromisoformat(time).timestamp()


def _kebab(name: str) -> str:
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event", tag=_kebab):
    """The base of all events; `time` is RFC 3339 in UTC."""

    time: str


class RunStarted(Event, frozen=True, kw_only=True):
    """A run began. `nodes` and `spares` are names; no names where the command runs as it is."""

    run: str
    version: str
    host: str
    command: list[str]
    policy: str
    nodes: list[str] = []
    spares: list[str] = []
    checkpoint_dir: str | None = None
    restarts: int = 0  # the restart budget
    max_nodes_out: int = 0
    min_nodes: int = 1
    tap: str = "auto"
    folder: str = ""  # where the command was started


class IncarnationStarted(Event, frozen=True, kw_only=True):
    """The job was started, for the first time or again. `agents` maps a node to the pid of its agent."""

    incarnation: int
    agents: dict[str, int]
    rings: str  # folder of the ring files while it runs
    checkpoint: str | None = None
    step: int | None = None


class WorkerJoined(Event, frozen=True, kw_only=True):
    """A worker's tap appeared. `tap` is `native` or `python`; `note` says why it is degraded, if it is."""

    incarnation: int
    rank: int
    local_rank: int
    world_size: int
    node: str
    pid: int
    tap: str
    note: str = ""


class WatchDegraded(Event, frozen=True, kw_only=True):
    """Something keeps the watch from seeing (no tap, no operations, an unwritable folder)."""

    text: str
    incarnation: int | None = None


class PeriodFound(Event, frozen=True, kw_only=True):
    """The iteration was recognised in a worker's call sequence; also when it changes."""

    incarnation: int
    rank: int
    operations: int
    kinds: dict[str, int]  # operations of one iteration by kind


class Iteration(Event, frozen=True, kw_only=True):
    """One iteration of the job. Lists run parallel to `ranks`; seconds.

    `busy` is the worker's own time, `waiting` what it spent blocked because another worker was late; the
    rest of `durations` is transfer. `waiting_by_group` splits `waiting` where there is more than one group.
    """

    incarnation: int
    iteration: int
    ranks: list[int]
    durations: list[float]
    busy: list[float]
    waiting: list[float]
    waiting_by_group: dict[str, list[float]] = {}


class WorkerExited(Event, frozen=True, kw_only=True):
    """A worker ended. `how` is `clean`, `exception`, `killed` or `gone` (no trace of why)."""

    incarnation: int
    rank: int
    node: str
    pid: int
    how: str
    exception: str = ""
    signal: str = ""
    code: int | None = None  # the exit code, where it is known


class FindingRaised(Event, frozen=True, kw_only=True):
    """A judge said something. `id` counts findings of the run; a later event with the same id replaces it."""

    incarnation: int
    id: int
    finding: Finding
    iteration: int | None = None  # of onset, where it has one


class FindingClosed(Event, frozen=True, kw_only=True):
    """What a finding said is over. `reason`: `relief`, `restart`, or `ended` (the job, or what it worked on).

    Where the work of the job changed, there is an `iteration`.
    """

    incarnation: int
    id: int
    reason: str
    since: str  # when the trouble was over
    iteration: int | None = None


class GroupTime(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a communication group did over the slow iterations, beside the groups that do the same work."""

    group: str  # as GroupBook.name says it
    ranks: list[int]
    cohort: int  # groups of one cohort are compared with each other
    seconds: float  # transfer in an iteration, median
    expected: float  # of its cohort, or of its own healthy iterations
    bytes: int  # moved in an iteration
    last: int | None = None  # the rank that entered last most often
    share_last: float = 0.0  # of its operations


class Narrowed(Event, frozen=True, kw_only=True):
    """Who may be the cause of a slowness, by what the tap saw alone. `cause`: compute, link or unclear."""

    incarnation: int
    iteration: int
    cause: str
    suspects: list[int] = []
    links: list[tuple[int, int]] = []  # source and target, global ranks
    groups: list[GroupTime] = []
    proven: bool = False  # nothing is left for a probe to decide
    why: str = ""


class ComputeProbe(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the same piece of arithmetic took on one worker."""

    rank: int
    seconds: float
    expected: float  # median of its peers, or its own first healthy measurement where that is lower
    wrong: int = 0  # values that came out wrong


class LinkProbe(msgspec.Struct, frozen=True, kw_only=True):
    """What one message took from one worker to another."""

    source: int
    target: int
    bytes: int
    seconds: float
    expected: float


class Probed(Event, frozen=True, kw_only=True):
    """The training paused at an optimizer step, was measured, and went on. `failed`: why it was not."""

    incarnation: int
    step: int
    pause: float  # seconds, of the worker that stood longest
    passes: int  # of link probes, each with all its links at once
    compute: list[ComputeProbe] = []
    links: list[LinkProbe] = []
    slow_ranks: list[int] = []
    slow_links: list[tuple[int, int]] = []
    failed: str = ""


class Adapted(Event, frozen=True, kw_only=True):
    """A strategy took effect at a step (`action`: apply or revert), or did not (`failed` says why)."""

    incarnation: int
    strategy: str
    action: str
    step: int
    pause: float = 0.0  # seconds that training stood still for it
    counts: list[int] = []  # micro-batches by replica
    positions: list[int] = []  # position by rank
    failed: str = ""


class CheckpointSkipped(Event, frozen=True, kw_only=True):
    """A checkpoint was not good enough to start from. `moved_to` where it was set aside."""

    path: str
    reason: str
    moved_to: str | None = None


class Decision(Event, frozen=True, kw_only=True):
    """What the policy decided, and why.

    `action`: `none`, `restart`, `give-up`, `adapt` (apply a strategy), `revert` (take it back); or
    `would-restart`, `would-adapt`, where the policy keeps from doing so.
    """

    incarnation: int
    policy: str
    action: str
    reason: str
    finding: int | None = None
    nodes_out: list[str] = []
    nodes_in: list[str] = []
    checkpoint: str | None = None
    step: int | None = None
    strategy: str = ""
    lost: float = 0.0  # seconds that the slowness has cost until now
    costs: dict[str, float] = {}  # what each strategy costs once, in seconds
    rates: dict[str, float] = {}  # what goes on being lost under each, in seconds a second


class IncarnationEnded(Event, frozen=True, kw_only=True):
    """The job stopped.

    `outcome`: `finished`, `failed`, `stopped` (by us), `interrupted` (by the user) or `unknown`.
    """

    incarnation: int
    outcome: str
    exit_code: int | None = None


class RunEnded(Event, frozen=True, kw_only=True):
    """The run is over. `outcome` as in IncarnationEnded."""

    outcome: str
    exit_code: int


class WatchAttached(Event, frozen=True, kw_only=True):
    """A new watcher took over (`evenpace run --attach`)."""

    pid: int
    incarnation: int


AnyEvent = (
    RunStarted
    | IncarnationStarted
    | WorkerJoined
    | WatchDegraded
    | PeriodFound
    | Iteration
    | WorkerExited
    | FindingRaised
    | FindingClosed
    | Narrowed
    | Probed
    | Adapted
    | CheckpointSkipped
    | Decision
    | IncarnationEnded
    | RunEnded
    | WatchAttached
)

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(AnyEvent).decode
