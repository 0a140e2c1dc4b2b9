"""Texts on dashboards over HTTP."""

from typing import Any

import pytest

from fanion.insights.dashboards.model import TEXT_CHARS_MAX
from fanion.insights.saved.tiles_store import TILES_MAX
from tests.support.application import Json, Tenant, error

BODY = "# Sales\n\n**Up** by 3 % since [May](https://example.com)."


async def made_dashboard(tenant: Tenant) -> str:
    """Return the path of a new dashboard."""
    answer = await tenant.api.post("/dashboards/", json={"name": "Sales"})
    assert answer.status_code == 201, answer.text
    return f"/dashboards/{answer.json()['id']}/"


async def patch(tenant: Tenant, path: str, *tiles: Json, status: int = 200) -> Any:
    answer = await tenant.api.patch(path, json={"tiles": tiles})
    assert answer.status_code == status, answer.text
    return answer.json()


async def added(tenant: Tenant, path: str, body: str = BODY, **fields: Any) -> Json:
    tile: Json = (await patch(tenant, path, {"text": {"body": body}, **fields}))["tiles"][-1]
    return tile


@pytest.mark.every_engine
async def test_a_text_is_a_tile_beside_those_of_insights(tenant: Tenant) -> None:
    path = await made_dashboard(tenant)
    insight = {"name": "Paid", "dashboards": [int(path.split("/")[2])]}
    await tenant.api.post("/insights/", json=insight)

    tile = await added(tenant, path, layouts={"sm": {"x": 1}}, color="blue")

    assert tile == {
        "id": tile["id"],
        "insight": None,
        "text": {
            "id": tile["id"],
            "body": BODY,
            "last_modified_at": "2024-03-01T12:00:00Z",
            "last_modified_by": tenant.owner,
        },
        "layouts": {"sm": {"x": 1}},
        "color": "blue",
        "last_refresh": None,
        "is_cached": False,
        "beside": {},
    }
    for query in ({}, {"basic": "true"}, {"refresh": "true"}):
        first, second = (await tenant.get(path, **query))["tiles"]
        assert (first["insight"]["name"], first["text"]) == ("Paid", None)
        assert second == tile


@pytest.mark.every_engine
async def test_a_text_is_changed_moved_removed_and_restored(tenant: Tenant) -> None:
    path = await made_dashboard(tenant)
    tile = await added(tenant, path)
    tenant.server.clock.move(minutes=1)

    moved = await patch(tenant, path, {**tile, "layouts": {"sm": {"x": 2}}})
    written = await patch(tenant, path, {"id": tile["id"], "text": {"body": "Other"}})
    removed = await patch(tenant, path, {"id": tile["id"], "deleted": True})
    restored = await patch(tenant, path, {"id": tile["id"], "deleted": False})

    assert moved["tiles"] == [{**tile, "layouts": {"sm": {"x": 2}}}], "the text is as old as before"
    [changed] = written["tiles"]
    assert (changed["text"]["body"], changed["layouts"]) == ("Other", {"sm": {"x": 2}})
    assert changed["text"]["last_modified_at"] == "2024-03-01T12:01:00Z"
    assert removed["tiles"] == []
    assert restored["tiles"] == written["tiles"]


async def test_a_text_that_somebody_else_changed_is_not_overwritten(tenant: Tenant) -> None:
    path = await made_dashboard(tenant)
    tile = await added(tenant, path)
    known = tile["text"]["last_modified_at"]
    mine = {"body": "Mine", "expected_modified_at": known}
    tenant.server.clock.move(minutes=1)
    await patch(tenant, path, {"id": tile["id"], "text": {"body": "Theirs"}})

    stale = await patch(tenant, path, {"id": tile["id"], "text": mine}, status=409)
    [current] = (await tenant.get(path))["tiles"]
    again = {**mine, "expected_modified_at": current["text"]["last_modified_at"]}
    [written] = (await patch(tenant, path, {"id": tile["id"], "text": again}))["tiles"]

    assert stale == error(
        "invalid_request",
        "conflict",
        "The text was changed since you read it. Review the current version and try again.",
        "tiles__0__text__expected_modified_at",
    )
    assert (current["text"]["body"], written["text"]["body"]) == ("Theirs", "Mine")


INVALID: list[tuple[Json, str, str]] = [
    ({"text": {"body": ""}}, "tiles__0__text__body", "blank"),
    ({"text": {"body": " \n "}}, "tiles__0__text__body", "blank"),
    ({"text": {"body": None}}, "tiles__0__text__body", "null"),
    ({"text": {}}, "tiles__0__text__body", "required"),
    ({"text": {"body": ["a"]}}, "tiles__0__text__body", "invalid_input"),
    ({"text": {"body": "a\0b"}}, "tiles__0__text__body", "null_characters_not_allowed"),
    ({"text": {"body": "x" * (TEXT_CHARS_MAX + 1)}}, "tiles__0__text__body", "max_length"),
    ({"text": {"body": "a", "html": "a"}}, "tiles__0__text__html", "invalid_input"),
    ({"text": "a"}, "tiles__0__text", "invalid_input"),
    ({"text": None}, "tiles__0__text", "required"),
    ({"color": "blue"}, "tiles__0__text", "required"),
    ({"id": 987_654, "text": {"body": "a"}}, "tiles__0__id", "does_not_exist"),
    ({"button_tile": {"url": "/"}}, "tiles__0__button_tile", "invalid_input"),
]


async def test_a_text_that_was_removed_is_not_written_unseen(tenant: Tenant) -> None:
    path = await made_dashboard(tenant)
    tile = await added(tenant, path)
    await patch(tenant, path, {"id": tile["id"], "deleted": True})
    sent = {"id": tile["id"], "text": {"body": "Other"}}

    refused = await patch(tenant, path, sent, status=400)
    [restored] = (await patch(tenant, path, {**sent, "deleted": False}))["tiles"]

    assert (refused["attr"], refused["code"]) == ("tiles__0__id", "does_not_exist")
    assert restored["text"]["body"] == "Other"


@pytest.mark.parametrize(("tile", "attr", "code"), INVALID)
async def test_what_is_no_text_is_refused(tenant: Tenant, tile: Json, attr: str, code: str) -> None:
    path = await made_dashboard(tenant)

    refused = await patch(tenant, path, tile, status=400)

    assert (refused["attr"], refused["code"]) == (attr, code), refused
    assert (await tenant.get(path))["tiles"] == []


async def test_a_tile_with_an_insight_gets_no_text_and_nothing_else_is_changed(
    tenant: Tenant,
) -> None:
    path = await made_dashboard(tenant)
    await tenant.api.post("/insights/", json={"dashboards": [int(path.split("/")[2])]})
    [tile] = (await tenant.get(path))["tiles"]
    foreign = await added(tenant, await made_dashboard(tenant))

    of_insight = await patch(
        tenant,
        path,
        {"text": {"body": "first"}},
        {"id": tile["id"], "text": {"body": "second"}},
        status=400,
    )
    elsewhere = await patch(tenant, path, {"id": foreign["id"], "text": {"body": "a"}}, status=400)

    assert of_insight["attr"] == "tiles__1__text"
    assert elsewhere["attr"] == "tiles__0__id"
    assert (await tenant.get(path))["tiles"] == [tile]


@pytest.mark.every_engine
async def test_removed_tiles_make_room_when_a_dashboard_is_full(tenant: Tenant) -> None:
    path = await made_dashboard(tenant)
    texts = [{"text": {"body": f"Text {number}"}} for number in range(TILES_MAX)]
    full = (await patch(tenant, path, *texts))["tiles"]

    refused = await patch(tenant, path, {"text": {"body": "One more"}}, status=400)
    await patch(tenant, path, {"id": full[3]["id"], "deleted": True})
    tiles = (await patch(tenant, path, {"text": {"body": "One more"}}))["tiles"]

    assert refused == error(
        "validation_error",
        "invalid_input",
        f"A dashboard can have at most {TILES_MAX} tiles.",
        "tiles",
    )
    assert len(tiles) == TILES_MAX
    assert tiles[-1]["text"]["body"] == "One more"
    assert full[3] not in tiles


async def test_the_activity_of_a_dashboard_shows_its_texts(tenant: Tenant) -> None:
    path = await made_dashboard(tenant)
    tile = await added(tenant, path)

    [entry, _] = (await tenant.get(f"{path}activity/"))["results"]

    [change] = entry["detail"]["changes"]
    state = {"id": tile["id"], "layouts": {}, "color": None, "text": BODY}
    assert (change["field"], change["before"], change["after"]) == ("tiles", [], [state])


async def test_a_link_shows_texts_without_their_authors(tenant: Tenant) -> None:
    path = await made_dashboard(tenant)
    tile = await added(tenant, path)
    token = (await tenant.api.post(f"{path}share/")).json()["token"]

    shared = (await tenant.public.get(f"/api/shared_dashboards/{token}/")).json()

    assert shared["tiles"] == [
        {
            "id": tile["id"],
            "name": "",
            "description": "",
            "text": {"body": BODY},
            "layouts": {},
            "color": None,
            "filters": {},
            "query": None,
            "result": None,
            "beside": {},
            "last_refresh": None,
            "is_refused": False,
        }
    ]


@pytest.mark.every_engine
async def test_a_dashboard_is_changed_only_as_it_was_read(tenant: Tenant) -> None:
    path = await made_dashboard(tenant)
    before = await tenant.get(path)
    tenant.server.clock.move(minutes=1)
    await patch(tenant, path, {"text": {"body": "A text does not make the name older."}})
    known = {"expected_modified_at": before["last_modified_at"]}

    renamed = await tenant.api.patch(path, json={"name": "Theirs", **known})
    stale = await tenant.api.patch(path, json={"name": "Mine", **known})
    same = await tenant.api.patch(path, json={"name": "Theirs"})

    assert before["last_modified_at"] == before["created_at"] == "2024-03-01T12:00:00Z"
    assert renamed.json()["last_modified_at"] == "2024-03-01T12:01:00Z"
    assert (stale.status_code, stale.json()) == (
        409,
        error(
            "invalid_request",
            "conflict",
            "The dashboard was changed since you read it. "
            "Review the current version and try again.",
            "expected_modified_at",
        ),
    )
    assert (await tenant.get(path))["name"] == "Theirs"
    assert same.json()["last_modified_at"] == renamed.json()["last_modified_at"]
