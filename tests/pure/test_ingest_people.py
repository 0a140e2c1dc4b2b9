"""Persons kept between runs: one state for each, whichever of its ids is met."""

from datetime import UTC, datetime

from fanion.ingest.people import RecentPersons
from fanion.persons.merge import PersonState, person_uuid

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def person(number: int) -> PersonState:
    return PersonState(number, person_uuid(1, str(number)), {}, False, NOW, 1)


def test_kept_persons_need_not_be_read() -> None:
    recent = RecentPersons()
    ann = person(1)

    recent.keep(1, {"ann": ann})

    assert recent.find(1, ["ann", "bob"]) == ({"ann": ann}, ["bob"])


def test_projects_do_not_share_persons() -> None:
    recent = RecentPersons()
    recent.keep(1, {"ann": person(1)})

    assert recent.find(2, ["ann"]) == ({}, ["ann"])


def test_a_person_read_by_another_id_is_the_one_that_is_known() -> None:
    recent = RecentPersons()
    ann, read_again = person(1), person(1)
    recent.keep(1, {"ann": ann})

    found = recent.same({"ann@example.com": read_again, "bob": person(2)})

    assert found["ann@example.com"] is ann
    assert found["bob"].id == 2


def test_the_longest_unseen_make_room() -> None:
    recent = RecentPersons(distinct_ids_max=2)
    people = {str(number): person(number) for number in range(3)}
    recent.keep(1, {"0": people["0"], "1": people["1"]})

    known, _ = recent.find(1, ["0"])
    recent.keep(1, known)
    recent.keep(1, {"2": people["2"]})

    assert recent.find(1, ["0", "1", "2"]) == ({"0": people["0"], "2": people["2"]}, ["1"])


def test_the_longest_unseen_project_makes_room_first() -> None:
    recent = RecentPersons(distinct_ids_max=3)
    people = {str(number): person(number) for number in range(3)}
    recent.keep(1, people)
    recent.keep(2, {"0": person(10)})
    recent.keep(1, {"2": people["2"]})
    recent.drop(1, 1, ["1", "unknown"])

    recent.keep(3, {"a": person(20), "b": person(21)})

    assert recent.find(2, ["0"]) == ({}, ["0"])
    assert recent.find(1, ["0", "1", "2"]) == ({"2": people["2"]}, ["0", "1"])
    assert recent.find(3, ["a", "b"])[1] == []


def test_forgetting_leaves_nothing() -> None:
    recent = RecentPersons()
    ann = person(1)
    recent.keep(1, {"ann": ann})

    recent.forget()

    assert recent.find(1, ["ann"]) == ({}, ["ann"])
    assert recent.same({"ann": (again := person(1))}) == {"ann": again}
