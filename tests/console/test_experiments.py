"""The list of experiments, and how one is made and edited.

Where the tasks of users have a limited number of clicks, typing is not counted.
"""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.console.hostile import MARKUP
from tests.console.inert_values import expect_only_text
from tests.console.input_devices import InputDevice, Keyboard, Pointer
from tests.console.project import Json, Project
from tests.console.screen import Console, narrow
from tests.console.showcase_experiments import add_verdict

pytestmark = pytest.mark.long("drives Chromium")

PEOPLE, PAYING = 60, 20
VARIANTS = [{"key": key, "rollout_percentage": 50} for key in ("control", "test")]
SPLIT: Json = {"multivariate": {"variants": VARIANTS}}
PAID: Json = {
    "kind": "ExperimentMetric",
    "metric_type": "funnel",
    "goal": "increase",
    "series": [{"kind": "EventsNode", "event": "paid"}],
}


@pytest.fixture
def shop(project: Project) -> Project:
    """A shop with visits of the last days, of which a third paid."""
    now = datetime.now(UTC)
    for name, count in (("visited", PEOPLE), ("paid", PAYING)):
        project.capture(
            *(
                {
                    "event": name,
                    "distinct_id": f"visitor-{number}",
                    "properties": {"amount": number},
                    "timestamp": (now - timedelta(days=number % 10, hours=1)).isoformat(),
                }
                for number in range(count)
            )
        )
    return project


def choose_event(device: InputDevice, name: str) -> None:
    """Choose the first event of a list that has none yet."""
    page = device.console.page
    device.type(page.get_by_label("Add step", exact=True).first, name)
    page.locator("[role=option]", has_text=name).first.wait_for()
    device.console.press("Enter")


def plan(page: Page) -> str:
    said = page.get_by_text(re.compile(r"^Finds .*days$"))
    expect(said).to_be_visible()
    return said.inner_text()


@pytest.mark.parametrize("by", ["pointer", "keys"])
def test_an_experiment_is_launched_from_a_flag_with_a_plan(
    console: Console, shop: Project, by: str
) -> None:
    flag = shop.flag("pricing", active=False, filters=SPLIT)
    device: InputDevice = Pointer(console) if by == "pointer" else Keyboard(console)
    page = console.page
    console.open(shop.at())

    with console.clicks_at_most(6) if by == "pointer" else console.keyboard_only():
        main = page.get_by_role("navigation", name="Main")
        device.act(main.get_by_role("link", name="Feature flags", exact=True))
        device.open_row(page.get_by_role("row", name="pricing"))
        device.act(page.get_by_role("button", name="More actions"))
        item = page.get_by_role("menuitem", name="Run an experiment")
        if by == "pointer":
            item.click()
        else:
            item.wait_for()
            console.press("r", "Enter")
        expect(page.get_by_text("Existing flag: control 50%, test 50%")).to_be_visible()
        choose_event(device, "paid")
        at_ten = plan(page)
        assert at_ten.startswith("Finds +10\N{NO-BREAK SPACE}% in about")
        device.act(page.get_by_role("button", name="Launch", exact=True))
        expect(page.get_by_text("Launched pricing", exact=True).first).to_be_visible()

    [made] = shop.get("/experiments/")["results"]
    assert made["status"] == "running"
    assert made["feature_flag"]["id"] == flag["id"]
    assert [metric["series"][0]["event"] for metric in made["metrics"]] == ["paid"]
    parameters = made["parameters"]
    assert at_ten.endswith(f"{parameters['recommended_running_time']:,} days")
    assert parameters["recommended_sample_size"] > PEOPLE
    assert [one["rollout_percentage"] for one in parameters["feature_flag_variants"]] == [50, 50]


def test_an_experiment_is_made_from_nothing_edited_and_found_again(
    console: Console, shop: Project
) -> None:
    page = console.page
    pointer = Pointer(console)
    console.open(shop.at("experiments"))
    expect(page.get_by_role("heading", name="No experiments yet")).to_be_visible()

    with console.clicks_at_most(5):
        page.get_by_role("link", name="New experiment").last.click()
        expect(page.get_by_label("Name", exact=True)).to_be_focused()
        page.keyboard.type("Shorter form")
        expect(page.get_by_label("Feature flag", exact=True)).to_have_value("shorter-form")
        page.get_by_role("button", name="Launch", exact=True).click()
        expect(page.get_by_text("Choose the event of the primary metric before")).to_be_visible()
        choose_event(pointer, "paid")
        plan(page)
        page.get_by_role("button", name="Save as draft").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Shorter form")
    [made] = shop.get("/experiments/")["results"]
    [flag] = shop.get("/feature_flags/")["results"]
    assert (made["status"], made["feature_flag_key"]) == ("draft", "shorter-form")
    assert not flag["active"]
    path = f"/experiments/{made['id']}/"

    # A sum of a property, further metrics and a larger effect, saved with the plan for them.
    before = plan(page)
    effect = page.get_by_label("Smallest change to find, in percent")
    effect.fill("40")
    expect(page.get_by_text("Finds +40 %")).to_be_visible()
    assert plan(page) != before
    page.get_by_role("button", name="Add a guardrail").click()
    page.get_by_label("Add step", exact=True).last.fill("visited")
    page.get_by_role("option", name="visited").first.click()
    console.choose(page.get_by_label("Kind of guardrail", exact=True), "Average per person")
    console.choose(page.get_by_label("What is counted"), "Sum of a property")
    page.get_by_label("Property", exact=True).fill("amount")
    page.get_by_role("option", name="amount").first.click()
    page.get_by_label("Tolerance of guardrail").fill("5")
    page.get_by_label("Share of control").fill("60")
    expect(page.get_by_text("The shares add up to 110 %")).to_be_visible()
    console.watch.expect_status(400, path)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_have_count(1)
    page.get_by_label("Share of test").fill("40")
    console.settle()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Experiment saved").first).to_be_visible()

    saved = shop.get(path)
    [guardrail] = saved["guardrail_metrics"]
    assert guardrail["source"]["math_property"] == "amount"
    assert (guardrail["source"]["math"], guardrail["tolerance"]) == ("sum", 0.05)
    assert saved["parameters"]["minimum_detectable_effect"] == 40
    variants = shop.get(f"/feature_flags/{flag['id']}/")["filters"]["multivariate"]["variants"]
    assert [variant["rollout_percentage"] for variant in variants] == [60, 40]

    # Somebody else saves first: nobody's change is lost.
    page.get_by_label("Description", exact=False).fill("Fewer fields")
    shop.patch(path, name="Much shorter form")
    console.watch.expect_status(409, path)
    console.press("Control+s")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("term")).to_have_text(["Description", "Name"])
    expect(dialog.get_by_role("definition")).to_have_text(["Fewer fields", "Much shorter form"])
    dialog.get_by_role("button", name="Save yours over it").click()
    expect(page.get_by_role("region", name="Unsaved changes")).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).to_have_text("Much shorter form")
    assert shop.get(path)["description"] == "Fewer fields"

    # The command menu finds it.
    pointer.command("much short", "Much shorter form")
    expect(page.get_by_role("heading", level=1)).to_have_text("Much shorter form")


def test_a_metric_counts_an_action_or_another_event(console: Console, shop: Project) -> None:
    action = shop.post("/actions/", name="Paid in full", steps=[{"event": "paid"}])
    page = console.page
    console.open(shop.at("experiments/new"))
    page.get_by_label("Name", exact=True).fill("Shorter form")
    page.get_by_label("Add step", exact=True).first.fill("Paid in full")
    page.get_by_role("option", name="Paid in full Action").click()
    plan(page)
    page.get_by_role("button", name=re.compile("^More for")).first.click()
    page.get_by_role("menuitem", name="Or another event").click()
    page.get_by_label("Event 2 of 1").fill("visited")
    page.get_by_role("option", name="visited").first.click()
    page.get_by_role("button", name="Save as draft").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Shorter form")

    [made] = shop.get("/experiments/")["results"]
    [step] = made["metrics"][0]["series"]
    named = {"kind": "ActionsNode", "id": action["id"], "name": "Paid in full"}
    assert (step["kind"], step["nodes"]) == (
        "GroupNode",
        [named, {"kind": "EventsNode", "event": "visited"}],
    )
    console.open(shop.at(f"experiments/{made['id']}"))
    page.get_by_role("tab", name="Setup").click()
    expect(page.get_by_label("Event 1", exact=True)).to_have_value("Paid in full")
    console.settle()


def test_the_list_filters_and_shows_only_text(console: Console, project: Project) -> None:
    hostile = project.post("/experiments/", name=MARKUP, feature_flag_key="first", metrics=[PAID])
    project.post("/experiments/", name="Old colours", feature_flag_key="second")
    old = project.get("/experiments/", search="colours")["results"][0]
    for step in ("launch", "end", "archive"):
        project.post(f"/experiments/{old['id']}/{step}/")
    started = (datetime.now(UTC) - timedelta(days=3, hours=1)).isoformat()
    prices = project.post(
        "/experiments/", name="New prices", feature_flag_key="third", start_date=started
    )
    add_verdict(project, prices, f"Not decided: {MARKUP}", 1234)
    page = console.page

    console.open(project.at("experiments"))
    rows = page.get_by_role("row")
    expect(rows).to_have_count(3)
    cells = rows.filter(has_text="New prices").get_by_role("gridcell")
    expect(cells).to_contain_text(["New prices", "Running", MARKUP, "third", "3", "1,234"])
    console.choose(page.get_by_label("Status"), "Draft")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text=MARKUP)).to_be_visible()
    expect_only_text(page)
    console.expect_to_fit_in(narrow(360))
    page.get_by_role("link", name="Archived", exact=True).click()
    expect(page.get_by_role("row", name="Old colours")).to_be_visible()
    Pointer(console).open_row(page.get_by_role("row", name="Old colours"))
    expect(page.get_by_text("Ran for 0 days")).to_be_visible()

    console.go(project.at(f"experiments/{hostile['id']}"))
    expect(page.get_by_role("heading", level=1)).to_have_text(MARKUP)
    expect_only_text(page)
    console.expect_accessible()
