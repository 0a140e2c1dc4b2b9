"""The answer to a question of paths, as clients read it.

Source: insights.md, section 9.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

# The name of all steps that no edge of the answer leads to.
OTHER: Final = "…other"


@dataclass(frozen=True, slots=True)
class Edge:
    """A step and the next one.

    Attributes:
        step: The number of the source.
        ms: The mean time between both.
    """

    step: int
    source: str
    target: str
    paths: int
    ms: float


@dataclass(frozen=True, slots=True)
class Node:
    """A step.

    Attributes:
        reached: The number of paths that have it.
        ended: The number of paths whose last step it is.
    """

    step: int
    name: str
    reached: int
    ended: int


def step_key(step: int, name: str) -> str:
    return f"{step}_{name}"


def paths_result(
    rows: Iterable[tuple[int, str, int, int, Sequence[tuple[str, int, float]]]],
) -> dict[str, Any]:
    """Return the edges as `results`, and beside them what makes the numbers add up.

    Args:
        rows: The rows of `paths_statement`.
    """
    nodes, edges = [], []
    for step, name, reached, ended, incoming in rows:
        nodes.append(Node(int(step), name, int(reached), int(ended)))
        edges += [Edge(int(step) - 1, one, name, int(n), float(ms)) for one, n, ms in incoming]
    edges = _led_to(sorted(edges, key=_order))
    shown = {key for one in edges for key in ((one.step, one.source), (one.step + 1, one.target))}
    kept = sorted(
        (one for one in nodes if (one.step, one.name) in shown),
        key=lambda one: (one.step, -one.reached, one.name),
    )
    return {
        "results": [_edge_body(one) for one in edges],
        "nodes": [
            {"name": step_key(one.step, one.name), "count": one.reached, "ended": one.ended}
            for one in kept
        ],
        "other_edges": _others(kept, edges),
    }


def shown_targets(result: Mapping[str, Any], source: str) -> list[str]:
    """Return the names of the steps that the edges of an answer lead to from this one."""
    found = [one["target"] for one in result["results"] if one["source"] == source]
    return [key.partition("_")[2] for key in found]


def _order(edge: Edge) -> tuple[int, str, str]:
    return -edge.paths, step_key(edge.step, edge.source), edge.target


def _led_to(edges: Sequence[Edge]) -> list[Edge]:
    """Drop the edges that no edge from a first step leads to."""
    reached = {(1, one.source) for one in edges if one.step == 1}
    for one in sorted(edges, key=lambda one: one.step):
        if (one.step, one.source) in reached:
            reached.add((one.step + 1, one.target))
    return [one for one in edges if (one.step, one.source) in reached]


def _edge_body(edge: Edge) -> dict[str, Any]:
    return {
        "source": step_key(edge.step, edge.source),
        "target": step_key(edge.step + 1, edge.target),
        "value": edge.paths,
        "average_conversion_time": edge.ms,
    }


def _others(nodes: Sequence[Node], edges: Sequence[Edge]) -> list[dict[str, Any]]:
    """Return one edge for each step, for the paths that go on to steps that are not shown."""
    left = {(one.step, one.name): one.reached - one.ended for one in nodes}
    for edge in edges:
        left[edge.step, edge.source] -= edge.paths
    return [
        {"source": step_key(*node), "target": step_key(node[0] + 1, OTHER), "value": paths}
        for node, paths in left.items()
        if paths
    ]
