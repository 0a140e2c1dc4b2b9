"""Promises of the persons store beyond what the API exposes."""

from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import insert

from fanion.db.engine import Records
from fanion.db.schema.tables import person_distinct_ids, persons
from fanion.persons.list_store import (
    PORTION_ROWS_MIN,
    PersonQuery,
    PersonsPage,
    find_persons,
    read_page,
)
from fanion.persons.state.store import PORTION_IDS, load_states
from fanion.persons.store import (
    DECODED_ON_LOOP_CHARS_MAX,
    get_person,
    persons_of,
    stored_properties,
)
from fanion.properties.size import ByteBudget, ByteBudgetExceeded, json_bytes
from tests.support.management import NOW

pytestmark = pytest.mark.every_engine

HERE, ELSEWHERE = 1, 2


async def add(
    records: Records, *distinct_ids: str, project_id: int = HERE, **properties: Any
) -> UUID:
    uuid = uuid4()
    async with records.write() as connection:
        added = await connection.execute(
            insert(persons)
            .values(
                project_id=project_id,
                uuid=uuid,
                properties=properties,
                is_identified=False,
                created_at=NOW,
                version=1,
                email=properties.get("email"),
            )
            .returning(persons.c.id)
        )
        person_id = added.scalar_one()
        await connection.execute(
            insert(person_distinct_ids),
            [
                {"project_id": project_id, "distinct_id": distinct_id, "person_id": person_id}
                for distinct_id in distinct_ids
            ],
        )
    return uuid


async def test_stored_properties_are_those_of_the_person_behind_each_id(records: Records) -> None:
    await add(records, "ann", "a2", plan="pro")
    await add(records, "ann", project_id=ELSEWHERE, plan="free")
    keys = [(HERE, "ann"), (HERE, "a2"), (ELSEWHERE, "ann"), (ELSEWHERE, "a2"), (HERE, "Ann")]

    by_key = await stored_properties(records, keys)

    assert by_key == {
        (HERE, "ann"): {"plan": "pro"},
        (HERE, "a2"): {"plan": "pro"},
        (ELSEWHERE, "ann"): {"plan": "free"},
    }


async def test_properties_come_back_as_they_were_stored(records: Records) -> None:
    properties: dict[str, Any] = {
        "ü": [1, 1.5, None, {"": "'\"\\"}],
        "n": 2**53,
        "t": "2024-01-01",
        "b": False,
    }
    await add(records, "ann", **properties)

    assert await stored_properties(records, [(HERE, "ann")]) == {(HERE, "ann"): properties}


async def test_nothing_asked_is_nothing_found(records: Records) -> None:
    assert await stored_properties(records, []) == {}
    assert await persons_of(records, HERE, [], ["email"]) == {}


@pytest.mark.parametrize("count", [2_500])
async def test_many_ids_are_found_at_once(records: Records, count: int) -> None:
    await add(records, *(f"id {n}" for n in range(count)), plan="pro")

    by_id = await persons_of(records, HERE, (f"id {n}" for n in range(count + 10)), ["plan"])

    assert len(by_id) == count
    assert len({person.uuid for person in by_id.values()}) == 1
    assert by_id["id 7"].distinct_ids == ["id 7"]


async def test_a_person_is_found_in_its_own_project_only(records: Records) -> None:
    uuid = await add(records, "ann", email="ann@example.com")

    there = await get_person(records, ELSEWHERE, uuid)
    listed = await find_persons(records, ELSEWHERE, PersonQuery())
    searched = await find_persons(records, ELSEWHERE, PersonQuery(search="ann"))

    assert there is None
    assert listed == searched == PersonsPage([], 0, None, is_cut=False)
    person = await get_person(records, HERE, uuid)
    assert person is not None
    assert person.uuid == uuid


async def test_a_page_says_whether_more_follow(records: Records) -> None:
    for n in range(3):
        await add(records, f"p{n}")

    first = await find_persons(records, HERE, PersonQuery(limit=2))
    last = await find_persons(records, HERE, PersonQuery(limit=2, offset=2))

    assert ([p.distinct_ids for p in first.persons], first.is_cut) == ([["p2"], ["p1"]], True)
    assert ([p.distinct_ids for p in last.persons], last.is_cut) == ([["p0"]], False)
    assert (first.seen, first.last) == (2, first.persons[-1].uuid)


async def test_a_page_ends_early_when_it_holds_much(records: Records) -> None:
    count = PORTION_ROWS_MIN + 5
    for n in range(count):
        await add(records, f"p{n}", text="x" * 1_000)
    keys = (await find_persons(records, HERE, PersonQuery(limit=count))).persons

    cut = await read_page(records, HERE, keys, bytes_max=1_000 * PORTION_ROWS_MIN)
    rest = await read_page(records, HERE, keys[cut.seen :])

    assert (cut.seen, cut.last, cut.is_cut) == (PORTION_ROWS_MIN, keys[cut.seen - 1].uuid, True)
    assert [person.id for person in (*cut.persons, *rest.persons)] == [key.id for key in keys]
    assert rest.is_cut is False


async def test_persons_that_are_gone_take_their_places_in_a_page(records: Records) -> None:
    for n in range(3):
        await add(records, f"p{n}")
    stored = (await find_persons(records, HERE, PersonQuery())).persons
    keys = [stored[0], replace(stored[0], id=stored[0].id + 1_000), *stored[1:]]

    page = await read_page(records, HERE, keys)

    assert [person.uuid for person in page.persons] == [person.uuid for person in stored]
    assert (page.seen, page.is_cut) == (4, False)


async def test_so_many_distinct_ids_of_each_person_are_read(records: Records) -> None:
    await add(records, *(f"a{n}" for n in range(5)))
    await add(records, "b0")
    keys = (await find_persons(records, HERE, PersonQuery())).persons

    page = await read_page(records, HERE, keys, distinct_ids_max=3)

    assert [list(person.distinct_ids) for person in page.persons] == [["b0"], ["a0", "a1", "a2"]]


async def test_of_the_persons_behind_distinct_ids_only_the_named_properties_are_stored(
    records: Records,
) -> None:
    large = "x" * DECODED_ON_LOOP_CHARS_MAX
    await add(records, "ann", "a2", email="ann@b", other=large)
    await add(records, "bob", name="Bob")

    by_id = await persons_of(records, HERE, ["ann", "a2", "bob", "cid"], ["email", "name"])

    assert {name: (person.properties, person.distinct_ids) for name, person in by_id.items()} == {
        "ann": ({"email": "ann@b"}, ["ann"]),
        "a2": ({"email": "ann@b"}, ["a2"]),
        "bob": ({"name": "Bob"}, ["bob"]),
    }


async def test_large_properties_come_back_as_they_are(records: Records) -> None:
    """Properties of this size are decoded in a thread."""
    await add(records, "ann", text="ü" * DECODED_ON_LOOP_CHARS_MAX, list=[1, {"a": None}])

    [person] = (await find_persons(records, HERE, PersonQuery())).persons

    assert person.properties == {"text": "ü" * DECODED_ON_LOOP_CHARS_MAX, "list": [1, {"a": None}]}


async def test_ingestion_learns_the_size_of_persons_and_reads_so_much_at_once(
    records: Records,
) -> None:
    """The properties of a person with many distinct ids count once."""
    ids = [f"a{n}" for n in range(PORTION_IDS * 2)]
    await add(records, *ids, text="Ü" * 500)
    await add(records, "b", text="x")
    sizes = json_bytes({"text": "Ü" * 500}), json_bytes({"text": "x"})
    distinct_ids = [*ids, "b", "unknown"]

    async with records.read() as connection:
        states = await connection.run_sync(load_states, HERE, distinct_ids, ByteBudget(sum(sizes)))
        with pytest.raises(ByteBudgetExceeded):
            await connection.run_sync(load_states, HERE, distinct_ids, ByteBudget(sum(sizes) - 1))

    assert states.keys() == {*ids, "b"}
    assert len({id(person) for person in states.values()}) == 2
    assert (states["a0"].properties_bytes, states["b"].properties_bytes) == sizes
    assert states["a0"].properties == {"text": "Ü" * 500}
