"""Reading events back."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.application import Home, Json, error
from tests.management import NOW


def uuid(number: int) -> str:
    return f"0190d0a6-0000-7000-8000-{number:012}"


def item(number: int, event: str = "seen", distinct_id: str = "ann", **properties: Any) -> Json:
    """The higher the number, the later it happened."""
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
async def five(home: Home) -> Home:
    await home.capture(
        item(1),
        item(2, "paid"),
        item(3, distinct_id="bob"),
        item(4, "paid", "bob"),
        item(5, "größe & mehr", "c d+e/ü"),
    )
    return home


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
    "an offset": ({"after": "2024-03-01T12:03:00+01:00"}, [5, 4]),
    "a relative time": ({"after": "-1h", "before": "2024-03-01T11:03:00Z"}, [2, 1]),
    "limit": ({"limit": 2}, [5, 4]),
    "a limit that is none": ({"limit": "x"}, [5, 4, 3, 2, 1]),
    "a person that does not exist": ({"person_id": uuid(9)}, []),
}


async def test_filters_choose_events_and_the_newest_is_first(five: Home) -> None:
    found = {name: numbers(await five.events(**query)) for name, (query, _) in FILTERS.items()}

    assert found == {name: expected for name, (_, expected) in FILTERS.items()}


async def test_the_next_link_leads_through_all_pages(five: Home) -> None:
    first = await five.get("/events/", limit=2)
    pages = [numbers(first["results"])]
    link = first["next"]
    while link is not None:
        assert link.startswith("http://fanion.test/api/projects/")
        page = (await five.api.get(link)).json()
        pages.append(numbers(page["results"]))
        link = page["next"]

    assert [number for page in pages for number in page] == [5, 4, 3, 2, 1]


async def test_a_full_last_page_still_has_a_link_and_a_short_one_has_none(five: Home) -> None:
    full = await five.get("/events/", limit=5)
    short = await five.get("/events/", limit=6)

    assert urlsplit(full["next"]).query.startswith("limit=5&before=")
    assert short["next"] is None


async def test_events_of_a_person_include_those_of_persons_merged_into_it(five: Home) -> None:
    ann, bob = await five.person("ann"), await five.person("bob")
    before = numbers(await five.events(person_id=ann["id"]))

    await five.capture(item(6, "$create_alias", "ann", alias="bob"))
    after = numbers(await five.events(person_id=ann["id"]))
    of_the_merged = await five.events(person_id=bob["id"])

    assert before == [2, 1]
    assert after == [6, 4, 3, 2, 1]
    assert of_the_merged == []


async def test_one_event_is_retrieved_by_its_uuid(five: Home) -> None:
    [listed] = await five.events(event="größe & mehr")

    bare = await five.get(f"/events/{uuid(5)}/")
    with_person = await five.get(f"/events/{uuid(5)}/", include_person="true")

    assert bare == {**listed, "person": None}
    assert with_person == listed


@pytest.mark.parametrize("name", [uuid(999), "no-uuid", "5"])
async def test_an_unknown_event_is_not_found(home: Home, name: str) -> None:
    answer = await home.api.get(f"/events/{name}/")

    assert answer.status_code == 404
    assert answer.json() == error("invalid_request", "not_found", "Not found.")


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ({"after": "soon"}, "Enter a valid date or a relative one such as -4h."),
        ({"before": "31.31.2024"}, "Enter a valid date or a relative one such as -4h."),
        ({"person_id": "x"}, "Must be a valid UUID."),
    ],
)
async def test_a_wrong_filter_is_named(home: Home, query: Json, detail: str) -> None:
    answer = await home.api.get("/events/", params=query)

    [attr] = query
    assert answer.status_code == 400
    assert answer.json() == error("validation_error", "invalid_input", detail, attr)
