"""The commands `fanion keys` and `fanion projects`, as an operator runs them, with activity."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec import json

from fanion.db.schema.activity import activity_log
from fanion.db.schema.tables import former_project_tokens
from tests.cli.test_transfer import Fanion, rows
from tests.cli.test_transfer import fanion as fanion  # the fixture

_entry = activity_log.c


def run_for_json(fanion: Fanion, *arguments: str) -> Any:
    return json.decode(fanion(*arguments, "--json").stdout)


@pytest.fixture
def project_id(fanion: Fanion) -> int:
    """Return the id of the first project, whose organization has the first user as owner."""
    [project] = run_for_json(fanion, "projects", "list")
    return int(project["project_id"])


def activity_entries(records_url: str, scope: str) -> list[tuple[Any, ...]]:
    """Return the activity, oldest first: what was done, item, project, name, and user."""
    columns = (_entry.activity, _entry.item_id, _entry.project_id, _entry.detail, _entry.user_id)
    return [
        (activity, item_id, project_id, detail["name"], user_id)
        for of, activity, item_id, project_id, detail, user_id in rows(
            records_url, _entry.scope, *columns
        )
        if of == scope
    ]


def test_keys_of_the_command_line_are_reported_in_each_project(
    fanion: Fanion, project_id: int, records_url: str
) -> None:
    second = run_for_json(fanion, "projects", "create", "Second")["project_id"]

    created = run_for_json(fanion, "keys", "create", "--label", "CI")
    fanion("keys", "revoke", created["id"])

    assert sorted(activity_entries(records_url, "PersonalAPIKey")) == [
        (activity, created["id"], project, "CI", None)
        for activity in ("created", "deleted")
        for project in (project_id, second)
    ]


def test_a_key_of_the_command_line_may_expire(fanion: Fanion, project_id: int) -> None:
    created = run_for_json(fanion, "keys", "create", "--expires", "2031-05-04 08:00")
    for_ever = run_for_json(fanion, "keys", "create")

    listed = {key["id"]: key["expires_at"] for key in run_for_json(fanion, "keys", "list")}
    assert created["expires_at"] == "2031-05-04T08:00:00+00:00"
    assert listed[created["id"]] == created["expires_at"]
    assert listed[for_ever["id"]] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--expires", "soon"), "--expires: 'soon' is not a number of days or hours"),
        (("--expires", "2001-01-01"), "--expires: Ensure this time is in the future."),
        (("--expires", "999999d"), "--expires: Ensure this time is within 3650 days."),
        (("--scope", "cohort:eat"), "--scope: cohort:eat is not a scope; use *, <object>:read"),
    ],
)
def test_a_wrong_key_is_not_made(
    fanion: Fanion, project_id: int, arguments: tuple[str, str], said: str
) -> None:
    before = run_for_json(fanion, "keys", "list")

    done = fanion("keys", "create", *arguments)

    assert done.exit_code == 2
    assert said in done.stderr
    assert run_for_json(fanion, "keys", "list") == before


def test_a_key_that_is_not_there_is_not_reported(
    fanion: Fanion, project_id: int, records_url: str
) -> None:
    done = fanion("keys", "revoke", "00000000-0000-4000-8000-000000000000")

    assert done.exit_code == 2
    assert activity_entries(records_url, "PersonalAPIKey") == []


def test_a_project_gets_another_key_of_the_command_line(
    fanion: Fanion, project_id: int, records_url: str
) -> None:
    [before] = run_for_json(fanion, "projects", "list")

    created = run_for_json(
        fanion, "projects", "reset-key", str(project_id), "--former-valid-s", "60"
    )

    former = rows(records_url, former_project_tokens.c.token, former_project_tokens.c.valid_until)
    until = datetime.fromisoformat(created["former_key_valid_until"])
    assert [token for token, _ in former] == [before["project_api_key"]]
    assert abs(former[0][1] - until) < timedelta(seconds=1)
    [after] = run_for_json(fanion, "projects", "list")
    assert after["project_api_key"] == created["project_api_key"] != before["project_api_key"]
    assert [entry[0] for entry in activity_entries(records_url, "Project")] == ["updated"]

    run_for_json(fanion, "projects", "reset-key", str(project_id), "--former-valid-s", "0")
    assert rows(records_url, former_project_tokens.c.token) == []
    assert fanion("projects", "reset-key", "999").exit_code == 2


def test_projects_and_secret_keys_of_the_command_line_are_reported(
    fanion: Fanion, project_id: int, records_url: str
) -> None:
    created = run_for_json(fanion, "projects", "create", "Shop")["project_id"]
    run_for_json(fanion, "projects", "secret-key", str(created))

    assert activity_entries(records_url, "Project") == [
        ("created", str(created), created, "Shop", None),
        ("updated", str(created), created, "Shop", None),
    ]
