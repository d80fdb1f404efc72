"""The finding about a slow job: whom it names, how it is said, with what evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

from evenpace.detect.attribution import SlowKind, SlowVerdict
from evenpace.detect.growth import Edge
from evenpace.findings import Evidence, Finding, Severity, Subject, Terms
from evenpace.watch.events import stamp
from evenpace.watch.sayings import Details, make
from evenpace.watch.starvation import kernel_evidence
from evenpace.watch.worker import Worker, WorkerId


@dataclass(frozen=True, slots=True)
class Pace:
    """Since when the job is slow, and how many times: to its past, or (from the start) to a rank's peers."""

    onset: int  # iteration
    since_ns: int  # monotonic
    since: float  # epoch seconds
    ratio: float
    from_start: bool


def slow_finding(verdict: SlowVerdict, pace: Pace, workers: list[Worker]) -> Finding:
    """Say what a verdict means."""
    culprits = [worker for worker in workers if worker.id.rank in verdict.culprits]
    victims = [worker for worker in workers if worker not in culprits] if culprits else []
    kernel = [item for worker in culprits for item in kernel_evidence(worker, victims, pace.since_ns)]
    loading = not kernel and _only_culprits_load(culprits, victims)
    fault, phrase, advice = _classify(verdict, culprits, pace.from_start, loading)
    finding = make(
        fault,
        phrase,
        _details([worker.id for worker in culprits], pace.onset, pace.ratio, verdict.link),
        culprits=[worker.id for worker in culprits],
        victims=[worker.id for worker in victims],
        confidence=round(verdict.confidence, 2),
        severity=Severity.WARNING,
        since=stamp(pace.since),
        evidence=_evidence(verdict, culprits) + kernel,
        advice=advice,
        missing=() if culprits else ("missing-longer",),
        terms=Terms(symptom=("straggler" if culprits else "slowdown",)),
    )
    return replace(finding, subject=_link(verdict.link, workers)) if verdict.link else finding


def _only_culprits_load(culprits: list[Worker], victims: list[Worker]) -> bool:
    """Tell whether the culprits mostly stand in their data loaders, and the others do not."""
    return all(worker.stacks.mostly_in_loader() for worker in culprits) and not any(
        worker.stacks.mostly_in_loader() for worker in victims
    )


def _classify(
    verdict: SlowVerdict, culprits: list[Worker], from_start: bool, loading: bool
) -> tuple[str, str, list[str]]:
    if verdict.kind is SlowKind.COMMUNICATION:
        named = "slow-communication-rank" if culprits else "slow-communication"
        phrase = "slow-link" if verdict.link else named
        return "communication-slow", phrase, ["advice-probe-links"]
    if verdict.kind is SlowKind.NON_COMMUNICATION and culprits:
        fault = "data-loader" if loading else "non-communication-slow"
        phrase = "slow-worker-from-start" if from_start else "slow-worker"
        return fault, phrase, ["advice-loader" if loading else "advice-compare-node"]
    phrase = "slow-all" if verdict.kind is SlowKind.THROUGHPUT else "slow-unclear"
    return "slow-throughput", phrase, ["advice-shared-cause"]


def _link(link: Edge, workers: list[Worker]) -> Subject:
    """Name the link between two ranks."""
    ends = [worker.id for rank in link for worker in workers if worker.id.rank == rank]
    return Subject(
        kind="link",
        link=f"rank {link[0]} -> rank {link[1]}",
        node=[end.node for end in ends],
        rank=[end.rank for end in ends],
    )


def _details(culprits: list[WorkerId], onset: int, ratio: float, link: Edge | None) -> Details:
    source, target = link or (-1, -1)
    return {
        "source": source,
        "target": target,
        "rank": ", ".join(str(worker.rank) for worker in culprits),
        "node": ", ".join(sorted({worker.node for worker in culprits})),
        "onset": onset,
        "slowdown": round(ratio, 3),
    }


def _evidence(verdict: SlowVerdict, culprits: list[Worker]) -> list[Evidence]:
    found = [
        Evidence(source="iterations", metric=metric, value=round(float(value), 4))
        for metric, value in verdict.evidence.items()
    ]
    found += [
        Evidence(
            source=f"rank {rank}", metric="own seconds more per iteration", value=round(float(excess), 4)
        )
        for rank, excess in sorted(verdict.excess.items())[:64]
    ]
    frames = [(worker.id.rank, worker.stacks.most_seen()) for worker in culprits]
    return found + [Evidence(source=f"rank {rank} stack", text=frame) for rank, frame in frames if frame]
