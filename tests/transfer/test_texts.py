"""Texts on dashboards in a document."""

from collections import Counter
from typing import Any

import pytest

from tests.support.application import Json, Tenant
from tests.transfer.test_api import imported

HERE, THERE = {"sm": {"x": 0, "y": 0}}, {"sm": {"x": 6, "y": 0}}


def document(*tiles: Json) -> Json:
    return {"dashboards": [{"key": "Board", "name": "Board", "tiles": tiles}]}


async def texts(tenant: Tenant) -> list[tuple[str, Any]]:
    [board] = (await tenant.get("/dashboards/"))["results"]
    tiles = (await tenant.get(f"/dashboards/{board['id']}/"))["tiles"]
    return [(tile["text"]["body"], tile["layouts"]) for tile in tiles]


@pytest.mark.every_engine
async def test_texts_are_found_again_by_their_words_and_then_by_their_place(
    tenant: Tenant,
) -> None:
    first: list[Json] = [
        {"text": "same", "layouts": HERE},
        {"text": "former", "layouts": THERE},
        {"text": "twice"},
        {"text": "twice"},
    ]
    await imported(tenant, document(*first))
    second: list[Json] = [
        {"text": "same", "layouts": THERE},
        {"text": "latter", "layouts": THERE},
        {"text": "twice"},
        {"text": "new"},
    ]

    changed = await imported(tenant, document(*second))
    repeated = await imported(tenant, document(*second))

    assert await texts(tenant) == [
        ("same", THERE),
        ("latter", THERE),
        ("twice", {}),
        ("twice", {}),
        ("new", {}),
    ]
    assert [(outcome.result, outcome.why) for outcome in changed.outcomes] == [("updated", "tiles")]
    assert Counter(outcome.result for outcome in repeated.outcomes) == {"unchanged": 1}


async def test_a_removed_text_comes_back_with_an_import(tenant: Tenant) -> None:
    await imported(tenant, document({"text": "kept"}))
    [board] = (await tenant.get("/dashboards/"))["results"]
    path = f"/dashboards/{board['id']}/"
    [tile] = (await tenant.get(path))["tiles"]
    await tenant.api.patch(path, json={"tiles": [{"id": tile["id"], "deleted": True}]})

    await imported(tenant, document({"text": "kept"}))

    assert [one["id"] for one in (await tenant.get(path))["tiles"]] == [tile["id"]]
