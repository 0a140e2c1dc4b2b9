"""Alerts on numbers of saved insights: managed over HTTP, checked on a schedule, sent out."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import insert, update

from fanion.db.schema.insights import alert_checks, alerts
from fanion.insights.alerts.checks_store import CHECKS_KEPT
from fanion.observability.metrics import Metrics
from fanion.projects.model import Level
from fanion.webhooks.client import Resolver, Sender
from fanion.webhooks.worker import Deliverer
from tests.support.application import Json, Tenant, error, open_tenant
from tests.support.management import NOW, add_member
from tests.support.receiver import Receiver, open_receiver

FILTERS: Json = {"insight": "TRENDS", "events": [{"id": "seen"}], "date_from": "-3d"}
NOW_TEXT = "2024-03-01T12:00:00Z"
CHECK = {
    "checked_at": NOW,
    "state": "not_firing",
    "value": 7.0,
    "error": None,
    "webhooks": 0,
    "mails": 0,
}


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with open_receiver() as receiver:
        yield receiver


async def posted(tenant: Tenant, path: str, **sent: Any) -> Json:
    answer = await tenant.api.post(path, json=sent)
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def insight(tenant: Tenant, **more: Any) -> int:
    made: int = (await posted(tenant, "/insights/", filters={**FILTERS, **more}))["id"]
    return made


async def alert(tenant: Tenant, **sent: Any) -> Json:
    given = {"name": "Much", "condition": "above", "threshold": 1, **sent}
    if "insight" not in given:
        given["insight"] = await insight(tenant)
    return await posted(tenant, "/alerts/", **given)


async def seen(tenant: Tenant, number: int, **properties: Any) -> None:
    await tenant.capture(
        *(
            {
                "event": "seen",
                "distinct_id": "ann",
                "uuid": str(uuid4()),
                "properties": properties,
                "timestamp": "2024-03-01T10:00:00Z",
            }
            for _ in range(number)
        )
    )


async def all_checked(tenant: Tenant) -> None:
    """Check alerts until none is due; other tests have alerts too."""
    while await tenant.server.running.questions.alerter.work_once():
        pass


async def delivered(tenant: Tenant) -> None:
    sender = Sender(Resolver(), allow_private=True)
    deliverer = Deliverer(tenant.server.records, sender, Metrics(), tenant.server.clock.now)
    while await deliverer.work_once():
        pass
    await sender.close()


@pytest.mark.every_engine
async def test_an_alert_from_birth_to_deletion(tenant: Tenant) -> None:
    shown = await insight(tenant)

    made = await alert(tenant, insight=shown)
    place = f"/alerts/{made['id']}/"
    changed = await tenant.api.patch(place, json={"threshold": 5, "enabled": False, "state": "x"})
    listed = await tenant.get("/alerts/")
    removed = await tenant.api.delete(place)
    gone = await tenant.api.get(place)

    assert made == {
        "id": made["id"],
        "name": "Much",
        "insight": shown,
        "series_index": 0,
        "breakdown_value": None,
        "condition": "above",
        "threshold": 1.0,
        "enabled": True,
        "subscribed_users": [],
        "snoozed_until": None,
        "state": "not_checked",
        "value": None,
        "error": None,
        "last_checked_at": None,
        "next_check_at": NOW_TEXT,
        "check_every_s": 900.0,
        "created_by": tenant.owner,
        "created_at": NOW_TEXT,
        "updated_at": NOW_TEXT,
    }
    assert changed.json() == {**made, "threshold": 5.0, "enabled": False, "next_check_at": None}
    assert listed["results"] == [changed.json()]
    assert (removed.status_code, gone.status_code) == (204, 404)


@pytest.mark.every_engine
async def test_an_alert_that_cannot_be_checked_is_put_off_and_the_others_are_checked(
    tenant: Tenant,
) -> None:
    broken, good = await alert(tenant), await alert(tenant)

    await set_series(tenant, broken["id"], -9)
    await all_checked(tenant)
    await set_series(tenant, broken["id"], 0)
    await all_checked(tenant)
    before = await states(tenant)
    tenant.server.clock.move(seconds=30)
    await all_checked(tenant)

    assert before == {broken["id"]: "not_checked", good["id"]: "not_firing"}
    assert await states(tenant) == {broken["id"]: "not_firing", good["id"]: "not_firing"}


@pytest.mark.every_engine
async def test_an_alert_of_a_deleted_insight_is_not_checked(tenant: Tenant) -> None:
    shown = await insight(tenant)
    made = await alert(tenant, insight=shown)
    await tenant.api.patch(f"/insights/{shown}/", json={"deleted": True})

    await all_checked(tenant)

    assert (await states(tenant))[made["id"]] == "not_checked"


async def set_series(tenant: Tenant, alert_id: int, series_index: int) -> None:
    async with tenant.server.records.write() as connection:
        await connection.execute(
            update(alerts).where(alerts.c.id == alert_id).values(series_index=series_index)
        )


async def states(tenant: Tenant) -> Json:
    return {listed["id"]: listed["state"] for listed in (await tenant.get("/alerts/"))["results"]}


async def test_the_activity_records_alerts(tenant: Tenant) -> None:
    made = await alert(tenant)
    await tenant.api.patch(f"/alerts/{made['id']}/", json={"threshold": 5})

    entries = (await tenant.get(f"/alerts/{made['id']}/activity/"))["results"]

    assert [record["activity"] for record in entries] == ["updated", "created"]
    [change] = entries[0]["detail"]["changes"]
    assert (change["field"], change["before"], change["after"]) == ("threshold", 1.0, 5.0)


REFUSED: dict[str, tuple[Json, str, str, str]] = {
    "no name": ({"name": ""}, "blank", "This field may not be blank.", "name"),
    "an unknown insight": (
        {"insight": 987654},
        "does_not_exist",
        'Invalid pk "987654" - object does not exist.',
        "insight",
    ),
    "an unknown condition": (
        {"condition": "abov"},
        "invalid_choice",
        '"abov" is not a valid choice. Did you mean "above"?',
        "condition",
    ),
    "a negative change": (
        {"condition": "changes_by", "threshold": -1},
        "invalid_input",
        "Ensure this value is greater than or equal to 0.",
        "threshold",
    ),
    "a value that breakdowns do not have": (
        {"breakdown_value": [1]},
        "invalid_input",
        "Must be a string, an integer, or a list of strings.",
        "breakdown_value",
    ),
    "somebody who is not a member": (
        {"subscribed_users": [987654]},
        "does_not_exist",
        'Invalid pk "987654" - object does not exist.',
        "subscribed_users",
    ),
    "users that are no list": (
        {"subscribed_users": "ann"},
        "not_a_list",
        'Expected a list of items but got type "str".',
        "subscribed_users",
    ),
    "an unknown name": (
        {"treshold": 1},
        "invalid_input",
        'Unknown field "treshold". Did you mean "threshold"?',
        "treshold",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_an_invalid_alert_is_refused(tenant: Tenant, name: str) -> None:
    sent, code, detail, attr = REFUSED[name]
    valid = {
        "name": "n",
        "insight": await insight(tenant),
        "condition": "above",
        "threshold": 1,
    }

    answer = await tenant.api.post("/alerts/", json={**valid, **sent})

    assert answer.status_code == 400
    assert answer.json() == error("validation_error", code, detail, attr)


async def test_viewers_see_alerts_and_change_none(tenant: Tenant) -> None:
    made = await alert(tenant)
    viewer = await add_member(
        tenant.server.records, f"vera-{tenant.project_id:x}", Level.VIEWER, tenant.organization_id
    )
    async with tenant.server.client(viewer.key, f"/api/projects/{tenant.project_id}") as client:
        listed = await client.get("/alerts/")
        changed = await client.patch(f"/alerts/{made['id']}/", json={"name": "x"})

    assert (listed.status_code, changed.status_code) == (200, 403)


@pytest.mark.every_engine
async def test_webhooks_are_told_when_an_alert_begins_and_ceases_to_fire(
    tenant: Tenant, receiver: Receiver
) -> None:
    await posted(tenant, "/webhooks/", url=receiver.url("/in"), events=["insight.alert"])
    made = await alert(tenant)
    place = f"/alerts/{made['id']}/"

    await all_checked(tenant)
    await delivered(tenant)
    quiet = await tenant.get(place)
    await seen(tenant, 2)
    tenant.server.clock.move(minutes=15)
    await all_checked(tenant)
    tenant.server.clock.move(minutes=15)
    await all_checked(tenant)  # it still fires
    await delivered(tenant)
    firing = await tenant.get(place)
    tenant.server.clock.move(days=2)
    await all_checked(tenant)
    await delivered(tenant)

    assert (quiet["state"], quiet["value"], quiet["last_checked_at"]) == ("not_firing", 0, NOW_TEXT)
    assert (firing["state"], firing["value"]) == ("firing", 2)
    first, second = [request.json() for request in receiver.requests]
    assert first == {
        "type": "insight.alert",
        "timestamp": "2024-03-01T12:15:00Z",
        "data": {
            "alert_id": made["id"],
            "project_id": tenant.project_id,
            "insight_id": made["insight"],
            "name": "Much",
            "series_index": 0,
            "breakdown_value": None,
            "condition": "above",
            "threshold": 1.0,
            "state": "firing",
            "value": 2.0,
            "error": None,
        },
    }
    assert (second["data"]["state"], second["data"]["value"]) == ("not_firing", 0.0)


async def test_an_alert_that_is_not_enabled_is_not_checked(tenant: Tenant) -> None:
    made = await alert(tenant, enabled=False)

    await all_checked(tenant)

    assert (await tenant.get(f"/alerts/{made['id']}/"))["state"] == "not_checked"


async def test_a_number_that_is_not_there_is_told(tenant: Tenant) -> None:
    made = await alert(tenant, series_index=3)

    await all_checked(tenant)

    result = await tenant.get(f"/alerts/{made['id']}/")
    assert (result["state"], result["error"]) == ("errored", "The result has 1 series.")


async def test_an_outage_of_the_event_store_leaves_an_alert_due(tenant: Tenant) -> None:
    made = await alert(tenant)
    tenant.server.events.is_down = True
    try:
        await all_checked(tenant)
    finally:
        tenant.server.events.is_down = False
    before = await tenant.get(f"/alerts/{made['id']}/")
    tenant.server.clock.move(minutes=5)
    await all_checked(tenant)

    assert before["state"] == "not_checked"
    assert (await tenant.get(f"/alerts/{made['id']}/"))["state"] == "not_firing"


async def test_an_alert_on_a_breakdown_follows_the_value(tenant: Tenant) -> None:
    by_plan = await insight(tenant, breakdown="plan", breakdown_type="event")
    await seen(tenant, 2, plan="pro")
    await seen(tenant, 1, plan="free")
    pinned = await alert(tenant, insight=by_plan)
    named = await alert(tenant, insight=by_plan, breakdown_value="free")

    await all_checked(tenant)
    await seen(tenant, 9, plan="free")
    tenant.server.clock.move(minutes=60)
    await all_checked(tenant)

    result = await tenant.get(f"/alerts/{pinned['id']}/")
    assert (result["breakdown_value"], result["series_index"], result["value"]) == ("pro", 0, 2)
    assert (await tenant.get(f"/alerts/{named['id']}/"))["value"] == 10


NOT_SERIES: list[Json] = [
    {"filters": {"insight": "FUNNELS", "events": [{"id": "a"}, {"id": "b"}]}},
    {"filters": {"insight": "RETENTION"}},
    {"filters": {"insight": "PATHS"}},
    {"filters": {"insight": "STICKINESS", "events": [{"id": "a"}]}},
    {"query": {"kind": "WebOverviewQuery", "properties": []}},
]


@pytest.mark.parametrize("question", NOT_SERIES)
async def test_an_insight_without_numbers_by_interval_has_no_alerts(
    tenant: Tenant, question: Json
) -> None:
    without = (await posted(tenant, "/insights/", **question))["id"]
    made = await alert(tenant)
    sent = {"name": "n", "insight": without, "condition": "above", "threshold": 1}

    created = await tenant.api.post("/alerts/", json=sent)
    changed = await tenant.api.patch(f"/alerts/{made['id']}/", json={"insight": without})

    for answer in (created, changed):
        assert answer.status_code == 400
        assert answer.json() == error(
            "validation_error",
            "invalid_input",
            "An alert needs an insight with numbers by interval: trends, life cycles, or funnels "
            "shown as trends.",
            "insight",
        )


async def test_funnels_shown_as_trends_have_alerts(tenant: Tenant) -> None:
    steps = [{"id": "a"}, {"id": "b"}]
    shown = await posted(
        tenant,
        "/insights/",
        filters={"insight": "FUNNELS", "events": steps, "funnel_viz_type": "trends"},
    )

    made = await alert(tenant, insight=shown["id"], condition="below")
    await all_checked(tenant)

    assert (await tenant.get(f"/alerts/{made['id']}/"))["state"] == "firing"


async def test_the_list_can_have_the_alerts_of_one_insight(tenant: Tenant) -> None:
    first = await alert(tenant)
    await alert(tenant)

    listed = await tenant.get("/alerts/", insight=first["insight"])

    assert (listed["count"], [found["id"] for found in listed["results"]]) == (1, [first["id"]])


@pytest.mark.every_engine
async def test_the_history_has_each_check_with_whom_it_told(
    tenant: Tenant, receiver: Receiver
) -> None:
    await posted(tenant, "/webhooks/", url=receiver.url("/in"), events=["insight.alert"])
    made = await alert(tenant)
    place = f"/alerts/{made['id']}/"

    await all_checked(tenant)
    await seen(tenant, 2)
    tenant.server.clock.move(minutes=15)
    await all_checked(tenant)
    await tenant.api.patch(place, json={"series_index": 3})
    await all_checked(tenant)

    checks = await tenant.get(f"{place}checks/")
    newest = await tenant.get(f"{place}checks/", limit=1)
    shown = [(check["state"], check["value"], check["webhooks"]) for check in checks["results"]]
    assert shown == [("errored", None, 0), ("firing", 2, 1), ("not_firing", 0, 0)]
    assert checks["results"][1] == {
        "checked_at": "2024-03-01T12:15:00Z",
        "state": "firing",
        "value": 2.0,
        "error": None,
        "webhooks": 1,
        "mails": 0,
    }
    assert checks["results"][0]["error"] == "The result has 1 series."
    assert (newest["count"], newest["results"]) == (3, checks["results"][:1])


@pytest.mark.every_engine
async def test_old_checks_are_deleted(tenant: Tenant) -> None:
    made = await alert(tenant)
    for _ in range(3):
        await all_checked(tenant)
        tenant.server.clock.move(minutes=15)
    async with tenant.server.records.write() as connection:
        rows = [{**CHECK, "project_id": tenant.project_id, "alert_id": made["id"]}] * CHECKS_KEPT
        await connection.execute(insert(alert_checks), rows)

    await all_checked(tenant)

    kept = await tenant.get(f"/alerts/{made['id']}/checks/", limit=CHECKS_KEPT)
    assert kept["count"] == CHECKS_KEPT
    assert [check["value"] for check in kept["results"][:2]] == [0, 7]
    removed = await tenant.api.delete(f"/alerts/{made['id']}/")
    assert removed.status_code == 204


async def test_a_preview_says_what_a_check_would_say(tenant: Tenant) -> None:
    by_plan = await insight(tenant, breakdown="plan", breakdown_type="event")
    await seen(tenant, 2, plan="pro")
    await seen(tenant, 1, plan="free")
    sent = {"insight": by_plan, "condition": "above", "threshold": 1}

    answer = await tenant.api.post("/alerts/preview/", json=sent)
    other = await tenant.api.post("/alerts/preview/", json={**sent, "breakdown_value": "free"})
    made = await alert(tenant, **sent)
    await all_checked(tenant)

    preview = answer.json()
    assert answer.status_code == 200, answer.text
    days = ["2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01"]
    assert preview == {
        "state": "firing",
        "value": 2.0,
        "error": None,
        "series_index": 0,
        "breakdown_value": "pro",
        "label": "pro",
        "interval": "day",
        "points": [
            {"day": day, "value": value, "is_complete": day != days[-1]}
            for day, value in zip(days, [0.0, 0.0, 0.0, 2.0], strict=True)
        ],
        "limits": [1.0],
        "choices": [
            {
                "series_index": 0,
                "breakdown_value": value,
                "label": value,
                "is_previous": False,
            }
            for value in ("pro", "free")
        ],
    }
    assert (other.json()["state"], other.json()["value"]) == ("not_firing", 1.0)
    stored = await tenant.get(f"/alerts/{made['id']}/")
    assert {name: stored[name] for name in ("state", "value", "breakdown_value")} == {
        name: preview[name] for name in ("state", "value", "breakdown_value")
    }


@pytest.mark.parametrize("name", [name for name in REFUSED if "name" not in REFUSED[name][0]])
async def test_a_preview_of_an_invalid_alert_is_refused(tenant: Tenant, name: str) -> None:
    sent, code, detail, attr = REFUSED[name]
    if attr == "subscribed_users":
        known = "breakdown_value, condition, insight, series_index, threshold"
        code, detail = "invalid_input", f'Unknown field "{attr}". Allowed are: {known}.'
    valid = {"insight": await insight(tenant), "condition": "above", "threshold": 1}

    answer = await tenant.api.post("/alerts/preview/", json={**valid, **sent})

    assert answer.status_code == 400
    assert answer.json() == error("validation_error", code, detail, attr)


async def test_a_preview_of_an_alert_on_the_insight_of_another_project_is_refused(
    tenant: Tenant,
) -> None:
    async with open_tenant(tenant.server, tenant.project_id + 7_000_009) as neighbour:
        theirs = await insight(neighbour)
        sent = {"insight": theirs, "condition": "above", "threshold": 1}

        answer = await tenant.api.post("/alerts/preview/", json=sent)

    assert (answer.status_code, answer.json()["attr"]) == (400, "insight")


async def test_a_new_name_or_reader_does_not_start_the_alert_again(tenant: Tenant) -> None:
    made = await alert(tenant, condition="below")
    await all_checked(tenant)
    place = f"/alerts/{made['id']}/"

    renamed = await tenant.api.patch(
        place, json={"name": "Less", "subscribed_users": [tenant.user_id, tenant.user_id]}
    )

    assert (renamed.json()["name"], renamed.json()["state"]) == ("Less", "firing")
    assert renamed.json()["subscribed_users"] == [tenant.user_id]


@pytest.mark.every_engine
async def test_a_snoozed_alert_is_not_checked_until_then_and_tells_if_it_still_fires(
    tenant: Tenant, receiver: Receiver
) -> None:
    await posted(tenant, "/webhooks/", url=receiver.url("/in"), events=["insight.alert"])
    made = await alert(tenant, condition="below")
    await all_checked(tenant)
    place, until = f"/alerts/{made['id']}/", "2024-03-01T14:00:00Z"

    snoozed = (await tenant.api.patch(place, json={"snoozed_until": until})).json()
    tenant.server.clock.move(minutes=119)
    await all_checked(tenant)
    asleep = await tenant.get(place)
    problems = await tenant.get("/problems/")
    tenant.server.clock.move(minutes=1)
    await all_checked(tenant)
    awake = await tenant.get(place)
    tenant.server.clock.move(minutes=15)
    await all_checked(tenant)
    await delivered(tenant)

    assert (snoozed["snoozed_until"], snoozed["next_check_at"]) == (until, until)
    assert (asleep["state"], asleep["last_checked_at"]) == ("firing", NOW_TEXT)
    assert problems["results"] == []
    assert (awake["snoozed_until"], awake["last_checked_at"]) == (None, until)
    times = [request.json()["timestamp"] for request in receiver.requests]
    assert times == [NOW_TEXT, until], "once when it starts, once after it was snoozed"
    checks = (await tenant.get(f"/alerts/{made['id']}/checks/"))["results"]
    assert [check["webhooks"] for check in checks] == [0, 1, 1]


async def test_a_snooze_is_ended_at_once_and_outlasts_a_new_threshold(tenant: Tenant) -> None:
    made = await alert(tenant)
    place, until = f"/alerts/{made['id']}/", "2024-03-08T12:00:00Z"

    await tenant.api.patch(place, json={"snoozed_until": until})
    changed = (await tenant.api.patch(place, json={"threshold": 5})).json()
    await all_checked(tenant)
    asleep = await tenant.get(place)
    ended = (await tenant.api.patch(place, json={"snoozed_until": None})).json()
    await all_checked(tenant)

    assert (changed["snoozed_until"], changed["next_check_at"]) == (until, until)
    assert asleep["state"] == "not_checked"
    assert (ended["snoozed_until"], ended["next_check_at"]) == (None, NOW_TEXT)
    assert (await tenant.get(place))["state"] == "not_firing"
    entries = (await tenant.get(f"{place}activity/"))["results"]
    fields = [change["field"] for entry in entries[:-1] for change in entry["detail"]["changes"]]
    assert fields == ["snoozed_until", "threshold", "snoozed_until"]


@pytest.mark.parametrize("until", ["2024-03-01T12:00:00Z", "2025-03-03T12:00:00Z"])
async def test_an_alert_is_snoozed_for_at_least_a_moment_and_at_most_a_year(
    tenant: Tenant, until: str
) -> None:
    made = await alert(tenant)

    answer = await tenant.api.patch(f"/alerts/{made['id']}/", json={"snoozed_until": until})

    assert answer.status_code == 400
    detail = "Must be later than now, and within 366 days."
    assert answer.json() == error("validation_error", "invalid_input", detail, "snoozed_until")
