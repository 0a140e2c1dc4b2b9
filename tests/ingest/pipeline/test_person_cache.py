"""Persons cached between batches have one state, whichever of their ids is looked up."""

from datetime import UTC, datetime

from fanion.ingest.pipeline.person_cache import PersonCache
from fanion.persons.merge import PersonState, PersonUpdate, edit_of, person_uuid

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def person(number: int, **properties: str) -> PersonState:
    return PersonState(number, person_uuid(1, str(number)), properties, False, NOW, 1)


def test_cached_persons_need_not_be_read() -> None:
    recent = PersonCache()
    ann = person(1)

    recent.put_persons(1, {"ann": ann})

    assert recent.find_persons(1, ["ann", "bob"]) == ({"ann": ann}, ["bob"])


def test_projects_do_not_share_persons() -> None:
    recent = PersonCache()
    recent.put_persons(1, {"ann": person(1)})

    assert recent.find_persons(2, ["ann"]) == ({}, ["ann"])


def test_a_person_read_by_another_id_is_the_one_that_is_known() -> None:
    recent = PersonCache()
    ann, read_again = person(1), person(1)
    recent.put_persons(1, {"ann": ann})

    states = recent.canonical({"ann@example.com": read_again, "bob": person(2)})

    assert states["ann@example.com"] is ann
    assert states["bob"].id == 2


def test_the_longest_unseen_make_room() -> None:
    recent = PersonCache(distinct_ids_max=2)
    person_names = {str(number): person(number) for number in range(3)}
    recent.put_persons(1, {"0": person_names["0"], "1": person_names["1"]})

    known, _ = recent.find_persons(1, ["0"])
    recent.put_persons(1, known)
    recent.put_persons(1, {"2": person_names["2"]})

    assert recent.find_persons(1, ["0", "1", "2"]) == (
        {"0": person_names["0"], "2": person_names["2"]},
        ["1"],
    )


def test_the_longest_unseen_project_makes_room_first() -> None:
    recent = PersonCache(distinct_ids_max=3)
    person_names = {str(number): person(number) for number in range(3)}
    recent.put_persons(1, person_names)
    recent.put_persons(2, {"0": person(10)})
    recent.put_persons(1, {"2": person_names["2"]})
    recent.evict_person(1, 1, ["1", "unknown"])

    recent.put_persons(3, {"a": person(20), "b": person(21)})

    assert recent.find_persons(2, ["0"]) == ({}, ["0"])
    assert recent.find_persons(1, ["0", "1", "2"]) == ({"2": person_names["2"]}, ["0", "1"])
    assert recent.find_persons(3, ["a", "b"])[1] == []


def test_large_persons_make_room_for_others() -> None:
    recent = PersonCache(bytes_max=1_000)
    small, large = person(1, a="x" * 300), person(2, a="x" * 600)

    recent.put_persons(1, {"small": small, "large": large})
    both, _ = recent.find_persons(1, ["small", "large"])
    recent.put_persons(1, {"new": person(3, a="x" * 300)})

    assert len(both) == 2
    assert recent.find_persons(1, ["small", "large", "new"])[1] == ["small"]


def test_a_person_that_has_grown_makes_others_leave() -> None:
    recent = PersonCache(bytes_max=1_000)
    ann, bob = person(1, a="x" * 300), person(2)
    recent.put_persons(1, {"bob": bob, "ann": ann})
    edit = edit_of(ann, PersonUpdate({"a": "x" * 992}, {}), is_new=False)
    assert edit is not None

    edit.apply_to(ann)
    recent.put_persons(1, {"ann": ann})
    grown, _ = recent.find_persons(1, ["ann", "bob"])
    recent.evict_person(1, 1, ["ann"])
    recent.put_persons(1, {"bob": bob, "cid": person(3, a="x" * 980)})

    assert list(grown) == ["ann"]
    assert list(recent.find_persons(1, ["bob", "cid"])[0]) == ["bob", "cid"]


def test_a_person_that_is_too_large_to_keep_is_read_again() -> None:
    recent = PersonCache(bytes_max=1_000)

    recent.put_persons(1, {"ann": person(1, a="x" * 2_000)})
    recent.put_persons(1, {"bob": person(2)})

    assert recent.find_persons(1, ["ann", "bob"])[1] == ["ann"]


def test_forgetting_leaves_nothing() -> None:
    recent = PersonCache()
    ann = person(1)
    recent.put_persons(1, {"ann": ann})

    recent.clear()

    assert recent.find_persons(1, ["ann"]) == ({}, ["ann"])
    assert recent.canonical({"ann": (again := person(1))}) == {"ann": again}


def test_one_that_another_server_has_changed_is_let_go_and_the_others_stay() -> None:
    recent = PersonCache()
    ann, bob = person(1), person(2)
    recent.put_persons(1, {"ann": ann, "ann@example.com": ann, "bob": bob})

    recent.evict(1, {"ann": ann, "bob": bob}, {(1, 1)})

    assert recent.find_persons(1, ["ann", "bob"]) == ({"bob": bob}, ["ann"])
    assert recent.canonical({"ann": (again := person(1))}) == {"ann": again}


def test_one_that_was_let_go_by_one_id_does_not_come_back_by_another() -> None:
    recent = PersonCache()
    ann, changed = person(1), person(1, plan="pro")
    changed.version = 3
    recent.put_persons(1, {"ann": ann, "ann@example.com": ann})
    recent.evict(1, {"ann": ann}, {(1, 1)})
    recent.put_persons(1, recent.canonical({"ann": changed}))

    # The person is found by the other id, and then turns out to have changed too.
    recent.evict(1, {"ann@example.com": ann}, {(1, 1)})
    again = person(1, plan="pro")
    again.version = 3

    assert recent.find_persons(1, ["ann", "ann@example.com"]) == (
        {"ann": changed},
        ["ann@example.com"],
    )
    assert recent.canonical({"ann@example.com": again})["ann@example.com"] is changed


def test_a_newer_version_that_was_read_is_not_replaced_by_what_is_known() -> None:
    recent = PersonCache()
    recent.put_persons(1, {"ann": person(1)})
    changed = person(1, plan="pro")
    changed.version = 3

    assert recent.canonical({"ann@example.com": changed})["ann@example.com"] is changed
