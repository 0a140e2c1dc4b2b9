"""Previews of a merge: what remains, what is lost, what does not fit."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from fanion.persons.merge import PersonState
from fanion.persons.merge_requests.preview import Side, preview_merge

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
ANN, BOB, CID = UUID(int=1), UUID(int=2), UUID(int=3)


def side(uuid: UUID, **properties: Any) -> Side:
    state = PersonState(uuid.int, uuid, properties, True, NOW, 1)
    return Side(state, f"id {uuid.int}")


def test_earlier_persons_win_and_losses_come_first() -> None:
    outcome = preview_merge(1, NOW, [side(ANN, a=1, z=1), side(BOB, b=2, z=2), side(CID, b=3, z=1)])

    properties = [
        (prop.name, prop.person, prop.value, list(prop.lost)) for prop in outcome.properties
    ]
    assert properties == [
        ("b", BOB, 2, [(CID, 3)]),
        ("z", ANN, 1, [(BOB, 2)]),
        ("a", ANN, 1, []),
    ]
    assert outcome.lost == 2
    assert outcome.before == [{"a": 1, "z": 1}, {"b": 2, "z": 2}, {"b": 3, "z": 1}]


def test_what_does_not_fit_is_lost() -> None:
    outcome = preview_merge(1, NOW, [side(ANN, a="x" * 50), side(BOB, b="y" * 50)], bytes_max=80)

    assert [(prop.name, prop.person, list(prop.lost)) for prop in outcome.properties] == [
        ("b", None, [(BOB, "y" * 50)]),
        ("a", ANN, []),
    ]
    assert outcome.survivor.properties == {"a": "x" * 50}


def test_a_person_alone_stays_as_it_is() -> None:
    outcome = preview_merge(1, NOW, [side(ANN, a=1)])

    assert (outcome.survivor.properties, outcome.lost) == ({"a": 1}, 0)
