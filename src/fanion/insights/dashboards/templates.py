"""Templates of dashboards that are useful with the events that every client sends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fanion.insights.saved.model import NAME_CHARS_MAX

RANGE: Final = {"date_from": "-30d"}
LONG_RANGE: Final = {"date_from": "-90d"}
PRODUCT, WEB, FLAG = "product", "web", "flag"
TEMPLATES: Final = (PRODUCT, WEB, FLAG)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TemplateTile:
    """A tile with a new insight, or with a text.

    Attributes:
        name: The name of the insight; of a text its Markdown.
        place: Columns and rows: left, top, width, height.
        source: The query of the insight; None for a text.
    """

    name: str
    place: tuple[int, int, int, int]
    source: Mapping[str, Any] | None = None

    @property
    def layouts(self) -> Json:
        return {"sm": dict(zip("xywh", self.place, strict=True))}


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    description: str
    tiles: Sequence[TemplateTile]


def template_of(name: str, flag_key: str) -> Template:
    """Return a template.

    Args:
        name: One of TEMPLATES.
        flag_key: The key of the flag, for the template of a flag.
    """
    match name:
        case "product":
            return _product()
        case "web":
            return _web()
        case _:
            return _flag(flag_key)


def _product() -> Template:
    text = (
        "## Who uses the product, and who comes back\n\n"
        "All of it counts any event. To count what matters to you, open a tile, choose your own "
        "event and save."
    )
    return Template(
        "Product",
        "Who uses the product, how often, and who comes back.",
        (
            TemplateTile(text, (0, 0, 12, 2)),
            TemplateTile("Active persons", (0, 2, 4, 3), _number(_any("dau", "Persons"))),
            TemplateTile(
                "Persons who signed in",
                (4, 2, 4, 3),
                _number(_event("$identify", "dau", "Persons")),
            ),
            TemplateTile("Sessions", (8, 2, 4, 3), _number(_any("unique_session", "Sessions"))),
            TemplateTile(
                "Active persons by day, and within a week",
                (0, 5, 6, 4),
                _trend(_any("dau", "In a day"), _any("weekly_active", "In a week")),
            ),
            TemplateTile(
                "New, returning and lost persons",
                (6, 5, 6, 4),
                _question("LifecycleQuery", LONG_RANGE, series=[_any()], interval="week"),
            ),
            TemplateTile("Who comes back, by week", (0, 9, 6, 5), _retention(_any())),
            TemplateTile(
                "On how many days persons are active",
                (6, 9, 6, 5),
                _question("StickinessQuery", RANGE, series=[_any()], interval="day"),
            ),
        ),
    )


def _web() -> Template:
    visitors = _event("$pageview", "dau", "Visitors")
    views = _event("$pageview", "total", "Page views")
    sessions = _event("$pageview", "unique_session", "Sessions")
    paths = {"includeEventTypes": ["$pageview"], "edgeLimit": 20, "stepLimit": 4}
    return Template(
        "Web",
        "Who visits the site, where they come from, and what they look at.",
        (
            TemplateTile("Visitors", (0, 0, 4, 3), _number(visitors)),
            TemplateTile("Page views", (4, 0, 4, 3), _number(views)),
            TemplateTile("Sessions", (8, 0, 4, 3), _number(sessions)),
            TemplateTile("Visitors and page views by day", (0, 3, 12, 4), _trend(visitors, views)),
            TemplateTile("Pages", (0, 7, 6, 5), _by("$pathname", views)),
            TemplateTile(
                "Where visitors come from", (6, 7, 6, 5), _by("$referring_domain", visitors)
            ),
            TemplateTile("Devices", (0, 12, 4, 5), _by("$device_type", visitors, "ActionsPie")),
            TemplateTile("Browsers", (4, 12, 4, 5), _by("$browser", visitors)),
            TemplateTile("Campaigns", (8, 12, 4, 5), _by("utm_campaign", visitors)),
            TemplateTile(
                "Ways through the site",
                (0, 17, 12, 6),
                _question("PathsQuery", RANGE, pathsFilter=paths),
            ),
        ),
    )


def _flag(key: str) -> Template:
    answer = "$feature_flag_response"
    asked = {"type": "event", "key": "$feature_flag", "value": [key], "operator": "exact"}
    calls = {**_event("$feature_flag_called"), "properties": [asked]}
    persons = {**_event("$feature_flag_called", "dau"), "properties": [asked]}
    text = (
        "## What the flag does\n\nThe value that an event was sent with is known only from clients "
        "that send `$feature/…` with each event, as those for browsers and phones do."
    )
    of_flag = f"$feature/{key}"
    return Template(
        f"Flag {key}"[:NAME_CHARS_MAX],
        "Who gets which value of the flag, and what they do then.",
        (
            TemplateTile("Persons by value", (0, 0, 4, 4), _by(answer, persons)),
            TemplateTile("Calls by value and day", (4, 0, 8, 4), _trend(calls, by=answer)),
            TemplateTile(text, (0, 4, 12, 2)),
            TemplateTile("Active persons by value", (0, 6, 6, 4), _trend(_any("dau"), by=of_flag)),
            TemplateTile("Errors by value", (6, 6, 6, 4), _trend(_event("$exception"), by=of_flag)),
            TemplateTile("Who comes back, by value", (0, 10, 12, 5), _retention(calls, by=answer)),
        ),
    )


def _question(kind: str, dates: Mapping[str, str], **fields: Any) -> Json:
    """Return a query that leaves out test accounts, as new ones in the console do."""
    return {"kind": kind, "dateRange": dict(dates), "filterTestAccounts": True, **fields}


def _event(event: str | None, math: str = "total", name: str | None = None) -> Json:
    """Return a series.

    Args:
        event: None for any event.
        name: What it is called; None for the name of the event.
    """
    named = {} if name is None else {"custom_name": name}
    return {"kind": "EventsNode", "event": event, "math": math, **named}


def _any(math: str = "total", name: str | None = None) -> Json:
    return _event(None, math, name)


def _trend(*series: Json, by: str | None = None, **fields: Any) -> Json:
    parts = {} if by is None else _breakdown(by)
    return _question("TrendsQuery", RANGE, series=list(series), interval="day", **parts, **fields)


def _number(series: Json) -> Json:
    """Return one number for the range, compared with the range before."""
    compared = {"compare": True}
    return _trend(series, trendsFilter={"display": "BoldNumber"}, compareFilter=compared)


def _by(prop: str, series: Json, display: str = "ActionsBarValue") -> Json:
    return _trend(series, by=prop, trendsFilter={"display": display})


def _breakdown(prop: str) -> Json:
    return {"breakdownFilter": {"breakdowns": [{"property": prop, "type": "event"}]}}


def _retention(event: Json, by: str | None = None) -> Json:
    """Return who sends any event in the weeks after an event."""
    first, later = event, _any()
    weeks = {"period": "Week", "totalIntervals": 8, "targetEntity": first, "returningEntity": later}
    parts = {} if by is None else _breakdown(by)
    return _question("RetentionQuery", {"date_from": "-8w"}, retentionFilter=weeks, **parts)
