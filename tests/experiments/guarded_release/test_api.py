"""Guarded releases over HTTP: started, checked on real events, rolled back, and ended by people."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.db.engine import Records
from fanion.experiments.guarded_release.checks_service import ReleaseChecks
from fanion.experiments.guarded_release.store import ReleaseStore, due_row
from fanion.flags.engine.hashing import bucket
from fanion.projects.model import Level
from tests.support.application import Json, Tenant
from tests.support.experiments import invalid
from tests.support.management import NOW, add_member

CRASHES: Json = {
    "kind": "ExperimentMetric",
    "metric_type": "funnel",
    "goal": "decrease",
    "series": [{"kind": "EventsNode", "event": "crash"}],
}
STEPS: list[Json] = [
    {"rollout_percentage": 50, "hold_minutes": 60},
    {"rollout_percentage": 75, "hold_minutes": 60},
    {"rollout_percentage": 100},
]
NOT_BEGUN: Json = {"groups": [{"properties": [], "rollout_percentage": 0}]}


def place_of(flag: Json, step: str = "") -> str:
    return f"/feature_flags/{flag['id']}/guarded_release/{step}"


async def start(tenant: Tenant, flag: Json, **fields: Any) -> Json:
    body = {"steps": STEPS, "metrics": [CRASHES], "minimum_exposures": 20, **fields}
    answer = await tenant.api.post(place_of(flag), json=body)
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def begin(tenant: Tenant, **fields: Any) -> tuple[Json, Json]:
    """Create a flag that nobody gets, and start a release of it."""
    flag = await tenant.create_flag(key="checkout", filters=NOT_BEGUN)
    return flag, await start(tenant, flag, **fields)


def at(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


async def run_checks(tenant: Tenant, minutes: float) -> None:
    """Set the clock to so many minutes later and do all checks that are due."""
    tenant.server.clock.time = at(minutes)
    while await tenant.server.running.automation.releases.work_once():
        pass


def arms(number: int, share: float, key: str = "checkout") -> tuple[list[str], list[str]]:
    """Return distinct ids outside of a rollout, and inside of it."""
    ids = [f"person-{index}" for index in range(number)]
    inside = [each for each in ids if bucket(key, each) <= share / 100]
    return [each for each in ids if each not in inside], inside


def call(person: str, minutes: float, value: bool = True) -> Json:
    return {
        "event": "$feature_flag_called",
        "distinct_id": person,
        "timestamp": at(minutes).isoformat(),
        "properties": {"$feature_flag": "checkout", "$feature_flag_response": value},
    }


def crash(person: str, minutes: float) -> Json:
    return {"event": "crash", "distinct_id": person, "timestamp": at(minutes).isoformat()}


async def rollout(tenant: Tenant, flag: Json) -> Any:
    stored = await tenant.get(f"/feature_flags/{flag['id']}/")
    return stored["filters"]["groups"][0]["rollout_percentage"]


async def test_a_release_sets_its_first_step(tenant: Tenant) -> None:
    flag, made = await begin(tenant)

    assert made == {
        "id": made["id"],
        "condition_index": 0,
        "steps": [*STEPS[:2], {"rollout_percentage": 100}],
        "metrics": [
            {
                **CRASHES,
                "uuid": made["metrics"][0]["uuid"],
                "harm": None,
                "lower": None,
                "p_value": None,
                "outcome": None,
            }
        ],
        "alpha": 0.05,
        "minimum_exposures": 20,
        "on_regression": "rollback",
        "on_too_few": "hold",
        "state": "running",
        "reason": None,
        "step": 0,
        "rollout_percentage": 50,
        "former_rollout_percentage": 0,
        "started_at": "2024-03-01T12:00:00Z",
        "step_started_at": "2024-03-01T12:00:00Z",
        "next_step_at": "2024-03-01T13:00:00Z",
        "checked_at": None,
        "history": [
            {
                "at": "2024-03-01T12:00:00Z",
                "state": "running",
                "step": 0,
                "rollout_percentage": 50,
                "reason": None,
            }
        ],
        "created_by": tenant.owner,
        "created_at": "2024-03-01T12:00:00Z",
        "updated_at": "2024-03-01T12:00:00Z",
    }
    assert await rollout(tenant, flag) == 50
    assert await tenant.get(place_of(flag)) == made


async def test_a_release_without_harm_goes_on_to_everyone(tenant: Tenant) -> None:
    flag, _ = await begin(tenant)
    outside, inside = arms(200, 50)
    await tenant.capture(*(call(person, 1) for person in (*outside, *inside)))

    await run_checks(tenant, 30)
    early = await tenant.get(place_of(flag))
    await run_checks(tenant, 60)
    second = await tenant.get(place_of(flag))
    await run_checks(tenant, 120)
    last = await tenant.get(place_of(flag))

    assert (early["state"], early["step"], early["checked_at"]) == (
        "running",
        0,
        "2024-03-01T12:30:00Z",
    )
    assert (second["state"], second["step"], second["rollout_percentage"]) == ("running", 1, 75)
    assert (last["state"], last["step"], last["next_step_at"]) == ("completed", 2, None)
    assert await rollout(tenant, flag) == 100
    entries = (await tenant.get(f"/feature_flags/{flag['id']}/activity/"))["results"]
    triggers = [entry["detail"]["trigger"] for entry in entries]
    assert triggers[0]["job_type"] == "guarded_release"
    assert triggers[0]["payload"]["state"] == "completed"


async def test_harm_inside_the_rollout_rolls_back(tenant: Tenant) -> None:
    """All who have the flag crash, and nobody else."""
    flag, _ = await begin(tenant)
    outside, inside = arms(200, 50)
    await tenant.capture(
        *(call(person, 1, person in inside) for person in (*outside, *inside)),
        *(crash(person, 2) for person in inside),
    )

    await run_checks(tenant, 5)

    after = await tenant.get(place_of(flag))
    assert (after["state"], after["reason"]) == ("rolled_back", "harmed")
    [metric] = after["metrics"]
    assert (metric["harm"], metric["outcome"]) == (1.0, "harmed")
    assert await rollout(tenant, flag) == 0
    [problem] = (await tenant.get("/problems/"))["results"]
    assert (problem["kind"], problem["item_id"]) == ("guarded_release", flag["id"])
    assert problem["detail"] == "rolled_back: harmed"


async def test_the_same_harm_in_both_arms_is_no_regression(tenant: Tenant) -> None:
    flag, _ = await begin(tenant)
    outside, inside = arms(200, 50)
    everyone = [*outside, *inside]
    await tenant.capture(
        *(call(person, 1) for person in everyone),
        *(crash(person, 2) for person in everyone[::3]),
    )

    await run_checks(tenant, 5)

    after = await tenant.get(place_of(flag))
    assert (after["state"], after["metrics"][0]["outcome"]) == ("running", "not_harmed_so_far")
    assert await rollout(tenant, flag) == 50


@pytest.mark.parametrize(
    ("choice", "state", "percentage"),
    [("pause", "paused", 50), ("notify", "running", 50), ("rollback", "rolled_back", 0)],
)
async def test_what_follows_on_harm_is_chosen(
    tenant: Tenant, choice: str, state: str, percentage: float
) -> None:
    flag, _ = await begin(tenant, on_regression=choice)
    outside, inside = arms(200, 50)
    await tenant.capture(
        *(call(person, 1) for person in (*outside, *inside)),
        *(crash(person, 2) for person in inside[:60]),
        *(crash(person, 2) for person in outside[:2]),
    )

    await run_checks(tenant, 5)

    after = await tenant.get(place_of(flag))
    assert (after["state"], after["reason"]) == (state, "harmed")
    assert after["metrics"][0]["outcome"] == "harmed"
    assert await rollout(tenant, flag) == percentage


async def test_a_quiet_night_holds_and_is_paused_after_a_week(tenant: Tenant) -> None:
    flag, _ = await begin(tenant)

    await run_checks(tenant, 60)
    held = await tenant.get(place_of(flag))
    await run_checks(tenant, 60 + 7 * 24 * 60)
    paused = await tenant.get(place_of(flag))

    assert (held["state"], held["reason"], held["step"]) == ("holding", "too_few", 0)
    assert (paused["state"], paused["reason"]) == ("paused", "too_few")
    assert await rollout(tenant, flag) == 50


async def test_a_release_may_go_on_with_few_people(tenant: Tenant) -> None:
    flag, _ = await begin(tenant, on_too_few="continue")

    await run_checks(tenant, 60)

    assert (await tenant.get(place_of(flag)))["step"] == 1


async def test_a_percentage_changed_by_hand_pauses_the_release(tenant: Tenant) -> None:
    flag, _ = await begin(tenant)
    by_hand = {"groups": [{"properties": [], "rollout_percentage": 20}]}

    await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"filters": by_hand})
    paused = await tenant.get(place_of(flag))
    resumed = await tenant.api.post(place_of(flag, "resume/"))

    assert (paused["state"], paused["reason"]) == ("paused", "percentage_changed")
    assert (resumed.json()["state"], resumed.json()["rollout_percentage"]) == ("running", 50)
    assert await rollout(tenant, flag) == 50


async def test_a_flag_that_is_off_holds(tenant: Tenant) -> None:
    flag, _ = await begin(tenant)
    await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"active": False})

    await run_checks(tenant, 60)

    after = await tenant.get(place_of(flag))
    assert (after["state"], after["reason"]) == ("holding", "flag_off")


async def test_a_release_holds_while_the_event_store_is_away(tenant: Tenant) -> None:
    flag, _ = await begin(tenant, on_too_few="continue")

    tenant.server.events.is_down = True
    await run_checks(tenant, 60)
    held = await tenant.get(place_of(flag))
    tenant.server.events.is_down = False
    await run_checks(tenant, 65)
    after = await tenant.get(place_of(flag))

    assert (held["state"], held["reason"]) == ("holding", "event_store_unavailable")
    assert (held["step"], held["rollout_percentage"]) == (0, 50)
    assert (after["state"], after["reason"], after["step"]) == ("running", None, 1)


async def test_a_release_whose_guardrails_cannot_be_computed_holds(tenant: Tenant) -> None:
    """The flag gets a condition after the start that the event store cannot compare."""
    flag, _ = await begin(tenant, on_too_few="continue")
    condition = {"key": "distinct_id", "type": "person", "operator": "exact", "value": "ann"}
    groups = [{"properties": [condition], "rollout_percentage": 50}]
    changed = await tenant.api.patch(
        f"/feature_flags/{flag['id']}/", json={"filters": {"groups": groups}}
    )
    assert changed.status_code == 200, changed.text

    await run_checks(tenant, 60)

    after = await tenant.get(place_of(flag))
    assert (after["state"], after["reason"]) == ("holding", "cannot_be_computed")
    assert (after["step"], after["rollout_percentage"]) == (0, 50)
    [problem] = (await tenant.get("/problems/"))["results"]
    assert (problem["kind"], problem["detail"]) == (
        "guarded_release",
        "holding: cannot_be_computed",
    )


async def test_a_release_of_a_deleted_flag_pauses(tenant: Tenant) -> None:
    flag, _ = await begin(tenant)
    await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"deleted": True})

    await run_checks(tenant, 60)

    after = await tenant.get(place_of(flag))
    assert (after["state"], after["reason"]) == ("paused", "flag_deleted")


async def test_an_unknown_flag_has_no_release(tenant: Tenant) -> None:
    body = {"steps": STEPS, "metrics": [CRASHES]}
    place = place_of({"id": 999_999})

    answers = [
        await tenant.api.get(place),
        await tenant.api.post(place, json=body),
        await tenant.api.patch(place, json={"alpha": 0.1}),
        *[
            await tenant.api.post(f"{place}{step}/")
            for step in ("pause", "resume", "complete", "cancel", "check")
        ],
    ]

    assert [answer.status_code for answer in answers] == [404] * 8


async def test_a_member_without_the_right_to_edit_stops_a_release_but_no_rollback(
    tenant: Tenant,
) -> None:
    """A member starts two releases and then loses the right to edit flags."""
    member = await add_member(
        tenant.server.records, f"m-{tenant.project_id}", Level.MEMBER, tenant.organization_id
    )
    quiet, harmed = [
        await tenant.create_flag(key=key, filters=NOT_BEGUN) for key in ("quiet", "checkout")
    ]
    root = f"/api/projects/{tenant.project_id}"
    async with tenant.server.client(member.key) as other:
        for flag in (quiet, harmed):
            body = {
                "steps": STEPS,
                "metrics": [CRASHES],
                "minimum_exposures": 20,
                "on_too_few": "continue",
            }
            started = await other.post(f"{root}{place_of(flag)}", json=body)
            assert started.status_code == 201, started.text
        await tenant.server.client(tenant.key).post(
            f"/api/organizations/{tenant.organization_id}/resource_access/",
            json={"resource": "feature flags", "access_level": 21},
        )
        refused = await other.post(f"{root}{place_of(quiet, 'pause/')}")
    outside, inside = arms(200, 50)
    await tenant.capture(
        *(call(person, 1) for person in (*outside, *inside)),
        *(crash(person, 2) for person in inside[:60]),
    )

    await run_checks(tenant, 60)

    stopped, back = [await tenant.get(place_of(flag)) for flag in (quiet, harmed)]
    assert refused.status_code == 403
    assert (stopped["state"], stopped["reason"]) == ("paused", "no_permission")
    assert await rollout(tenant, quiet) == 50
    assert (back["state"], back["reason"]) == ("rolled_back", "harmed")
    assert await rollout(tenant, harmed) == 0


async def test_people_pause_resume_complete_and_cancel(tenant: Tenant) -> None:
    flag, _ = await begin(tenant)

    paused = await tenant.api.post(place_of(flag, "pause/"))
    unchecked = await tenant.api.post(place_of(flag, "check/"))
    resumed = await tenant.api.post(place_of(flag, "resume/"))
    completed = await tenant.api.post(place_of(flag, "complete/"))
    ended = await tenant.api.post(place_of(flag, "cancel/"))

    assert (paused.json()["state"], paused.json()["reason"]) == ("paused", "by_user")
    assert (unchecked.status_code, unchecked.json()) == invalid(
        "This guarded release is not running.", None
    )
    assert resumed.json()["state"] == "running"
    assert (completed.json()["state"], completed.json()["rollout_percentage"]) == ("completed", 100)
    assert await rollout(tenant, flag) == 100
    assert (ended.status_code, ended.json()) == invalid("This guarded release has ended.", None)


async def test_a_check_on_request_acts_at_once(tenant: Tenant) -> None:
    flag, _ = await begin(tenant)
    outside, inside = arms(200, 50)
    await tenant.capture(
        *(call(person, 1) for person in (*outside, *inside)),
        *(crash(person, 2) for person in (*inside[:60], *outside[:2])),
    )
    tenant.server.clock.time = at(3)

    checked = await tenant.api.post(place_of(flag, "check/"))

    assert checked.status_code == 200, checked.text
    assert checked.json()["state"] == "rolled_back"


@pytest.mark.parametrize(
    ("sent", "attr"),
    [
        ({"steps": []}, "steps"),
        ({"metrics": []}, "metrics"),
        ({"steps": [{"rollout_percentage": 0, "hold_minutes": 5}]}, "steps__0__rollout_percentage"),
        (
            {"steps": [{"rollout_percentage": 101}]},
            "steps__0__rollout_percentage",
        ),
        (
            {"steps": [{"rollout_percentage": 50, "hold_minutes": 5}, {"rollout_percentage": 50}]},
            "steps__1__rollout_percentage",
        ),
        (
            {"steps": [{"rollout_percentage": 50}, {"rollout_percentage": 100}]},
            "steps__0__hold_minutes",
        ),
        ({"condition_index": 1}, "condition_index"),
        ({"metrics": [{"kind": "ExperimentMetric"}]}, "metrics__0__metric_type"),
        ({"on_regression": "panic"}, "on_regression"),
        ({"alpha": 0}, "alpha"),
    ],
)
async def test_a_release_that_cannot_be_used_is_refused(
    tenant: Tenant, sent: Json, attr: str
) -> None:
    flag = await tenant.create_flag(key="checkout", filters=NOT_BEGUN)
    body = {"steps": STEPS, "metrics": [CRASHES], **sent}

    answer = await tenant.api.post(place_of(flag), json=body)

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text
    assert (await tenant.api.get(place_of(flag))).status_code == 404
    assert await rollout(tenant, flag) == 0


async def test_a_flag_with_continuity_or_switched_off_is_refused(tenant: Tenant) -> None:
    steady = await tenant.create_flag(
        key="steady", filters=NOT_BEGUN, ensure_experience_continuity=True
    )
    off = await tenant.create_flag(key="off", filters=NOT_BEGUN, active=False)

    for flag in (steady, off):
        answer = await tenant.api.post(place_of(flag), json={"steps": STEPS, "metrics": [CRASHES]})
        assert (answer.status_code, answer.json()["type"]) == (400, "validation_error")


async def test_one_release_and_no_scheduled_rollout_beside_it(tenant: Tenant) -> None:
    flag, _ = await begin(tenant)
    change = {"operation": "update_rollout_percentage", "value": 5}
    scheduled = {"payload": change, "scheduled_at": "2024-03-02T00:00:00Z"}
    place = f"/feature_flags/{flag['id']}/scheduled_changes/"

    second = await tenant.api.post(place_of(flag), json={"steps": STEPS[1:], "metrics": [CRASHES]})
    refused = await tenant.api.post(place, json=scheduled)
    await tenant.api.post(place_of(flag, "cancel/"))
    accepted = await tenant.api.post(place, json=scheduled)
    beside = await tenant.api.post(place_of(flag), json={"steps": STEPS[1:], "metrics": [CRASHES]})

    assert (second.status_code, second.json()) == invalid(
        "This feature flag has a guarded release that has not ended.", None
    )
    assert (refused.status_code, refused.json()) == invalid(
        "A guarded release sets the percentage of this condition set. Cancel it first.", "payload"
    )
    assert accepted.status_code == 201
    assert (beside.status_code, beside.json()) == invalid(
        "A scheduled change sets the percentage of this condition set. Cancel it first.",
        "condition_index",
    )


async def test_metrics_and_passed_steps_are_fixed(tenant: Tenant) -> None:
    flag, made = await begin(tenant)

    same = await tenant.api.patch(place_of(flag), json=made)
    metrics = await tenant.api.patch(place_of(flag), json={"metrics": [{**CRASHES, "name": "x"}]})
    current = await tenant.api.patch(
        place_of(flag), json={"steps": [{"rollout_percentage": 40, "hold_minutes": 1}, STEPS[2]]}
    )
    longer = await tenant.api.patch(
        place_of(flag),
        json={"steps": [{"rollout_percentage": 50, "hold_minutes": 90}, STEPS[2]]},
    )

    assert same.status_code == 200, same.text
    assert (metrics.status_code, metrics.json()["attr"]) == (400, "metrics")
    assert (current.status_code, current.json()["attr"]) == (400, "steps")
    assert longer.json()["next_step_at"] == "2024-03-01T13:30:00Z"
    assert len(longer.json()["steps"]) == 2


async def test_only_people_who_meet_the_conditions_are_compared(tenant: Tenant) -> None:
    """Everybody else crashes, which is nothing to a release for those who pay."""
    paying = {"key": "plan", "type": "person", "operator": "exact", "value": "pro"}
    groups = [{"properties": [paying], "rollout_percentage": 0}]
    flag = await tenant.create_flag(key="checkout", filters={"groups": groups})
    await start(tenant, flag)
    outside, inside = arms(200, 50)
    paying_ids = {*outside[:30], *inside[:30]}
    told = [call(person, 1) for person in (*outside, *inside)]
    for event in told:
        if event["distinct_id"] in paying_ids:
            event["properties"]["$set"] = {"plan": "pro"}
    await tenant.capture(*told, *(crash(person, 2) for person in inside[30:]))

    await run_checks(tenant, 5)

    after = await tenant.get(place_of(flag))
    assert (after["state"], after["reason"]) == ("running", None)
    assert after["metrics"][0]["outcome"] is None  # nobody of them crashed
    assert after["metrics"][0]["harm"] == 0


async def test_groups_are_compared_by_their_keys(tenant: Tenant) -> None:
    await tenant.capture(
        {
            "event": "$groupidentify",
            "distinct_id": "ann",
            "properties": {"$group_type": "company", "$group_key": "company-0"},
        }
    )
    filters = {**NOT_BEGUN, "aggregation_group_type_index": 0}
    flag = await tenant.create_flag(key="checkout", filters=filters)
    await start(tenant, flag)
    companies = [f"company-{index}" for index in range(200)]
    inside = [each for each in companies if bucket("checkout", each) <= 0.5]
    crashing = {*inside[:60], *[each for each in companies if each not in inside][:2]}

    def of_group(event: Json, company: str) -> Json:
        own = {**event.get("properties", {}), "$groups": {"company": company}}
        return {**event, "properties": own}

    await tenant.capture(
        *(of_group(call("ann", 1), company) for company in companies),
        *(of_group(crash("bob", 2), company) for company in sorted(crashing)),
    )

    await run_checks(tenant, 5)

    after = await tenant.get(place_of(flag))
    assert (after["state"], after["metrics"][0]["outcome"]) == ("rolled_back", "harmed")


class Killed(Exception):
    """The end of a server in the middle of its work."""


class DyingRecords:
    """The records of a server that is killed after its writes and before it commits them."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    @asynccontextmanager
    async def write(self) -> AsyncGenerator[AsyncConnection]:
        async with self._records.write() as connection:
            yield connection
            raise Killed


@pytest.mark.every_engine
async def test_a_server_killed_after_its_decision_leaves_one_step_told_once(
    tenant: Tenant,
) -> None:
    server = tenant.server
    hook = {"url": "https://hooks.example/x", "events": ["feature_flag.updated"]}
    flag, made = await begin(tenant, on_too_few="continue")
    webhook = (await tenant.api.post("/webhooks/", json=hook)).json()
    store, questions = ReleaseStore(server.records), server.running.questions
    checks = ReleaseChecks(store, questions.behind, server.running.public.flags.bus)
    project = await server.running.public.flags.projects.by_id(tenant.project_id)
    assert project is not None
    found = await store.find_release(made["id"])
    assert found is not None
    row, now = due_row(*found), at(60)
    assert await store.checks.claim(row, now)

    dying = ReleaseStore(cast(Records, DyingRecords(server.records)))
    with pytest.raises(Killed):
        await replace(checks, store=dying).check(row, project, now)
    before = await tenant.get(place_of(flag))
    await run_checks(tenant, 66)  # the lease of the dead server has ended
    after = await tenant.get(place_of(flag))
    await checks.check(row, project, at(66))  # by a server that was only slow

    assert (before["step"], before["rollout_percentage"]) == (0, 50)
    assert (after["step"], after["rollout_percentage"]) == (1, 75)
    assert await tenant.get(place_of(flag)) == after
    assert await rollout(tenant, flag) == 75
    entries = (await tenant.get(f"/feature_flags/{flag['id']}/activity/"))["results"]
    acts = [entry for entry in entries if entry["detail"]["trigger"] is not None]
    deliveries = (await tenant.get(f"/webhooks/{webhook['id']}/deliveries/"))["results"]
    changed = [change["field"] for entry in acts for change in entry["detail"]["changes"]]
    assert sorted(changed) == ["filters", "guarded_release"]
    assert {entry["detail"]["trigger"]["payload"]["step"] for entry in acts} == {1}
    assert len(deliveries) == len(acts)
