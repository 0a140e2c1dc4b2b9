"""Sessions and web analytics in plain Python, written only from the reference.

Source: insights.md, section 11.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from tests.support.histories import History, HistoryEvent

VIEWS = ("$pageview", "$screen")
Range = tuple[datetime, datetime]
Keeps = Callable[["Session"], bool]


@dataclass(frozen=True)
class Session:
    """A session.

    Attributes:
        events: Ordered by time and uuid.
    """

    events: Sequence[HistoryEvent]

    @property
    def start(self) -> datetime:
        return self.events[0].at

    @property
    def seconds(self) -> int:
        return int(self.events[-1].at.timestamp()) - int(self.start.timestamp())

    def count(self, name: str) -> int:
        return sum(one.event == name for one in self.events)

    @property
    def is_bounce(self) -> bool | None:
        if not self.count("$pageview"):
            return None
        return not (self.count("$pageview") > 1 or self.count("$autocapture") or self.seconds >= 10)

    def first(self, name: str) -> str:
        return text(self.events[0].properties.get(name))

    def url(self, *, last: bool = False) -> str:
        with_url = [one for one in self.events if text(one.properties.get("$current_url"))]
        pages = [one for one in with_url if one.event == "$pageview"] or with_url
        return text(pages[-1 if last else 0].properties["$current_url"]) if pages else ""

    @property
    def entry(self) -> str:
        return path(self.url())

    @property
    def channel(self) -> str:
        source, medium, campaign, referrer = (
            self.first(name).lower()
            for name in ("utm_source", "utm_medium", "utm_campaign", "$referring_domain")
        )
        return channel(source, medium, campaign, referrer, self.first("gclid"))


def text(value: object) -> str:
    return "" if value is None else str(value)


def path(url: str) -> str:
    return urlsplit(url).path


def channel(source: str, medium: str, campaign: str, referrer: str, gclid: str) -> str:
    """Return the channel, for the few words that the histories draw."""
    of_source = {"google": "Search", "facebook.com": "Social"}.get(source)
    of_referrer = {"www.google.co.uk": "Search", "t.co": "Social"}.get(referrer)
    if "cross-network" in campaign:
        return "Cross Network"
    if medium in ("cpc", "paid-x") or gclid:
        kind = of_source or of_referrer
        return f"Paid {kind or ('Video' if 'video' in campaign else 'Unknown')}"
    if referrer == "$direct" and not medium and not source:
        return "Direct"
    if of_source:
        return f"Organic {of_source}"
    if medium == "email":
        return "Email"
    if of_referrer:
        return f"Organic {of_referrer}"
    if "video" in campaign:
        return "Organic Video"
    if referrer == "$direct":
        return "Direct"
    return "Referral" if referrer else "Unknown"


def sessions(history: History, span: Range) -> list[Session]:
    """Return the sessions that began in the range, with their events within a day of it.

    Long sessions have all of their events.
    """
    day, found = timedelta(days=1), dict[str, list[HistoryEvent]]()
    for one in history.once:
        if key := text(one.properties.get("$session_id")):
            found.setdefault(key, []).append(one)
    whole = []
    for events in found.values():
        near = [one for one in events if span[0] - day <= one.at < span[1] + day]
        if near:
            seen = max(one.at for one in near) - min(one.at for one in near)
            whole.append(Session(events if seen >= timedelta(hours=12) else near))
    return [one for one in whole if span[0] <= one.start < span[1]]


@dataclass(frozen=True)
class Question:
    span: Range
    goal: str | None = None
    keeps: Keeps = lambda session: True

    def counted(self, session: Session) -> list[HistoryEvent]:
        names = (*VIEWS, self.goal) if self.goal else VIEWS
        return [
            one
            for one in session.events
            if one.event in names and self.span[0] <= one.at < self.span[1]
        ]

    def of(self, history: History) -> list[tuple[Session, list[HistoryEvent]]]:
        found = [(one, self.counted(one)) for one in sessions(history, self.span)]
        return [(one, counted) for one, counted in found if counted and self.keeps(one)]


def overview(history: History, asked: Question) -> list[float | None]:
    """Return the values of the figures, in their order."""
    found = asked.of(history)
    events = [one for _, counted in found for one in counted]
    visitors = {history.actor(one) for one in events}
    if asked.goal:
        converted = [one for one in events if one.event == asked.goal]
        unique = len({history.actor(one) for one in converted})
        rate = 100 * unique / len(visitors) if visitors else None
        return [len(visitors), len(converted), unique, rate]
    bounces = [one.is_bounce for one, _ in found if one.is_bounce is not None]
    return [
        len(visitors),
        len(events),
        len(found),
        sum(one.seconds for one, _ in found) / len(found) if found else None,
        100 * sum(bounces) / len(bounces) if bounces else None,
    ]


def of_session(breakdown: str) -> Callable[[Session], str] | None:
    named = {
        "InitialReferringDomain": "$referring_domain",
        "InitialUTMSource": "utm_source",
        "InitialUTMMedium": "utm_medium",
        "InitialUTMCampaign": "utm_campaign",
    }
    if breakdown in named:
        return lambda session: session.first(named[breakdown])
    computed: Mapping[str, Callable[[Session], str]] = {
        "InitialPage": lambda session: session.entry,
        "ExitPage": lambda session: path(session.url(last=True)),
        "InitialChannelType": lambda session: session.channel,
    }
    return computed.get(breakdown)


def table(history: History, asked: Question, breakdown: str) -> dict[str | None, list[Any]]:
    """Return the figures of each value: visitors, views and bounce rate.

    With a goal they are visitors, conversions, converted persons and their rate.
    """
    found = asked.of(history)
    own = of_session(breakdown)
    name = {"Page": "$pathname", "Browser": "$browser"}.get(breakdown, "")
    rows: dict[str, list[HistoryEvent]] = {}
    judged: dict[str, list[bool]] = {}
    for session, counted in found:
        values: dict[str, None] = {}
        for one in counted:
            value = own(session) if own else text(one.properties.get(name))
            values[value] = None
            rows.setdefault(value, []).append(one)
        entered = [session.entry] if breakdown == "Page" else list(values)
        for value in entered if session.is_bounce is not None else []:
            judged.setdefault(value, []).append(bool(session.is_bounce))
    left_out = {""} if breakdown == "InitialReferringDomain" else set()
    return {
        value or None: figures(history, asked, events, judged.get(value, []))
        for value, events in rows.items()
        if value not in left_out
    }


def figures(
    history: History, asked: Question, events: Iterable[HistoryEvent], judged: Sequence[bool]
) -> list[Any]:
    counted = list(events)
    visitors = {history.actor(one) for one in counted}
    if asked.goal is None:
        return [len(visitors), len(counted), sum(judged) / len(judged) if judged else None]
    converted = [one for one in counted if one.event == asked.goal]
    unique = {history.actor(one) for one in converted}
    return [len(visitors), len(converted), len(unique), len(unique) / len(visitors)]
