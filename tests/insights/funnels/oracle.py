"""Funnels of a history in plain Python, one person and one try after the other.

Written only from the reference: slow, and as plain as its sentences.

Source: insights.md, sections 3 and 5.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from itertools import groupby
from math import ceil, floor
from statistics import mean, median
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta

from tests.support.histories import NOW, History, HistoryEvent

OTHER = "$$_posthog_breakdown_other_$$"
NONE = "$$_posthog_breakdown_null_$$"
Value = tuple[str, ...] | int | str | None
Who = UUID | str


@dataclass(frozen=True)
class Try:
    """One try of an actor.

    Attributes:
        events: The events with which the required steps were reached, in their order. Of equal
            steps that are reached at one moment, the first has the first event.
        done: When each optional step was done, by its number among all steps.
    """

    events: tuple[HistoryEvent, ...]
    done: Mapping[int, datetime] = field(default_factory=dict)

    @property
    def level(self) -> int:
        return len(self.events)

    def seconds(self, number: int) -> float:
        """Return the seconds to step `number`, from 0, since the step before it."""
        return (self.events[number].at - self.events[number - 1].at) / timedelta(seconds=1)


@dataclass(frozen=True)
class Oracle:
    """The answers to a question about a history.

    Attributes:
        filters: The question; everything that it says is given explicitly.
    """

    history: History
    filters: Mapping[str, Any]
    cohorts: Mapping[int, frozenset[UUID]] = field(default_factory=dict)
    shown: frozenset[Value] | None = None

    def limited(self) -> "Oracle":
        """Return the oracle that shows the values with the most persons and combines all others."""
        limit = self.get("breakdown_limit", 25)
        largest = self.largest_values()
        return self if len(largest) <= limit else replace(self, shown=frozenset(largest[:limit]))

    def largest_values(self, *, by_times: bool = False) -> list[Value]:
        """Return all values, by how many entered, or by how many converted."""
        if by_times:
            numbers = Counter(value for value, _ in self.samples())
        else:
            numbers = Counter({value: rows[0][0] for value, rows in self.step_rows().items()})
        return sorted(numbers, key=lambda value: (-numbers[value], _sorted_as(value)))

    def mapped(self, value: Value) -> Value:
        return value if self.shown is None or value in self.shown else (OTHER,)

    def get(self, name: str, default: Any) -> Any:
        value = self.filters.get(name)
        return default if value is None else value

    @cached_property
    def all_steps(self) -> Sequence[Mapping[str, Any]]:
        return [{**step, "only": self.firsts(step)} for step in self.get("events", [])]

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        """Return the required steps."""
        return [step for step in self.all_steps if not step.get("optionalInFunnel")]

    def required_before(self, number: int) -> int:
        """Return how many required steps come before a step, which is its place among them."""
        return sum(not step.get("optionalInFunnel") for step in self.all_steps[:number])

    @property
    def measured(self) -> tuple[int, int]:
        """Return the places of the first and last measured step among the required ones."""
        last = self.filters.get("funnel_to_step")
        return (
            self.required_before(self.get("funnel_from_step", 0)),
            len(self.steps) - 1 if last is None else self.required_before(last),
        )

    def firsts(self, step: Mapping[str, Any]) -> frozenset[UUID] | None:
        """Return the events that are the first of their actors, None if the others count too."""
        if step.get("math") in (None, "total", "dau"):
            return None
        wanted = dict(step)
        if step["math"] == "first_time_for_user":
            wanted = {"id": step.get("id")}
        else:
            wanted["properties"] = [*step.get("properties", []), *self.get("properties", [])]
        found: dict[Who, UUID] = {}
        for event in sorted(self.history.once, key=lambda event: (event.at, event.uuid)):
            who = self.who(event)
            if who != "" and matches(wanted, event):
                found.setdefault(who, event.uuid)
        return frozenset(found.values())

    @property
    def order(self) -> str:
        return str(self.get("funnel_order_type", "ordered"))

    @property
    def exclusions(self) -> Sequence[Mapping[str, Any]]:
        return [
            {
                **one,
                "funnel_from_step": self.required_before(one["funnel_from_step"]),
                "funnel_to_step": self.required_before(one["funnel_to_step"]),
            }
            for one in self.get("exclusions", [])
        ]

    # Events and actors.

    def in_range(self) -> list[HistoryEvent]:
        zone = ZoneInfo(self.history.zone)
        first, last = self.day("date_from", "-7d"), self.day("date_to", "-0d")
        if self.get("funnel_viz_type", "") == "trends":
            first = interval_start(first, self.get("interval", "day"))
        return [
            event
            for event in self.history.once
            if first <= event.at.astimezone(zone).date()
            and (
                event.at.astimezone(zone).date() <= last
                or event.at < self.window_end(self.end(last))
            )
            and all(holds(condition, event) for condition in self.get("properties", []))
        ]

    def day(self, name: str, default: str) -> date:
        ago = int(self.get(name, default).removeprefix("-").removesuffix("d"))
        here = NOW.astimezone(ZoneInfo(self.history.zone))
        return here.date() - timedelta(days=ago)

    def end(self, last: date) -> datetime:
        midnight = datetime.combine(last + timedelta(days=1), time(), ZoneInfo(self.history.zone))
        return midnight.astimezone(UTC)

    def of_actors(self) -> dict[Who, list[HistoryEvent]]:
        result: dict[Who, list[HistoryEvent]] = defaultdict(list)
        for event in self.in_range():
            who = self.who(event)
            if who != "":
                result[who].append(event)
        return result

    def who(self, event: HistoryEvent) -> Who:
        index = self.filters.get("aggregation_group_type_index")
        return self.history.actor(event) if index is None else text(event, f"$group_{index}")

    # Tries.

    def window_end(self, start: datetime) -> datetime:
        if self.filters.get("funnel_window_days"):
            return start + timedelta(days=self.filters["funnel_window_days"])
        number = self.get("funnel_window_interval", 14)
        unit = self.get("funnel_window_interval_unit", "day")
        return start + relativedelta(**{f"{unit}s": number})

    def tries(self, events: Sequence[HistoryEvent]) -> list[Try]:
        """Return the tries that are not excluded, in the order of time.

        Args:
            events: All events of one actor.
        """
        make = {"ordered": self.ordered, "strict": self.strict, "unordered": self.unordered}
        end = self.end(self.day("date_to", "-0d"))
        begun = (Try(tuple(attempt)) for attempt in make[self.order](events) if attempt)
        return [
            replace(attempt, done=self.done(attempt, events))
            for attempt in begun
            if attempt.events[0].at < end and not self.is_excluded(attempt, events)
        ]

    def ordered(self, events: Sequence[HistoryEvent]) -> Iterator[list[HistoryEvent]]:
        """Yield a try from each event of the first step, as far as it goes, moment by moment."""
        for start in events:
            if not matches(self.steps[0], start):
                continue
            result: list[HistoryEvent] = []
            for at, moment in groupby(events, key=lambda event: event.at):
                if start.at <= at <= self.window_end(start.at):
                    result += self.run(list(moment), len(result))
            yield result

    def run(self, moment: Sequence[HistoryEvent], first: int) -> list[HistoryEvent]:
        """Return the events of a moment that the most steps from this one on can take."""
        last = max(
            end
            for end in range(first, len(self.steps) + 1)
            if matching(self.steps[first:end], moment) == end - first
        )
        shown = []
        for number in range(first, last):
            fitting = [event for event in moment if matches(self.steps[number], event)]
            equal = [
                n
                for n in range(first, number)
                if are_equal(*map(self.steps.__getitem__, (n, number)))
            ]
            shown.append(fitting[len(equal)])
        return shown

    def strict(self, events: Sequence[HistoryEvent]) -> Iterator[list[HistoryEvent]]:
        for index, start in enumerate(events):
            result = []
            for step, event in zip(self.steps, events[index:], strict=False):
                if not matches(step, event) or event.at > self.window_end(start.at):
                    break
                result.append(event)
            if result:
                yield result

    def unordered(self, events: Sequence[HistoryEvent]) -> Iterator[list[HistoryEvent]]:
        """Yield the events of a try with which one more step can have its own event."""
        for start in events:
            if not any(matches(step, start) for step in self.steps):
                continue
            end = self.window_end(start.at)
            within = [event for event in events if start.at <= event.at <= end]
            done = [matching(self.steps, within[:number]) for number in range(len(within) + 1)]
            yield [event for number, event in enumerate(within) if done[number + 1] > done[number]]

    def done(self, attempt: Try, events: Sequence[HistoryEvent]) -> dict[int, datetime]:
        """Return when each optional step was done: by its first event before the next required one.

        An optional step that comes later, done before that event or by it, passes this one over.
        """
        first = {
            number: found[0].at
            for number in range(len(self.all_steps))
            if (found := self.between(attempt, number, events))
        }
        return {
            number: at
            for number, at in first.items()
            if not any(
                first[later] < at
                or (first[later] == at and self.can_share(number, self.all_steps[later]))
                for later in first
                if later > number and self.required_before(later) == self.required_before(number)
            )
        }

    def between(
        self, attempt: Try, number: int, events: Sequence[HistoryEvent]
    ) -> list[HistoryEvent]:
        """Return the events of an optional step between the required ones around it."""
        step, after = self.all_steps[number], self.required_before(number) - 1
        if not step.get("optionalInFunnel") or attempt.level <= after:
            return []
        start, last = attempt.events[after].at, self.window_end(attempt.events[0].at)
        end = attempt.events[after + 1].at if attempt.level > after + 1 else None
        is_apart = any(self.can_share(number, other) for other in self.steps)
        return [
            event
            for event in events
            if matches(step, event)
            and (start < event.at if is_apart else start <= event.at)
            and event.at <= last
            and (end is None or (event.at < end if is_apart else event.at <= end))
        ]

    def can_share(self, number: int, other: Mapping[str, Any]) -> bool:
        """Return whether one event may match both, whatever their conditions are."""
        names = (self.all_steps[number].get("id"), other.get("id"))
        return None in names or names[0] == names[1]

    def is_excluded(self, attempt: Try, events: Sequence[HistoryEvent]) -> bool:
        for excluded in self.exclusions:
            first, last = excluded["funnel_from_step"], excluded["funnel_to_step"]
            if attempt.level <= first:
                continue
            start = attempt.events[first].at
            reached = attempt.level > last
            end = attempt.events[last].at if reached else self.window_end(attempt.events[0].at)
            if any(matches(excluded, other) and start < other.at < end for other in events):
                return True
        return False

    # Values of the breakdown.

    def funnels(self) -> Iterator[tuple[Who, Value, list[HistoryEvent], list[Try]]]:
        """Yield each actor with each value that it may have, and its tries with this value."""
        kind = self.get("breakdown_attribution_type", "first_touch")
        for who, events in self.of_actors().items():
            if self.is_by_event and kind == "all_events":
                ordered = sorted(events, key=self.own_value)
                for same, own in groupby(ordered, key=self.own_value):
                    mine = sorted(own, key=lambda event: (event.at, event.uuid))
                    yield who, same, mine, self.tries(mine)
                continue
            tried = self.tries(events)
            for value in self.values(who, events):
                yield who, value, events, tried

    @property
    def is_by_event(self) -> bool:
        kind = self.get("breakdown_type", "event")
        return bool(self.keys) and kind == "event"

    @property
    def keys(self) -> list[Any]:
        result = self.get("breakdown", [])
        return list(result) if isinstance(result, list) else [result]

    def value(self, properties: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(text_of(properties.get(key)) for key in self.keys)

    def own_value(self, event: HistoryEvent) -> tuple[str, ...]:
        result = self.mapped(self.value(event.properties))
        assert isinstance(result, tuple)
        return result

    def values(self, who: Who, events: Sequence[HistoryEvent]) -> list[Value]:
        if not self.keys:
            return [None]
        kind = self.get("breakdown_type", "event")
        if kind == "cohort":
            return [key for key in self.keys if key == "all" or who in self.cohorts[key]]
        if kind == "person":
            held = self.history.persons.get(who, {}) if isinstance(who, UUID) else {}
            return [self.value(held)]
        own = [event for event in events if any(matches(step, event) for step in self.all_steps)]
        result = [self.value(event.properties) for event in own]
        attribution = self.get("breakdown_attribution_type", "first_touch")
        if attribution == "step":
            # In an ordered or strict funnel the value is that of the try, see `attributed`.
            return (
                list(dict.fromkeys(map(self.mapped, result))) if self.order == "unordered" else [()]
            )
        filled = [value for value in result if any(value)]
        if not filled:
            return [("",) * len(self.keys)]
        return [filled[0] if attribution == "first_touch" else filled[-1]]

    def attributed(self, value: Value, best: Sequence[Try]) -> Value | None:
        """Return the value of an actor, or that of its try; None if it is in no funnel."""
        kind = self.get("breakdown_attribution_type", "first_touch")
        if not self.keys:
            return ("",)
        if not self.is_by_event or kind != "step" or self.order == "unordered":
            return value if kind == "all_events" and self.is_by_event else self.mapped(value)
        number = self.required_before(self.filters["breakdown_attribution_value"])
        reached = best[0].level > number
        return self.own_value(best[0].events[number]) if reached else None

    # Answers.

    def people(self) -> Iterator[tuple[Who, Value, list[Try]]]:
        """Yield each actor of each funnel, with the tries that reach furthest."""
        for who, value, _, tried in self.funnels():
            best = furthest(tried)
            if best and (own := self.attributed(value, best)) is not None:
                yield who, own, best

    def step_rows(self) -> dict[Value, list[tuple[int, float | None, float | None]]]:
        """Return for each value and step the count, and the average and median of the seconds."""
        groups: dict[Value, list[list[Try]]] = defaultdict(list)
        for _, value, best in self.people():
            groups[value].append(best)
        if not self.keys and not groups:
            groups[("",)] = []
        return {value: self.row(people) for value, people in groups.items()}

    def row(self, people: Sequence[list[Try]]) -> list[tuple[int, float | None, float | None]]:
        result: list[tuple[int, float | None, float | None]] = []
        for number, step in enumerate(self.all_steps):
            if step.get("optionalInFunnel"):
                reached = [best for best in people if any(number in one.done for one in best)]
                times = [self.seconds_of_optional(best, number) for best in reached]
            else:
                place = self.required_before(number)
                reached = [best for best in people if best[0].level > place]
                times = [mean(one.seconds(place) for one in best) for best in reached if place]
            result.append(
                (len(reached), mean(times), median(times)) if times else (len(reached), None, None)
            )
        return result

    def did(self, best: Sequence[Try], number: int) -> bool:
        """Return whether an actor reached a step, which is numbered from 1."""
        if self.all_steps[number - 1].get("optionalInFunnel"):
            return any(number - 1 in one.done for one in best)
        return best[0].level > self.required_before(number - 1)

    def seconds_of_optional(self, best: Sequence[Try], number: int) -> float:
        after = self.required_before(number) - 1
        return mean(
            (one.done[number] - one.events[after].at) / timedelta(seconds=1)
            for one in best
            if number in one.done
        )

    def trend_rows(self) -> dict[Value, dict[str, float]]:
        """Return for each value the percentages by interval, which is named by its first day."""
        counted: dict[Value, dict[str, list[int]]] = defaultdict(
            lambda: defaultdict(lambda: [0, 0])
        )
        for _, day, value, best in self.entrances():
            first, last = self.measured
            counted[value][day][0] += best.level > first
            counted[value][day][1] += best.level > last
        return {
            value: {
                day: round(100 * reached / entered, 2) if entered else 0
                for day, (entered, reached) in days.items()
            }
            for value, days in counted.items()
        }

    def entrances(self) -> Iterator[tuple[Who, str, Value, Try]]:
        """Yield each actor with each interval in which a try began, and the best of these tries."""
        zone = ZoneInfo(self.history.zone)
        for who, value, _, tried in self.funnels():
            by_day: dict[str, list[Try]] = defaultdict(list)
            for attempt in tried:
                day = attempt.events[0].at.astimezone(zone).date()
                by_day[f"{interval_start(day, self.get('interval', 'day'))}"].append(attempt)
            for name, some in by_day.items():
                best = furthest(some)
                if (own := self.attributed(value, best)) is not None:
                    yield who, name, own, best[0]

    def times(self) -> dict[str, Any]:
        samples = [sample for _, sample in self.samples()]
        return histogram(samples, samples, self.filters.get("bin_count"))

    def times_by_value(self, shared: Sequence[float]) -> dict[Value, dict[str, Any]]:
        """Return the distribution of each value, in bins for all of `shared`."""
        by_value: dict[Value, list[float]] = defaultdict(list)
        for value, sample in self.samples():
            by_value[value].append(sample)
        return {
            value: histogram(samples, shared, self.filters.get("bin_count"))
            for value, samples in by_value.items()
        }

    def samples(self) -> Iterator[tuple[Value, float]]:
        """Yield the value and the seconds of each who converted."""
        first, last = self.measured
        for _, value, best in self.people():
            if best[0].level > last:
                seconds = (sum(one.seconds(n) for n in range(first + 1, last + 1)) for one in best)
                yield value, mean(seconds)


def _sorted_as(value: Value) -> str:
    """Return a value as the statement sorts it, which is JSON text for several properties."""
    assert isinstance(value, tuple)
    return value[0] or NONE


def histogram(
    samples: Sequence[float], shared: Sequence[float], expected: int | None
) -> dict[str, Any]:
    """Return the distribution of samples, in bins for all of `shared`."""
    if not samples:
        return {"bins": [], "average_conversion_time": None}
    number = (
        min(max(expected, 1), 90) if expected else min(max(ceil(cube_root(len(shared))), 1), 60)
    )
    start = floor(min(shared))
    width = ceil((ceil(max(shared)) - start) / number) or 60
    bins = [[start + n * width, 0] for n in range(number + 1)]
    for sample in samples:
        bins[int((sample - start) // width)][1] += 1
    return {"bins": bins, "average_conversion_time": mean(samples)}


def cube_root(number: int) -> float:
    return next((float(n) for n in range(100) if n**3 == number), number ** (1 / 3))


def furthest(tried: Sequence[Try]) -> list[Try]:
    most = max((attempt.level for attempt in tried), default=0)
    return [attempt for attempt in tried if attempt.level == most]


def interval_start(day: date, interval: str) -> date:
    if interval == "week":
        return day - timedelta(days=(day.weekday() + 1) % 7)
    return day.replace(day=1) if interval == "month" else day


def matching(steps: Sequence[Mapping[str, Any]], events: Sequence[HistoryEvent]) -> int:
    """Return how many of the steps can have an event each, found by augmenting paths."""
    taken: dict[UUID, int] = {}

    def assign(step: int, tried: set[UUID]) -> bool:
        for event in events:
            if event.uuid in tried or not matches(steps[step], event):
                continue
            tried.add(event.uuid)
            if event.uuid not in taken or assign(taken[event.uuid], tried):
                taken[event.uuid] = step
                return True
        return False

    return sum(assign(step, set()) for step in range(len(steps)))


def matches(entity: Mapping[str, Any], event: HistoryEvent) -> bool:
    only = entity.get("only")
    named = entity.get("id") in (None, event.event) and (only is None or event.uuid in only)
    return bool(named) and all(
        holds(condition, event) for condition in entity.get("properties", [])
    )


def holds(condition: Mapping[str, Any], event: HistoryEvent) -> bool:
    return bool(text(event, condition["key"]) == condition["value"])


def text(event: HistoryEvent, key: str) -> str:
    return text_of(event.properties.get(key))


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def is_wider(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether a step is equal to the other step or contains it."""
    if one.get("only") is not None and one["only"] != other.get("only"):
        return False
    named = one.get("id") in (None, other.get("id"))
    return bool(named) and all(
        part in other.get("properties", []) for part in one.get("properties", [])
    )


def are_equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return is_wider(one, other) and is_wider(other, one)
