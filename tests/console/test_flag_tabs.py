"""Rollout, use, activity and access of a flag."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, expect

from tests.console.installation import Installation
from tests.console.project import Json, Project, has, when
from tests.console.screen import Console
from tests.support.awaited import until

pytestmark = pytest.mark.long("drives Chromium")


def open_tab(console: Console, project: Project, flag: Json, tab: str) -> None:
    console.open(project.at(f"flags/{flag['id']}?tab={tab}"))


def stored(project: Project, flag: Json) -> Json:
    body: Json = project.get(f"/feature_flags/{flag['id']}/")
    return body


def scheduled(project: Project, flag: Json) -> list[Json]:
    changes: list[Json] = project.get(f"/feature_flags/{flag['id']}/scheduled_changes/")["results"]
    return changes


def later(**span: float) -> str:
    return (datetime.now(UTC) + timedelta(**span)).isoformat()


def entry(console: Console, text: str) -> Locator:
    changes = console.page.get_by_role("list", name="Scheduled changes")
    return changes.locator("> li").filter(has_text=text)


def test_a_rollout_is_scheduled_in_steps_cancelled_and_scheduled_again(
    console: Console, project: Project
) -> None:
    flag = project.flag("grown", when(has("plan", "pro"), rollout=10), when(rollout=5))
    open_tab(console, project, flag, "rollout")

    console.page.get_by_role("button", name="Schedule change").click()
    dialog = console.page.get_by_role("dialog")
    console.choose(dialog.get_by_label("Condition"), "2: 5% of everyone")
    dialog.get_by_label("Rollout percentage of step 1").fill("25")
    dialog.get_by_role("button", name="Add step").click()
    dialog.get_by_label("Rollout percentage of step 2").fill("150")
    expect(dialog.get_by_role("button", name="Schedule", exact=True)).to_be_disabled()
    dialog.get_by_label("Rollout percentage of step 2").fill("50")
    console.expect_accessible()
    dialog.get_by_role("button", name="Schedule", exact=True).click()

    expect(entry(console, "of condition 2")).to_contain_text("Waiting")
    (change,) = scheduled(project, flag)
    assert change["payload"]["condition_index"] == 1
    assert [step["value"] for step in change["steps"]] == [25, 50]
    console.page.get_by_role("button", name="Cancel: 25% → 50%").click()
    expect(console.page.get_by_text("Nothing is scheduled.")).to_be_visible()
    console.page.get_by_role("button", name="Undo").click()
    expect(entry(console, "of condition 2")).to_contain_text("50%")
    assert [step["value"] for step in scheduled(project, flag)[0]["steps"]] == [25, 50]


def test_a_scheduled_change_that_fails_says_why(console: Console, project: Project) -> None:
    flag = project.flag("failing", when(has("plan", "pro")), when(rollout=5))
    path = f"/feature_flags/{flag['id']}/"
    payload = {"operation": "update_rollout_percentage", "value": 50, "condition_index": 1}
    project.post(f"{path}scheduled_changes/", payload=payload, scheduled_at=later(seconds=1))
    project.patch(path, filters={"groups": flag["filters"]["groups"][:1]})
    until(lambda: scheduled(project, flag)[0]["failure_reason"] is not None, "it has not failed")

    open_tab(console, project, flag, "rollout")

    failed = entry(console, "Failed")
    expect(failed).to_contain_text("has no condition set 1")
    expect(failed.get_by_role("button")).to_have_count(0)


def test_a_rollback_condition_is_drawn_edited_and_never_overwrites_another_change(
    console: Console, project: Project
) -> None:
    flag = project.flag("watched")
    project.events("checkout failed", *(f"u{n}" for n in range(14)))
    open_tab(console, project, flag, "rollout")

    console.page.get_by_role("button", name="Add condition").click()
    dialog = console.page.get_by_role("dialog")
    dialog.get_by_label("Event", exact=True).fill("checkout f")
    console.page.get_by_role("option", name="checkout failed").click()
    dialog.get_by_label("Limit per day").fill("30")
    expect(dialog.get_by_text("2 per day over seven days: within the limit of 30.")).to_be_visible()
    console.settle()
    console.expect_accessible()
    dialog.get_by_role("button", name="Save").click()

    condition = console.page.get_by_role("region", name="checkout failed").first
    expect(condition).to_contain_text(
        "Off when there are more than 30 “checkout failed” events per day"
    )
    expect(condition).to_contain_text("Limit: 30")
    (saved,) = stored(project, flag)["rollback_conditions"]
    assert (saved["threshold"], saved["operator"]) == (30, "gt")
    assert saved["threshold_metric"]["events"] == [{"id": "checkout failed", "math": "total"}]

    console.page.get_by_role("button", name="Edit the condition on checkout failed").click()
    dialog.get_by_label("Limit per day").fill("1")
    expect(dialog.get_by_text("2 per day over seven days: past the limit of 1.")).to_be_visible()
    read_on = console.hold_reads(f"**/feature_flags/{flag['id']}/")
    project.patch(f"/feature_flags/{flag['id']}/", name="theirs")
    console.watch.expect_status(409, f"/feature_flags/{flag['id']}/")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The flag has changed since")
    read_on()
    assert stored(project, flag)["rollback_conditions"] == [saved]


def test_use_is_drawn_by_value_with_evidence_and_code(console: Console, project: Project) -> None:
    flag = project.flag("color", created_at="2024-01-01T00:00:00Z")
    called = {"$feature_flag": "color", "$feature_flag_response": True}
    project.events("$feature_flag_called", "ann", "bob", "eve", **called)
    project.events("bought", "ann", **{"$feature/color": True})
    open_tab(console, project, flag, "usage")
    page = console.page

    expect(page.get_by_text("Almost: everyone gets the same value.")).to_be_visible()
    calls = page.get_by_role("figure", name="Calls of color per day")
    expect(calls).to_contain_text("3 in total")
    calls.get_by_role("button", name="Show as a table").click()
    expect(calls.get_by_role("columnheader", name="true")).to_be_visible()
    events = page.get_by_role("figure", name="Events with color per day")
    expect(events).to_contain_text("1 in total")
    page.get_by_role("tab", name="Python").click()
    code = page.get_by_role("tabpanel", name="Python")
    expect(code).to_contain_text(f'posthog = Posthog("{project.token}", host="{console.origin}")')
    expect(code).to_contain_text('posthog.feature_enabled("color"')
    expect(page.get_by_text("Generated Dashboard: color Usage")).to_be_visible()
    console.settle()
    console.expect_accessible()
    with console.at_width(360):
        pass


def test_an_earlier_version_is_restored_after_showing_what_changes(
    console: Console, project: Project
) -> None:
    project.persons(**{f"u{n}": {"plan": "pro"} for n in range(4)})
    flag = project.flag("moved", when(rollout=0), name="first", tags=["a"])
    path = f"/feature_flags/{flag['id']}/"
    project.patch(path, filters={"groups": [when(rollout=100)]})
    project.patch(path, name="second", tags=["b"])
    open_tab(console, project, flag, "activity")

    entries = console.page.get_by_role("list", name="Activity")
    expect(entries).to_contain_text("created the flag")
    entries.get_by_role("button", name="Restore this version").last.click()
    dialog = console.page.get_by_role("dialog")
    expect(dialog).to_contain_text("A different value for 4 people out of 4:")
    expect(dialog).to_contain_text("4 people from true to false")
    expect(dialog).to_contain_text("Nobody")
    console.expect_accessible()
    dialog.get_by_role("button", name="Restore").click()
    expect(dialog).to_have_count(0)

    now = stored(project, flag)
    assert (now["name"], now["tags"], now["filters"]) == ("first", ["a"], flag["filters"])
    console.page.get_by_role("button", name="Undo").click()
    until(lambda: stored(project, flag)["name"] == "second", "it was not taken back")
    assert stored(project, flag)["filters"]["groups"][0]["rollout_percentage"] == 100


def test_a_flag_is_given_to_a_role_and_taken_away_again(
    console: Console, installation: Installation, project: Project
) -> None:
    ada = installation.member("Ada")
    with installation.client() as client:
        role = client.post("/api/organizations/@current/roles/", json={"name": f"QA {project.id}"})
    assert role.is_success, role.text
    flag = project.flag("guarded")
    open_tab(console, project, flag, "access")
    page = console.page

    name = f"QA {project.id}"
    who = page.get_by_role("row").filter(has_text=ada.email.partition("-")[0].title())
    expect(who.first).to_contain_text("all members can edit flags")
    console.choose(page.get_by_label("Role", exact=True), name)
    page.get_by_role("button", name="Give").click()
    take = page.get_by_role("button", name=f"Remove access from {name}")
    expect(take).to_be_visible()
    access = project.get(f"/feature_flags/{flag['id']}/role_access/")["results"]
    assert [given["role"]["name"] for given in access] == [name]
    console.settle()
    take.click()
    expect(page.get_by_text("No role has access to this flag.")).to_be_visible()
    assert project.get(f"/feature_flags/{flag['id']}/role_access/")["count"] == 0
