"""Say what was searched, measured and done about a slow job: the same words on the console and in reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from evenpace.terms import phrases, say
from evenpace.terms.retell import retell
from evenpace.terms.spelling import duration, line, percent
from evenpace.watch.events import Adapted, ComputeProbe, Decision, LinkProbe, Narrowed, Probed

NodeOf = Callable[[int], str]  # the node of a rank, empty where it is not known
_MOST = 16  # counts, positions or names in one sentence


class _Measured(Protocol):
    @property
    def seconds(self) -> float: ...
    @property
    def expected(self) -> float: ...


def strategy(name: str, lang: str) -> str:
    """Name a strategy, or show the name of one that the phrases do not have."""
    key = f"strategy-{name}"
    return say(key, lang) if key in phrases() else line(name)


def rank_name(rank: int, node_of: NodeOf, lang: str) -> str:
    """Name a rank with its node, where that is known."""
    part, node = f"rank {rank}", line(node_of(rank))
    return say("report-on-node", lang, part=part, node=node) if node else part


def link_name(link: tuple[int, int]) -> str:
    """Name a link by its ranks."""
    return f"rank {link[0]} -> rank {link[1]}"


def times(measured: _Measured) -> str:
    """Show how many times the expected it took: `2.61x`; a question mark where nothing was expected."""
    return f"{measured.seconds / measured.expected:.2f}x" if measured.expected > 0 else "?"


def _listed(names: Iterable[str], lang: str) -> str:
    names = list(names)
    more = [say("report-more", lang, count=len(names) - _MOST)] if len(names) > _MOST else []
    return ", ".join([*names[:_MOST], *more])


def suspects(event: Narrowed, node_of: NodeOf, lang: str) -> str:
    """Name the suspects, of a slow transfer the links where they are known; empty where there are none."""
    links_say_it = event.cause == "link" and event.links
    ranks = [] if links_say_it else [rank_name(rank, node_of, lang) for rank in event.suspects]
    return _listed([*ranks, *map(link_name, event.links)], lang)


def narrowed(event: Narrowed, node_of: NodeOf, lang: str) -> str:
    """Say whom the search leaves, and why."""
    why = line(retell(event.why, lang)) or "?"
    who = suspects(event, node_of, lang)
    if not who:
        return say("telling-narrowed-nobody", lang, why=why)
    known = event.cause in ("compute", "link", "unclear")
    cause = say(f"telling-cause-{event.cause}", lang) if known else line(event.cause)
    key = "telling-narrowed-proven" if event.proven else "telling-narrowed"
    return say(key, lang, who=who, cause=cause, why=why)


def slow_parts(event: Probed, node_of: NodeOf, lang: str) -> str:
    """Name what a probe found slow or wrong, each with how much; empty where that is nothing."""
    by_rank = {one.rank: one for one in event.compute}
    by_link = {(one.source, one.target): one for one in event.links}
    found = [_with_times(rank_name(r, node_of, lang), by_rank.get(r)) for r in event.slow_ranks]
    found += [_with_times(link_name(link), by_link.get(link)) for link in event.slow_links]
    found += [
        say("telling-wrong", lang, who=rank_name(one.rank, node_of, lang), count=one.wrong)
        for one in event.compute
        if one.wrong
    ]
    return _listed(found, lang)


def _with_times(name: str, measured: ComputeProbe | LinkProbe | None) -> str:
    return f"{name} ({times(measured)})" if measured else name


def probed(event: Probed, node_of: NodeOf, lang: str) -> str:
    """Say what a probe cost and found, or why there was none."""
    pause = duration(event.pause)
    failed = line(retell(event.failed, lang))
    if failed and not (event.compute or event.links):
        key = "telling-probe-failed-paused" if event.pause > 0 else "telling-probe-failed"
        return say(key, lang, pause=pause, reason=failed)
    slow = slow_parts(event, node_of, lang) or say("telling-probe-nothing", lang)
    text = say("telling-probed", lang, step=event.step, pause=pause, passes=event.passes, slow=slow)
    return f"{text}; {failed}" if failed else text


def plan(counts: Sequence[int], positions: Sequence[int], lang: str) -> str:
    """Say a plan: micro-batches by replica, or positions by rank; empty where there is neither."""
    if counts:
        return say("telling-counts", lang, counts=_row(counts))
    return say("telling-positions", lang, positions=_row(positions)) if positions else ""


def _row(numbers: Sequence[int]) -> str:
    shown = " ".join(map(str, numbers[:_MOST]))
    return f"{shown} … ({len(numbers)})" if len(numbers) > _MOST else shown


def adapted(event: Adapted, lang: str) -> str:
    """Say that a strategy took effect, or why it did not."""
    name = strategy(event.strategy, lang)
    action = "revert" if event.action == "revert" else "apply"
    if event.failed:
        reason = line(retell(event.failed, lang))
        return say(f"telling-{action}-failed", lang, strategy=name, reason=reason)
    text = say(f"telling-{action}", lang, strategy=name, step=event.step)
    parts = [text, plan(event.counts, event.positions, lang)]
    if event.pause > 0:
        parts.append(say("telling-pause", lang, pause=duration(event.pause)))
    return ", ".join(filter(None, parts))


def told(event: Narrowed | Probed | Adapted, node_of: NodeOf, lang: str) -> str:
    """Say what was searched, measured or done."""
    match event:
        case Narrowed():
            return narrowed(event, node_of, lang)
        case Probed():
            return probed(event, node_of, lang)
        case Adapted():
            return adapted(event, lang)


def options(decision: Decision) -> list[str]:
    """Return the strategies that a decision weighed, in its own order."""
    return list(dict.fromkeys([*decision.costs, *decision.rates]))


def option(decision: Decision, name: str, lang: str) -> str:
    """Say the part of the time that goes on being lost under a strategy, and what it costs once."""
    cost, rate = decision.costs.get(name), decision.rates.get(name)
    if rate is None:
        return say("telling-option-cost", lang, cost=duration(cost))
    if not cost:
        return say("telling-option-rate", lang, rate=percent(rate))
    return say("telling-option", lang, cost=duration(cost), rate=percent(rate))


def figures(decision: Decision, lang: str) -> str:
    """Say the numbers behind a decision; empty where it has none."""
    parts = [say("telling-lost", lang, lost=duration(decision.lost))] if decision.lost > 0 else []
    weighed = [f"{strategy(name, lang)} {option(decision, name, lang)}" for name in options(decision)[:_MOST]]
    if weighed:
        parts.append(say("telling-options", lang, options=", ".join(weighed)))
    return "; ".join(parts)
