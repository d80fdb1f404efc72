"""What the planner would do about a replayed slowness, and what was decided in a run."""

from __future__ import annotations

from evenpace.report.deeds import deed
from evenpace.respond.telling import strategy
from evenpace.simulate.planning import Plan
from evenpace.simulate.replay import Replay
from evenpace.terms import say
from evenpace.terms.spelling import duration, line

_Rows = list[tuple[str, str]]


def planner(found: Replay, lang: str) -> _Rows:
    """Return what could have been done about whom the replay names; nothing where that is nobody."""
    said = _of_run(found, lang) if found.recording else _of_trace(found, lang)
    return [(say("replay-planner", lang), "\n".join(said))] if said else []


def _of_trace(found: Replay, lang: str) -> list[str]:
    whatif = found.sections[0].whatif
    said = []
    for plan in found.plans:
        when = "replay-plan-never" if plan.after is None else "replay-plan-after"
        times = {"step": duration(plan.step), "now": duration(whatif.actual), "cost": duration(plan.cost)}
        text = say(
            "replay-plan",
            lang,
            strategy=strategy(plan.strategy, lang),
            when=say(when, lang, count=plan.after),
            **times,
        )
        counts = ", ".join(map(str, plan.counts))
        said.append(f"{text}; {say('replay-plan-counts', lang, counts=counts)}" if counts else text)
    if said:
        said.append(say("replay-plan-restart", lang, lost=duration(whatif.lost)))
    return said


def _of_run(found: Replay, lang: str) -> list[str]:
    said = []
    for spell in found.spells:
        if not spell.told or not spell.lost or not (spell.ranks or spell.link):
            continue
        place = {"incarnation": spell.incarnation, "onset": spell.onset}
        known = [
            one for one in found.plans if (one.incarnation, one.onset) == (spell.incarnation, spell.onset)
        ]
        said += [
            say(
                "replay-plan-run",
                lang,
                strategy=strategy(plan.strategy, lang),
                cost=duration(plan.cost),
                when=_when(plan, spell.lost, lang),
                **place,
            )
            for plan in known
        ]
        if not known:
            plan = say("replay-plan-run-unknown", lang, lost=duration(spell.lost), **place)
            said.append(_unpriced(found, plan, lang))
    return said


def _unpriced(found: Replay, plan: str, lang: str) -> str:
    """Add that no decision of the run weighed a restart, where none did."""
    decisions = found.recording.decisions if found.recording else ()
    if any("restart" in decision.costs for decision in decisions):
        return plan
    return say("replay-plan-run-unpriced", lang, plan=plan)


def _when(plan: Plan, lost: float, lang: str) -> str:
    if plan.after is None:
        return say("replay-plan-run-never", lang, lost=duration(lost))
    return say("replay-plan-run-after", lang, count=plan.after)


def decided(found: Replay, lang: str) -> _Rows:
    """Return what was decided in the run, in order."""
    decisions = found.recording.decisions if found.recording else []
    said = [line(deed(decision, lang)) for decision in decisions]
    return [(say("replay-decided", lang), "\n".join(said))] if said else []
