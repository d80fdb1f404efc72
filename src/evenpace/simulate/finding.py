"""Findings from a replay: what explains a trace's slowdown, and what the detector says of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evenpace.detect.attribution import SlowKind
from evenpace.findings import Advice, Evidence, Finding, Severity, Subject, Terms
from evenpace.simulate.detecting import Spell
from evenpace.simulate.traces.runs import Recording
from evenpace.simulate.whatif.analysis import SEQUENCES, Blame, Cause, Part, WhatIf
from evenpace.terms import say
from evenpace.terms.spelling import percent

SERIOUS = 1.1  # slowdown from which it is a warning
Details = dict[str, str | int | float]

_FAULTS = {
    Cause.WORKER: "non-communication-slow",
    Cause.LINK: "communication-slow",
    Cause.TYPE: "communication-slow",
}
_CONFIDENCE = {
    Cause.WORKER: 0.9,
    Cause.REPLICA: 0.7,
    Cause.LINK: 0.8,
    Cause.STAGE: 0.8,
    Cause.UNEVEN: 0.8,
    Cause.TYPE: 0.6,
    Cause.NOBODY: 0.5,
}


def of_whatif(found: WhatIf, source: str, *, one_stage: bool) -> Iterator[Finding]:
    """Yield a finding for each thing that explains the slowdown of a trace; nothing where there is none.

    `one_stage`: a slow worker cannot be told from one with more work by the other stages of its replica.
    """
    for blame in found.blames:
        if blame.cause is not Cause.NONE:
            yield _blamed(found, blame, source, one_stage=one_stage)


def _blamed(found: WhatIf, blame: Blame, source: str, *, one_stage: bool) -> Finding:
    phrase = phrase_of(found, blame)
    said = details_of(found, blame)
    unsure = one_stage and blame.cause is Cause.WORKER
    advice = f"advice-{phrase}"
    return Finding(
        fault=_FAULTS.get(blame.cause, "slow-throughput"),
        severity=Severity.WARNING if found.slowdown >= SERIOUS else Severity.INFO,
        confidence=round(_CONFIDENCE[blame.cause] - (0.2 if unsure else 0.0), 2),
        subject=_subject(blame),
        summary=say(phrase, "en", **said),
        evidence=tuple(_evidence(found, blame, source)),
        advice=(Advice(say(advice, "en", **said)),),
        missing=tuple(_missing(found, blame, unsure=unsure)),
        terms=Terms(symptom=("straggler" if blame.cause is Cause.WORKER else "slowdown",)),
        phrase=phrase,
        details=said,
    )


def _missing(found: WhatIf, blame: Blame, *, unsure: bool) -> Iterator[str]:
    if unsure:
        yield say("missing-replay-work", "en")
    if blame.cause is Cause.STAGE and len(found.replicas) == 1:
        yield say("missing-replay-stage", "en")


def phrase_of(found: WhatIf, blame: Blame, *, run: bool = False) -> str:
    """Return the key of the sentence that says a blame, of a trace or of a `run`."""
    if run and blame.cause in (Cause.WORKER, Cause.UNEVEN):
        return f"replay-{blame.cause}-run"
    if blame.cause is Cause.UNEVEN and found.agreement >= SEQUENCES:
        return "replay-sequences"
    return f"replay-{blame.cause}"


def details_of(found: WhatIf, blame: Blame) -> Details:
    """Return the values of that sentence."""
    parts = blame.parts
    return {
        "names": ", ".join(part.name for part in parts),
        "places": "; ".join(_place(part) for part in parts if part.replica is not None),
        "ratio": round(max((part.ratio or 1.0 for part in parts), default=1.0), 3),
        "share": percent(blame.share),
        "slowdown": round(found.slowdown, 3),
    }


def _place(part: Part) -> str:
    return f"dp {part.replica}, stage {part.stage}"


def _subject(blame: Blame) -> Subject:
    if blame.cause is Cause.WORKER:
        ranks = [part.rank for part in blame.parts if part.rank is not None]
        return Subject(kind="rank", rank=ranks[0] if len(ranks) == 1 else ranks)
    if blame.cause is Cause.LINK:
        links = [f"rank {part.name.replace(' -> ', ' -> rank ')}" for part in blame.parts]
        return Subject(kind="link", link=links[0] if len(links) == 1 else links)
    if blame.cause in (Cause.STAGE, Cause.REPLICA, Cause.TYPE):
        return Subject(kind="job", object=f"{blame.cause} {', '.join(part.name for part in blame.parts)}")
    return Subject(kind="job")


def _evidence(found: WhatIf, blame: Blame, source: str) -> Iterator[Evidence]:
    """Yield the numbers behind a blame."""

    def measured(metric: str, value: float, expected: float | None = None) -> Evidence:
        return Evidence(source=source, metric=metric, value=round(value, 4), expected=expected)

    yield measured("step time, s", found.actual, round(found.ideal, 4))
    yield measured("slowdown explained", blame.share)
    for part in blame.parts:
        if part.ratio is not None:
            yield measured(f"{part.name}: time to its peers' median", part.ratio, 1.0)
    if blame.cause is Cause.UNEVEN:
        yield measured("correlation of forward and backward of a micro-batch", found.agreement)


def of_spells(spells: Iterable[Spell], recording: Recording, source: str) -> Iterator[Finding]:
    """Yield a finding for each slowness that today's detector sees in a run, the accusing first."""
    told = [spell for spell in spells if spell.told]
    for spell in sorted(told, key=lambda one: (not (one.ranks or one.link), one.incarnation, one.onset)):
        nodes = next((one.nodes for one in recording.stretches if one.incarnation == spell.incarnation), {})
        yield _spell(spell, nodes, source)


def _spell(spell: Spell, nodes: dict[int, str], source: str) -> Finding:
    communication = spell.kind is SlowKind.COMMUNICATION
    named = bool(spell.ranks or spell.link)
    worker = "non-communication-slow" if spell.ranks else "slow-throughput"
    said: Details = {
        "who": who(spell, nodes),
        "onset": spell.onset,
        "ratio": round(spell.ratio, 3),
        "incarnation": spell.incarnation,
    }
    phrase = "replay-spell" if named else "replay-spell-nobody"
    return Finding(
        fault="communication-slow" if communication else worker,
        severity=Severity.WARNING,
        confidence=0.8 if named else 0.5,
        subject=_accused(spell, nodes),
        summary=say(phrase, "en", **said),
        evidence=(
            Evidence(source, metric="iteration time to its level before", value=round(spell.ratio, 4)),
            Evidence(source, metric="known at iteration", value=float(spell.decided)),
        ),
        terms=Terms(symptom=("straggler" if spell.ranks else "slowdown",)),
        phrase=phrase,
        details=said,
    )


def who(spell: Spell, nodes: dict[int, str]) -> str:
    """Name whom a spell accuses; nothing where that is nobody."""
    if spell.link:
        return f"rank {spell.link[0]} -> rank {spell.link[1]}"
    return ", ".join(
        f"rank {rank} ({nodes[rank]})" if nodes.get(rank) else f"rank {rank}" for rank in spell.ranks
    )


def _accused(spell: Spell, nodes: dict[int, str]) -> Subject:
    ranks = list(spell.ranks)
    link = f"rank {spell.link[0]} -> rank {spell.link[1]}" if spell.link else None
    if not ranks and not link:
        return Subject(kind="job")
    hosts = sorted({nodes[rank] for rank in ranks if nodes.get(rank)})
    return Subject(
        kind="link" if link else "rank",
        link=link,
        rank=None if not ranks else ranks[0] if len(ranks) == 1 else ranks,
        node=None if not hosts else hosts[0] if len(hosts) == 1 else hosts,
    )


def verdict_of(found: WhatIf, lang: str, *, run: bool = False) -> str:
    """Say in a sentence or two what explains the slowdown, or that nobody stands out."""
    said = [say(phrase_of(found, blame, run=run), lang, **details_of(found, blame)) for blame in found.blames]
    if len(said) > 1:
        said.append(say("replay-overlap", lang))
    return " ".join(said)
