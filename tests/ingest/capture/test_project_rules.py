"""The rules of a project for its events: addresses, user agents, properties and limits."""

from typing import Any

import pytest

from fanion.accept_log.port import Envelope
from fanion.projects.cache import Projects
from fanion.projects.store import ProjectStore
from fanion.web.routes import CAPTURE_PATHS
from tests.support.application import Json, Tenant, error, open_tenant
from tests.support.management import NO_WISHES


async def set_rules(tenant: Tenant, **ingestion: Any) -> Json:
    answer = await tenant.api.patch("/", json={"ingestion": ingestion})
    assert answer.status_code == 200, answer.text
    wished: Json = answer.json()["ingestion"]
    return wished


async def test_a_project_wishes_nothing_by_default(tenant: Tenant) -> None:
    project = await tenant.get("/")

    assert project["ingestion"] == NO_WISHES
    assert list(project)[:7] == [
        *("id", "uuid", "name", "api_token", "created_at", "timezone", "organization")
    ]


@pytest.mark.every_engine
async def test_wishes_change_one_by_one_and_can_be_taken_back(tenant: Tenant) -> None:
    first = await set_rules(tenant, removed_properties=["card", " pin "], items_per_second=100)
    second = await set_rules(tenant, anonymize_ips=True, items_per_second=None)
    renamed = await tenant.api.patch("/", json={"name": "Shop"})
    last = await set_rules(tenant, anonymize_ips=False, removed_properties=[])

    assert first == {**NO_WISHES, "removed_properties": ["card", "pin"], "items_per_second": 100.0}
    assert second == {**NO_WISHES, "removed_properties": ["card", "pin"], "anonymize_ips": True}
    assert renamed.json()["ingestion"] == second
    assert last == NO_WISHES


@pytest.mark.parametrize(
    ("ingestion", "code", "detail", "attr"),
    [
        ({"anonymize_ips": "maybe"}, "invalid_input", "Must be a valid boolean.", "anonymize_ips"),
        ({"anonymize_ips": None}, "null", "This field may not be null.", "anonymize_ips"),
        (
            {"removed_properties": "card"},
            "not_a_list",
            'Expected a list of items but got type "str".',
            "removed_properties",
        ),
        (
            {"dropped_user_agents": ["bot", " "]},
            "blank",
            "This field may not be blank.",
            "dropped_user_agents__1",
        ),
        (
            {"dropped_user_agents": ["b"] * 101},
            "max_length",
            "Ensure this field has no more than 100 elements.",
            "dropped_user_agents",
        ),
        (
            {"items_per_second": 0},
            "min_value",
            "Ensure this value is greater than or equal to 0.1.",
            "items_per_second",
        ),
        (
            {"bytes_per_second": "fast"},
            "invalid_input",
            "A valid number is required.",
            "bytes_per_second",
        ),
        (
            {"burst_seconds": 4000},
            "max_value",
            "Ensure this value is less than or equal to 3600.",
            "burst_seconds",
        ),
    ],
)
async def test_a_wish_that_cannot_be_is_refused(
    tenant: Tenant, ingestion: Json, code: str, detail: str, attr: str
) -> None:
    answer = await tenant.api.patch("/", json={"ingestion": ingestion})

    assert answer.status_code == 400
    assert answer.json() == error("validation_error", code, detail, f"ingestion__{attr}")
    assert (await tenant.get("/"))["ingestion"] == NO_WISHES


async def test_other_servers_follow(tenant: Tenant) -> None:
    elsewhere = Projects(ProjectStore(tenant.server.records))
    before = await elsewhere.by_token(tenant.token)

    await set_rules(tenant, anonymize_ips=True)
    await elsewhere.refresh()

    assert not before.ingestion.anonymize_ips
    assert (await elsewhere.by_token(tenant.token)).ingestion.anonymize_ips


async def test_addresses_are_not_stored_once_the_project_says_so(tenant: Tenant) -> None:
    await tenant.capture({"event": "before", "distinct_id": "u1"})
    await set_rules(tenant, anonymize_ips=True)
    await tenant.capture(
        {"event": "after", "distinct_id": "u1", "properties": {"$ip": "192.0.2.9", "kept": 1}}
    )

    after, before = await tenant.events()
    assert before["properties"]["$ip"] == "127.0.0.1"
    assert after["properties"] == {"kept": 1}


async def test_unwanted_properties_reach_neither_event_nor_person(tenant: Tenant) -> None:
    await set_rules(tenant, removed_properties=["card", "$browser"])
    await tenant.capture(
        {
            "event": "paid",
            "distinct_id": "u1",
            "properties": {"card": "4111", "$browser": "Firefox", "plan": "pro"},
            "$set": {"card": "4111", "name": "Uma"},
        }
    )

    [event] = await tenant.events()
    person = await tenant.person("u1")
    assert event["properties"] == {"plan": "pro", "$ip": "127.0.0.1", "$set": {"name": "Uma"}}
    assert person["properties"].keys() & {"card", "$browser", "$initial_browser"} == set()
    assert person["properties"]["name"] == "Uma"


async def test_unwanted_user_agents_are_dropped_and_reported(tenant: Tenant) -> None:
    await set_rules(tenant, dropped_user_agents=["GoogleBot"])
    own = {"event": "seen", "distinct_id": "u1", "properties": {"$raw_user_agent": "Firefox"}}
    bots = {"event": "seen", "distinct_id": "u2"}
    body = {"api_key": tenant.token, "batch": [own, bots]}

    await tenant.public.post("/batch/", json=body, headers={"user-agent": "googlebot/2.1"})
    await tenant.server.ingested()
    report = await tenant.get("/ingestion/")

    assert [event["distinct_id"] for event in await tenant.events()] == ["u1"]
    [reason] = report["reasons"]
    assert (reason["reason"], reason["items"]) == ("user_agent", 1)
    assert "googlebot/2.1" in reason["examples"][0]["detail"]


async def test_rules_of_a_project_that_this_server_has_not_met_are_loaded(tenant: Tenant) -> None:
    await set_rules(tenant, removed_properties=["card"])
    directory = tenant.server.running.public.flags.projects
    directory._replace_cached(tenant.project_id, None)  # as after a restart

    body = b'{"event": "paid", "distinct_id": "u1", "properties": {"card": 1, "plan": 2}}'
    await tenant.server.log.append(
        Envelope(tenant.project_id, tenant.server.clock.now(), "", "", None, body)
    )
    await tenant.server.ingested()

    [event] = await tenant.events()
    assert event["properties"] == {"plan": 2}


async def test_a_flood_is_throttled_and_nothing_of_it_is_stored(tenant: Tenant) -> None:
    await set_rules(tenant, items_per_second=2, burst_seconds=2)
    events = [{"event": "paid", "distinct_id": "u1"}] * 4
    body = {"api_key": tenant.token, "batch": events}

    first = await tenant.public.post("/batch/", json=body)
    second = await tenant.public.post("/capture/", json={**events[0], "api_key": tenant.token})
    tenant.server.clock.move(seconds=1)
    third = await tenant.public.post("/batch/", json=body)
    fourth = await tenant.public.post("/batch/", json=body)
    await tenant.server.ingested()

    assert (first.status_code, third.status_code) == (200, 200)
    assert second.status_code == 503
    assert second.headers["retry-after"] == "1"
    assert second.json() == error(
        "server_error", "throttled", "Request was throttled. Expected available in 1 second."
    )
    assert fourth.status_code == 503
    assert fourth.headers["retry-after"] == "2"
    assert fourth.json()["detail"] == "Request was throttled. Expected available in 2 seconds."
    assert len(await tenant.events()) == 8
    assert (await tenant.get("/ingestion/"))["totals"]["accepted"] == 8


async def test_bytes_are_limited_as_they_are_after_decompression(tenant: Tenant) -> None:
    await set_rules(tenant, bytes_per_second=1000, burst_seconds=1)
    item = {"event": "paid", "distinct_id": "u1", "properties": {"text": "x" * 5000}}

    answers = [
        (await tenant.public.post("/capture/", json={**item, "api_key": tenant.token})).status_code
        for _ in range(2)
    ]

    assert answers == [200, 503]


async def test_a_flooding_project_does_not_slow_its_neighbour(tenant: Tenant) -> None:
    await set_rules(tenant, items_per_second=1, burst_seconds=1)
    event = {"event": "paid", "distinct_id": "u1"}

    async with open_tenant(tenant.server, tenant.project_id + 500_000) as neighbour:
        flood = [
            (await tenant.public.post("/e/", json={**event, "api_key": tenant.token})).status_code
            for _ in range(50)
        ]
        for _ in range(5):
            await neighbour.capture(event)
        stored = len(await neighbour.events())

    assert flood == [200] + [503] * 49
    assert stored == 5


async def test_the_newest_capture_protocol_is_limited_in_its_own_words(tenant: Tenant) -> None:
    """Capture v1 answers 503, after which clients retry; those for Go and Rust quit at 429."""
    await set_rules(tenant, items_per_second=1, burst_seconds=1)
    body = {"batch": [{"event": "paid", "distinct_id": "u1"}]}
    headers = {"authorization": f"Bearer {tenant.token}", "posthog-request-id": "r1"}

    answers = [
        await tenant.public.post("/i/v1/analytics/events/", json=body, headers=headers)
        for _ in range(2)
    ]

    assert [answer.status_code for answer in answers] == [200, 503]
    assert answers[1].headers["retry-after"] == "1"
    assert answers[1].headers["posthog-request-id"] == "r1"
    detail = "Request was throttled. Expected available in 1 second."
    assert answers[1].json() == {
        **error("server_error", "throttled", detail),
        "error": "throttled",
        "error_description": detail,
    }


@pytest.mark.parametrize(
    "path", [*CAPTURE_PATHS, "/engage", "/i/v1/analytics/events"], ids=lambda path: path[1:]
)
async def test_every_capture_path_asks_to_send_again(tenant: Tenant, path: str) -> None:
    await set_rules(tenant, items_per_second=1, burst_seconds=1)
    event = {"event": "paid", "distinct_id": "u1", "$distinct_id": "u1", "$set": {"plan": "pro"}}
    body = {"api_key": tenant.token, "batch": [event], **event}
    headers = {"authorization": f"Bearer {tenant.token}"}

    answers = [await tenant.public.post(path, json=body, headers=headers) for _ in range(2)]
    tenant.server.clock.move(seconds=int(answers[1].headers["retry-after"]))
    again = await tenant.public.post(path, json=body, headers=headers)

    assert [answer.status_code for answer in answers] == [200, 503]
    assert again.status_code == 200
