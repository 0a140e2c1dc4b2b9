"""The results of an experiment, and what is done with it."""

import random
import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import APIResponse, Route, expect

from fanion.projects.model import Level
from tests.console.conftest import Visit
from tests.console.installation import Installation
from tests.console.project import Json, Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

ATTACK = "<img src=x onerror=alert(1)>"
DAYS = 9
PEOPLE = 240
STARTED = datetime.now(UTC) - timedelta(days=DAYS)


def funnel(event: str, **fields: str | float) -> Json:
    series = [{"kind": "EventsNode", "event": event}]
    return {"kind": "ExperimentMetric", "metric_type": "funnel", "series": series, **fields}


def exposed(person: str, variant: str, minutes: int) -> Json:
    return {
        "event": "$feature_flag_called",
        "distinct_id": person,
        "timestamp": (STARTED + timedelta(minutes=minutes)).isoformat(),
        "properties": {"$feature_flag": "layout", "$feature_flag_response": variant},
    }


def done(person: str, event: str, minutes: int) -> Json:
    at = STARTED + timedelta(minutes=minutes)
    return {"event": event, "distinct_id": person, "timestamp": at.isoformat()}


@pytest.fixture(scope="module")
def better(module_project: Project) -> Json:
    """Create an experiment whose test variant has many more conversions, and the same failures."""
    chance = random.Random(7)
    events = [exposed("both", "control", 1), exposed("both", "test", 2)]
    for number in range(PEOPLE):
        variant, minutes = ("control", "test")[number % 2], 5 + number * 40
        person = f"person-{number}"
        events.append(exposed(person, variant, minutes))
        if chance.random() < (0.2 if variant == "control" else 0.75):
            events.append(done(person, "paid", minutes + 1))
        if chance.random() < 0.2:
            events.append(done(person, "failed", minutes + 2))
    module_project.capture(*events)
    return module_project.post(
        "/experiments/",
        name=f"Layout {ATTACK}",
        feature_flag_key="layout",
        start_date=STARTED.isoformat(),
        metrics=[funnel("paid", name=f"Paid {ATTACK}"), funnel("never sent", name="Unknown")],
        metrics_secondary=[funnel("failed", name="Looked", goal="decrease")],
        guardrail_metrics=[funnel("failed", name="Failures", goal="decrease", tolerance=0.1)],
        allow_unknown_events=True,
    )


def test_results_say_what_to_do_first_and_then_why(
    console: Console, module_project: Project, better: Json
) -> None:
    console.open(module_project.at(f"experiments/{better['id']}"))
    page = console.page

    verdict = page.get_by_role("region", name="Verdict")
    expect(verdict).to_contain_text("Ship test: between ")
    expect(verdict).to_contain_text("Valid however often you look.")
    paid = page.get_by_role("region", name=f"Paid {ATTACK}", exact=True)
    expect(paid).to_contain_text("Better")
    expect(paid.get_by_role("img")).to_have_accessible_name(re.compile(r"test: \+.*between"))
    unknown = page.get_by_role("region", name="Unknown")
    expect(unknown).to_contain_text("Never received: never sent")
    expect(unknown).to_contain_text("Not enough data yet")
    expect(page.get_by_role("region", name="Failures")).to_contain_text("No harm so far")
    expect(page.get_by_text("significant")).to_have_count(0)
    expect(page.get_by_role("region", name="Split")).to_contain_text("As set.")
    expect(page.get_by_role("region", name="Not counted")).to_contain_text(
        "1 person saw several variants"
    )
    with console.clicks_at_most(1):
        paid.get_by_text("Numbers", exact=True).click()
    expect(paid.get_by_role("rowheader", name="control")).to_be_visible()
    expect(paid).to_contain_text("Sequential test, 95 % confidence")
    console.settle()
    console.expect_accessible()
    with console.at_width(360):
        pass


def test_people_behind_a_variant_and_the_cohort_of_all(
    console: Console, module_project: Project, better: Json
) -> None:
    console.open(module_project.at(f"experiments/{better['id']}"))
    page = console.page

    with console.clicks_at_most(1):
        page.get_by_role("button", name="Show the people with test: 120").click()
    people = page.get_by_role("dialog", name="Persons")
    expect(people).to_contain_text("People with test")
    expect(people.get_by_role("columnheader", name="First exposure")).to_be_visible()
    expect(people.get_by_role("row").nth(1)).to_be_visible()
    console.press("Escape")
    with console.clicks_at_most(1):
        page.get_by_role("button", name="1 person saw several variants").click()
    expect(people.get_by_role("row")).to_have_count(2)
    console.press("Escape")

    # Those who converted are as many as the number says, and become a cohort.
    paid = page.get_by_role("region", name=f"Paid {ATTACK}", exact=True)
    paid.get_by_text("Numbers", exact=True).click()
    converted = paid.get_by_role("row", name="control").get_by_role("button").nth(1)
    count = converted.inner_text()
    with console.clicks_at_most(3):
        converted.click()
        expect(people).to_contain_text("People with control who converted in Paid")
        rows = str(int(count) + 1)  # with the header
        expect(people.get_by_role("grid")).to_have_attribute("aria-rowcount", rows)
        people.get_by_role("button", name="Save as cohort").click()
        page.get_by_role("dialog", name="Save as cohort").get_by_role(
            "button", name="Save as cohort"
        ).click()
    expect(page).to_have_url(re.compile("/cohorts/"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("who converted in Paid")
    page.go_back()
    with console.keyboard_only():
        console.tab_to(page.get_by_role("button", name="Save as cohort"))
        console.press("Enter")
        expect(page).to_have_url(re.compile("/cohorts/"))
    made = module_project.get(f"/experiments/{better['id']}/")["exposure_cohort"]
    assert f"/cohorts/{made}" in page.url


def test_an_experiment_is_steered_to_its_end(console: Console, project: Project) -> None:
    made = project.post("/experiments/", name="Steered", feature_flag_key="steered")
    console.open(project.at(f"experiments/{made['id']}"))
    page = console.page
    dialog = page.get_by_role("dialog")

    def stored() -> Json:
        body: Json = project.get(f"/experiments/{made['id']}/")
        return body

    def choose(item: str) -> None:
        page.get_by_role("button", name="More actions").click()
        page.get_by_role("menuitem", name=item).click()

    with console.keyboard_only():
        console.tab_to(page.get_by_role("button", name="Launch"))
        console.press("Enter")
        expect(page.get_by_text("Running", exact=True)).to_be_visible()
    with console.clicks_at_most(3):
        choose("Pause")
        page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("Running", exact=True)).to_be_visible()
    choose("Change plan")
    dialog.get_by_label("People in all variants together").fill("none")
    expect(dialog.get_by_role("button", name="Save")).to_be_disabled()
    dialog.get_by_label("People in all variants together").fill("4000")
    path = f"/experiments/{made['id']}/"
    project.patch(path, description="By somebody else")
    console.watch.expect_status(409, path)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The experiment has changed since")
    console.press("Escape")
    expect(page.get_by_text("By somebody else")).to_be_visible()
    choose("Change plan")
    dialog.get_by_label("People in all variants together").fill("4000")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    assert stored()["parameters"]["recommended_sample_size"] == 4000

    with console.clicks_at_most(4):
        choose("End experiment")
        dialog.get_by_label("Comment").fill("Nobody came.")
        dialog.get_by_role("button", name="End experiment").click()
    expect(page.get_by_text("Stopped", exact=True)).to_be_visible()
    project.patch(path, description="Changed once more")
    choose("Keep running")  # which is refused: the other change has not been seen
    expect(page.get_by_text("Changed once more")).to_be_visible()
    assert stored()["end_date"] is not None
    choose("Keep running")
    expect(page.get_by_text("Running", exact=True)).to_be_visible()
    assert stored()["end_date"] is None

    page.get_by_role("button", name="Ship variant").click()
    expect(dialog).to_contain_text("The flag returns test in place of every other variant.")
    expect(dialog).to_contain_text("The experiment ends now.")
    console.expect_accessible()
    dialog.get_by_role("button", name="Ship test").click()
    expect(page.get_by_text("Stopped", exact=True)).to_be_visible()
    flag = project.get(f"/feature_flags/{stored()['feature_flag']['id']}/")
    variants = flag["filters"]["multivariate"]["variants"]
    assert {one["key"]: one["rollout_percentage"] for one in variants} == {
        "control": 0,
        "test": 100,
    }

    choose("Archive")
    expect(page.get_by_text("Archived", exact=True)).to_be_visible()
    choose("Duplicate")
    console.watch.expect_status(400, "/duplicate/")
    dialog.get_by_label("Feature flag key").fill("no key")
    dialog.get_by_role("button", name="Duplicate").click()
    expect(dialog.get_by_role("alert")).to_have_count(1)
    dialog.get_by_label("Feature flag key").fill("second")
    dialog.get_by_role("button", name="Duplicate").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Steered (Copy)")
    read: list[tuple[Route, APIResponse]] = []

    def hold_the_first(route: Route) -> None:
        if read:
            route.continue_()
        else:
            read.append((route, route.fetch()))

    page.route("**/experiments/?*", hold_the_first)
    with page.expect_request("**/experiments/?*"):
        choose("Delete")
    with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        toast = page.locator("li").filter(has_text="Deleted Steered")
        toast.get_by_role("button", name="Undo").click()
    for route, answer in read:  # of the time before the deletion was taken back
        route.fulfill(response=answer)
    expect(page.get_by_role("link", name="Steered (Copy)")).to_be_visible()


def test_a_viewer_reads_results_and_changes_nothing(
    installation: Installation, module_project: Project, better: Json, visit: Visit
) -> None:
    console = visit(installation.member("Vito", level=Level.VIEWER))
    console.open(module_project.at(f"experiments/{better['id']}"))
    page = console.page

    expect(page.get_by_role("region", name="Verdict")).to_contain_text("Ship test")
    expect(page.get_by_role("button", name="Ship variant")).to_be_disabled()
    page.get_by_role("button", name="More actions").click()
    for name in ("End experiment…", "Reset…", "Delete"):
        expect(page.get_by_role("menuitem", name=name)).to_be_disabled()
