"""What was done about a finding, and what that brought, in a few words."""

from __future__ import annotations

from evenpace.report.applied import Application, applications
from evenpace.report.balance import Balance, balance_of
from evenpace.report.story import Raised, Story
from evenpace.respond.telling import figures, strategy
from evenpace.terms import say
from evenpace.terms.retell import retell
from evenpace.terms.spelling import duration, line
from evenpace.watch import events as ev

_ACTIONS = ("none", "restart", "would-restart", "give-up", "adapt", "revert", "would-adapt")


def answer(story: Story, raised: Raised, lang: str) -> str:
    """Say what was done about a finding, and what that cost and brought; empty where nothing was decided."""
    mine = [one for one in applications(story) if one.finding == raised.id]
    decision = story.decision_for(raised.id)
    parts = [applied(one, lang) for one in mine]
    if decision and (not mine or decision.action not in ("adapt", "revert", "none")):
        parts.append(deed(decision, lang))
    balance = balance_of(story, raised) if mine else None
    return ", ".join(filter(None, [*parts, brought(balance, lang) if balance else ""]))


def applied(one: Application, lang: str) -> str:
    """Say which strategy was in force, and from which step to which."""
    key = "report-applied" if one.end_step is not None else "report-applied-open"
    return say(key, lang, strategy=strategy(one.strategy, lang), first=one.step, last=one.end_step)


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
