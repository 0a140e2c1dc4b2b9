"""The outcome of waiting events whose person was deleted."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from fanion.events.event import Erasure
from fanion.ingest.event import PreparedEvent, ReceivedEvent
from fanion.ingest.pipeline.resolve import without_erased
from fanion.persons.merge import Merge, MergeKind, PersonUpdate
from tests.support.management import NOW

UPDATE = PersonUpdate({"a": 1}, {})


def arrived(distinct_id: str, seconds: int = 0, **prepared: Any) -> ReceivedEvent:
    fields: dict[str, Any] = {
        "name": "seen",
        "uuid": UUID(int=1),
        "distinct_id": distinct_id,
        "timestamp": NOW,
        "properties": {},
        "update": UPDATE,
        "merge": None,
        "groups": {},
        "group_identify": None,
        "makes_person": True,
    }
    return ReceivedEvent(PreparedEvent(**{**fields, **prepared}), NOW + timedelta(seconds=seconds))


def erasure(*, with_events: bool = True) -> Erasure:
    return Erasure(
        id=1,
        project_id=1,
        persons=(UUID(int=7),),
        distinct_ids=frozenset({"gone", "alias"}),
        version=9,
        with_events=with_events,
        requested_at=NOW,
    )


JOINS = Merge(MergeKind.ALIAS, "alias")
SILENT: dict[str, Any] = {"update": None, "makes_person": False}

CASES: dict[str, tuple[ReceivedEvent, Erasure, ReceivedEvent | None]] = {
    "its event goes": (arrived("gone"), erasure(), None),
    "by any of its ids": (arrived("alias", -60), erasure(), None),
    "a personless one too": (arrived("gone", makes_person=False), erasure(), None),
    "what came later stays": (arrived("gone", 1), erasure(), arrived("gone", 1)),
    "others stay": (arrived("ann"), erasure(), arrived("ann")),
    "another one does not join it": (arrived("ann", merge=JOINS), erasure(), arrived("ann")),
    "deleted alone, its event makes no person": (
        arrived("gone", merge=JOINS),
        erasure(with_events=False),
        arrived("gone", **SILENT),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_waiting_events_heed_a_deletion(name: str) -> None:
    event, deletion, expected = CASES[name]

    assert without_erased([event], [deletion]) == ([] if expected is None else [expected])


def test_without_deletions_nothing_is_looked_at() -> None:
    events = [arrived("ann")]

    assert without_erased(events, ()) is events
