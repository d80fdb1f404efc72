"""Iteration times of jobs that exist only as numbers: noise, spikes, wander, packing, and what slows them.

Every scenario is drawn many times at once, as rows of an array, so that a detector can be judged over
thousands of runs in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SPIKE = (1.3, 4.0)  # times longer, uniform
WANDER_LENGTH = 20  # iterations after which the slow wander has forgotten 63 % of where it was
SEQUENCES, SPREAD = 32, 0.8  # packed into one iteration, and how unequal they are (sigma of the log)
PADDING = 0.05  # of the tokens, at most
FIXED = 0.2  # share of an iteration that does not depend on the work


@dataclass(frozen=True, slots=True)
class Slowdown:
    """The job takes `factor` times as long in [start, end); reached evenly over `ramp` iterations."""

    start: int
    end: int
    factor: float
    ramp: int = 0

    def over(self, iterations: int) -> Array:
        """Return the factor of each iteration."""
        at = np.arange(iterations)
        grown = np.clip((at - self.start + 1) / max(1, self.ramp), 0, 1)
        return np.where(at < self.end, 1 + (self.factor - 1) * grown, 1.0)


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a job's iterations are like; ratios are to the usual iteration of one second.

    `noise` and `wander` are coefficients of variation, `spikes` the share of long iterations. With `every`,
    each so many iterations from `every_from` on is `every_factor` times as long (evaluation, a checkpoint).
    With more than one of `workers` half of the variance is their own, the slowest one counts, and one of
    them is slowed so that the job is. `packing` is the coefficient of variation of an iteration's work.
    """

    noise: float = 0.02
    spikes: float = 0.0
    wander: float = 0.0
    every: int = 0
    every_from: int = 0
    every_factor: float = 2.0
    packing: float = 0.0
    workers: int = 1
    iterations: int = 400
    slowdowns: tuple[Slowdown, ...] = ()

    def factors(self) -> Array:
        """Return what all slowdowns together make of each iteration."""
        factors = np.ones(self.iterations)
        for slowdown in self.slowdowns:
            factors *= slowdown.over(self.iterations)
        return factors


@dataclass(frozen=True, slots=True)
class Runs:
    """Many runs of a scenario, each array [runs, iterations]: seconds, and the work of each iteration."""

    durations: Array
    tokens: Array
    squares: Array


def draw(scenario: Scenario, runs: int, seed: int) -> Runs:
    """Draw `runs` independent runs; the same seed gives the same ones."""
    rng = np.random.default_rng(seed)
    shape = (runs, scenario.iterations)
    tokens, squares = _work(rng, shape) if scenario.packing else (np.ones(shape), np.ones(shape))
    durations = _parallel(scenario, rng, shape)
    if scenario.packing:
        durations = durations * _usual(scenario, tokens, squares)
    if scenario.wander:
        durations = durations * np.exp(scenario.wander * _wander(rng, shape))
    if scenario.every:
        at = np.arange(scenario.iterations) - scenario.every_from
        durations[:, (at >= 0) & (at % scenario.every == 0)] *= scenario.every_factor
    long = rng.random(shape) < scenario.spikes
    return Runs(np.where(long, durations * rng.uniform(*SPIKE, shape), durations), tokens, squares)


def _parallel(scenario: Scenario, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return the relative time of the slowest worker, slowdowns included."""
    factors = scenario.factors()
    if scenario.workers == 1:
        return factors * np.exp(rng.normal(0, scenario.noise, shape))
    part = scenario.noise / np.sqrt(2)
    slowest, victim = np.empty(shape), np.exp(rng.normal(0, part, shape))
    for row in slowest:
        row[:] = rng.normal(0, part, (shape[1], scenario.workers - 1)).max(axis=1)
    usual = float(np.median(np.maximum(np.exp(slowest), victim)))
    # While it is slow, the victim alone decides: the job's time is then the healthy one times the factor.
    own = victim * np.where(factors > 1, factors * usual, 1.0)
    together = np.maximum(np.exp(slowest), own) / usual
    return np.asarray(together * np.exp(rng.normal(0, part, shape)))


def _wander(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Return a slowly wandering series of unit variance (Ornstein and Uhlenbeck)."""
    keep = float(np.exp(-1 / WANDER_LENGTH))
    steps = rng.normal(0, 1, shape)
    for at in range(1, shape[1]):
        steps[:, at] = keep * steps[:, at - 1] + np.sqrt(1 - keep**2) * steps[:, at]
    return steps


def _work(rng: np.random.Generator, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Return tokens, and the sum of squared lengths of the sequences that are packed into an iteration."""
    lengths = rng.lognormal(0, SPREAD, (*shape, SEQUENCES))
    lengths /= lengths.sum(axis=2, keepdims=True)
    tokens = 1 - PADDING * rng.random(shape)
    return tokens, np.asarray((lengths**2).sum(axis=2) * tokens**2)


def _usual(scenario: Scenario, tokens: Array, squares: Array) -> Array:
    """Return what an iteration takes for its work alone, as shares of fixed, linear and quadratic cost."""
    relative = squares / squares.mean()
    quadratic = min(1 - FIXED, scenario.packing / float(relative.std()))
    return np.asarray(FIXED + (1 - FIXED - quadratic) * tokens + quadratic * relative)
