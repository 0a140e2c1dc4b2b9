"""Flags that are rolled back automatically, tested through the whole application."""

from datetime import timedelta
from typing import Any

from tests.support.application import Tenant
from tests.support.management import NOW
from tests.support.team import Json

ONE_HOUR_LATER = "2024-03-01T13:00:00Z"


def condition(threshold: float, operator: str = "lt", event: str = "paid", **metric: Any) -> Json:
    return {
        "threshold": threshold,
        "threshold_type": "insight",
        "operator": operator,
        "threshold_metric": {"insight": "trends", "events": [{"order": 0, "id": event}], **metric},
    }


async def paid(tenant: Tenant, times: int, days_ago: float = 1, **properties: Any) -> None:
    at = (NOW - timedelta(days=days_ago)).isoformat()
    captured = {"event": "paid", "distinct_id": "ann", "timestamp": at, "properties": properties}
    await tenant.capture(*([captured] * times))


async def run_checks_at(tenant: Tenant, **later: float) -> None:
    """Set the clock to so much later than noon and run every check that is due."""
    tenant.server.clock.time = NOW + timedelta(**later)
    while await tenant.server.running.automation.rollbacks.work_once():
        pass


async def flag_now(tenant: Tenant, flag: Json) -> tuple[bool, bool | None]:
    reported = await tenant.get(f"/feature_flags/{flag['id']}/")
    return reported["active"], reported["performed_rollback"]


async def test_a_flag_is_switched_off_when_a_condition_holds(tenant: Tenant) -> None:
    await paid(tenant, 14)
    conditions = [condition(100, "gt"), condition(2.1)]
    flag = await tenant.create_flag(key="beta", rollback_conditions=conditions)
    stored = await tenant.create_flag(key="kept", rollback_conditions=[condition(2)])

    await run_checks_at(tenant, minutes=59)
    before = await flag_now(tenant, flag)
    await run_checks_at(tenant, minutes=60)

    assert before == (True, None)
    assert await flag_now(tenant, flag) == (False, True)
    assert await flag_now(tenant, stored) == (True, None)
    assert (await tenant.decide("ann"))["featureFlags"] == {"kept": True}
    reported = (await tenant.get(f"/feature_flags/{flag['id']}/activity/"))["results"]
    assert [entry["activity"] for entry in reported] == ["updated", "created"]
    system = {"first_name": "System", "email": None, "is_system": True}
    assert (reported[0]["user"], reported[0]["created_at"]) == (system, ONE_HOUR_LATER)
    assert reported[0]["detail"]["trigger"] == {
        "job_type": "auto_rollback",
        "job_id": str(flag["id"]),
        "payload": {"condition": conditions[1], "average": 2.0},
    }
    assert [
        (entry["field"], entry["before"], entry["after"])
        for entry in reported[0]["detail"]["changes"]
    ] == [("active", True, False), ("performed_rollback", None, True)]
    version = (await tenant.api.get(f"/feature_flags/{flag['id']}/")).headers["x-flag-version"]
    assert version == "2"


async def test_only_the_last_seven_days_and_the_first_series_count(tenant: Tenant) -> None:
    await paid(tenant, 7, days_ago=8)
    await paid(tenant, 7, days_ago=2, plan="pro")
    await paid(tenant, 7, days_ago=2, plan="free")
    pro = [{"key": "plan", "value": "pro", "type": "event"}]
    events = [{"id": "paid"}, {"id": "never"}]
    above = await tenant.create_flag(
        key="a", rollback_conditions=[condition(1.9, "gt", events=events)]
    )
    exactly = await tenant.create_flag(key="b", rollback_conditions=[condition(2, "gt")])
    filtered = await tenant.create_flag(
        key="c", rollback_conditions=[condition(1.1, "lt", properties=pro)]
    )

    await run_checks_at(tenant, hours=1)

    seen = [(await flag_now(tenant, flag))[0] for flag in (above, exactly, filtered)]
    assert seen == [False, True, False]


async def test_switching_it_on_again_ends_the_rollback_until_the_next_check(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta", rollback_conditions=[condition(1)])
    await run_checks_at(tenant, hours=1)

    answer = await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"active": True})
    again = await flag_now(tenant, flag)
    await run_checks_at(tenant, hours=1, minutes=59)
    before = await flag_now(tenant, flag)
    await run_checks_at(tenant, hours=2)

    assert answer.json()["performed_rollback"] is False
    assert again == before == (True, False)
    assert await flag_now(tenant, flag) == (False, True)


async def test_a_wrong_condition_stops_neither_its_flag_nor_others(tenant: Tenant) -> None:
    wrong: list[Any] = [
        5,
        {"threshold_type": "insight"},
        condition(1, properties=[{"key": "x", "type": "hogql", "value": 1}]),
        condition(1, formula="A + B"),
        {"threshold_type": "sentry", "threshold": 1, "operator": "gt"},
    ]
    first = await tenant.create_flag(key="a", rollback_conditions=[condition(1)])
    await tenant.store_flag(first, rollback_conditions=wrong)
    second = await tenant.create_flag(key="b", rollback_conditions=[condition(1)])
    await tenant.store_flag(second, rollback_conditions=[*wrong, condition(1)])
    third = await tenant.create_flag(key="c", rollback_conditions=condition(1))

    await run_checks_at(tenant, hours=1)

    seen = [await flag_now(tenant, flag) for flag in (first, second, third)]
    assert seen == [(True, None), (False, True), (False, True)]


async def test_without_an_answer_of_the_event_store_nothing_is_decided(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta", rollback_conditions=[condition(1)])

    tenant.server.events.is_down = True
    await run_checks_at(tenant, hours=1)
    unanswered = await flag_now(tenant, flag)
    tenant.server.events.is_down = False
    await run_checks_at(tenant, hours=1, seconds=29)
    put_off = await flag_now(tenant, flag)
    await run_checks_at(tenant, hours=1, seconds=30)

    assert unanswered == put_off == (True, None)
    assert await flag_now(tenant, flag) == (False, True)


async def test_conditions_alone_change_nothing_of_a_flag(tenant: Tenant) -> None:
    """The conditions alone request the rollback; other keys are neither needed nor stored."""
    sent: Json = {"key": "beta", "rollback_conditions": [condition(1)], "auto-rollback": False}
    flag = await tenant.create_flag(**sent)

    await run_checks_at(tenant, hours=1)

    assert "auto-rollback" not in flag
    assert await flag_now(tenant, flag) == (False, True)


async def test_a_condition_names_actions_and_segments_that_exist(tenant: Tenant) -> None:
    within = [{"type": "segment", "key": "id", "value": 77}]
    metrics = {
        "actions__0__id": {"events": [], "actions": [{"id": 77}]},
        "events__0__properties__0__value": {"events": [{"id": "paid", "properties": within}]},
        "properties__0__value": {"events": [{"id": "paid"}], "properties": within},
    }
    flag = await tenant.create_flag(key="beta", rollback_conditions=[condition(2)])

    for attr, metric in metrics.items():
        sent = [condition(2), {**condition(2), "threshold_metric": metric}]
        new = await tenant.api.post(
            "/feature_flags/", json={"key": "new", "rollback_conditions": sent}
        )
        changed = await tenant.api.patch(
            f"/feature_flags/{flag['id']}/", json={"rollback_conditions": sent}
        )
        for answer in (new, changed):
            assert answer.status_code == 400, answer.text
            assert "77 does not exist" in answer.json()["detail"]
            assert answer.json()["attr"] == f"rollback_conditions__1__threshold_metric__{attr}"
    after = await tenant.get(f"/feature_flags/{flag['id']}/")
    assert after["rollback_conditions"] == [condition(2)]
