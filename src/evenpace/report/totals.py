"""What a run lost in all and what was recovered of it, in words."""

from __future__ import annotations

from evenpace.report.applied import applications
from evenpace.report.balance import balance_of
from evenpace.report.loss import Lost
from evenpace.report.story import Story
from evenpace.report.words import who
from evenpace.terms import say
from evenpace.terms.spelling import duration


def losses(cost: Lost, lang: str) -> str:
    """Say what the trouble cost; empty where nothing is known to be lost."""
    parts = []
    if cost.downtime is not None:
        parts.append(say("report-lost-downtime", lang, time=duration(cost.downtime)))
    if cost.repeated is not None:
        time = duration(cost.repeated)
        parts.append(say("report-lost-repeated", lang, steps=cost.repeated_steps, time=time))
    if cost.slow is not None:
        parts.append(say("report-lost-slow", lang, time=duration(cost.slow)))
    if cost.paused is not None:
        parts.append(say("report-lost-paused", lang, time=duration(cost.paused)))
    if not parts:
        return ""
    return say("report-lost-total", lang, total=duration(cost.total), parts=", ".join(parts))


def recovered(story: Story, cost: Lost, lang: str) -> str:
    """Say what strategies brought, by finding where there were several; empty where none was tried."""
    if cost.recovered is None:
        return ""
    key = "report-recovered" if cost.recovered >= 0 else "report-recovered-nothing"
    text = say(key, lang, time=duration(abs(cost.recovered)))
    answered = {one.finding for one in applications(story)}
    parts = []
    for raised in sorted(story.findings.values(), key=lambda one: one.onset):
        balance = balance_of(story, raised) if raised.id in answered else None
        if balance and balance.recovered is not None:
            parts.append(f"{who(raised.finding.subject, lang)}: {_signed(balance.recovered)}")
    return say("report-recovered-parts", lang, total=text, parts=", ".join(parts)) if len(parts) > 1 else text


def _signed(seconds: float) -> str:
    return f"{'+' if seconds >= 0 else '-'}{duration(abs(seconds))}"
