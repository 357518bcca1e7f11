"""Directed graphs whose nodes are numbers: orders of visit, back edges, dominators. Nothing here recurs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from girih.lazy_dataclass import dataclass

Edges = Sequence[Sequence[int]]
"""Of each node the nodes that its edges lead to."""


@dataclass(slots=True)
class Visit:
    """A depth-first visit: the nodes as they are first met and as they are left, and the edges to nodes being visited.

    `parent` is the node from which one was met; -1 for a root and for what was not met.
    """

    met: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    back_edges: list[tuple[int, int]] = field(default_factory=list)


def visit(edges: Edges, roots: Iterable[int]) -> Visit:
    """The depth-first visit of a graph from its roots, edges taken in their order."""
    made = Visit(parent=[-1] * len(edges))
    new, open_, closed = 0, 1, 2
    state = [new] * len(edges)
    for root in roots:
        if state[root] != new:
            continue
        state[root] = open_
        made.met.append(root)
        path = [(root, iter(edges[root]))]
        while path:
            node, rest = path[-1]
            for to in rest:
                if state[to] == new:
                    state[to] = open_
                    made.parent[to] = node
                    made.met.append(to)
                    path.append((to, iter(edges[to])))
                    break
                if state[to] == open_:
                    made.back_edges.append((node, to))
            else:
                state[node] = closed
                made.left.append(node)
                path.pop()
    return made


def reversed_edges(edges: Edges) -> list[list[int]]:
    """The edges of a graph the other way round, each pair of nodes once."""
    made: list[list[int]] = [[] for _ in edges]
    for node, targets in enumerate(edges):
        for to in dict.fromkeys(targets):
            made[to].append(node)
    return made


def all_roots(edges: Edges, order: Iterable[int]) -> list[int]:
    """Nodes from which all can be reached: those without an edge to them, then one of each circle that is left.

    Where there is a choice, the node that stands earlier in `order` is taken.
    """
    nodes = list(order)
    entered = {to for targets in edges for to in targets}
    roots = [node for node in nodes if node not in entered]
    reached = set(visit(edges, roots).met)
    for node in nodes:
        if node not in reached:
            roots.append(node)
            _reach(edges, node, reached)
    return roots


def _reach(edges: Edges, node: int, reached: set[int]) -> None:
    waiting = [node]
    while waiting:
        at = waiting.pop()
        if at not in reached:
            reached.add(at)
            waiting += edges[at]


class Dominators:
    """The dominators of a graph seen from a root: which nodes lie on every path from there to another.

    `immediate[n]` is the nearest dominator of n other than n; -1 for the root and for what cannot be reached.
    The tree is found as Lengauer and Tarjan did (1979, with path compression alone), in O(edges * log nodes).
    """

    def __init__(self, edges: Edges, root: int) -> None:
        seen = visit(edges, (root,))
        self.immediate = _immediate(reversed_edges(edges), seen, len(edges))
        self._first = [-1] * len(edges)
        self._last = [-1] * len(edges)
        self._number(seen.met)

    def _number(self, met: Sequence[int]) -> None:
        """Number the tree so that the nodes below one are a range: `_first` to `_last`."""
        size = [1] * len(self.immediate)
        for node in reversed(met[1:]):
            size[self.immediate[node]] += size[node]
        free = [0] * len(self.immediate)
        for node in met:
            above = self.immediate[node]
            first = free[above] if above >= 0 else 0
            if above >= 0:
                free[above] += size[node]
            self._first[node], self._last[node], free[node] = first, first + size[node] - 1, first + 1

    def reaches(self, node: int) -> bool:
        """Whether there is a path from the root to a node."""
        return self._first[node] >= 0

    def dominates(self, above: int, node: int) -> bool:
        """Whether all paths to a node lead over `above`. A node dominates itself; what has no path, nothing else."""
        return above == node or 0 <= self._first[above] <= self._first[node] <= self._last[above]


def _immediate(sources: Edges, seen: Visit, count: int) -> list[int]:
    """The immediate dominators, by node; inside, nodes have the numbers in which they were met."""
    number = [-1] * count
    for at, node in enumerate(seen.met):
        number[node] = at
    size = len(seen.met)
    parent = [number[seen.parent[node]] if seen.parent[node] >= 0 else -1 for node in seen.met]
    semi, forest = list(range(size)), _Forest(size)
    dominator = [0] * size
    waiting: list[list[int]] = [[] for _ in range(size)]
    for node in range(size - 1, 0, -1):
        for source in sources[seen.met[node]]:
            if number[source] >= 0:
                semi[node] = min(semi[node], semi[forest.least(number[source], semi)])
        waiting[semi[node]].append(node)
        forest.above[node] = parent[node]
        for below in waiting[parent[node]]:
            least = forest.least(below, semi)
            dominator[below] = least if semi[least] < semi[below] else parent[node]
        waiting[parent[node]].clear()
    made = [-1] * count
    for node in range(1, size):
        if dominator[node] != semi[node]:
            dominator[node] = dominator[dominator[node]]
        made[seen.met[node]] = seen.met[dominator[node]]
    return made


class _Forest:
    """Trees that grow together; `least` is the node of least semidominator on the way from one up to its root."""

    def __init__(self, size: int) -> None:
        self.above = [-1] * size
        self._best = list(range(size))

    def least(self, node: int, semi: Sequence[int]) -> int:
        above, best = self.above, self._best
        path = []
        at = node
        while above[at] >= 0 and above[above[at]] >= 0:
            path.append(at)
            at = above[at]
        for at in reversed(path):
            if semi[best[above[at]]] < semi[best[at]]:
                best[at] = best[above[at]]
            above[at] = above[above[at]]
        return best[node]
