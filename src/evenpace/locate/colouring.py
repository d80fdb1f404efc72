"""Edge colouring: edges that share a vertex get different colours, with as few colours as can be had fast.

A graph of largest degree D needs D colours at least. Each connected component is coloured by itself: a forest
and an even cycle with D colours, greedily; any other bipartite component with D (König 1916, alternating
paths); the rest with at most D + 1 (Vizing 1964, by Misra and Gries, IPL 41, 1992). Seen as messages: the
colour is the pass in which an edge has its turn, and nobody takes part in two at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

Pair = tuple[int, int]
_Adjacency = dict[int, list[int]]


def colour(edges: Iterable[Pair]) -> dict[Pair, int]:
    """Return a colour from 0 on for each undirected edge, keyed (smaller, larger).

    Doubles are one edge; an edge from a vertex to itself has none. Near linear for forests and cycles.
    """
    pairs = sorted({(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]})
    around: _Adjacency = {}
    for first, second in pairs:
        around.setdefault(first, []).append(second)
        around.setdefault(second, []).append(first)
    board = _Board(around)
    for component in _components(around):
        _colour_component(board, component)
    return {pair: board.colours[pair] for pair in pairs}


def _components(around: _Adjacency) -> list[list[int]]:
    """Return the vertices of each component, each reached from one before it."""
    seen: set[int] = set()
    components = []
    for start in around:
        if start in seen:
            continue
        seen.add(start)
        order = [start]
        for vertex in order:  # grows while it is walked
            fresh = [other for other in around[vertex] if other not in seen]
            seen.update(fresh)
            order += fresh
        components.append(order)
    return components


def _colour_component(board: _Board, order: Sequence[int]) -> None:
    around = board.around
    degrees = [len(around[vertex]) for vertex in order]
    if sum(degrees) == 2 * (len(order) - 1):
        _colour_tree(board, order)
    elif max(degrees) == 2:
        _colour_cycle(board, order[0])
    elif _bipartite(around, order):
        _each_edge(board, order, _join_bipartite, max(degrees))
    else:
        _each_edge(board, order, _join_any, max(degrees) + 1)


class _Board:
    """The colours so far: by edge, and by vertex and colour the vertex at the other end."""

    def __init__(self, around: _Adjacency) -> None:
        self.around = around
        self.at: dict[int, dict[int, int]] = {vertex: {} for vertex in around}
        self.colours: dict[Pair, int] = {}

    def put(self, first: int, second: int, colour: int) -> None:
        self.at[first][colour] = second
        self.at[second][colour] = first
        self.colours[min(first, second), max(first, second)] = colour

    def take(self, first: int, second: int) -> int:
        """Take an edge's colour away and return it."""
        colour = self.colours.pop((min(first, second), max(first, second)))
        del self.at[first][colour], self.at[second][colour]
        return colour

    def of(self, first: int, second: int) -> int:
        return self.colours[min(first, second), max(first, second)]

    def free(self, vertex: int, most: int) -> int:
        """Return the first of `most` colours that no edge of the vertex has."""
        taken = self.at[vertex]
        return next(colour for colour in range(most) if colour not in taken)

    def flip(self, start: int, first: int, second: int) -> None:
        """Exchange two colours along the path of them that begins at `start` with `first`."""
        path, colour = [start], first
        while (other := self.at[path[-1]].get(colour)) is not None:
            path.append(other)
            colour = second if colour == first else first
        edges = list(pairwise(path))
        before = [self.take(*edge) for edge in edges]
        for edge, old in zip(edges, before, strict=True):
            self.put(*edge, second if old == first else first)


def _colour_tree(board: _Board, order: Sequence[int]) -> None:
    """Colour from the root on: when a vertex's turn comes, at most the edge to its parent has a colour."""
    for vertex in order:
        taken = set(board.at[vertex])
        colours = (one for one in range(len(board.around[vertex]) + 1) if one not in taken)
        parents = set(board.at[vertex].values())
        for child in board.around[vertex]:
            if child not in parents:
                board.put(vertex, child, next(colours))


def _colour_cycle(board: _Board, start: int) -> None:
    walk, before, vertex = [start], start, board.around[start][0]
    while vertex != start:
        walk.append(vertex)
        first, second = board.around[vertex]
        before, vertex = vertex, second if first == before else first
    for place, vertex in enumerate(walk):
        last = place == len(walk) - 1 and len(walk) % 2 == 1
        board.put(vertex, walk[(place + 1) % len(walk)], 2 if last else place % 2)


def _bipartite(around: _Adjacency, order: Sequence[int]) -> bool:
    side = {order[0]: 0}
    queue = deque([order[0]])
    while queue:
        vertex = queue.popleft()
        for other in around[vertex]:
            if other not in side:
                side[other] = 1 - side[vertex]
                queue.append(other)
            elif side[other] == side[vertex]:
                return False
    return True


def _each_edge(
    board: _Board, order: Sequence[int], join: Callable[[_Board, int, int, int], None], most: int
) -> None:
    for vertex in order:
        for other in board.around[vertex]:
            if vertex < other:
                join(board, vertex, other, most)


def _join_bipartite(board: _Board, first: int, second: int, most: int) -> None:
    """Colour one edge; a path of two colours from one end never leads to the other one."""
    here, there = board.free(first, most), board.free(second, most)
    if here in board.at[second]:
        common = next((one for one in range(most) if one not in board.at[first] | board.at[second]), None)
        if common is None:
            board.flip(second, here, there)
        else:
            here = common
    board.put(first, second, here)


def _join_any(board: _Board, first: int, second: int, most: int) -> None:
    """Colour one edge by a fan around `first` (Misra and Gries)."""
    common = next((one for one in range(most) if one not in board.at[first] | board.at[second]), None)
    if common is not None:
        board.put(first, second, common)
        return
    fan = _fan(board, first, second, most)
    here, there = board.free(first, most), board.free(fan[-1], most)
    board.flip(first, there, here)
    end = next(place for place in range(len(fan)) if _ends(board, first, fan[: place + 1], there))
    for left, right in pairwise(fan[: end + 1]):
        board.put(first, left, board.take(first, right))
    board.put(first, fan[end], there)


def _fan(board: _Board, centre: int, start: int, most: int) -> list[int]:
    """Return a longest row of neighbours: the colour of each edge is free at the neighbour before."""
    fan, left = [start], dict(board.at[centre])
    while True:
        last = board.at[fan[-1]]
        colour = next((one for one in left if one < most and one not in last), None)
        if colour is None:
            return fan
        fan.append(left.pop(colour))


def _ends(board: _Board, centre: int, fan: Sequence[int], colour: int) -> bool:
    """Tell whether the row is still a fan after the flip, and `colour` is free at its end."""
    pairs = pairwise(fan)
    whole = all(board.of(centre, right) not in board.at[left] for left, right in pairs)
    return whole and colour not in board.at[fan[-1]]
