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
        return sum(event.event == name for event in self.events)

    @property
    def is_bounce(self) -> bool | None:
        if not self.count("$pageview"):
            return None
        return not (self.count("$pageview") > 1 or self.count("$autocapture") or self.seconds >= 10)

    def first(self, name: str) -> str:
        return text(self.events[0].properties.get(name))

    def url(self, *, last: bool = False) -> str:
        with_url = [event for event in self.events if text(event.properties.get("$current_url"))]
        pages = [event for event in with_url if event.event == "$pageview"] or with_url
        return text(pages[-1 if last else 0].properties["$current_url"]) if pages else ""

    @property
    def entry(self) -> str:
        return path(self.url())

    @property
    def campaign(self) -> str:
        referrer = self.first("$referring_domain")
        source = self.first("utm_source") or (referrer and f"referrer:{referrer}")
        parts = (source, self.first("utm_medium"), self.first("utm_campaign"))
        return " / ".join(part or "(none)" for part in parts)

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


def sessions(history: History, span: Range, *, whole_long: bool = True) -> list[Session]:
    """Return the sessions that began in the range, with their events within a day of it.

    Args:
        whole_long: Whether long sessions have all of their events.
    """
    day, result = timedelta(days=1), dict[str, list[HistoryEvent]]()
    for event in history.once:
        if key := text(event.properties.get("$session_id")):
            result.setdefault(key, []).append(event)
    whole = []
    for events in result.values():
        near = [event for event in events if span[0] - day <= event.at < span[1] + day]
        if near:
            seen = max(event.at for event in near) - min(event.at for event in near)
            is_whole = whole_long and seen >= timedelta(hours=12)
            whole.append(Session(events if is_whole else near))
    return [session for session in whole if span[0] <= session.start < span[1]]


@dataclass(frozen=True)
class Question:
    span: Range
    goal: str | None = None
    keeps: Keeps = lambda session: True
    whole_long: bool = True

    def counted(self, session: Session) -> list[HistoryEvent]:
        names = (*VIEWS, self.goal) if self.goal else VIEWS
        return [
            event
            for event in session.events
            if event.event in names and self.span[0] <= event.at < self.span[1]
        ]

    def of(self, history: History) -> list[tuple[Session, list[HistoryEvent]]]:
        result = [
            (session, self.counted(session))
            for session in sessions(history, self.span, whole_long=self.whole_long)
        ]
        return [
            (session, counted) for session, counted in result if counted and self.keeps(session)
        ]


def overview(history: History, question: Question) -> list[float | None]:
    """Return the values of the figures, in their order."""
    result = question.of(history)
    events = [event for _, counted in result for event in counted]
    visitors = {history.actor(event) for event in events}
    if question.goal:
        converted = [event for event in events if event.event == question.goal]
        unique = len({history.actor(event) for event in converted})
        rate = 100 * unique / len(visitors) if visitors else None
        return [len(visitors), len(converted), unique, rate]
    return totals(history, result)


def totals(
    history: History, result: Sequence[tuple[Session, Sequence[HistoryEvent]]]
) -> list[float | None]:
    """Return visitors, views, sessions, average duration and bounce rate of some sessions."""
    events = [event for _, counted in result for event in counted]
    visitors = {history.actor(event) for event in events}
    bounces = [session.is_bounce for session, _ in result if session.is_bounce is not None]
    return [
        len(visitors),
        len(events),
        len(result),
        sum(session.seconds for session, _ in result) / len(result) if result else None,
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
        "InitialUTMSourceMediumCampaign": lambda session: session.campaign,
    }
    return computed.get(breakdown)


def table(history: History, question: Question, breakdown: str) -> dict[str | None, list[Any]]:
    """Return the figures of each value: visitors, views and bounce rate.

    With a goal they are visitors, conversions, converted persons and their rate.
    """
    result = question.of(history)
    own = of_session(breakdown)
    name = {"Page": "$pathname", "Browser": "$browser"}.get(breakdown, "")
    rows: dict[str, list[HistoryEvent]] = {}
    judged: dict[str, list[bool]] = {}
    for session, counted in result:
        values: dict[str, None] = {}
        for event in counted:
            value = own(session) if own else text(event.properties.get(name))
            values[value] = None
            rows.setdefault(value, []).append(event)
        entered = [session.entry] if breakdown == "Page" else list(values)
        for value in entered if session.is_bounce is not None else []:
            judged.setdefault(value, []).append(bool(session.is_bounce))
    left_out = {""} if breakdown == "InitialReferringDomain" else set()
    return {
        value or None: figures(history, question, events, judged.get(value, []))
        for value, events in rows.items()
        if value not in left_out
    }


def figures(
    history: History, question: Question, events: Iterable[HistoryEvent], judged: Sequence[bool]
) -> list[Any]:
    counted = list(events)
    visitors = {history.actor(event) for event in counted}
    if question.goal is None:
        return [len(visitors), len(counted), sum(judged) / len(judged) if judged else None]
    converted = [event for event in counted if event.event == question.goal]
    unique = {history.actor(event) for event in converted}
    return [len(visitors), len(converted), len(unique), len(unique) / len(visitors)]
