"""Events read through the API."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.application import Json, Tenant, error
from tests.support.management import NOW


def uuid(number: int) -> str:
    return f"0190d0a6-0000-7000-8000-{number:012}"


def item(number: int, event: str = "seen", distinct_id: str = "ann", **properties: Any) -> Json:
    """Return an event. The higher the number, the later it happened."""
    return {
        "event": event,
        "uuid": uuid(number),
        "distinct_id": distinct_id,
        "timestamp": (NOW - timedelta(hours=1) + timedelta(minutes=number)).isoformat(),
        "properties": properties,
    }


def numbers(events: list[Json]) -> list[int]:
    return [int(event["id"][-12:]) for event in events]


@pytest.fixture
async def five(tenant: Tenant) -> Tenant:
    await tenant.capture(
        item(1),
        item(2, "paid"),
        item(3, distinct_id="bob"),
        item(4, "paid", "bob"),
        item(5, "größe & mehr", "c d+e/ü"),
    )
    return tenant


FILTERS: dict[str, tuple[Json, list[int]]] = {
    "none": ({}, [5, 4, 3, 2, 1]),
    "event": ({"event": "paid"}, [4, 2]),
    "an awkward event": ({"event": "größe & mehr"}, [5]),
    "an unknown event": ({"event": "Paid"}, []),
    "distinct_id": ({"distinct_id": "bob"}, [4, 3]),
    "an awkward distinct_id": ({"distinct_id": "c d+e/ü"}, [5]),
    "an unknown distinct_id": ({"distinct_id": "Bob"}, []),
    "both": ({"event": "paid", "distinct_id": "ann"}, [2]),
    "after": ({"after": "2024-03-01T11:03:00Z"}, [5, 4]),
    "before": ({"before": "2024-03-01T11:03:00Z"}, [2, 1]),
    "after and before": (
        {"after": "2024-03-01T11:01:00Z", "before": "2024-03-01T11:04:00"},
        [3, 2],
    ),
    "the oldest first": ({"orderBy": '["timestamp"]'}, [1, 2, 3, 4, 5]),
    "the newest first": ({"orderBy": '["-timestamp"]'}, [5, 4, 3, 2, 1]),
    "an offset": ({"after": "2024-03-01T12:03:00+01:00"}, [5, 4]),
    "a relative time": ({"after": "-1h", "before": "2024-03-01T11:03:00Z"}, [2, 1]),
    "limit": ({"limit": 2}, [5, 4]),
    "a limit that is none": ({"limit": "x"}, [5, 4, 3, 2, 1]),
    "a person that does not exist": ({"person_id": uuid(9)}, []),
}


async def test_filters_choose_events_and_the_newest_is_first(five: Tenant) -> None:
    chosen = {name: numbers(await five.events(**query)) for name, (query, _) in FILTERS.items()}

    assert chosen == {name: expected for name, (_, expected) in FILTERS.items()}


async def test_the_next_link_leads_through_all_pages(five: Tenant) -> None:
    first = await five.get("/events/", limit=2)
    pages = [numbers(first["results"])]
    link = first["next"]
    while link is not None:
        assert link.startswith("http://fanion.test/api/projects/")
        page = (await five.api.get(link)).json()
        pages.append(numbers(page["results"]))
        link = page["next"]

    assert [number for page in pages for number in page] == [5, 4, 3, 2, 1]


async def test_pages_of_the_oldest_first_go_on_after_the_last_row(five: Tenant) -> None:
    first = await five.get("/events/", limit=2, orderBy='["timestamp"]')
    second = (await five.api.get(first["next"])).json()
    third = (await five.api.get(second["next"])).json()

    pages = [numbers(page["results"]) for page in (first, second, third)]
    assert pages == [[1, 2], [3, 4], [5]]
    assert third["next"] is None


async def test_a_full_last_page_still_has_a_link_and_a_short_one_has_none(five: Tenant) -> None:
    full = await five.get("/events/", limit=5)
    short = await five.get("/events/", limit=6)

    assert urlsplit(full["next"]).query.startswith("limit=5&before=")
    assert short["next"] is None


PAGED: list[tuple[Json, Sequence[int]]] = [
    ({}, (7, 40)),
    ({"event": "paid"}, (7, 40)),
    ({"distinct_id": "bob"}, (1, 7, 40)),
]


@pytest.mark.parametrize("order", ['["-timestamp"]', '["timestamp"]'])
async def test_next_shows_every_event_of_one_instant_once(tenant: Tenant, order: str) -> None:
    same = {"timestamp": (NOW - timedelta(minutes=9)).isoformat()}
    sent = [item(n, ("seen", "paid")[n % 2], ("ann", "bob")[n % 3 > 1]) | same for n in range(50)]
    await tenant.capture(*sent)

    for query, limits in PAGED:
        expected = [event["uuid"] for event in sent if query.items() <= event.items()]
        for limit in limits:
            ids = await ids_of_pages(tenant, limit=limit, orderBy=order, **query)
            assert sorted(ids) == expected, (query, limit)


async def ids_of_pages(tenant: Tenant, **query: Any) -> list[str]:
    """Return the ids of the events of all pages."""
    page = await tenant.get("/events/", **query)
    ids: list[str] = [event["id"] for event in page["results"]]
    while page["next"]:
        page = (await tenant.api.get(page["next"])).json()
        ids += [event["id"] for event in page["results"]]
    return ids


@pytest.mark.parametrize("order", ['["-timestamp"]', '["timestamp"]'])
async def test_a_relative_time_stands_still_from_page_to_page(five: Tenant, order: str) -> None:
    page = await five.get("/events/", after="-1h", before="0h", orderBy=order, limit=2)
    pages = [numbers(page["results"])]
    link = parse_qs(urlsplit(page["next"]).query)
    while page["next"]:
        page = (await five.api.get(page["next"])).json()
        pages.append(numbers(page["results"]))

    times = {name: datetime.fromisoformat(link[name][0]) for name in ("after", "before")}
    last = NOW - timedelta(hours=1) + timedelta(minutes=pages[0][-1])
    if order == '["timestamp"]':
        assert times == {"after": last, "before": NOW}
    else:
        assert times == {"after": NOW - timedelta(hours=1), "before": last}
    assert sorted(number for page in pages for number in page) == [1, 2, 3, 4, 5]


async def test_events_of_a_person_include_those_of_persons_merged_into_it(five: Tenant) -> None:
    ann, bob = await five.person("ann"), await five.person("bob")
    before = numbers(await five.events(person_id=ann["id"]))

    await five.capture(item(6, "$create_alias", "ann", alias="bob"))
    after = numbers(await five.events(person_id=ann["id"]))
    of_the_merged = await five.events(person_id=bob["id"])

    assert before == [2, 1]
    assert after == [6, 4, 3, 2, 1]
    assert of_the_merged == []


async def test_one_event_is_retrieved_by_its_uuid(five: Tenant) -> None:
    [listed] = await five.events(event="größe & mehr")

    bare = await five.get(f"/events/{uuid(5)}/")
    with_person = await five.get(f"/events/{uuid(5)}/", include_person="true")

    assert bare == {**listed, "person": None}
    assert with_person == listed


@pytest.mark.parametrize("name", [uuid(999), "no-uuid", "5"])
async def test_an_unknown_event_is_not_found(tenant: Tenant, name: str) -> None:
    answer = await tenant.api.get(f"/events/{name}/")

    assert answer.status_code == 404
    assert answer.json() == error("invalid_request", "not_found", "Not found.")


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ({"after": "soon"}, "Enter a valid date or a relative one such as -4h."),
        ({"orderBy": '["event"]'}, 'Must be ["timestamp"] or ["-timestamp"].'),
        ({"orderBy": "timestamp"}, 'Must be ["timestamp"] or ["-timestamp"].'),
        ({"before": "31.31.2024"}, "Enter a valid date or a relative one such as -4h."),
        ({"person_id": "x"}, "Must be a valid UUID."),
        ({"cursor": "x", "before": "-1h"}, "Must be a valid UUID."),
        ({"cursor": uuid(1)}, "Use cursor together with before, as in a next link."),
        (
            {"cursor": uuid(1), "before": "-1h", "orderBy": '["timestamp"]'},
            "Use cursor together with after, as in a next link.",
        ),
    ],
)
async def test_a_wrong_filter_is_named(tenant: Tenant, query: Json, detail: str) -> None:
    answer = await tenant.api.get("/events/", params=query)

    attr = next(iter(query))
    assert answer.status_code == 400
    assert answer.json() == error("validation_error", "invalid_input", detail, attr)


def leaf(key: str, value: Any = None, operator: str = "exact", **more: Any) -> Json:
    return {"key": key, "value": value, "operator": operator, **more}


def of_person(key: str, value: Any = None, operator: str = "exact", **more: Any) -> Json:
    return leaf(key, value, operator, type="person", **more)


def setting(**properties: Any) -> Json:
    return {"$set": properties}


async def bought(tenant: Tenant) -> None:
    """Capture events of several persons. Fan has no person, and dee became ann."""
    without_person: Json = {"$process_person_profile": False}
    await tenant.capture(
        item(1, plan="pro", price=5, **setting(city="Rome", age=30)),
        item(2, "paid", plan="Pro Max", price=20.5, day="2024-02-20"),
        item(3, distinct_id="bob", price="15", **setting(city="Oslo")),
        item(4, "paid", "bob", **{"a.b": ["x", "y"], "day": "2024-03-01"}),
        item(5, distinct_id="cid", plan=None),
        item(6, distinct_id="fan", **without_person),
        item(7, distinct_id="dee", plan="free", **{"$elements_chain": 'a.b:text="Go";nav:'}),
    )
    await tenant.capture(item(8, "$create_alias", "ann", alias="dee"))


PROPERTIES: dict[str, tuple[list[Json], list[int]]] = {
    "exact": ([leaf("plan", "pro")], [1]),
    "one of several": ([leaf("plan", ["pro", "free"])], [7, 1]),
    "no operator": ([{"key": "plan", "value": "pro"}], [1]),
    "the type spelled out": ([leaf("plan", "pro", type="event")], [1]),
    "is_not": ([leaf("plan", "pro", "is_not")], [8, 7, 6, 5, 4, 3, 2]),
    "icontains": ([leaf("plan", "PRO", "icontains")], [2, 1]),
    "regex": ([leaf("plan", "^[pf]r", "regex")], [7, 1]),
    "is_set": ([leaf("price", "", "is_set")], [3, 2, 1]),
    "is_not_set": ([leaf("plan", "", "is_not_set")], [8, 6, 4, 3]),
    "set to null": ([leaf("plan", "", "is_set"), leaf("plan", "", "not_icontains")], [5]),
    "gt": ([leaf("price", 5, "gt")], [3, 2]),
    "lte, as text": ([leaf("price", "15", "lte")], [3, 1]),
    "not gt": ([leaf("price", 5, "gt", negation=True)], [8, 7, 6, 5, 4, 1]),
    "not between": ([leaf("price", [10, 20], "not_between")], [8, 7, 6, 5, 4, 2, 1]),
    "a list as text": ([leaf("a.b", '["x","y"]')], [4]),
    "an absolute date": ([leaf("day", "2024-02-25", "is_date_after")], [4]),
    "a relative date": ([leaf("day", "-7d", "is_date_before")], [2]),
    "an awkward key": ([leaf("a.b", "x", "icontains")], [4]),
    "both": ([leaf("plan", "pro", "icontains"), leaf("price", 10, "gt")], [2]),
    "neither": ([leaf("plan", "pro"), leaf("plan", "free")], []),
    "none": ([], [8, 7, 6, 5, 4, 3, 2, 1]),
    "of the person": ([of_person("city", "Rome")], [8, 7, 2, 1]),
    "of the person, a number": ([of_person("age", 29, "gt")], [8, 7, 2, 1]),
    "not of the person": ([of_person("city", "Rome", "is_not")], [6, 5, 4, 3]),
    "not set on the person": ([of_person("city", "", "is_not_set")], [6, 5]),
    "of the person and of the event": ([of_person("city", "Rome"), leaf("plan", "free")], [7]),
    "a clicked text": ([leaf("text", "go", type="element")], [7]),
    "a clicked selector": ([leaf("selector", ["i", "nav > .b"], type="element")], [7]),
    "no clicked tag": ([leaf("tag_name", "nav", "is_not", type="element")], [8, 6, 5, 4, 3, 2, 1]),
    "a text of NUL": ([leaf("plan", "pro\0")], []),
    "a key of NUL": ([leaf("pl\0an", "pro")], []),
    "an empty key": ([leaf("", "pro")], []),
    "a huge text": ([leaf("plan", "x" * 50_000)], []),
    "many values": ([leaf("plan", [*map(str, range(2_000)), "pro"])], [1]),
    "quotes": ([leaf("plan'`\\", "'); DROP TABLE events --")], []),
}


UNUSABLE: dict[str, tuple[Json, str]] = {
    "a broken regex": (leaf("plan", "(", "regex"), "value"),
    "null": (leaf("plan"), "value"),
    "an unknown operator": (leaf("plan", "pro", "resembles"), "operator"),
    "a huge number": (leaf("price", 10**400, "lt"), "value"),
    "an object": (leaf("plan", {"a": [1]}), "value"),
    "an unknown part of elements": (leaf("class", "b", type="element"), "key"),
    "an order of elements": (leaf("text", 1, "gt", type="element"), "operator"),
    "a broken selector": (leaf("selector", "a:hover", type="element"), "value"),
    "an unknown name": (leaf("plan", "pro", opertor="gt"), "opertor"),
}


async def test_conditions_that_cannot_be_compared_are_refused(tenant: Tenant) -> None:
    for name, (condition, part) in UNUSABLE.items():
        query = {"properties": json.dumps([leaf("plan", "pro"), condition])}
        answer = await tenant.api.get("/events/", params=query)

        reported = answer.status_code, answer.json()["attr"]
        assert reported == (400, f"properties__1__{part}"), (name, answer.text)


# It takes seconds: each of some fifty conditions is a question.
async def test_properties_choose_events(tenant: Tenant) -> None:
    await bought(tenant)

    chosen = {
        name: numbers(await tenant.events(properties=json.dumps(conditions)))
        for name, (conditions, _) in PROPERTIES.items()
    }

    assert chosen == {name: expected for name, (_, expected) in PROPERTIES.items()}


@pytest.mark.parametrize("text", ["", "null", "[]"])
async def test_no_properties_choose_all_events(five: Tenant, text: str) -> None:
    assert numbers(await five.events(properties=text)) == [5, 4, 3, 2, 1]


async def test_properties_go_with_the_other_filters(tenant: Tenant) -> None:
    await bought(tenant)
    ann = await tenant.person("ann")
    set_price = json.dumps([leaf("price", "", "is_set")])

    assert numbers(await tenant.events(properties=set_price, event="paid")) == [2]
    assert numbers(await tenant.events(properties=set_price, distinct_id="bob")) == [3]
    assert numbers(await tenant.events(properties=set_price, person_id=ann["id"])) == [2, 1]
    assert numbers(await tenant.events(properties=set_price, orderBy='["timestamp"]')) == [1, 2, 3]
    assert numbers(await tenant.events(properties=set_price, limit=1)) == [3]


@pytest.mark.parametrize(
    ("order", "expected"),
    [('["-timestamp"]', [[3, 2], [1], []]), ('["timestamp"]', [[1, 2], [3], []])],
)
async def test_next_repeats_the_properties(tenant: Tenant, order: str, expected: list[Any]) -> None:
    await bought(tenant)
    properties = json.dumps([leaf("price", "", "is_set"), leaf("a&b=ä", "", "is_not_set")])

    page = await tenant.get("/events/", limit=2, orderBy=order, properties=properties)
    pages = [numbers(page["results"])]
    while page["next"]:
        page = (await tenant.api.get(page["next"])).json()
        pages.append(numbers(page["results"]))

    assert pages == [page for page in expected if page]


async def test_events_of_long_ago_are_chosen_too(tenant: Tenant) -> None:
    """Such events lie beyond the days that are searched first."""
    old = {**item(1, plan="pro"), "timestamp": (NOW - timedelta(days=400)).isoformat()}
    await tenant.capture(old, *(item(n) for n in range(2, 5)))

    assert numbers(await tenant.events(properties=json.dumps([leaf("plan", "pro")]))) == [1]


ONLY = "Only conditions on properties of events and persons are supported."
UNREADABLE: dict[str, tuple[str, str]] = {
    "no JSON": ("{", "Properties are unparsable!"),
    "a word": ("plan", "Properties are unparsable!"),
    "more behind it": ("[]x", "Properties are unparsable!"),
    "NUL in it": ('[{"key": "\\u0000"', "Properties are unparsable!"),
    "open and deep": ("[" * 5_000, "Properties are unparsable!"),
    "deep": (
        json.dumps([leaf("a", "?")]).replace('"?"', "[" * 500 + "]" * 500),
        "Properties cannot be read: nested too deeply.",
    ),
    "an object": ("{}", "Properties cannot be read: properties must be a list."),
    "a number": ("7", "Properties cannot be read: properties must be a list."),
    "no object in it": ("[7]", "Properties cannot be read: a property must be an object."),
    "no key": ("[{}]", "Properties cannot be read: a property must have a text key."),
    "an operator that is no text": (
        '[{"key": "a", "operator": []}]',
        "Properties cannot be read: operator must be text.",
    ),
    "an unknown type": (
        '[{"key": "a", "type": "x"}]',
        "Properties cannot be read: a property cannot have the type 'x'.",
    ),
    "a group": ('[{"key": "a", "type": "group", "group_type_index": 0}]', ONLY),
    "a cohort": ('[{"key": "id", "type": "cohort", "value": 1}]', ONLY),
    "a flag": ('[{"key": "f", "type": "flag", "value": true}]', ONLY),
    "behaviour": ('[{"key": "f", "type": "behavioral"}]', ONLY),
    "too many": (
        json.dumps([leaf("a", 1)] * 101),
        "Ensure there are at most 100 properties, not 101.",
    ),
}


@pytest.mark.parametrize("case", UNREADABLE)
async def test_properties_that_cannot_be_read_are_refused(tenant: Tenant, case: str) -> None:
    text, detail = UNREADABLE[case]

    answer = await tenant.api.get("/events/", params={"properties": text})

    assert answer.status_code == 400
    assert answer.json() == error("validation_error", "invalid_input", detail, "properties")
