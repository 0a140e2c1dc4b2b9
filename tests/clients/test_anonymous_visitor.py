"""The default of posthog-js: a visitor without a profile, who signs up."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.browser import Visit, find_chromium, visit
from tests.clients.journey import PACKAGES
from tests.clients.management import Api, Json
from tests.support.server import Keys, RealServer

pytestmark = pytest.mark.long("real clients in Chromium")

HERE = Path(__file__).parent / "npm"
USER = "js-visitor-user"
OURS = [{"key": "journey", "value": USER, "operator": "exact", "type": "event"}]


def test_a_visit_and_the_sign_up_after_it_are_one_person(
    server: tuple[RealServer, Keys], api: Api, tmp_path: Path
) -> None:
    """The page view is stored before `identify` is sent."""
    bundle = PACKAGES / "posthog-js" / "dist" / "array.full.js"
    if find_chromium() is None:
        pytest.skip("no Chromium found: install the package `chromium`")
    if not bundle.exists():
        pytest.skip(f"{bundle} is missing: `make test` installs it, with npm if there is")
    running, keys = server
    journey = {"host": running.url, "token": keys.project_api_key, "user": USER}

    def arrived(event: str, count: int) -> object:
        return api.await_events(count, event=event, properties=json.dumps(OURS))

    seen = visit(Visit(HERE / "visitor_page.mjs", bundle, journey, arrived, tmp_path / "browser"))

    [viewed] = api.await_events(1, event="$pageview", distinct_id=seen["anonymous"])
    assert viewed["properties"]["$process_person_profile"] is False
    person = api.person(USER)
    assert set(person["distinct_ids"]) == {USER, seen["anonymous"]}
    events = api.await_events(3, person_id=person["uuid"])
    assert {listed["event"] for listed in events} >= {"$pageview", "$identify", "signed up"}
    steps = [{"id": "$pageview", "order": 0}, {"id": "signed up", "order": 1}]
    assert [step["count"] for step in ask(api, "funnel", steps)] == [1, 1]
    [series] = ask(api, "trend", [{"id": None, "math": "dau"}])
    assert series["data"][-1] == 1


def ask(api: Api, kind: str, events: list[Json]) -> Any:
    texts = {"events": json.dumps(events), "properties": json.dumps(OURS)}
    return api.get(f"/insights/{kind}/", **texts)["result"]
