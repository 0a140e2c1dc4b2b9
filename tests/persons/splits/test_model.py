"""Which distinct ids a request splits off, and which persons they get."""

from datetime import UTC, datetime, timedelta

import pytest

from fanion.errors import Invalid
from fanion.persons.merge import person_uuid
from fanion.persons.splits.model import (
    IDS_MAX,
    EventsOfId,
    SplitChoice,
    leaving_ids,
    split_persons,
)

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
IDS = ["ann", "bob", "cid"]


@pytest.mark.parametrize(
    ("choice", "leaving"),
    [
        (SplitChoice(["bob"]), ["bob"]),
        (SplitChoice(["cid", "bob", "cid"]), ["cid", "bob"]),
        (SplitChoice(main="bob"), ["ann", "cid"]),
        (SplitChoice(), ["bob", "cid"]),
    ],
)
def test_the_ids_that_leave(choice: SplitChoice, leaving: list[str]) -> None:
    assert leaving_ids(IDS, choice) == leaving


@pytest.mark.parametrize(
    ("ids", "choice", "attr", "text"),
    [
        (IDS, SplitChoice([]), "distinct_ids_to_split", "may not be empty"),
        (IDS, SplitChoice(["bob", "dan"]), "distinct_ids_to_split__1", "'dan'"),
        (IDS, SplitChoice(IDS), "distinct_ids_to_split", "at least one"),
        (IDS, SplitChoice(main="dan"), "main_distinct_id", "'dan'"),
        (IDS, SplitChoice(["bob"], "ann"), "main_distinct_id", "not both"),
        (["ann"], SplitChoice(["ann"]), None, "only one distinct id"),
        (["ann"], SplitChoice(), None, "only one distinct id"),
        (
            [f"{number:04}" for number in range(IDS_MAX + 2)],
            SplitChoice(),
            "distinct_ids_to_split",
            f"At most {IDS_MAX}",
        ),
    ],
)
def test_what_cannot_be_split_off(
    ids: list[str], choice: SplitChoice, attr: str | None, text: str
) -> None:
    with pytest.raises(Invalid) as caught:
        leaving_ids(ids, choice)

    assert caught.value.attr == attr
    assert text in caught.value.detail


def test_new_persons_are_as_old_as_their_first_event() -> None:
    first = NOW - timedelta(days=3)

    with_events, without = split_persons(1, ["a", "b"], {"a": EventsOfId(2, first)}, NOW, 7)

    assert (with_events.created_at, without.created_at) == (first, NOW)


def test_new_persons_have_ids_of_their_own_and_the_same_if_repeated() -> None:
    [made] = split_persons(1, ["a"], {}, NOW, 7)
    [again] = split_persons(1, ["a"], {}, NOW, 7)
    [later] = split_persons(1, ["a"], {}, NOW, 8)

    assert made == again
    assert len({made.uuid, later.uuid, person_uuid(1, "a")}) == 3
