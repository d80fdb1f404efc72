"""All strategies, from cheap to dear."""

from __future__ import annotations

from evenpace.respond.strategies import Strategy
from evenpace.respond.strategies.ignore import IgnoreStrategy
from evenpace.respond.strategies.microbatches.strategy import MicroBatchStrategy
from evenpace.respond.strategies.restart import RestartStrategy
from evenpace.respond.strategies.topology.strategy import TopologyStrategy


def strategies() -> list[Strategy]:
    """Return one of each."""
    return [IgnoreStrategy(), MicroBatchStrategy(), TopologyStrategy(), RestartStrategy()]
