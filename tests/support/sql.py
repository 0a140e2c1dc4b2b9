"""Questions in SQL to a real event store, in a project that must never see the other one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from fanion.errors import Invalid
from fanion.insights.hogql.query import read_events_query, read_hogql
from fanion.insights.hogql.service import SqlCalculator
from fanion.insights.parsing.fields import Fields
from fanion.projects.model import Project
from tests.support.histories import NOW, PERSONS, Analyst, History, history_event

ZONE = "Europe/Berlin"
# What is only in the project that must not be seen.
SECRET = "secret-of-the-other-project"
FIREFOX: dict[str, Any] = {"$browser": "Firefox"}
OWN = History(
    ZONE,
    [
        history_event(
            "paid", 1, "2024-04-03T01:00", ZONE, UUID(int=11),
            plan="pro", price=10, o={"x": {"y": "z"}}, **{"$group_0": "acme", "$session_id": "s1"},
        ),
        history_event("seen", 2, "2024-04-02T23:30", ZONE, UUID(int=12), plan="free", price=2.5),
        history_event("seen", 3, "2024-03-01T12:00", ZONE, UUID(int=13), **FIREFOX),
    ],
    persons={PERSONS[0]: {"email": "ann@example.com", "plan": "vip"}, PERSONS[2]: {}},
    merged={PERSONS[1]: PERSONS[0]},
    groups={(0, "acme"): {"name": "Acme"}},
)  # fmt: skip
HIDDEN: dict[str, Any] = {
    "$group_0": SECRET, "$session_id": SECRET, "$current_url": f"https://{SECRET}/"
}  # fmt: skip
OTHER = History(
    ZONE,
    [
        history_event(
            SECRET, 1, "2024-04-03T02:00", ZONE, plan=SECRET, **HIDDEN,
        ),
    ],
    persons={PERSONS[0]: {"email": SECRET}, PERSONS[3]: {"email": SECRET}},
    merged={PERSONS[2]: PERSONS[3]},
    groups={(0, "acme"): {"name": SECRET}, (1, SECRET): {"name": SECRET}},
)  # fmt: skip


@dataclass(frozen=True)
class Asker:
    """Someone who asks SQL about one project."""

    analyst: Analyst
    project: Project

    async def ask(
        self, text: str | Mapping[str, Any], now: datetime = NOW, **more: Any
    ) -> dict[str, Any]:
        """Return the answer to SQL, or to an EventsQuery.

        Raises:
            Invalid: It is refused.
        """
        if isinstance(text, str):
            question = read_hogql(Fields({"query": text, **more}, at="query"))
        else:
            question = read_events_query(Fields(text, at="query"))
        answer = await SqlCalculator(self.analyst.analysis).answer(self.project, question, now)
        return {**answer, "results": msgspec.json.decode(answer["results"])}

    async def rows(self, text: str | Mapping[str, Any], **more: Any) -> Sequence[Any]:
        rows: Sequence[Any] = (await self.ask(text, **more))["results"]
        return rows

    async def refusal(self, text: str | Mapping[str, Any], **more: Any) -> Invalid:
        """Return the error for what is refused."""
        try:
            answer = await self.ask(text, **more)
        except Invalid as error:
            return error
        raise AssertionError(f"{text!r} is answered: {answer['results']}")
