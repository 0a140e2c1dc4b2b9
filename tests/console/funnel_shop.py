"""A shop whose visitors go through the steps of a funnel, and how far each one gets."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from tests.console.project import Json

STEPS = ("seen", "tried", "paid")
NOW = datetime.now(UTC).replace(microsecond=0)
# Two hours ago. It may be yesterday, but no number depends on that.
BEGAN = NOW - timedelta(hours=2)


@dataclass(frozen=True)
class Journey:
    """The events of a person, each with its minutes after the first."""

    country: str
    plan: str
    events: tuple[tuple[str, int], ...]


JOURNEYS = {
    "ann": Journey("DE", "pro", (("seen", 0), ("tried", 2), ("paid", 12))),
    "bob": Journey("DE", "free", (("seen", 0), ("tried", 6), ("helped", 7))),
    "cem": Journey("DE", "free", (("seen", 0),)),
    "dora": Journey("FR", "pro", (("seen", 0), ("tried", 10), ("helped", 11), ("paid", 40))),
    "eve": Journey("FR", "pro", (("tried", 0), ("seen", 1))),
    "fay": Journey("FR", "free", (("seen", 0), ("tried", 4))),
}


def reached(journey: Journey) -> int:
    """Return how many steps a person completed in order; each event occurs once."""
    count, at = 0, -1
    for step in STEPS:
        found = [minute for name, minute in journey.events if name == step and minute > at]
        if not found:
            return count
        count, at = count + 1, min(found)
    return count


def at_level(step: int, level: Callable[[Journey], int] = reached) -> set[str]:
    return {name for name, journey in JOURNEYS.items() if level(journey) >= step}


def reaching(step: int, country: str | None = None) -> set[str]:
    """Return the persons who reached a one-based step."""
    return {name for name in at_level(step) if country in (None, JOURNEYS[name].country)}


def dropping(step: int, country: str | None = None) -> set[str]:
    return reaching(step - 1, country) - reaching(step, country)


def captured() -> Iterator[Json]:
    for country in ("DE", "FR"):
        known = {"$group_type": "company", "$group_key": f"{country} Ltd"}
        yield {"event": "$groupidentify", "distinct_id": "clerk", "properties": known}
    for name, journey in JOURNEYS.items():
        yield {
            "event": "$identify",
            "distinct_id": name,
            "timestamp": (BEGAN - timedelta(minutes=1)).isoformat(),
            "$set": {"plan": journey.plan},
        }
        for event, minute in journey.events:
            yield {
                "event": event,
                "distinct_id": name,
                "timestamp": (BEGAN + timedelta(minutes=minute)).isoformat(),
                "properties": {
                    "country": journey.country,
                    "$groups": {"company": f"{journey.country} Ltd"},
                },
            }


def strictly(journey: Journey) -> int:
    """Return the most steps in a row with nothing in between."""
    names = [name for name, _ in journey.events]
    begins = [place for place, name in enumerate(names) if name == STEPS[0]]
    tries = [names[place : place + len(STEPS)] for place in begins]
    return max((matching(names) for names in tries), default=0)


def matching(names: list[str]) -> int:
    for place, (name, step) in enumerate(zip(names, STEPS, strict=False)):
        if name != step:
            return place
    return len(names)


def in_any_order(journey: Journey) -> int:
    return len({name for name, _ in journey.events} & set(STEPS))


def without_help(journey: Journey) -> int:
    return 0 if "helped" in dict(journey.events) else reached(journey)


def in_ten_minutes(journey: Journey) -> int:
    return reached(replace(journey, events=tuple(one for one in journey.events if one[1] <= 10)))
