"""What was done about a finding, and what that brought, in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from evenpace.report.applied import Application, applications, stretches
from evenpace.report.balance import Balance, balance_of
from evenpace.report.story import Raised, Story
from evenpace.respond.telling import figures, strategy
from evenpace.terms import say
from evenpace.terms.retell import retell
from evenpace.terms.spelling import duration, line
from evenpace.watch import events as ev

_ACTIONS = ("none", "restart", "would-restart", "give-up", "adapt", "revert", "would-adapt")
_SPANS = 3  # of one strategy that a sentence names


def answer(story: Story, raised: Raised, lang: str) -> str:
    """Say what was done about a finding, and what that cost and brought; empty where nothing was decided."""
    mine = [one for one in applications(story) if one.finding == raised.id]
    decision = story.decision_for(raised.id)
    by_strategy = {name: [one for one in mine if one.strategy == name] for name in (m.strategy for m in mine)}
    parts = [applied(plans, lang) for plans in by_strategy.values()]
    if decision and (not mine or decision.action not in ("adapt", "revert", "none")):
        parts.append(deed(decision, lang))
    balance = balance_of(story, raised) if mine else None
    return ", ".join(filter(None, [*parts, brought(balance, lang) if balance else ""]))


def in_force(story: Story, lang: str) -> list[str]:
    """Say what is in force now, each with since when, and what the answers to its finding brought so far."""
    texts = []
    for plans in stretches(applications(story)):
        if plans[-1].end is not None:
            continue
        raised = None if (number := plans[-1].finding) is None else story.findings.get(number)
        balance = balance_of(story, raised) if raised else None
        parts = [applied(plans, lang), brought(balance, lang) if balance else ""]
        texts.append(", ".join(filter(None, parts)))
    return texts


def applied(plans: Sequence[Application], lang: str) -> str:
    """Say from which step to which a strategy was in force, and under how many plans, if several at once."""
    found = stretches(plans)
    ends = [(one[0].step, one[-1].end_step) for one in found]
    text = _spans(ends, strategy(plans[0].strategy, lang), lang, over=found[-1][-1].end is not None)
    many = len(plans) > len(found)
    return say("report-applied-plans", lang, applied=text, count=len(plans)) if many else text


def _spans(ends: list[tuple[int, int | None]], name: str, lang: str, *, over: bool) -> str:
    """Say spans of steps; `over`: the job has ended under the strategy where the last one has no end."""
    (first, last), *more = ends
    if last is None and not more:
        return say("report-applied-on" if over else "report-applied-open", lang, strategy=name, first=first)
    if len(ends) > _SPANS:
        return _with_breaks(ends, name, lang, over=over)
    restart = say("report-span-restart", lang)
    text = say("report-span", lang, first=first, last=restart if last is None else last)
    for place, (first, last) in enumerate(more, 2):
        still = last is None and place == len(ends)
        key = f"report-span-{'on' if over else 'open'}" if still else "report-span-more"
        text = say(key, lang, earlier=text, first=first, last=restart if last is None else last)
    return say("report-applied", lang, strategy=name, spans=text)


def _with_breaks(ends: list[tuple[int, int | None]], name: str, lang: str, *, over: bool) -> str:
    """Say only when a strategy came and went first and last, where it did so often."""
    (first, _), (_, last) = ends[0], ends[-1]
    whole = _spans([(first, last)], name, lang, over=over)
    return say("report-applied-breaks", lang, applied=whole, count=len(ends) - 1)


def brought(balance: Balance, lang: str) -> str:
    """Say what was lost beside what would have been; empty where the latter is not known."""
    if balance.without is None:
        return ""
    key = "report-brought" if balance.lost <= balance.without else "report-brought-nothing"
    return say(key, lang, lost=duration(balance.lost), without=duration(balance.without))


def deed(decision: ev.Decision, lang: str) -> str:
    """Say what a decision did."""
    parts = []
    if decision.nodes_out:
        parts.append(say("report-out", lang, nodes=", ".join(map(line, decision.nodes_out))))
    if decision.nodes_in:
        parts.append(say("report-in", lang, nodes=", ".join(map(line, decision.nodes_in))))
    if decision.action in ("restart", "would-restart"):
        key = "report-from-start" if decision.step is None else "report-from-step"
        parts.append(say(key, lang, step=decision.step))
    text = line(decision.action)
    if decision.action in _ACTIONS:
        names = {"strategy": strategy(decision.strategy, lang), "policy": line(decision.policy)}
        text = say(f"report-action-{decision.action}", lang, **names)
    return say("report-deed", lang, action=text, parts=", ".join(parts)) if parts else text


def reasoned(decision: ev.Decision, lang: str) -> str:
    """Say what a decision did, and why."""
    done = deed(decision, lang)
    return f"{done}: {line(retell(decision.reason, lang))}" if decision.reason else done


def choice(decision: ev.Decision, lang: str) -> str:
    """Say what a decision did, why, and by which numbers."""
    text, numbers = reasoned(decision, lang), figures(decision, lang)
    return say("report-choice", lang, choice=text, figures=numbers) if numbers else text
