"""Who stands out among those that do the same work: workers of a stage, links of a direction."""

from __future__ import annotations

import numpy as np

from evenpace.detect.peers import RATIO_OF_TWO
from evenpace.simulate.traces.model import Floats
from evenpace.simulate.whatif.graph import Graph
from evenpace.simulate.whatif.grid import Grid
from evenpace.simulate.whatif.ideal import own_times
from evenpace.simulate.whatif.kinds import SEND_BACKWARD, SEND_FORWARD

RATIO = 1.1  # of own time to the peers' median
LINK_RATIO = 1.5  # of a link's transfers to those of its peers: they vary more
PERSISTENT = 0.8  # share of steps in which half of that is seen
MINORITY = 1 / 3  # of the peers: where more stand out, nobody does
CAUTION = 2.0  # standard errors that a ratio must be above the limit

Place = tuple[int, int]  # indices of replica and stage


def slow_workers(grid: Grid, cost: Floats) -> dict[Place, float]:
    """Return the workers that compute longer than other replicas' at their stage, with the ratio."""
    own = own_times(grid, cost)
    found: dict[Place, float] = {}
    for stage in range(own.shape[1]):
        for replica, ratio in _outliers(own[:, stage], RATIO).items():
            found[replica, stage] = ratio
    return found


def slow_replicas(workers: dict[Place, float], stages: int) -> set[int]:
    """Return the replicas all of whose stages are slow: more likely their work than their machines."""
    if stages < 2:
        return set()
    counts: dict[int, int] = {}
    for replica, _ in workers:
        counts[replica] = counts.get(replica, 0) + 1
    return {replica for replica, count in counts.items() if count == stages}


def slow_links(grid: Grid, graph: Graph, cost: Floats) -> dict[tuple[Place, Place], float]:
    """Return the links between stages whose transfers take longer than their peers', with the ratio."""
    found: dict[tuple[Place, Place], float] = {}
    for kind in (SEND_FORWARD, SEND_BACKWARD):
        ends, times = _link_times(grid, graph, cost, kind)
        if not ends:
            continue
        replicas = times.shape[1]
        for place, ratio in _outliers(times.reshape(-1, times.shape[2]), LINK_RATIO).items():
            (source, target), replica = ends[place // replicas], place % replicas
            found[(replica, source), (replica, target)] = ratio
    return found


def _link_times(grid: Grid, graph: Graph, cost: Floats, kind: str) -> tuple[list[tuple[int, int]], Floats]:
    """Return pairs of stages, and their median transfer a step, shape [pairs, replicas, steps]."""
    by_ends: dict[tuple[int, int], list[int]] = {}
    for meeting in graph:
        first = meeting.members[0]
        if len(meeting.members) == 2 and grid.operations[first].type == kind:
            ends = (grid.operations[first].stage, grid.operations[meeting.members[1]].stage)
            by_ends.setdefault(ends, []).append(first)
    if not by_ends:
        return [], np.empty((0, 0, 0))
    return list(by_ends), np.stack([np.median(cost[rows], axis=0) for rows in by_ends.values()])


def _outliers(times: Floats, limit: float) -> dict[int, float]:
    """Return the rows above their peers' median in nearly all columns, with the median ratio."""
    if len(times) < 2:
        return {}
    needed = limit if len(times) > 2 else max(limit, RATIO_OF_TWO)
    found: dict[int, float] = {}
    for row in range(len(times)):
        usual = np.median(np.delete(times, row, axis=0), axis=0)
        ratios = times[row] / np.maximum(usual, 1e-9)
        ratio = float(np.median(ratios))
        error = 1.2533 * 1.4826 * float(np.median(np.abs(ratios - ratio))) / np.sqrt(len(ratios))
        if ratio - CAUTION * error > needed and np.mean(ratios > (1 + needed) / 2) >= PERSISTENT:
            found[row] = ratio
    return found if len(found) <= max(1, MINORITY * len(times)) else {}
