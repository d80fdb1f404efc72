"""Judge a crash: which worker ended on its own account, and which only because they lost it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from evenpace.collect.job.logs import LogLine
from evenpace.findings import Evidence, Finding, Subject, Terms
from evenpace.watch.events import stamp
from evenpace.watch.sayings import Details, make
from evenpace.watch.worker import WorkerId

POLL_SLACK_S = 0.5  # a death is seen this much after it happened
EARLY_S = 1.0  # a first death this much before all others' is a first cause
ENDED_BY_OTHERS = ("SIGTERM", "SIGINT", "SIGHUP")
INTERRUPT = "KeyboardInterrupt"
ABORT = "SIGABRT"  # what a watchdog or std::terminate ends a victim with, too


@dataclass(frozen=True, slots=True)
class WorkerEnd:
    """How a worker ended. `how` is `clean`, `exception`, `killed`, `gone` or `alive`; `at` in epoch seconds.

    `exception` is "Type: message" and the traceback's tail; `code` is negative for a signal;
    `owed_collective` tells whether peers stood in a collective that this worker never entered.
    """

    worker: WorkerId
    how: str
    at: float
    exception: str = ""
    code: int | None = None
    signal: str = ""
    lines: tuple[LogLine, ...] = ()
    owed_collective: bool = False

    @property
    def headline(self) -> str:
        """Return the exception's first line, cut to a readable length."""
        return self.exception.partition("\n")[0][:300]

    @property
    def reason(self) -> str:
        """Return in a word why it ended: the exception, the signal or the exit code."""
        return self.headline or self.signal or (f"exit code {self.code}" if self.code else self.how)


def judge_crash(ends: Sequence[WorkerEnd]) -> Finding | None:
    """Name the worker whose end is a cause, or say why none can be named; None where nothing went wrong."""
    ended = [end for end in ends if end.how != "alive"]
    causes = [end for end in ended if _is_cause(end)]
    if not causes:
        return _without_cause(ended)
    if len(causes) == 1:
        return _one(causes[0], ends)
    if _same_error(causes):
        nodes = {end.worker.node for end in causes}
        if len(nodes) == 1 and any(end.worker.node not in nodes for end in ends):
            return _one_node(causes, ends)
        if 2 * len(causes) >= len(ends):
            return _software_wide(causes)
    return _several(causes, ends)


def _is_cause(end: WorkerEnd) -> bool:
    if end.how == "clean":
        return bool(end.code) or end.owed_collective
    if end.how == "killed":
        return end.signal not in (*ENDED_BY_OTHERS, ABORT)
    if end.how == "exception":
        return not is_consequence(end.headline)
    return False  # gone without a word: only its time can tell, see _without_cause


def is_consequence(headline: str) -> bool:
    """Tell whether an error only says that another worker is gone or late."""
    lowered = headline.lower()
    return any(phrase in lowered for phrase in _consequences())


@cache
def _consequences() -> tuple[str, ...]:
    text = files("evenpace.watch").joinpath("consequences.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["phrases"])


def _without_cause(ended: list[WorkerEnd]) -> Finding | None:
    failed = [end for end in ended if end.how != "clean"]
    if not failed or all(end.signal in ENDED_BY_OTHERS for end in failed) or _interrupted(failed):
        return None
    if vanished := _vanished_first(failed):
        return _one(vanished, ended)
    if aborted := _aborted_first(failed):
        return _one(aborted, ended, confidence=0.8)
    return make(
        "unexplained-failure",
        "crash-unexplained",
        {"count": len(failed)},
        confidence=0.3,
        since=stamp(min(end.at for end in failed)),
        victims=[end.worker for end in failed],
        evidence=[item for end in failed[:8] for item in _evidence(end)],
        missing=["missing-first-log", "missing-kernel-log", "missing-transport"],
        terms=CRASHED,
    )


def _vanished_first(failed: list[WorkerEnd]) -> WorkerEnd | None:
    """Return the one worker that vanished without a word, if not after the others' errors."""
    gone = sorted((end for end in failed if end.how == "gone"), key=lambda end: end.at)
    if not gone or len(failed) == 1 or (len(gone) > 1 and gone[1].at - gone[0].at < EARLY_S):
        return None
    others = min(end.at for end in failed if end is not gone[0])
    return gone[0] if gone[0].at <= others + POLL_SLACK_S else None


def _interrupted(failed: list[WorkerEnd]) -> bool:
    """Tell whether somebody ended the job from the keyboard."""
    return any(end.headline.startswith(INTERRUPT) or end.signal == "SIGINT" for end in failed)


def _aborted_first(failed: list[WorkerEnd]) -> WorkerEnd | None:
    """Return the one worker that aborted, if its log does not say that it had lost another."""
    aborted = [end for end in failed if end.signal == ABORT]
    own = [end for end in aborted if not any(is_consequence(line.text) for line in end.lines)]
    return own[0] if len(own) == 1 and len(aborted) == 1 else None


def _one(end: WorkerEnd, ends: Sequence[WorkerEnd], confidence: float | None = None) -> Finding:
    fault, phrase, sure, advice = _classify(end)
    return make(
        fault,
        phrase,
        _details(end),
        culprits=[end.worker],
        victims=[other.worker for other in ends if other is not end],
        confidence=confidence or sure,
        since=stamp(end.at),
        evidence=_evidence(end),
        advice=advice,
        terms=CRASHED,
    )


def _classify(end: WorkerEnd) -> tuple[str, str, float, list[str]]:
    if end.how == "exception":
        return "user-code-exception", "crash-exception", 0.95, ["advice-read-log"]
    if end.how == "killed":
        advice = ["advice-host-memory"] if end.signal == "SIGKILL" else ["advice-read-log"]
        return "worker-killed", "crash-killed", 0.95, [*advice, "advice-exclude-node"]
    if end.how == "gone":
        return "worker-killed", "crash-gone", 0.8, ["advice-read-log", "advice-host-memory"]
    if end.code:
        return "user-code-exception", "crash-exit-code", 0.9, ["advice-read-log"]
    return "collective-desync", "crash-left-early", 0.9, ["advice-same-path"]


def _details(end: WorkerEnd) -> Details:
    return {
        "rank": end.worker.rank,
        "node": end.worker.node,
        "exception": end.headline,
        "signal": end.signal,
        "code": end.code if end.code is not None else 0,
    }


def _evidence(end: WorkerEnd) -> list[Evidence]:
    found = [Evidence(source=line.path, line=line.number, text=line.text) for line in end.lines]
    if end.exception:
        found.insert(0, Evidence(source=f"rank {end.worker.rank} exception", text=end.exception[:4000]))
    if not found:
        found.append(Evidence(source=f"rank {end.worker.rank}", metric="end", value=end.reason))
    return found


def _same_error(causes: Sequence[WorkerEnd]) -> bool:
    """Tell whether all of them failed alike, numbers aside."""
    return len({_shape(end.reason) for end in causes}) == 1


def _shape(text: str) -> str:
    return re.sub(r"0x[0-9a-f]{1,16}|\d{1,20}", "#", text.lower())


def _software_wide(causes: Sequence[WorkerEnd]) -> Finding:
    nodes = {end.worker.node for end in causes}
    return make(
        "user-code-exception",
        "crash-software-wide",
        {"count": len(causes), "nodes": len(nodes), "exception": causes[0].reason},
        confidence=0.95,
        since=stamp(min(end.at for end in causes)),
        evidence=_evidence(causes[0]),
        advice=["advice-fix-program"],
        terms=CRASHED,
    )


def _one_node(causes: Sequence[WorkerEnd], ends: Sequence[WorkerEnd]) -> Finding:
    """Name the node whose workers all failed alike while those of the others did not."""
    fault = _classify(causes[0])[0]
    return make(
        fault,
        "crash-one-node",
        {
            "count": len(causes),
            "node": causes[0].worker.node,
            "exception": causes[0].reason,
        },
        culprits=[end.worker for end in causes],
        victims=[end.worker for end in ends if end not in causes],
        confidence=0.9,
        since=stamp(min(end.at for end in causes)),
        evidence=[item for end in causes[:8] for item in _evidence(end)],
        advice=["advice-exclude-node"],
        terms=CRASHED,
    )


def _several(causes: Sequence[WorkerEnd], ends: Sequence[WorkerEnd]) -> Finding:
    ordered = sorted(causes, key=lambda end: end.at)
    if ordered[1].at - ordered[0].at >= EARLY_S:
        return _one(ordered[0], ends, confidence=0.8)
    return make(
        "user-code-exception",
        "crash-several",
        {"count": len(causes)},
        confidence=0.4,
        since=stamp(ordered[0].at),
        victims=[end.worker for end in ends if end not in causes],
        evidence=[item for end in ordered[:8] for item in _evidence(end)],
        missing=["missing-first-log", "missing-kernel-log"],
        terms=CRASHED,
    )


def judge_agent(node: str, code: int | None, signal: str, lines: Sequence[LogLine], at: float) -> Finding:
    """Judge an agent that ended before its workers said why: a lost node, or a job that never started."""
    lost = bool(signal) and signal not in ENDED_BY_OTHERS
    finding = make(
        "node-lost" if lost else "unexplained-failure",
        "node-lost" if lost else "crash-before-start",
        {"node": node, "signal": signal, "code": code if code is not None else -1},
        confidence=0.9 if lost else 0.5,
        since=stamp(at),
        evidence=[Evidence(source=line.path, line=line.number, text=line.text) for line in lines],
        advice=["advice-exclude-node"] if lost else [],
        missing=[] if lost else ["missing-first-log"],
        terms=CRASHED,
    )
    return replace(finding, subject=Subject(kind="node", node=node)) if lost else finding


CRASHED = Terms(symptom=("job-crash",))
