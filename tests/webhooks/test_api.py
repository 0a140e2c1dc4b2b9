"""The webhooks of a project: managed over HTTP, and what a real receiver is sent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from fanion.observability.metrics import Metrics
from fanion.projects.model import FORMER_KEYS_MAX, FORMER_VALID_S
from fanion.webhooks.client import Resolver, Sender
from fanion.webhooks.model import EVENT_TYPES
from fanion.webhooks.worker import Deliverer
from tests.support.application import Tenant
from tests.support.management import NOW, error, invalid
from tests.support.receiver import Receiver, open_receiver
from tests.support.team import Json

NOW_TEXT = "2024-03-01T12:00:00Z"
NOT_FOUND = error("invalid_request", "not_found", "Not found.")


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with open_receiver() as receiver:
        yield receiver


@asynccontextmanager
async def open_deliverer(tenant: Tenant, **options: Any) -> AsyncIterator[Deliverer]:
    """Open the deliverer of a server that may send to this machine."""
    sender = Sender(Resolver(), **{"allow_private": True, **options})
    yield Deliverer(tenant.server.records, sender, Metrics(), tenant.server.clock.now)
    await sender.close()


async def delivered(tenant: Tenant, **options: Any) -> None:
    """Send deliveries until none is due any more."""
    async with open_deliverer(tenant, **options) as deliverer:
        while await deliverer.work_once():
            pass


async def create(tenant: Tenant, url: str = "https://hooks.example/x?y", **sent: Any) -> Json:
    answer = await tenant.api.post("/webhooks/", json={"url": url, **sent})
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def deliveries(tenant: Tenant, webhook: Json) -> list[Json]:
    results: list[Json] = (await tenant.get(f"/webhooks/{webhook['id']}/deliveries/"))["results"]
    return results


@pytest.mark.every_engine
async def test_a_webhook_from_birth_to_deletion(tenant: Tenant) -> None:
    made = await create(tenant)
    other = await create(tenant, "http://other.example:8080/", events=["cohort.created"])
    webhook_path = f"/webhooks/{made['id']}/"

    returned = await tenant.get(webhook_path)
    listed = await tenant.get("/webhooks/")
    tenant.server.clock.move(minutes=1)
    changed = await tenant.api.patch(
        webhook_path,
        json={"url": "https://new.example/", "events": ["cohort.updated"], "active": False},
    )
    gone = await tenant.api.delete(webhook_path)

    assert made["secret"].startswith("whsec_")
    assert made == {
        "id": made["id"],
        "url": "https://hooks.example/x?y",
        "events": list(EVENT_TYPES),
        "active": True,
        "secret": made["secret"],
        "former_secret_valid_until": None,
        "created_by": tenant.owner,
        "created_at": NOW_TEXT,
        "updated_at": NOW_TEXT,
    }
    assert made["secret"] != other["secret"]
    assert returned == made | {"secret": None}
    assert listed["results"] == [returned, other | {"secret": None}]
    assert listed["count"] == 2
    assert changed.json() == returned | {
        "url": "https://new.example/",
        "events": ["cohort.updated"],
        "active": False,
        "updated_at": "2024-03-01T12:01:00Z",
    }
    assert (gone.status_code, gone.content) == (204, b"")
    for method, path in (
        ("GET", webhook_path),
        ("PATCH", webhook_path),
        ("DELETE", webhook_path),
        ("GET", f"{webhook_path}deliveries/"),
    ):
        answer = await tenant.api.request(method, path, json={})
        assert (answer.status_code, answer.json()) == (404, NOT_FOUND)


LITERAL = "Webhooks are not sent to {} address."
REFUSED: dict[str, tuple[Json, Json]] = {
    "no URL": ({}, invalid("required", "This field is required.", "url")),
    "a null": ({"url": None}, invalid("null", "This field may not be null.", "url")),
    "a blank": ({"url": " "}, invalid("blank", "This field may not be blank.", "url")),
    "a list": ({"url": ["x"]}, invalid("invalid_input", "Not a valid string.", "url")),
    "a long one": (
        {"url": "https://a.example/" + "x" * 2_000},
        invalid("max_length", "Ensure this field has no more than 2000 characters.", "url"),
    ),
    "a file": (
        {"url": "file:///etc/passwd"},
        invalid("invalid_input", "The URL must begin with https:// or http://.", "url"),
    ),
    "a password": (
        {"url": "https://a:b@c.example/"},
        invalid("invalid_input", "The URL must not hold a user name or a password.", "url"),
    ),
    "this machine": (
        {"url": "http://127.0.0.1/"},
        invalid("invalid_input", LITERAL.format("a loopback"), "url"),
    ),
    "this machine, mapped": (
        {"url": "http://[::ffff:127.0.0.1]/"},
        invalid("invalid_input", LITERAL.format("a loopback"), "url"),
    ),
    "this network": (
        {"url": "http://192.168.1.1/"},
        invalid("invalid_input", LITERAL.format("a private or reserved"), "url"),
    ),
    "an unknown event": (
        {"url": "https://a.example/", "events": ["all"]},
        invalid(
            "invalid_choice",
            f'"all" is not a valid choice. Allowed are: {", ".join(sorted(EVENT_TYPES))}.',
            "events__0",
        ),
    ),
    "no event": (
        {"url": "https://a.example/", "events": []},
        invalid("empty", "This list may not be empty.", "events"),
    ),
    "no list": (
        {"url": "https://a.example/", "events": "cohort.created"},
        invalid("not_a_list", 'Expected a list of items but got type "str".', "events"),
    ),
    "a state that is none": (
        {"url": "https://a.example/", "active": "perhaps"},
        invalid("invalid_input", "Must be a valid boolean.", "active"),
    ),
}


@pytest.mark.every_engine
@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_wrong_is_refused(tenant: Tenant, name: str) -> None:
    sent, reported = REFUSED[name]

    created = await tenant.api.post("/webhooks/", json=sent)

    assert (created.status_code, created.json()) == (400, reported)
    if sent:
        made = await create(tenant)
        changed = await tenant.api.patch(f"/webhooks/{made['id']}/", json=sent)
        assert (changed.status_code, changed.json()) == (400, reported)
        assert await tenant.get(f"/webhooks/{made['id']}/") == made | {"secret": None}


@pytest.mark.every_engine
async def test_events_are_listed_once_and_in_one_order(tenant: Tenant) -> None:
    made = await create(tenant, events=["cohort.created", "feature_flag.created", "cohort.created"])

    assert made["events"] == ["feature_flag.created", "cohort.created"]


async def test_a_change_of_a_flag_is_sent_and_signed(tenant: Tenant, receiver: Receiver) -> None:
    webhook = await create(tenant, receiver.url("/in"))
    flag = await tenant.create_flag(key="beta")
    waiting = await deliveries(tenant, webhook)

    await delivered(tenant)

    [request] = receiver.requests
    assert request.path == "/in"
    assert request.is_signed_with(webhook["secret"])
    assert request.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    assert request.json() == {
        "type": "feature_flag.created",
        "timestamp": NOW_TEXT,
        "data": {
            "project_id": tenant.project_id,
            "item_id": str(flag["id"]),
            "name": "beta",
            "user": {"first_name": "Olga", "email": tenant.owner["email"]},
            "changes": None,
            "trigger": None,
            "truncated": False,
        },
    }
    message = {
        "id": request.headers["webhook-id"],
        "event": "feature_flag.created",
        "response_code": None,
        "error": None,
        "created_at": NOW_TEXT,
    }
    assert waiting == [
        message
        | {"status": "pending", "attempts": 0, "next_attempt_at": NOW_TEXT, "finished_at": None}
    ]
    assert await deliveries(tenant, webhook) == [
        message
        | {
            "status": "delivered",
            "attempts": 1,
            "response_code": 200,
            "next_attempt_at": None,
            "finished_at": NOW_TEXT,
        }
    ]


async def test_a_secret_that_is_replaced_signs_for_a_while(
    tenant: Tenant, receiver: Receiver
) -> None:
    webhook = await create(tenant, receiver.url("/in"))
    path = f"/webhooks/{webhook['id']}/rotate_secret/"

    answer = await tenant.api.post(path, json={"former_valid_s": 4})
    rotated = answer.json()
    for number, seconds in enumerate((3, 1)):
        tenant.server.clock.move(seconds=seconds)
        await tenant.create_flag(key=f"f{number}")
        await delivered(tenant)

    assert answer.status_code == 200
    assert rotated == webhook | {
        "secret": rotated["secret"],
        "former_secret_valid_until": "2024-03-01T12:00:04Z",
    }
    assert rotated["secret"].startswith("whsec_") and rotated["secret"] != webhook["secret"]
    signed = [
        [request.is_signed_with(body["secret"]) for body in (rotated, webhook)]
        for request in receiver.requests
    ]
    assert signed == [[True, True], [True, False]]
    assert (await tenant.get(f"/webhooks/{webhook['id']}/"))["former_secret_valid_until"] is None


async def test_secrets_that_have_leaked_end_at_once(tenant: Tenant, receiver: Receiver) -> None:
    webhook = await create(tenant, receiver.url("/in"))
    path = f"/webhooks/{webhook['id']}/rotate_secret/"
    for _ in range(FORMER_KEYS_MAX):
        assert (await tenant.api.post(path, json={"former_valid_s": 60})).status_code == 200
    refused = await tenant.api.post(path, json={"former_valid_s": 60})

    last = (await tenant.api.post(path, json={"former_valid_s": 0})).json()
    await tenant.create_flag(key="f")
    await delivered(tenant)

    [request] = receiver.requests
    assert (refused.status_code, refused.json()["attr"]) == (400, "former_valid_s")
    assert " " not in request.headers["webhook-signature"]
    assert request.is_signed_with(last["secret"])
    assert not request.is_signed_with(webhook["secret"])


async def test_the_activity_records_another_secret_and_not_the_secret(tenant: Tenant) -> None:
    made = await create(tenant)
    rotated = (await tenant.api.post(f"/webhooks/{made['id']}/rotate_secret/")).json()

    newest = (await tenant.get("/activity_log/", scope="Webhook"))["results"][0]

    until = NOW + timedelta(seconds=FORMER_VALID_S)
    assert rotated["former_secret_valid_until"] == f"{until:%Y-%m-%dT%H:%M:%SZ}"
    [change] = newest["detail"]["changes"]
    assert (newest["activity"], change["field"]) == ("updated", "secret")
    assert change["before"] == f"whse...{made['secret'][-4:]}"
    assert change["after"] == f"whse...{rotated['secret'][-4:]}"


async def test_each_kind_of_change_has_its_type(tenant: Tenant, receiver: Receiver) -> None:
    await create(tenant, receiver.url())
    rollback = {
        "threshold": 1,
        "threshold_type": "insight",
        "operator": "lt",
        "threshold_metric": {"insight": "trends", "events": [{"id": "paid"}]},
    }
    flag = await tenant.create_flag(key="beta", rollback_conditions=[rollback])
    path = f"/feature_flags/{flag['id']}/"
    await tenant.api.patch(path, json={"name": "n"})
    await tenant.api.patch(path, json={"name": "n"})
    scheduled = {
        "scheduled_at": "2024-03-01T12:30:00Z",
        "payload": {"operation": "update_rollout_percentage", "value": 5},
    }
    await tenant.api.post(f"{path}scheduled_changes/", json=scheduled)
    tenant.server.clock.time = NOW + timedelta(hours=1)
    await tenant.server.running.automation.scheduler.work_once()
    await tenant.server.running.automation.rollbacks.work_once()
    await tenant.api.patch(path, json={"deleted": True})
    cohort = (await tenant.api.post("/cohorts/", json={"name": "c", "groups": []})).json()
    await tenant.api.patch(f"/cohorts/{cohort['id']}/", json={"name": "d"})
    await tenant.api.patch(f"/cohorts/{cohort['id']}/", json={"deleted": True})

    await delivered(tenant)

    reported = [request.json() for request in receiver.requests]
    triggers = [(message["data"]["trigger"] or {}).get("job_type") for message in reported]
    users = [message["data"]["user"] is not None for message in reported]
    assert [
        (message["type"], trigger, by_user)
        for message, trigger, by_user in zip(reported, triggers, users, strict=True)
    ] == [
        ("feature_flag.created", None, True),
        ("feature_flag.updated", None, True),
        ("feature_flag.updated", None, True),
        ("feature_flag.updated", "scheduled_change", True),
        ("feature_flag.rolled_back", "auto_rollback", False),
        ("feature_flag.deleted", None, True),
        ("cohort.created", None, True),
        ("cohort.updated", None, True),
        ("cohort.deleted", None, True),
    ]


async def test_a_role_that_gets_a_flag_or_loses_it_is_sent(
    tenant: Tenant, receiver: Receiver
) -> None:
    flag = await tenant.create_flag(key="beta")
    async with tenant.server.client(tenant.key) as client:
        roles = "/api/organizations/@current/roles/"
        first, second = [
            (await client.post(roles, json={"name": name})).json() for name in ("One", "Two")
        ]
        await create(tenant, receiver.url())
        path = f"/feature_flags/{flag['id']}/role_access/"
        made = await tenant.api.post(path, json={"role_id": first["id"]})
        await tenant.api.delete(f"{path}{made.json()['id']}/")
        await tenant.api.post(path, json={"role_id": second["id"]})
        await client.delete(f"{roles}{second['id']}/")

    await delivered(tenant)

    reported = [request.json() for request in receiver.requests]
    assert {message["type"] for message in reported} == {"feature_flag.updated"}
    one, two = ({"id": role["id"], "name": role["name"]} for role in (first, second))
    assert [
        [
            (change["field"], change["before"], change["after"])
            for change in message["data"]["changes"]
        ]
        for message in reported
    ] == [
        [("role_access", None, one)],
        [("role_access", one, None)],
        [("role_access", None, two)],
        [("role_access", two, None)],
    ]


async def test_only_what_was_asked_for_is_sent(tenant: Tenant, receiver: Receiver) -> None:
    await create(tenant, receiver.url("/cohorts"), events=["cohort.created"])
    off = await create(tenant, receiver.url("/off"), active=False)

    await tenant.create_flag(key="beta")
    await tenant.api.post("/cohorts/", json={"name": "c", "groups": []})
    await delivered(tenant)

    assert [request.path for request in receiver.requests] == ["/cohorts"]
    assert await deliveries(tenant, off) == []


async def test_a_refused_change_sends_nothing(tenant: Tenant, receiver: Receiver) -> None:
    await create(tenant, receiver.url())
    await tenant.create_flag(key="beta")
    await delivered(tenant)

    answer = await tenant.api.post("/feature_flags/", json={"key": "beta"})
    await delivered(tenant)

    assert answer.status_code == 400
    assert len(receiver.requests) == 1


async def test_a_failure_is_tried_again_under_the_same_id(
    tenant: Tenant, receiver: Receiver
) -> None:
    webhook = await create(tenant, receiver.url())
    receiver.statuses = [500, 302]
    await tenant.create_flag(key="beta")

    await delivered(tenant)
    [first] = await deliveries(tenant, webhook)
    tenant.server.clock.move(seconds=9)
    await delivered(tenant)
    early = len(receiver.requests)
    tenant.server.clock.move(seconds=1)
    await delivered(tenant)
    tenant.server.clock.move(seconds=60)
    await delivered(tenant)

    [done] = await deliveries(tenant, webhook)
    assert (first["status"], first["attempts"], first["response_code"]) == ("pending", 1, 500)
    assert first["error"] == "The answer was 500, not 200 to 299."
    assert first["next_attempt_at"] == "2024-03-01T12:00:10Z"
    assert (early, len(receiver.requests)) == (1, 3)
    assert {request.headers["webhook-id"] for request in receiver.requests} == {done["id"]}
    stamps = [request.headers["webhook-timestamp"] for request in receiver.requests]
    assert len(set(stamps)) == 3
    assert all(request.is_signed_with(webhook["secret"]) for request in receiver.requests)
    assert (done["status"], done["attempts"], done["response_code"]) == ("delivered", 3, 200)
    assert (done["error"], done["finished_at"]) == (None, "2024-03-01T12:01:10Z")


async def test_without_the_setting_this_machine_is_not_reached(
    tenant: Tenant, receiver: Receiver
) -> None:
    webhook = await create(tenant, receiver.url())
    await tenant.create_flag(key="beta")

    while await tenant.server.running.automation.deliverer.work_once():
        pass

    [delivery] = await deliveries(tenant, webhook)
    assert receiver.requests == []
    assert (delivery["status"], delivery["attempts"]) == ("failed", 1)
    assert delivery["error"] == "Not sent: the host has a loopback address."


async def test_a_slow_receiver_delays_no_other(tenant: Tenant, receiver: Receiver) -> None:
    slow = await create(tenant, receiver.url("/slow"))
    quick = await create(tenant, receiver.url("/quick"))
    async with open_deliverer(tenant) as deliverer:
        running = asyncio.create_task(deliverer.run())
        for key in "abc":
            await tenant.create_flag(key=key)

        seen = [request.path for request in await receiver.received(4)]
        receiver.let_go.set()
        everything = [request.path for request in await receiver.received(6)]
        running.cancel()
        await asyncio.wait([running])

    assert sorted(seen) == ["/quick", "/quick", "/quick", "/slow"]
    assert everything.count("/slow") == 3
    assert len(await deliveries(tenant, slow)) == len(await deliveries(tenant, quick)) == 3


async def test_what_is_broken_off_is_sent_by_the_next_server(
    tenant: Tenant, receiver: Receiver
) -> None:
    webhook = await create(tenant, receiver.url("/slow"))
    await tenant.create_flag(key="beta")
    async with open_deliverer(tenant) as deliverer:
        running = asyncio.create_task(deliverer.run())
        await receiver.received(1)
        running.cancel()
        await asyncio.wait([running])
    [broken_off] = await deliveries(tenant, webhook)
    receiver.let_go.set()

    await delivered(tenant)

    assert (broken_off["status"], broken_off["next_attempt_at"]) == ("pending", NOW_TEXT)
    [done] = await deliveries(tenant, webhook)
    assert (done["status"], done["attempts"]) == ("delivered", 2)


async def test_captured_events_are_announced_by_their_definition(
    tenant: Tenant, receiver: Receiver
) -> None:
    await create(tenant, receiver.url(), events=["event.captured"])
    paid = [{"event": "paid", "distinct_id": "ann"}]
    await tenant.capture(*paid, {"event": "seen", "distinct_id": "ann"})
    definitions = (await tenant.get("/event_definitions/", search="paid"))["results"]
    definition = definitions[0]
    path = f"/event_definitions/{definition['id']}/"
    await tenant.api.patch(path, json={"post_to_chat": True})

    await tenant.capture(*paid * 3)
    await delivered(tenant)
    for _ in range(2):
        await tenant.capture(*paid * 2)
        await delivered(tenant)
    tenant.server.clock.move(minutes=1)
    await delivered(tenant)
    await tenant.capture(*paid * 4, historical_migration=True)
    tenant.server.clock.move(minutes=1)
    await delivered(tenant)

    assert [request.json() for request in receiver.requests] == [
        {
            "type": "event.captured",
            "timestamp": NOW_TEXT,
            "data": {
                "project_id": tenant.project_id,
                "event_definition": {"id": definition["id"], "name": "paid"},
                "count": count,
                "since": NOW_TEXT,
                "until": NOW_TEXT,
            },
        }
        for count in (3, 4)
    ]


async def test_the_activity_records_webhooks_without_their_secrets(tenant: Tenant) -> None:
    made = await create(tenant, "https://hooks.example/a/secret/path")
    await tenant.api.patch(f"/webhooks/{made['id']}/", json={"active": False})
    await tenant.api.patch(f"/webhooks/{made['id']}/", json={"url": "https://b.example/x"})
    await tenant.api.delete(f"/webhooks/{made['id']}/")

    reported = (await tenant.get("/activity_log/", scope="Webhook"))["results"]

    assert [(entry["activity"], entry["detail"]["name"]) for entry in reported] == [
        ("deleted", "https://b.example"),
        ("updated", "https://b.example"),
        ("updated", "https://hooks.example"),
        ("created", "https://hooks.example"),
    ]
    assert {entry["item_id"] for entry in reported} == {str(made["id"])}
    assert "secret" not in str(reported)
    [change] = reported[2]["detail"]["changes"]
    assert (change["field"], change["before"], change["after"]) == ("active", True, False)


async def test_attempts_are_counted_for_operators(tenant: Tenant, receiver: Receiver) -> None:
    before = await tenant.server.metric("fanion_webhook_attempts_total", outcome="failed")
    await create(tenant, receiver.url())
    await tenant.create_flag(key="beta")

    await tenant.server.running.automation.deliverer.work_once()

    after = await tenant.server.metric("fanion_webhook_attempts_total", outcome="failed")
    assert after == before + 1
