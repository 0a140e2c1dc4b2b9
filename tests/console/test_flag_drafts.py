"""Drafts of a flag's change, and new flags.

A draft survives another user's change, leaving, the end of a session, and a server that stops.
"""

import pytest
from playwright.sync_api import expect

from tests.console.conftest import Visit
from tests.console.installation import Installation
from tests.console.project import Json, Project, has, when
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

BAR = "Unsaved changes"


@pytest.fixture(scope="module")
def people(module_project: Project) -> Project:
    module_project.persons(ann={"plan": "pro"}, bob={"plan": "free"})
    return module_project


def saved(project: Project, flag: Json) -> Json:
    stored: Json = project.get(f"/feature_flags/{flag['id']}/")
    return stored


def shares(project: Project, flag: Json) -> list[float]:
    return [group["rollout_percentage"] for group in saved(project, flag)["filters"]["groups"]]


def type_share(console: Console, number: int, share: int) -> None:
    console.page.get_by_label(f"Rollout of condition {number}", exact=True).fill(str(share))


def save(console: Console) -> None:
    console.page.get_by_role("button", name="Review and save").click()
    console.page.get_by_role("dialog").get_by_role("button", name="Save").click()


def test_changes_that_collide_are_chosen_side_by_side(console: Console, people: Project) -> None:
    flag = people.flag("collided", when(has("plan", "pro"), rollout=10), when(rollout=1))
    console.watch.expect_status(409, f"/feature_flags/{flag['id']}/")
    page = console.page
    # Without the stream of changes only the save finds out about the other one.
    page.route("**/feature_flags/changes/stream/", lambda _: None)
    console.open(people.at(f"flags/{flag['id']}"))

    type_share(console, 1, 30)
    type_share(console, 2, 2)
    other = [when(has("plan", "pro"), rollout=90), when(rollout=1)]
    people.patch(f"/feature_flags/{flag['id']}/", filters={"groups": other})
    save(console)
    dialog = page.get_by_role("dialog", name="Conflicting changes")
    expect(dialog).to_contain_text("30% of people whose plan is pro")
    expect(dialog).to_contain_text("90% of people whose plan is pro")
    expect(dialog.get_by_role("button", name="Merge")).to_be_disabled()
    console.settle()
    console.expect_accessible()
    dialog.get_by_role("radio", name="Keep theirs").check()
    dialog.get_by_role("button", name="Merge").click()
    page.get_by_role("dialog", name="Save changes").get_by_role("button", name="Save").click()

    expect(page.get_by_text("Version 3")).to_be_visible()
    assert shares(people, flag) == [90, 2]


def test_changes_are_there_on_return_until_they_are_discarded(
    console: Console, people: Project
) -> None:
    flag = people.flag("left", when(rollout=10))
    page = console.page
    console.open(people.at(f"flags/{flag['id']}"))

    type_share(console, 1, 44)
    expect(page.get_by_role("region", name=BAR)).to_be_visible()
    page.get_by_role("link", name="Cohorts").click()
    console.open(people.at(f"flags/{flag['id']}"))
    expect(page.get_by_text("are still here")).to_be_visible()
    expect(page.get_by_label("Rollout of condition 1", exact=True)).to_have_value("44")
    page.get_by_role("region", name=BAR).get_by_role("button", name="Discard").click()
    expect(page.get_by_label("Rollout of condition 1", exact=True)).to_have_value("10")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("Rollout of condition 1", exact=True)).to_have_value("44")
    page.get_by_role("region", name=BAR).get_by_role("button", name="Discard").click()
    page.reload()

    expect(page.get_by_label("Rollout of condition 1", exact=True)).to_have_value("10")
    expect(page.get_by_role("region", name=BAR)).to_have_count(0)


def test_a_server_that_stops_during_a_save_loses_nothing(
    console: Console, people: Project, installation: Installation
) -> None:
    flag = people.flag("stopped", when(rollout=10))
    console.open(people.at(f"flags/{flag['id']}"))
    console.watch.expect_lost_requests()
    page = console.page
    type_share(console, 1, 55)
    console.settle()

    with installation.stopped():
        save(console)
        expect(page.get_by_role("dialog").get_by_role("button", name="Save")).to_be_disabled()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()

    expect(page.get_by_text("Version 2")).to_be_visible()
    assert shares(people, flag) == [55]


def test_a_session_that_ends_is_begun_again_over_the_change(
    visit: Visit, people: Project, installation: Installation
) -> None:
    flag = people.flag("signed-out", when(rollout=10))
    console = visit(installation.owner, anew=True)
    console.open(people.at(f"flags/{flag['id']}"))
    console.watch.expect_status(401, "/api/")
    page = console.page
    type_share(console, 1, 66)
    console.settle()

    console.context.clear_cookies()
    save(console)
    form = page.get_by_role("dialog", name="Your session has ended")
    form.get_by_label("Password").fill(installation.owner.password)
    form.get_by_role("button", name="Sign in").click()

    expect(page.get_by_text("Version 2")).to_be_visible()
    assert shares(people, flag) == [66]


def test_a_flag_for_a_plan_is_made_in_few_clicks(console: Console, people: Project) -> None:
    page = console.page
    console.open(people.at("flags/new"))

    with console.clicks_at_most(2):
        page.keyboard.type("Für die Zahlenden")
        expect(page.get_by_label("Key", exact=True)).to_have_value("fur-die-zahlenden")
        page.get_by_role("button", name="Add property").click()
        page.keyboard.type("plan")
        console.press("Enter")
        page.get_by_role("combobox", name="Values").focus()
        page.keyboard.type("pro")
        console.press("Enter")
        expect(page.get_by_text("matches 1 of 2 people")).to_be_visible()
        page.get_by_role("button", name="Create switched off").click()
    expect(page.get_by_role("heading", name="fur-die-zahlenden")).to_be_visible()

    (made,) = people.get("/feature_flags/", search="fur-die")["results"]
    assert not made["active"]
    assert made["name"] == "Für die Zahlenden"
    (group,) = made["filters"]["groups"]
    assert group["properties"][0]["key"] == "plan"
    assert group["properties"][0]["value"] in ("pro", ["pro"])


def test_what_is_wrong_with_a_new_flag_is_said_at_its_field(
    console: Console, people: Project
) -> None:
    people.flag("taken")
    page = console.page
    console.open(people.at("flags/new"))
    console.watch.expect_status(400, "/feature_flags/")
    create = page.get_by_role("button", name="Create and switch on")

    create.click()
    expect(page.get_by_text("A flag needs a key.")).to_be_visible()
    page.get_by_label("Key", exact=True).fill("taken")
    create.click()
    key = page.get_by_label("Key", exact=True)
    expect(key).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("alert")).to_have_count(1)
    console.settle()
    console.expect_accessible()
    page.reload()
    expect(page.get_by_text("are still here")).to_be_visible()
    page.get_by_role("button", name="Start over").click()
    expect(key).to_have_value("")
