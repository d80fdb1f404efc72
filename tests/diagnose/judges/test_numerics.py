from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenpace.diagnose.formats.iterations import series_of
from evenpace.diagnose.judges.numerics import judge
from evenpace.diagnose.model import Case, Line, Source


def case(texts):
    lines = [Line("train.log", number, text) for number, text in enumerate(texts, start=1)]
    return Case((Source("train.log"),), tuple(lines), series_of(lines))


def seen(texts):
    return [sighting.signature for sighting in judge(case(texts))]


def printed(losses, norms=None, first=100):
    norms = np.ones(len(losses)) if norms is None else norms
    return [
        f"step {first + n} loss {loss:.4f} grad_norm {norm:.3f}"
        for n, (loss, norm) in enumerate(zip(losses, norms, strict=True))
    ]


def falling(count, seed=1, noise=0.02, start=8.0):
    falls = 2.3 + (start - 2.3) * np.exp(-np.arange(count) / (count / 8))
    return falls * (1 + np.random.default_rng(seed).normal(0, noise, count))


@pytest.mark.parametrize("count", [2, 8, 40, 400])
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.2])
def test_a_loss_that_falls_is_healthy(count, noise):
    for seed in range(10):
        assert seen(printed(falling(count, seed, noise))) == []


def test_a_spike_that_recovered():
    losses, norms = falling(80, start=2.4), np.full(80, 0.5)
    losses[50:55] = [3.0, 6.0, 4.5, 3.5, 2.9]
    norms[49:53] = [9, 200, 90, 30]
    (found,) = judge(case(printed(losses, norms)))
    assert found.signature == "loss-spike-recovered"
    assert found.captures["step"] == "151"
    assert not found.culprit
    assert "loss 6.0000" in found.lines[0].text
    assert len(found.lines) <= 8


def test_a_spike_is_not_what_ended_a_run_that_failed():
    losses = falling(80, start=2.4)
    losses[50:55] = [3.0, 6.0, 4.5, 3.5, 2.9]
    (found,) = judge(case([*printed(losses), "RuntimeError: NCCL error: unhandled system error"]))
    assert found.certainty is not None
    assert found.certainty < 0.5


def test_a_spike_whose_end_is_not_in_the_log():
    losses = falling(50, start=2.4)
    losses[-3:] = [4.0, 7.0, 6.5]
    assert seen(printed(losses)) == ["loss-spike-open"]


def test_divergence_at_once_and_slowly():
    losses = falling(80, start=2.4)
    losses[50:] = 6.0 + 0.1 * np.random.default_rng(2).random(30)
    assert seen(printed(losses)) == ["loss-diverged"]
    losses = falling(300)
    losses[200:] *= np.linspace(1, 2, 100)
    assert seen(printed(losses)) == ["loss-diverged"]


def test_single_noisy_losses_are_no_spike():
    losses = falling(200, noise=0.02, start=2.5)
    losses[[30, 90, 150]] *= 1.6
    assert seen(printed(losses)) == []
    rewards = np.random.default_rng(3).normal(0, 0.3, 200)
    assert seen(printed(rewards)) == []


def test_a_restart_begins_anew():
    losses = falling(60, start=2.6)
    assert seen([*printed(losses), *printed(losses[::-1] * 0 + falling(60, 5, start=2.6), first=100)]) == []


def test_nan():
    losses = falling(30)
    losses[20:] = np.nan
    (found,) = judge(case(printed(losses)))
    assert found.signature == "loss-nan"
    assert found.captures == {"step": "120", "value": "nan"}
    assert found.certainty is None
    losses[21:] = 2.4
    assert next(iter(judge(case(printed(losses))))).certainty == 0.6


def test_a_gradient_that_is_nan_for_good():
    norms = np.ones(20)
    norms[-4:] = np.nan
    assert seen(printed(falling(20), norms)) == ["grad-norm-nan"]
    trainer = ["{'loss': 0.0, 'grad_norm': nan, 'epoch': 0.4}"] * 5
    assert seen(["{'loss': 2.0, 'grad_norm': 1.5, 'epoch': 0.1}", *trainer]) == ["grad-norm-nan"]


def test_a_gradient_that_is_inf_while_the_scale_is_found_is_healthy():
    norms = np.ones(40)
    norms[:4] = np.inf
    assert seen(printed(falling(40), norms, first=1)) == []


def overflow(scale, to):
    return f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {scale}, reducing to {to}"


def chain(first, count):
    return [overflow(first // 2**n, first // 2 ** (n + 1)) for n in range(count)]


def test_the_start_of_fp16_training_is_healthy():
    assert seen([*chain(2**32, 16), *printed(falling(50), first=17)]) == []


def test_an_overflow_now_and_then_is_healthy():
    losses = printed(falling(200, start=2.4), first=1000)
    texts = [text for n in range(10) for text in (overflow(65536, 32768), *losses[20 * n : 20 * n + 20])]
    assert seen(texts) == []


def test_a_chain_of_overflows_later_on():
    before = printed(falling(50, start=2.4), first=1000)
    after = printed(falling(20, start=2.4), first=1050)
    assert seen([*before, *chain(2**20, 8), *after]) == ["fp16-overflow-chain"]
    raised = printed(np.full(20, 4.4), first=1050)
    (found,) = judge(case([*before, *chain(2**20, 8), *raised]))
    assert found.signature == "fp16-overflow-diverged"
    assert not found.culprit
    assert found.captures == {"from": "524288", "to": "4096"}
    assert overflow(2**13, 2**12) in [line.text for line in found.lines]


def test_a_gradient_norm_that_explodes_before_the_loss():
    norms = np.where(np.arange(60) < 40, 1.0, 300.0)
    assert seen(printed(falling(60, start=2.4), norms)) == ["grad-norm-explosion"]


def nan_of(rank):
    return (
        f"AssertionError: Rank {rank}: found NaN in local forward loss calculation. Device: 0, node: n{rank}"
    )


def test_nan_on_many_ranks_is_nobodys():
    (found,) = judge(case([nan_of(4), nan_of(4), nan_of(19)]))
    assert found.signature == "nan-on-many-ranks"
    assert not found.culprit
    assert (found.captures["count"], found.captures["many"]) == ("2", "4, 19")
    assert seen([nan_of(4), nan_of(4)]) == []


FIELD = st.sampled_from(["nan", "inf", "0.0", "-1", "2.5", "1e30", "2.4", "9.9", "-inf"])


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 300), FIELD, FIELD, FIELD), max_size=90))
def test_any_series_are_taken(rows):
    texts = [f"step {step} loss {one} grad_norm {two} loss_scale {three}" for step, one, two, three in rows]
    for found in judge(case(texts)):
        assert 0 < len(found.lines) <= 8
        assert not found.culprit
