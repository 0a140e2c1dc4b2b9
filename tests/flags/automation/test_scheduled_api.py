"""Scheduled changes of a flag: over HTTP, in evaluations and in the activity."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import ColumnElement, delete, select, update

from fanion.db.schema.tables import memberships, projects
from fanion.flags.automation.scheduled_store import DueChange, ScheduledChangeStore
from fanion.projects.model import Level, Project
from tests.support.application import Tenant
from tests.support.management import NOW, error, invalid
from tests.support.team import Json, Team, TeamServer, open_team

SOON = "2024-03-01T13:00:00Z"
LATER = "2024-03-01T14:00:00Z"
NOT_FOUND = error("invalid_request", "not_found", "Not found.")
NO_EDIT = error(
    "authentication_error",
    "permission_denied",
    "You don't have edit permissions for this feature flag.",
)
OFF: Json = {"operation": "update_status", "value": False}


def changes_of(flag: Json) -> str:
    return f"/feature_flags/{flag['id']}/scheduled_changes/"


async def schedule(tenant: Tenant, flag: Json, **sent: Any) -> Json:
    answer = await tenant.api.post(changes_of(flag), json=sent)
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def run_changes_at(tenant: Tenant, **later: float) -> None:
    """Set the clock to so much later than noon and execute what is due."""
    tenant.server.clock.time = NOW + timedelta(**later)
    while await tenant.server.running.automation.scheduler.work_once():
        pass


@pytest.mark.every_engine
async def test_a_flag_is_switched_off_at_its_time(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")

    made = await schedule(tenant, flag, scheduled_at="2024-03-01T14:00:00+01:00", payload=OFF)
    before = await tenant.decide("ann")
    await run_changes_at(tenant, minutes=59)
    still = await tenant.decide("ann")
    await run_changes_at(tenant, minutes=61)
    after = await tenant.decide("ann")

    assert made == {
        "id": made["id"],
        "feature_flag": flag["id"],
        "payload": OFF,
        "scheduled_at": SOON,
        "steps": [{"scheduled_at": SOON, "value": False, "executed_at": None}],
        "executed_at": None,
        "failure_reason": None,
        "created_by": tenant.owner,
        "created_at": "2024-03-01T12:00:00Z",
    }
    assert [item["featureFlags"] for item in (before, still, after)] == [
        {"beta": True},
        {"beta": True},
        {},
    ]
    done = await tenant.get(f"{changes_of(flag)}{made['id']}/")
    executed = "2024-03-01T13:01:00Z"
    assert done == made | {
        "executed_at": executed,
        "steps": [{"scheduled_at": SOON, "value": False, "executed_at": executed}],
    }
    listed = await tenant.get(changes_of(flag))
    assert listed == {"count": 1, "next": None, "previous": None, "results": [done]}


async def test_a_rollout_grows_step_by_step(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta", filters={"groups": [{"rollout_percentage": 0}]})
    steps = [{"scheduled_at": SOON, "value": 10}, {"scheduled_at": LATER, "value": 100}]
    payload = {"operation": "update_rollout_percentage", "steps": steps}

    made = await schedule(tenant, flag, payload=payload)
    seen = []
    for hours in (0.5, 1, 2):
        await run_changes_at(tenant, hours=hours)
        answer = await tenant.api.get(f"/feature_flags/{flag['id']}/")
        seen.append((answer.json()["rollout_percentage"], answer.headers["x-flag-version"]))

    assert (made["payload"], made["scheduled_at"]) == (payload, SOON)
    assert seen == [(0, "1"), (10, "2"), (100, "3")]
    done = await tenant.get(f"{changes_of(flag)}{made['id']}/")
    assert [step["executed_at"] for step in done["steps"]] == [SOON, LATER]
    assert (done["scheduled_at"], done["executed_at"]) == (LATER, LATER)


async def test_the_activity_names_who_scheduled_what(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    made = await schedule(tenant, flag, scheduled_at=SOON, payload=OFF)
    gone = await schedule(tenant, flag, scheduled_at=LATER, payload=OFF)
    await tenant.api.delete(f"{changes_of(flag)}{gone['id']}/")
    await run_changes_at(tenant, hours=1)

    reported = (await tenant.get(f"/feature_flags/{flag['id']}/activity/"))["results"]

    owner = {"first_name": "Olga", "email": tenant.owner["email"]}
    assert {str(item["user"]) for item in reported} == {str(owner)}
    assert [item["activity"] for item in reported] == ["updated"] * 4 + ["created"]
    assert [item["detail"]["trigger"] for item in reported[1:]] == [None] * 4
    executed = reported[0]
    assert executed["created_at"] == SOON
    assert executed["detail"]["trigger"] == {
        "job_type": "scheduled_change",
        "job_id": str(made["id"]),
        "payload": OFF,
    }
    assert [
        (item["field"], item["action"], item["before"], item["after"])
        for entry in reported[:4]
        for item in entry["detail"]["changes"]
    ] == [
        ("active", "changed", True, False),
        ("scheduled_change", "deleted", _reported(gone), None),
        ("scheduled_change", "created", None, _reported(gone)),
        ("scheduled_change", "created", None, _reported(made)),
    ]


def _reported(change: Json) -> Json:
    return {name: change[name] for name in ("id", "scheduled_at", "payload")}


async def test_a_change_that_is_taken_back_is_not_made(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    made = await schedule(tenant, flag, scheduled_at=SOON, payload=OFF)
    path = f"{changes_of(flag)}{made['id']}/"

    gone = await tenant.api.delete(path)
    await run_changes_at(tenant, hours=1)

    assert (gone.status_code, gone.content) == (204, b"")
    assert (await tenant.decide("ann"))["featureFlags"] == {"beta": True}
    for answer in (await tenant.api.get(path), await tenant.api.delete(path)):
        assert (answer.status_code, answer.json()) == (404, NOT_FOUND)


async def test_what_is_over_cannot_be_taken_back(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    made = await schedule(tenant, flag, scheduled_at=SOON, payload=OFF)
    await run_changes_at(tenant, hours=1)

    answer = await tenant.api.delete(f"{changes_of(flag)}{made['id']}/")

    reported = "This scheduled change has been executed or has failed; it cannot be cancelled."
    assert (answer.status_code, answer.json()) == (400, invalid("invalid_input", reported))


async def test_a_change_that_changes_nothing_counts_as_made(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta", active=False)
    made = await schedule(tenant, flag, scheduled_at=SOON, payload=OFF)
    await run_changes_at(tenant, hours=1)

    done = await tenant.get(f"{changes_of(flag)}{made['id']}/")
    answer = await tenant.api.get(f"/feature_flags/{flag['id']}/")

    assert (done["executed_at"], done["failure_reason"]) == (SOON, None)
    assert answer.headers["x-flag-version"] == "1"


async def test_a_change_that_can_no_longer_be_made_reports_why(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta", filters={"groups": [{}, {}]})
    payload = {"operation": "update_rollout_percentage", "value": 5, "condition_index": 1}
    made = await schedule(tenant, flag, scheduled_at=SOON, payload=payload)
    await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"filters": {"groups": [{}]}})
    await run_changes_at(tenant, hours=1)

    done = await tenant.get(f"{changes_of(flag)}{made['id']}/")

    reported = "The feature flag has no condition set 1."
    assert (done["executed_at"], done["failure_reason"]) == (None, reported)


async def test_bad_changes_are_refused_and_none_is_stored(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    past = {"scheduled_at": "2024-03-01T11:00:00Z", "payload": OFF}
    sent: list[tuple[Any, Json]] = [
        ({}, invalid("required", "This field is required.", "payload")),
        (
            {"payload": None},
            invalid("null", "This field may not be null.", "payload"),
        ),
        (
            past,
            invalid(
                "invalid_input",
                "A change must be scheduled later than now, and within five years.",
                "scheduled_at",
            ),
        ),
        (
            {"scheduled_at": "soon", "payload": OFF},
            invalid(
                "invalid_input",
                "Datetime has wrong format. Use one of these formats instead: "
                "YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].",
                "scheduled_at",
            ),
        ),
        (
            {"scheduled_at": SOON, "payload": OFF | {"value": "no"}},
            invalid("invalid_input", "Must be a valid boolean.", "payload__value"),
        ),
        (
            [past],
            invalid("invalid_input", "Invalid data. Expected a dictionary, but got list."),
        ),
    ]

    answers = [await tenant.api.post(changes_of(flag), json=body) for body, _ in sent]

    assert [answer.json() for answer in answers] == [reported for _, reported in sent]
    assert {answer.status_code for answer in answers} == {400}
    assert (await tenant.get(changes_of(flag)))["count"] == 0


async def test_a_deleted_flag_takes_no_changes(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="beta")
    await tenant.api.patch(f"/feature_flags/{flag['id']}/", json={"deleted": True})

    answer = await tenant.api.post(changes_of(flag), json={"scheduled_at": SOON, "payload": OFF})

    reported = invalid("invalid_input", "The feature flag is deleted.", "payload")
    assert (answer.status_code, answer.json()) == (400, reported)


async def test_who_may_edit_the_flag_may_schedule(team: Team) -> None:
    await team.allow_all_members(21)
    ada, bea, cleo = [await team.add(name) for name in ("ada", "bea", "cleo")]
    flag = await ada.post(team.flags, key="a")
    role = await team.role("given", 21, bea)
    await team.owner.post(f"{team.flags}{flag['id']}/role_access/", role_id=role["id"])
    path = f"{team.flags}{flag['id']}/scheduled_changes/"
    sent = {"scheduled_at": SOON, "payload": OFF}

    made = [await who.post(path, **sent) for who in (team.owner, ada, bea)]
    refused = await cleo.client.post(path, json=sent)
    stored = await cleo.client.delete(f"{path}{made[0]['id']}/")
    seen = await cleo.get(path)

    assert (refused.status_code, refused.json()) == (403, NO_EDIT)
    assert (stored.status_code, stored.json()) == (403, NO_EDIT)
    assert [item["id"] for item in seen["results"]] == [item["id"] for item in reversed(made)]
    assert (await bea.client.delete(f"{path}{made[0]['id']}/")).status_code == 204


async def test_changes_are_found_under_their_own_flag_only(
    team: Team, team_server: TeamServer
) -> None:
    first, second = [await team.owner.post(team.flags, key=key) for key in "ab"]
    async with open_team(team_server) as neighbours:
        foreign = await neighbours.owner.post(neighbours.flags, key="a")
    sent = {"scheduled_at": SOON, "payload": OFF}
    made = await team.owner.post(f"{team.flags}{first['id']}/scheduled_changes/", **sent)

    for flag_id, change_id in ((second["id"], made["id"]), (foreign["id"], made["id"])):
        path = f"{team.flags}{flag_id}/scheduled_changes/{change_id}/"
        for method in ("GET", "DELETE"):
            answer = await team.owner.client.request(method, path)
            assert (answer.status_code, answer.json()) == (404, NOT_FOUND)
    for flag_id in (foreign["id"], 999999999, "x"):
        path = f"{team.flags}{flag_id}/scheduled_changes/"
        assert (await team.owner.client.get(path)).json() == NOT_FOUND
        assert (await team.owner.client.post(path, json=sent)).json() == NOT_FOUND


async def executed(team: Team, made: Json) -> str | None:
    """Execute a change and return why it could not be made."""
    async with team.server.records.read() as connection:
        row = (await connection.execute(select(projects).where(_is(team.project_id)))).one()
    project = Project(
        row.id, row.uuid, row.organization_id, row.name, row.api_token, row.timezone, NOW
    )
    later = NOW + timedelta(hours=1)
    due = DueChange(made["id"], team.project_id, made["feature_flag"], later)
    outcome = await ScheduledChangeStore(team.server.records).execute_step(due, project, later)
    assert outcome is not None
    return outcome.failure_reason


def _is(project_id: int) -> ColumnElement[bool]:
    return projects.c.id == project_id


async def test_who_lost_the_right_changes_nothing_any_more(team: Team) -> None:
    ada, bea, cleo, dan, eve = [
        await team.add(name) for name in ("ada", "bea", "cleo", "dan", "eve")
    ]
    flag = await ada.post(team.flags, key="a")
    path = f"{team.flags}{flag['id']}/"
    sent: Json = {"scheduled_at": SOON, "payload": {**OFF, "value": True}}
    made = [
        await who.post(f"{path}scheduled_changes/", **sent)
        for who in (ada, bea, cleo, dan, eve, team.owner)
    ]
    role = await team.role("given", 21, bea, eve)
    await team.owner.post(f"{path}role_access/", role_id=role["id"])
    await team.allow_all_members(21)
    async with team.server.records.write() as connection:
        await connection.execute(delete(memberships).where(memberships.c.user_id == dan.user_id))
        await connection.execute(
            update(memberships)
            .where(memberships.c.user_id == eve.user_id)
            .values(level=Level.VIEWER)
        )

    assert [await executed(team, item) for item in made] == [
        None,  # created the flag
        None,  # has a role that may edit the flag
        "The user who scheduled the change may no longer edit this feature flag.",
        "The user who scheduled the change is no longer a member of the organization.",
        "The user who scheduled the change may no longer edit this feature flag.",
        None,
    ]
    returned = await team.owner.get(f"{path}scheduled_changes/{made[2]['id']}/")
    assert returned["failure_reason"].endswith("may no longer edit this feature flag.")
    assert returned["executed_at"] is None
    assert (await team.owner.get(path))["active"] is True
