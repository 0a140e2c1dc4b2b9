"""The guarded release of a flag: started, measured, rolled back, and ended by people."""

import re

import pytest
from playwright.sync_api import expect

from fanion.flags.engine.hashing import bucket
from fanion.projects.model import Level
from tests.console.conftest import Visit
from tests.console.installation import Installation
from tests.console.project import Json, Project, when
from tests.console.screen import Console
from tests.console.test_flag_tabs import later, open_tab, stored

pytestmark = pytest.mark.long("drives Chromium")

ATTACK = "<img src=x onerror=alert(1)> crash"
PEOPLE = [f"p{number}" for number in range(400)]


def release_of(project: Project, flag: Json) -> Json:
    body: Json = project.get(f"/feature_flags/{flag['id']}/guarded_release/")
    return body


def share_of(project: Project, flag: Json) -> float:
    share: float = stored(project, flag)["filters"]["groups"][0]["rollout_percentage"]
    return share


def start(project: Project, flag: Json) -> Json:
    """Start a release whose guardrail is about an event that never comes."""
    metric: Json = {"kind": "ExperimentMetric", "metric_type": "mean", "goal": "increase"}
    metric["source"] = {"kind": "EventsNode", "event": "paid"}
    steps = [{"rollout_percentage": 50, "hold_minutes": 60}, {"rollout_percentage": 100}]
    path = f"/feature_flags/{flag['id']}/guarded_release/"
    return project.post(path, steps=steps, metrics=[metric])


def call(project: Project, key: str) -> None:
    """Capture a call of the flag by each person, and a crash of most who are in the first half."""
    inside = [person for person in PEOPLE if bucket(key, person) <= 0.5]
    called = {"$feature_flag": key, "$feature_flag_response": True}
    project.events("$feature_flag_called", *PEOPLE, **called)
    project.events(ATTACK, *inside[: len(inside) * 4 // 5])


def test_a_release_that_does_harm_is_started_measured_and_rolled_back(
    console: Console, project: Project
) -> None:
    flag = project.flag("checkout", when(rollout=30))
    project.events(ATTACK, "somebody")
    open_tab(console, project, flag, "rollout")
    page = console.page

    with console.clicks_at_most(4):
        page.get_by_role("button", name="Start guarded release").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Event", exact=True).click()
        console.page.keyboard.type("crash")
        page.get_by_role("option", name=ATTACK).first.click()
        dialog.get_by_label("Tolerated change in %").fill("5")
        console.expect_accessible()
        dialog.get_by_role("button", name="Start", exact=True).click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_text("Step 1 of 2, 50%: goes on to 100% on ")).to_be_visible()
    expect(page.get_by_text("Calculated once people with and without")).to_be_visible()
    assert share_of(project, flag) == 50

    call(project, "checkout")
    with console.clicks_at_most(1):
        page.get_by_role("button", name="Check now").click()
        expect(page.get_by_text("The rollout was at 50% and went back to 30%.")).to_be_visible()

    assert share_of(project, flag) == 30
    guardrails = page.get_by_role("region", name="Guardrails")
    expect(guardrails).to_contain_text(f"People with “{ATTACK}”")
    expect(guardrails).to_contain_text("may increase by at most 5%")
    expect(guardrails).to_contain_text("Worse")
    expect(guardrails.get_by_role("img")).to_have_accessible_name(
        re.compile("percentage points past")
    )
    page.get_by_text("History", exact=True).click()
    history = page.get_by_role("list", name="History")
    expect(history.get_by_role("listitem").first).to_contain_text("Rolled back: step 1, 30%")
    expect(history).to_contain_text("A metric got worse.")
    console.expect_accessible()
    with console.at_width(360):
        pass


def test_a_release_is_paused_changed_and_ended_by_keys(console: Console, project: Project) -> None:
    flag = project.flag("steered", when(rollout=10))
    start(project, flag)
    open_tab(console, project, flag, "rollout")
    page = console.page

    with console.keyboard_only():
        console.tab_to(page.get_by_role("button", name="Pause", exact=True))
        console.press("Enter")
        expect(page.get_by_text("nothing is checked and nothing changes")).to_be_visible()
        console.tab_to(page.get_by_role("button", name="Resume"))
        console.press("Enter")
        expect(page.get_by_text("goes on to 100% on")).to_be_visible()
        more = page.get_by_role("button", name="More actions of the guarded release")
        console.tab_to(more)
        console.press("Enter")
        page.get_by_role("menuitem", name="Change steps").wait_for()
        console.press("Enter")
        dialog = page.get_by_role("dialog")
        hold = dialog.get_by_label("Time of step 1", exact=True)
        console.tab_to(hold)
        console.press("Control+a", "3", "Control+Enter")
        expect(dialog).to_have_count(0)
        expect(page.get_by_text("50% for 3 hours")).to_be_visible()

    with console.clicks_at_most(4):
        end(console)
    expect(dialog).to_have_count(0)
    expect(page.get_by_text("The release ended at 50%")).to_be_visible()
    assert (share_of(project, flag), release_of(project, flag)["state"]) == (10, "cancelled")

    # The server refuses steps that a scheduled change would cross.
    payload = {"operation": "update_rollout_percentage", "value": 90}
    path = f"/feature_flags/{flag['id']}/scheduled_changes/"
    project.post(path, payload=payload, scheduled_at=later(days=1))
    page.get_by_role("button", name="Start another").click()
    dialog.get_by_label("Event", exact=True).fill("paid")
    console.press("Enter")
    console.watch.expect_status(400, "/guarded_release/")
    dialog.get_by_role("button", name="Start", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Cancel it first")


def test_a_release_is_not_ended_over_a_change_of_somebody_else(
    console: Console, project: Project
) -> None:
    flag = project.flag("shared", when(rollout=10))
    start(project, flag)
    open_tab(console, project, flag, "rollout")
    console.hold_reads(f"**/feature_flags/{flag['id']}/")

    project.patch(f"/feature_flags/{flag['id']}/", name="theirs")
    console.watch.expect_status(409, f"/feature_flags/{flag['id']}/")
    end(console)

    alert = console.page.get_by_role("dialog").get_by_role("alert")
    expect(alert).to_contain_text("The flag has changed since")
    assert (share_of(project, flag), release_of(project, flag)["state"]) == (50, "running")


def end(console: Console) -> None:
    """End the release and go back to where the rollout was."""
    page = console.page
    page.get_by_role("button", name="More actions of the guarded release").click()
    page.get_by_role("menuitem", name="End release").click()
    page.get_by_role("radio", name="Go back to 10%").click()
    page.get_by_role("button", name="End release").click()


def test_a_viewer_sees_a_release_and_changes_nothing(
    installation: Installation, project: Project, visit: Visit
) -> None:
    flag = project.flag("seen", when(rollout=10))
    start(project, flag)
    console = visit(installation.member("Vera", level=Level.VIEWER))
    open_tab(console, project, flag, "rollout")
    page = console.page

    expect(page.get_by_text("Step 1 of 2, 50%")).to_be_visible()
    for name in ("Check now", "Pause"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_disabled()
