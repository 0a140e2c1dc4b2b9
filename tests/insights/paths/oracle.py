"""Paths in plain Python, event by event, written only from the reference."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tests.support.histories import History, HistoryEvent

Steps = list[tuple[str, datetime]]


@dataclass(frozen=True)
class Rules:
    """The options of a question of paths.

    Attributes:
        name: Returns the name of an event in a path, None if it is left out.
    """

    name: Callable[[HistoryEvent], str | None]
    who: Callable[[HistoryEvent], Any]
    start: str | None = None
    end: str | None = None
    steps: int = 5
    edges: int = 50
    least: int | None = None
    most: int | None = None
    gap: timedelta = timedelta(minutes=30)


def all_paths(history: History, since: datetime, rules: Rules) -> Iterator[tuple[Any, Steps]]:
    """Yield each path: whose it is, and its steps."""
    for person in {rules.who(event) for event in history.once} - {None}:
        own = [event for event in history.once if rules.who(event) == person and event.at >= since]
        named = [(name, event.at) for event in own if (name := rules.name(event)) is not None]
        for path in _split(named, rules.gap):
            steps = _cut(_compact(path), rules)
            if steps:
                yield person, steps


def _split(named: Steps, gap: timedelta) -> Iterator[Steps]:
    path: Steps = []
    for name, at in named:
        if path and at - path[-1][1] >= gap:
            yield path
            path = []
        path.append((name, at))
    yield path


def _compact(path: Steps) -> Steps:
    result: Steps = []
    for step in path:
        if result and result[-1][0] == step[0]:
            result.pop()
        result.append(step)
    return result


def _cut(path: Steps, rules: Rules) -> Steps:
    if rules.start is not None:
        index = _find(path, rules.start, 0)
        if index is None:
            return []
        path = path[index:]
    if rules.end is not None:
        index = _find(path, rules.end, 0 if rules.start is None else 1)
        if index is None:
            return []
        path = path[: index + 1]
    if rules.end is None:
        return path[: rules.steps]
    if rules.start is None or len(path) <= rules.steps:
        return path[-rules.steps :]
    half = rules.steps // 2
    return [*path[:half], ("...", path[half][1]), *path[-half:]] if half else path[:1]


def _find(path: Steps, point: str, since: int) -> int | None:
    for index, (name, _) in enumerate(path):
        if index >= since and name.removesuffix("/") == point.removesuffix("/"):
            return index
    return None


def edges(paths: list[Steps], rules: Rules) -> list[tuple[str, str, int, float]]:
    """Return the edges as (source, target, paths, mean milliseconds)."""
    waits: dict[tuple[str, str], list[float]] = defaultdict(list)
    for path in paths:
        for number in range(1, len(path)):
            (source, at), (target, then) = path[number - 1], path[number]
            key = f"{number}_{source}", f"{number + 1}_{target}"
            waits[key].append((then - at) / timedelta(milliseconds=1))
    result = [
        (source, target, len(times), sum(times) / len(times))
        for (source, target), times in waits.items()
        if rules.least is None or len(times) >= rules.least
        if rules.most is None or len(times) <= rules.most
    ]
    largest = sorted(result, key=lambda edge: (-edge[2], edge[0], edge[1]))[: rules.edges]
    reached = {source for source, *_ in largest if source.startswith("1_")}
    while more := {t for s, t, *_ in largest if s in reached} - reached:
        reached |= more
    return [edge for edge in largest if edge[0] in reached]


def nodes(paths: list[Steps]) -> dict[str, tuple[int, int]]:
    """Return for each step how many paths reached it, and how many ended there."""
    reached = Counter(f"{n}_{name}" for path in paths for n, (name, _) in enumerate(path, 1))
    ended = Counter(f"{len(path)}_{path[-1][0]}" for path in paths)
    return {key: (count, ended[key]) for key, count in reached.items()}
