from __future__ import annotations

import numpy as np
import pytest

from evenpace.simulate.pace import Scenario, Slowdown, draw


def variation(values):
    return float(values.std() / values.mean())


def test_the_same_seed_gives_the_same_runs():
    scenario = Scenario(spikes=0.01, packing=0.1, workers=4)
    assert (draw(scenario, 3, 7).durations == draw(scenario, 3, 7).durations).all()
    assert (draw(scenario, 3, 7).durations != draw(scenario, 3, 8).durations).any()


@pytest.mark.parametrize("noise", [0.01, 0.02, 0.05])
def test_noise_is_as_asked_for(noise):
    assert variation(draw(Scenario(noise), 20, 1).durations) == pytest.approx(noise, rel=0.05)


def test_spikes_are_as_many_as_asked_for():
    durations = draw(Scenario(0.01, spikes=0.03), 50, 1).durations
    assert np.mean(durations > 1.25) == pytest.approx(0.03, abs=0.005)


@pytest.mark.parametrize("workers", [1, 2, 8, 64])
def test_a_step_is_of_the_jobs_iteration_time(workers):
    scenario = Scenario(0.02, workers=workers, slowdowns=(Slowdown(200, 320, 1.3),))
    durations = draw(scenario, 20, 2).durations
    healthy, slow = durations[:, :200], durations[:, 200:320]
    assert np.median(healthy) == pytest.approx(1, rel=0.02)
    assert np.median(slow) / np.median(healthy) == pytest.approx(1.3, rel=0.02)
    assert np.median(durations[:, 320:]) == pytest.approx(1, rel=0.02)


def test_a_ramp_grows_evenly_and_slowdowns_multiply():
    factors = Scenario(slowdowns=(Slowdown(10, 50, 1.5, ramp=10), Slowdown(30, 40, 2.0))).factors()
    assert factors[9] == 1
    assert factors[14] == pytest.approx(1.25)
    assert factors[25] == pytest.approx(1.5)
    assert factors[35] == pytest.approx(3.0)
    assert factors[50] == 1


def test_packing_varies_the_work_and_the_work_explains_it():
    runs = draw(Scenario(0.0, packing=0.2), 4, 3)
    assert variation(runs.durations) == pytest.approx(0.2, rel=0.1)
    columns = np.column_stack([np.ones(runs.tokens.size), runs.tokens.ravel(), runs.squares.ravel()])
    fitted = columns @ np.linalg.lstsq(columns, runs.durations.ravel(), rcond=None)[0]
    assert np.allclose(fitted, runs.durations.ravel())


def test_recurring_iterations_begin_where_asked():
    durations = draw(Scenario(0.0, every=5, every_from=100, every_factor=2.0), 1, 0).durations[0]
    assert (np.flatnonzero(durations > 1.5) == np.arange(100, 400, 5)).all()


def test_wander_is_slow():
    durations = np.log(draw(Scenario(0.0, wander=0.03), 50, 4).durations)
    assert durations[:, 100:].std() == pytest.approx(0.03, rel=0.15)
    assert np.diff(durations, axis=1).std() < 0.015
