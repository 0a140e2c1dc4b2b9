"""The answer to a question of paths, as clients read it.

Source: insights.md, section 9.
"""

from collections.abc import Mapping, Sequence
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
    rows: Sequence[tuple[int, int, str, int, int, Sequence[tuple[int, int, float]]]],
) -> dict[str, Any]:
    """Return the edges as `results`, and beside them what makes the numbers add up.

    Args:
        rows: The rows of `paths_statement`.
    """
    names = {hashed: name for _, hashed, name, *_ in rows}
    nodes, edges = [], []
    for step, _, name, reached, ended, incoming in rows:
        nodes.append(Node(int(step), name, int(reached), int(ended)))
        edges += [
            Edge(int(step) - 1, names[source], name, int(paths), float(ms))
            for source, paths, ms in incoming
        ]
    edges = _led_to(sorted(edges, key=_order))
    shown = {
        key for edge in edges for key in ((edge.step, edge.source), (edge.step + 1, edge.target))
    }
    kept = sorted(
        (node for node in nodes if (node.step, node.name) in shown),
        key=lambda node: (node.step, -node.reached, node.name),
    )
    return {
        "results": [_edge_body(edge) for edge in edges],
        "nodes": [
            {"name": step_key(node.step, node.name), "count": node.reached, "ended": node.ended}
            for node in kept
        ],
        "other_edges": _others(kept, edges),
    }


def shown_targets(result: Mapping[str, Any], source: str) -> list[str]:
    """Return the names of the steps that the edges of an answer lead to from this one."""
    targets = [edge["target"] for edge in result["results"] if edge["source"] == source]
    return [key.partition("_")[2] for key in targets]


def _order(edge: Edge) -> tuple[int, str, str]:
    return -edge.paths, step_key(edge.step, edge.source), edge.target


def _led_to(edges: Sequence[Edge]) -> list[Edge]:
    """Drop the edges that no edge from a first step leads to."""
    reached = {(1, edge.source) for edge in edges if edge.step == 1}
    for edge in sorted(edges, key=lambda edge: edge.step):
        if (edge.step, edge.source) in reached:
            reached.add((edge.step + 1, edge.target))
    return [edge for edge in edges if (edge.step, edge.source) in reached]


def _edge_body(edge: Edge) -> dict[str, Any]:
    return {
        "source": step_key(edge.step, edge.source),
        "target": step_key(edge.step + 1, edge.target),
        "value": edge.paths,
        "average_conversion_time": edge.ms,
    }


def _others(nodes: Sequence[Node], edges: Sequence[Edge]) -> list[dict[str, Any]]:
    """Return one edge for each step, for the paths that go on to steps that are not shown."""
    left = {
        (shown_node.step, shown_node.name): shown_node.reached - shown_node.ended
        for shown_node in nodes
    }
    for edge in edges:
        left[edge.step, edge.source] -= edge.paths
    return [
        {"source": step_key(*node), "target": step_key(node[0] + 1, OTHER), "value": paths}
        for node, paths in left.items()
        if paths
    ]
