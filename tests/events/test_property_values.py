"""Values of properties of events, persons and groups, to choose from, with their counts."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from fanion.events import values_service
from fanion.events.event import StatementFailed
from fanion.events.storage import values_query
from fanion.events.storage.store import EventStore
from fanion.events.storage.values_query import ROWS_MAX
from fanion.events.values_service import PropertyValues
from fanion.groups import values_store
from fanion.projects.request_api import ManagementRequest
from fanion.properties.value_counts import (
    KEY_CHARS_MAX,
    MEMBERS_MAX,
    SEARCH_CHARS_MAX,
    VALUE_CHARS_MAX,
    VALUES_MAX,
    PropertyValue,
    ValueCounter,
    ValueSearch,
)
from tests.support.application import Json, Tenant
from tests.support.awaited import until_soon

# One property with values of many kinds, and its listed values: most frequent first, then by text.
ODD_KEYS = ("p", "a.b", "p q", "ключ", "a`b", "a'b\\", "x" * KEY_CHARS_MAX, "{v0:String}")
KINDS: list[Any] = [
    "pro", "pro", "pro", "free", "free", "", None, 5, 5, 5.5, True, True, False, "true", "5",
    ["a", "b", "pro"], ["a", 5, None, "", [1, 2]], [], "Größe", "null", "[x", '"q"', "a\nb", 2**60,
]  # fmt: skip
LISTED: list[tuple[Any, int]] = [
    ("pro", 4), (5, 3), ("a", 2), ("free", 2), ("true", 2), ('"q"', 1), (2**60, 1),
    ("5", 1), (5.5, 1), ("Größe", 1), ("[1,2]", 1), ("[x", 1), ("a\nb", 1), ("b", 1), ("false", 1),
    ("null", 1), ("true", 1),
]  # fmt: skip


def pairs(values: list[Json]) -> list[tuple[Any, int]]:
    assert all(value.keys() == {"name", "count"} for value in values)
    return [(value["name"], value["count"]) for value in values]


def unordered(pairs: list[tuple[Any, int]]) -> list[str]:
    """Return the values with their kind, because 5 and 5.0 would be equal."""
    return sorted(f"{count} {value!r}" for value, count in pairs)


async def fill(tenant: Tenant, key: str, values: list[Any]) -> None:
    """Capture values as properties of events, of persons and of groups."""
    items: list[Json] = []
    for number, value in enumerate(values):
        properties = {key: value, "$set": {key: value}}
        items.append({"event": "seen", "distinct_id": f"d{number}", "properties": properties})
        group = {
            "$group_type": "company",
            "$group_key": f"g{number}",
            "$group_set": {key: value},
        }
        items.append({"event": "$groupidentify", "distinct_id": "x", "properties": group})
    await tenant.capture(*items)


PLACES = {
    "events": ("/events/values/", {"event_name": "seen"}),
    "persons": ("/persons/values/", {}),
    "groups": ("/groups/property_values/", {"group_type_index": "0"}),
}


async def listed(tenant: Tenant, of: str, **query: str) -> list[tuple[Any, int]]:
    path, more = PLACES[of]
    return pairs(await tenant.get(path, **more, **query))


@pytest.mark.every_engine
async def test_values_of_every_kind_are_counted_alike(tenant: Tenant) -> None:
    await fill(tenant, "p", KINDS)

    for of in PLACES:
        values = await listed(tenant, of, key="p")

        assert unordered(values) == unordered(LISTED), of
        assert [count for _, count in values] == sorted((n for _, n in LISTED), reverse=True), of


@pytest.mark.every_engine
@pytest.mark.parametrize("key", ODD_KEYS)
async def test_a_key_is_a_name_and_nothing_else(tenant: Tenant, key: str) -> None:
    await fill(tenant, key, ["x", "y", ["x"]])

    for of in PLACES:
        assert await listed(tenant, of, key=key) == [("x", 2), ("y", 1)], of
        assert await listed(tenant, of, key=f"{key[:-1]}z") == [], of


@pytest.mark.every_engine
@pytest.mark.parametrize(
    ("part", "found"),
    [
        ("chrome", ["Chrome", "Chrome Mobile", "Headless CHROME"]),
        ("ROME M", ["Chrome Mobile"]),
        ("größe", ["GRÖSSE größe"]),
        ("%", ["100 %"]),
        ("_", []),
        ("0", ["100 %"]),
        ("'", []),
    ],
)
async def test_a_search_finds_parts_in_any_case(
    tenant: Tenant, part: str, found: list[str]
) -> None:
    await fill(tenant, "p", ["Chrome", "Chrome Mobile", "Headless CHROME", "GRÖSSE größe", "100 %"])

    for of in PLACES:
        assert [name for name, _ in await listed(tenant, of, key="p", value=part)] == found, of


async def test_only_the_most_frequent_values_are_listed(tenant: Tenant) -> None:
    values = [f"v{number:02}" for number in range(VALUES_MAX + 10)]
    await fill(tenant, "p", [*values, "v29", "v28", "v28"])

    for of in PLACES:
        counts = await listed(tenant, of, key="p")

        assert len(counts) == VALUES_MAX, of
        assert counts[:3] == [("v28", 3), ("v29", 2), ("v00", 1)], of


async def test_long_values_are_cut_and_long_lists_too(tenant: Tenant) -> None:
    long = "ü" * (VALUE_CHARS_MAX + 1)
    await fill(tenant, "p", [long, long[1:], [f"m{n:03}" for n in range(MEMBERS_MAX + 5)]])

    for of in PLACES:
        names = [name for name, _ in await listed(tenant, of, key="p", value="ü")]
        assert sorted(names, key=len) == [long[1:], long[1:] + "…"], of
        assert await listed(tenant, of, key="p", value="m099") == [("m099", 1)], of
        assert await listed(tenant, of, key="p", value="m100") == [], of


async def test_objects_in_lists_are_texts(tenant: Tenant) -> None:
    await fill(tenant, "p", [[{"a": 1}]])

    for of in PLACES:
        assert await listed(tenant, of, key="p") == [('{"a":1}', 1)], of


# ── Which events, persons and groups ─────────────────────────────────────────────────────


async def test_events_are_chosen_by_their_names(tenant: Tenant) -> None:
    await tenant.capture(
        *[
            {"event": name, "distinct_id": "x", "properties": {"p": name}}
            for name in ("a", "b", "c", "$pageview")
        ]
    )

    of_two = await tenant.get("/events/values/", key="p", event_name=["a", "c"])
    custom = await tenant.get("/events/values/", key="custom_event")

    assert pairs(of_two) == [("a", 1), ("c", 1)]
    assert pairs(custom) == [("a", 1), ("b", 1), ("c", 1)]
    assert len(await tenant.get("/events/values/", key="p")) == 4


async def test_old_events_are_not_looked_at(tenant: Tenant) -> None:
    def at(days: int) -> Json:
        then = tenant.server.clock.now().timestamp() - days * 86_400
        return {
            "event": "e",
            "distinct_id": "x",
            "timestamp": then,
            "properties": {"p": f"{days} days"},
        }

    days = values_query.EVENT_DAYS
    await tenant.capture(at(days + 1), at(days - 1), at(0))

    assert pairs(await tenant.get("/events/values/", key="p")) == [
        ("0 days", 1),
        (f"{days - 1} days", 1),
    ]


async def test_the_newest_events_are_looked_at_first(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values_service, "ROWS_MAX", (3, 1))
    start = tenant.server.clock.now().timestamp()
    await tenant.capture(
        *[
            {
                "event": "e",
                "distinct_id": "x",
                "timestamp": start - day * 86_400,
                "properties": {"p": day},
            }
            for day in range(6)
        ]
    )

    assert pairs(await tenant.get("/events/values/", key="p")) == [(0, 1), (1, 1), (2, 1)]


async def test_merged_and_changed_persons_count_once(tenant: Tenant) -> None:
    await tenant.capture(
        {"event": "a", "distinct_id": "ann", "$set": {"plan": "free"}},
        {"event": "a", "distinct_id": "device", "$set": {"plan": "trial"}},
    )
    await tenant.capture(
        {
            "event": "$identify",
            "distinct_id": "ann",
            "properties": {"$anon_distinct_id": "device", "$set": {"plan": "pro"}},
        }
    )

    assert pairs(await tenant.get("/persons/values/", key="plan")) == [("pro", 1)]


@pytest.mark.every_engine
async def test_all_portions_of_groups_are_looked_at_up_to_the_limits(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values_store, "PORTION_KEYS", 2)
    await fill(tenant, "p", ["a", "b", "c", "a", "b"])

    assert await listed(tenant, "groups", key="p") == [("a", 2), ("b", 2), ("c", 1)]
    monkeypatch.setattr(values_store, "GROUPS_MAX", 3)
    assert await listed(tenant, "groups", key="p") == [("a", 2), ("b", 1), ("c", 1)]
    monkeypatch.setattr(values_store, "BYTES_MAX", 1)
    assert await listed(tenant, "groups", key="p") == [("a", 1), ("b", 1)]


# ── Refusals ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("of", PLACES)
@pytest.mark.parametrize(
    ("query", "code", "attr"),
    [
        ({}, "required", "key"),
        ({"key": ""}, "blank", "key"),
        ({"key": "x" * (KEY_CHARS_MAX + 1)}, "max_length", "key"),
        ({"key": "p", "value": "x" * (SEARCH_CHARS_MAX + 1)}, "max_length", "value"),
        ({"key": "p\0"}, "null_characters_not_allowed", None),
        ({"key": "p", "values": "x"}, "invalid_input", "values"),
    ],
)
async def test_what_cannot_be_meant_is_refused(
    tenant: Tenant, of: str, query: dict[str, str], code: str, attr: str | None
) -> None:
    path, more = PLACES[of]

    answer = await tenant.api.get(path, params={**more, **query})

    body = answer.json()
    assert (answer.status_code, body["code"], body["attr"]) == (400, code, attr)


async def test_too_many_names_of_events_are_refused(tenant: Tenant) -> None:
    query = "&".join(f"event_name=e{number}" for number in range(101))

    answer = await tenant.api.get(f"/events/values/?key=p&{query}")

    assert (answer.status_code, answer.json()["attr"]) == (400, "event_name")


@pytest.mark.parametrize(("index", "code"), [(None, "required"), ("5", "invalid_input")])
async def test_groups_need_the_index_of_their_type(
    tenant: Tenant, index: str | None, code: str
) -> None:
    query = {"key": "p"} | ({} if index is None else {"group_type_index": index})

    answer = await tenant.api.get("/groups/property_values/", params=query)

    body = answer.json()
    assert (answer.status_code, body["code"], body["attr"]) == (400, code, "group_type_index")


# ── Under load ───────────────────────────────────────────────────────────────────────────


async def test_when_it_takes_too_long_fewer_rows_are_looked_at() -> None:
    statements: list[str] = []

    class SlowStore:
        @asynccontextmanager
        async def turn(self, _: int) -> AsyncGenerator[None]:
            yield

        async def values(self, statement: str, *_: object) -> list[tuple[int, str, int]]:
            statements.append(statement)
            if len(statements) == 1:
                raise StatementFailed("TIMEOUT_EXCEEDED (159)")
            return [(0, "5", 2)]

    values = PropertyValues(SlowStore())  # type: ignore[arg-type]  # as much as it needs

    values_of_p = await values.of_persons(1, ValueSearch("p"))

    assert values_of_p == [PropertyValue(5, 2)]
    assert [
        f"LIMIT {rows}\n" in statement_text
        for rows, statement_text in zip(ROWS_MAX, statements, strict=True)
    ] == [True] * 2


async def test_the_store_refuses_what_takes_too_long(
    events: EventStore, project_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values_query, "SECONDS_MAX", 0.2)

    with pytest.raises(StatementFailed):
        await events.values(LONG, {})


async def test_a_question_that_the_store_has_begun_is_cancelled_there(
    events: EventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values_query, "SECONDS_MAX", 300)
    values = PropertyValues(events)
    asking = asyncio.ensure_future(values._ask(1, lambda _: (LONG, {})))

    async def is_begun() -> bool:
        answer = await events.ask(RUNNING, {}, estimated=False)
        return bool(answer.columns[0][0] == 1)

    await until_soon(is_begun, "the statement does not run")
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)

    assert (await events.ask(RUNNING, {}, estimated=False)).columns[0][0] == 0


LONG = "SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(sipHash64(number))"
RUNNING = """
  SELECT count()
    FROM system.processes
   WHERE query LIKE '%numbers(1000000000000)%' AND query NOT LIKE '%processes%'
"""


async def test_a_question_ends_when_its_client_leaves(tenant: Tenant) -> None:
    left, cancelled = asyncio.Event(), asyncio.Event()

    async def receive() -> Json:
        await left.wait()
        return {"type": "http.disconnect"}

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    scope: Any = {"type": "http", "headers": [], "state": {}, "litestar_app": None}
    request: Any = ManagementRequest(scope, receive=receive)  # type: ignore[arg-type]
    asking = asyncio.ensure_future(request.unless_client_left(work()))
    await asyncio.sleep(0)
    left.set()

    with pytest.raises(Exception, match="disconnected"):
        await asking
    assert cancelled.is_set()


def test_a_counter_holds_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanion.properties.value_counts.COUNTED_BYTES_MAX", 1_000)
    counter = ValueCounter(ValueSearch("p"))
    for number in range(100):
        counter.count_values(msgspec.json.encode({"p": f"value {number:03}"}).decode())
    counter.count_values('{"p": "value 000"}')

    most = counter.most_frequent()

    assert 1 < len(most) < 12
    assert most[0].count == 2
