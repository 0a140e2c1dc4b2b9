"""A list of events in the ways in which servers with PostHog's API give it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from msgspec import json

from tests.support.scripted_source import ReceivedRequest, ScriptedAnswer

Json = dict[str, Any]
DAY = timedelta(days=1)
YEAR_2024 = datetime(2024, 1, 1, tzinfo=UTC)


def event(number: int, time: datetime, name: str = "e", **properties: Any) -> Json:
    return {
        "id": str(UUID(int=number)),
        "event": name,
        "distinct_id": "u",
        "timestamp": time.isoformat(),
        "properties": properties,
        "elements_chain": "",
    }


@dataclass(frozen=True)
class ServerBehaviour:
    """The ways in which a server answers.

    Attributes:
        cap: The most events on a page.
        looks_back: Without `after` only the day before `before` is given, and ranges over a year
            are refused.
        narrows: The newest events come from a part of the range, without a link to the others.
        links: A full page links to the next one.
        offsets: `offset` is obeyed; it is ignored otherwise.
        cursors: Links lead on within a moment.
        counts: The kind of query that counts events.
    """

    cap: int = 10_000
    looks_back: bool = False
    narrows: bool = False
    links: bool = True
    offsets: bool = False
    cursors: bool = False
    counts: str = ""


@dataclass
class ForeignEvents:
    """The events of one project on such a server.

    Attributes:
        queries: The query of each request for a page, in order.
    """

    events: list[Json]
    habits: ServerBehaviour = field(default_factory=ServerBehaviour)
    queries: list[dict[str, str]] = field(default_factory=list)
    uncounted: int = 0

    def answer(self, request: ReceivedRequest) -> ScriptedAnswer:
        """Answer a request for events, their names, or their number."""
        if request.path.endswith("/query/"):
            return self._counted(json.decode(request.body)["query"])
        if request.path.endswith("/event_definitions/"):
            names = [{"name": name} for name in self.names()]
            return ScriptedAnswer(200, {"count": len(names), "results": names, "next": None})
        return self.page(request.query)

    def names(self) -> list[str]:
        return sorted({event["event"] for event in self.events})

    def page(self, query: dict[str, str]) -> ScriptedAnswer:
        self.queries.append(query)
        before = datetime.fromisoformat(query["before"])
        after = datetime.fromisoformat(query["after"]) if "after" in query else None
        if self.habits.looks_back:
            after = before - DAY if after is None else after
            if before - after > 366 * DAY:
                return ScriptedAnswer(400, {"detail": "The range is too long."})
        is_ascending = json.decode(query.get("orderBy", '["-timestamp"]')) == ["timestamp"]
        events = self._listed(query, after, before)
        if not is_ascending:
            events = self._narrowed(events[::-1], before)
        offset = int(query.get("offset", 0)) if self.habits.offsets else 0
        rows = events[offset:][: min(int(query["limit"]), self.habits.cap)]
        has_more = len(events) > offset + len(rows)
        link = self._link(query, rows, is_ascending) if has_more and self.habits.links else None
        return ScriptedAnswer(200, {"results": rows, "next": link})

    def _listed(
        self, query: dict[str, str], after: datetime | None, before: datetime
    ) -> list[Json]:
        """Return events in ascending order, after the cursor if there is one."""
        cursor = (after, query["cursor"]) if "cursor" in query else None
        return sorted(
            (
                event
                for event in self.events
                if (time := datetime.fromisoformat(event["timestamp"])) < before
                and (after is None or time > after or (cursor is not None and time >= after))
                and query.get("event") in (None, event["event"])
                and (cursor is None or (time, event["id"]) > cursor)
            ),
            key=lambda event: (datetime.fromisoformat(event["timestamp"]), event["id"]),
        )

    def _narrowed(self, events: list[Json], before: datetime) -> list[Json]:
        if not (self.habits.narrows and events):
            return events
        recent = [
            event
            for event in events
            if before - datetime.fromisoformat(event["timestamp"]) <= DAY / 24
        ]
        return recent or events

    def _link(self, query: dict[str, str], rows: Sequence[Json], is_ascending: bool) -> str:
        position = {"after" if is_ascending else "before": rows[-1]["timestamp"]}
        cursor = {"cursor": rows[-1]["id"]} if self.habits.cursors else {}
        return f"https://elsewhere.example/?{urlencode({**query, **position, **cursor})}"

    def _counted(self, query: Json) -> ScriptedAnswer:
        if query["kind"] != self.habits.counts:
            return ScriptedAnswer(400, {"detail": f"{query['kind']} is not known."})
        count = len(self.events) + self.uncounted
        if query["kind"] == "HogQLQuery":
            return ScriptedAnswer(200, {"results": [[count]]})
        return ScriptedAnswer(200, {"results": [{"aggregated_value": count}]})
