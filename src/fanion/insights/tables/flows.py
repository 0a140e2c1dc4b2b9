"""Tables of answers about how persons go on: funnels, retention and paths."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from fanion.insights.tables.model import AnswerTable, make_table

Entry = Mapping[str, Any]
# What tells apart the funnels or lines of one answer, by the names of its fields.
_PARTS: Final = ("breakdown", "compare_label")
_STEP: Final = (
    *("step", "name", "count", "of_previous_percent", "of_first_percent", "dropped_off"),
    *("average_conversion_time", "median_conversion_time"),
)
_CONVERSIONS: Final = ("entered", "converted", "not_converted", "converted_percent")


def funnels_table(results: Any, optional: Collection[int] = ()) -> AnswerTable:
    """Return a row for each step, range of times to convert, or interval.

    Args:
        optional: The places of optional steps, to which no other step is compared.
    """
    if isinstance(results, Mapping):
        return _times([results])
    if any("bins" in entry for entry in results if isinstance(entry, Mapping)):
        return _times(results)
    if any("entered" in entry for entry in results if isinstance(entry, Mapping)):
        return _conversions(results)
    are_lists = any(isinstance(entry, list) for entry in results)
    funnels = results if are_lists else _by_range(results)
    return _steps([steps for steps in funnels if steps], optional)


def _by_range(steps: Sequence[Entry]) -> Sequence[Sequence[Entry]]:
    """Return the steps of each range of a comparison."""
    previous = [step for step in steps if step.get("compare_label") == "previous"]
    return [steps[: len(steps) - len(previous)], previous]


def _steps(funnels: Sequence[Sequence[Entry]], optional: Collection[int]) -> AnswerTable:
    parts = _parts([funnel[0] for funnel in funnels])
    rows = [
        [*_part_values(step, parts), *_step(funnel, place, optional)]
        for funnel in funnels
        for place, step in enumerate(funnel)
    ]
    return make_table([*parts, *_STEP], rows)


def _step(funnel: Sequence[Entry], place: int, optional: Collection[int]) -> Sequence[Any]:
    step, is_first = funnel[place], place == 0
    required = [own["count"] for at, own in enumerate(funnel[:place]) if at not in optional]
    before = required[-1] if required else step["count"]
    return (
        place + 1,
        step.get("custom_name") or step["name"],
        step["count"],
        None if is_first else _percent(step["count"], before),
        _percent(step["count"], funnel[0]["count"]),
        None if is_first else before - step["count"],
        step["average_conversion_time"],
        step["median_conversion_time"],
    )


def _times(entries: Sequence[Entry]) -> AnswerTable:
    parts = _parts(entries)
    rows = [
        [*_part_values(entry, parts), *row] for entry in entries for row in _ranges(entry["bins"])
    ]
    return make_table([*parts, "from_seconds", "to_seconds", "count"], rows)


def _ranges(bins: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    width = bins[1][0] - bins[0][0] if len(bins) > 1 else 0
    return [(start, start + width, count) for start, count in bins]


def _conversions(lines: Sequence[Entry]) -> AnswerTable:
    parts = _parts(lines)
    rows = [
        [day, *_part_values(line, parts), *_conversion(line, place)]
        for line in lines
        for place, day in enumerate(line["days"])
    ]
    return make_table(["time", *parts, *_CONVERSIONS], rows)


def _conversion(line: Entry, place: int) -> Sequence[Any]:
    entered, converted = line["entered"][place], line["converted"][place]
    return entered, converted, entered - converted, _percent(converted, entered)


def retention_table(results: Sequence[Entry]) -> AnswerTable:
    """Return a row for each group of persons that began together; what is not known is empty."""
    parts = _parts(results)
    longest = max((row["values"] for row in results), key=len, default=())
    names = [
        value.get("label") or f"{results[0]['label'].rpartition(' ')[0]} {place}"
        for place, value in enumerate(longest)
    ]
    rows = [
        [
            *_part_values(row, parts),
            row["date"],
            *map(_value, row["values"]),
            *[None] * (len(longest) - len(row["values"])),
        ]
        for row in results
    ]
    return make_table([*parts, "date", *names], rows)


def _value(value: Entry) -> Any:
    total = value.get("aggregation_value")
    return value["count"] if total is None else total


def paths_table(answer: Entry) -> AnswerTable:
    """Return a row for each pair of steps, and one for each step with which paths end.

    Pairs whose second step is none of those shown have no name and no time of it.
    """
    links: list[tuple[Any, ...]] = [
        (*_link(edge), edge["value"], edge["average_conversion_time"] / 1000)
        for edge in answer["results"]
    ]
    links += [(*_link(edge), edge["value"], None) for edge in answer.get("other_edges", ())]
    for node in answer.get("nodes", ()):
        step, name = _step_of(node["name"])
        if node["ended"]:
            links.append((step, name, None, node["ended"], None))
    links.sort(key=lambda link: (link[0], -link[3]))
    names = ("step", "source", "target", "count", "average_conversion_time")
    return make_table(names, links)


def _link(edge: Entry) -> tuple[int, str, str]:
    step, source = _step_of(edge["source"])
    return step, source, _step_of(edge["target"])[1]


def _step_of(key: str) -> tuple[int, str]:
    step, _, name = key.partition("_")
    return int(step), name


def _parts(entries: Sequence[Entry]) -> Sequence[str]:
    return [name for name in _PARTS if any(name in entry for entry in entries)]


def _part_values(entry: Entry, parts: Sequence[str]) -> list[Any]:
    return [_shown(entry.get(name)) for name in parts]


def _shown(value: Any) -> Any:
    """Return a value of a breakdown; a list of one is that one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _percent(part: float, whole: float) -> float | None:
    return round(100 * part / whole, 2) if whole else None
