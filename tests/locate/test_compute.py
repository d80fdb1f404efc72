"""Who is slow at the same arithmetic."""

from __future__ import annotations

from evenpace.locate.compute import Worker, judge_compute


def workers(*seconds: float) -> list[Worker]:
    return [Worker(rank, {"float32": value}) for rank, value in enumerate(seconds)]


def test_slower_than_its_peers() -> None:
    verdicts = judge_compute(workers(0.03, 0.031, 0.045, 0.03), {})
    assert [one.slow for one in verdicts] == [False, False, True, False]
    assert (verdicts[2].expected, verdicts[2].ratio) == (0.03, 1.5)


def test_slower_than_in_health() -> None:
    healthy = {rank: {"float32": 0.02} for rank in range(2)}
    assert [one.slow for one in judge_compute(workers(0.03, 0.021), healthy)] == [True, False]


def test_the_lower_of_both_was_to_be_expected() -> None:
    healthy = {2: {"float32": 0.06}}  # it was slow from the start
    assert judge_compute(workers(0.03, 0.03, 0.06), healthy)[2].slow


def test_its_worst_format_counts() -> None:
    fine, bad = {"bf16": 1.0, "fp8": 0.5}, {"bf16": 1.0, "fp8": 1.0}
    verdicts = judge_compute([Worker(0, fine), Worker(1, fine), Worker(2, bad), Worker(3, {"bf16": 1.0})], {})
    assert [(one.seconds, one.slow) for one in verdicts] == [
        (1.0, False),
        (1.0, False),
        (1.0, True),
        (1.0, False),
    ]
    assert verdicts[2].expected == 0.5


def test_other_hardware_is_no_peer() -> None:
    mixed = [Worker(0, {"bf16": 1.0}, hardware="A"), Worker(1, {"bf16": 9.0}, hardware="B")]
    assert not any(one.slow for one in judge_compute(mixed, {}))


def test_wrong_values_are_passed_on_and_nothing_measured_is_no_verdict() -> None:
    measured = [Worker(0, {"bf16": 1.0}, wrong=3), Worker(1, {}), Worker(2, {"bf16": 1.0})]
    assert [(one.rank, one.wrong) for one in judge_compute(measured, {})] == [(0, 3), (2, 0)]


def test_sixteen_thousand_workers() -> None:
    measured = workers(*[1.0 + rank % 11 / 110 for rank in range(16384)])
    measured[5] = Worker(5, {"float32": 1.8})
    assert [one.rank for one in judge_compute(measured, {}) if one.slow] == [5]
