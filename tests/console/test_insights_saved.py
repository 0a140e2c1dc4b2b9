"""Saved insights in the console: saved, found, edited concurrently, deleted and restored."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.console.insight_page import insight, sentence
from tests.console.project import Json, Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

PAID = {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "paid"}]}
HOSTILE = '<img src=x onerror="alert(1)">‮evil'


def saved(project: Project, name: str, **fields: object) -> Json:
    """Return a new insight, by default about payments."""
    asked = {} if "filters" in fields else {"query": PAID}
    return project.post("insights", name=name, **asked, **fields)


def save_bar(console: Console) -> Locator:
    return console.page.get_by_role("region", name="Unsaved changes")


def test_a_question_is_saved_changed_and_deleted_by_keys(
    console: Console, project: Project
) -> None:
    project.events("paid", "ann", "bob")
    page = console.page
    console.open(insight(project, series=[{"event": "paid"}]))

    with console.keyboard_only():
        console.settle()
        console.press("Control+s")
        dialog = page.get_by_role("dialog", name="Save insight")
        page.keyboard.type("Payments")
        console.tab_to(dialog.get_by_role("textbox", name="Tags"))
        page.keyboard.type("money, week")
        console.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Payments")
        expect(sentence(console)).to_contain_text("How often paid happened, per day")
        console.settle()
        assert re.search(r"/insights/\d+$", page.url)

        kind = page.get_by_role("combobox", name="What is counted")
        console.tab_to(kind)
        page.keyboard.type("Unique")
        console.press("Enter")
        expect(save_bar(console)).to_be_visible()
        console.settle()
        page.reload()
        expect(sentence(console)).to_contain_text("How many persons did paid")
        expect(save_bar(console)).to_be_visible()
        console.settle()
        console.press("Control+s")
        console.expect_toast("Insight saved")
        expect(save_bar(console)).to_have_count(0)
        console.settle()
        assert "draft" not in page.url
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844}, {"width": 360, "height": 640})
    page.get_by_role("tab", name="Activity").click()
    expect(page.get_by_role("tabpanel")).to_contain_text("created")

    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Insights")
    console.settle()
    expect(page.get_by_text("No saved insights yet")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    row = page.get_by_role("grid", name="Insights").get_by_role("row", name="Payments")
    expect(row).to_contain_text("Trends")
    expect(row).to_contain_text("money")


def test_insights_are_found_by_text_author_kind_and_tag_and_restored(
    console: Console, project: Project
) -> None:
    saved(project, "Payments", tags=["money"])
    saved(project, HOSTILE, tags=[HOSTILE])
    gone = saved(project, "Old")
    project.patch(f"insights/{gone['id']}", deleted=True)
    project.flag("beta")
    page = console.page
    console.open(project.at("insights"))
    rows = page.get_by_role("grid", name="Insights").get_by_role("row")

    expect(rows).to_have_count(3)
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844})
    with console.at_zoom(200):
        console.expect_to_fit()
    page.get_by_role("searchbox").fill("paym")
    expect(rows).to_have_count(2)
    page.get_by_role("searchbox").fill("")
    console.choose(page.get_by_role("combobox", name="Tag"), "money")
    expect(rows).to_have_count(2)
    console.choose(page.get_by_role("combobox", name="Tag"), "Any tag")
    page.get_by_role("checkbox", name="Show those of flags").check()
    expect(rows).to_have_count(5)

    page.get_by_role("link", name="Deleted insights").click()
    page.get_by_role("button", name="Restore Old").click()
    console.expect_toast("Old restored")
    expect(page.get_by_text("No insight was deleted.")).to_be_visible()
    page.get_by_role("link", name="Insights").last.click()
    page.get_by_role("grid", name="Insights").get_by_role("row", name="Old").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Old")


def test_of_two_who_change_an_insight_nobody_is_overwritten_unasked(
    console: Console, project: Project
) -> None:
    project.events("paid", "ann")
    made = saved(project, "Payments")
    page = console.page
    console.open(project.at(f"insights/{made['id']}"))
    console.choose(page.get_by_role("combobox", name="What is counted"), "Unique persons")
    expect(save_bar(console)).to_be_visible()
    console.settle()
    theirs = {**PAID, "interval": "week"}
    project.patch(f"insights/{made['id']}", query=theirs)

    console.watch.expect_status(409, f"/insights/{made['id']}/")
    save_bar(console).get_by_role("button", name="Save changes").click()
    dialog = page.get_by_role("dialog", name="Someone else has changed this insight")
    expect(dialog).to_contain_text("How many persons did paid")
    expect(dialog).to_contain_text("How often paid happened, per week")
    console.expect_accessible()
    assert project.get(f"insights/{made['id']}")["query"] == theirs
    dialog.get_by_role("button", name="Keep theirs").click()
    expect(sentence(console)).to_contain_text("How often paid happened, per week")
    expect(save_bar(console)).to_have_count(0)

    console.choose(page.get_by_role("combobox", name="What is counted"), "Unique persons")
    console.settle()
    project.patch(f"insights/{made['id']}", query=PAID)
    console.watch.expect_status(409, f"/insights/{made['id']}/")
    save_bar(console).get_by_role("button", name="Save changes").click()
    dialog.get_by_role("button", name="Save yours over it").click()
    console.expect_toast("Insight saved")
    kept = project.get(f"insights/{made['id']}")["query"]["source"]
    assert (kept["series"][0]["math"], kept["interval"]) == ("dau", "week")


def test_an_insight_of_an_older_client_opens_and_keeps_its_meaning(
    console: Console, project: Project
) -> None:
    project.capture(
        *(
            {"event": "paid", "distinct_id": who, "properties": {"plan": plan}}
            for who, plan in (("ann", "pro"), ("ann", "pro"), ("bob", "pro"), ("cem", "free"))
        )
    )
    filters = {
        "insight": "TRENDS",
        "events": [
            {"id": "viewed", "type": "events", "order": 1},
            {
                "id": "paid",
                "type": "events",
                "order": 0,
                "math": "dau",
                "properties": [{"key": "plan", "value": "pro", "operator": "exact"}],
            },
        ],
        "date_from": "-7d",
        "display": "ActionsBar",
        "show_legend": True,
        "funnel_window_interval": 3,
        "filter_test_accounts": False,
    }
    made = saved(project, "Old", filters=filters)
    expected = project.post("insights/trend", **filters)["result"][0]["data"][-1]
    console.open(project.at(f"insights/{made['id']}"))

    expect(sentence(console)).to_contain_text(
        re.compile(r"How many persons did paid where plan.*pro.*viewed.*last 7 days")
    )
    figure = console.page.get_by_role("region", name="Result").get_by_role("slider")
    expect(figure).to_have_attribute("aria-valuetext", re.compile(rf"paid {expected:g}\b"))
    assert expected == 2
    expect(save_bar(console)).to_have_count(0)
    assert project.get(f"insights/{made['id']}")["filters"] == filters


def test_a_question_that_cannot_be_said_is_shown_as_it_is_stored(
    console: Console, project: Project
) -> None:
    either = {
        "type": "OR",
        "values": [{"key": "plan", "value": ["pro"]}, {"key": "seats", "value": ["9"]}],
    }
    filters = {"events": [{"id": "paid", "type": "events"}], "properties": either}
    made = saved(project, HOSTILE, filters=filters, description=HOSTILE)
    page = console.page

    console.open(project.at(f"insights/{made['id']}"))

    expect(page.get_by_text("This question cannot be opened in the builder")).to_be_visible()
    expect(page.get_by_role("tabpanel")).to_contain_text('"type": "OR"')
    expect(page.get_by_role("region", name="Result")).to_have_count(0)
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844})


def test_an_answer_is_put_on_a_dashboard_in_two_clicks_and_by_keys(
    console: Console, project: Project
) -> None:
    project.events("paid", "ann")
    project.post("dashboards", name="Weekly")
    page = console.page
    console.open(insight(project, series=[{"event": "paid"}]))
    console.settle()

    with console.clicks_at_most(2):
        page.get_by_role("button", name="Add to dashboard").click()
        page.get_by_role("menuitem", name="Weekly").click()
        console.expect_toast("Added to Weekly")
    expect(page.get_by_role("heading", level=1)).to_contain_text("How often paid happened")
    [dashboard] = project.get("dashboards")["results"]
    [tile] = project.get(f"dashboards/{dashboard['id']}")["tiles"]
    assert tile["insight"]["query"]["source"]["series"][0]["event"] == "paid"

    with console.keyboard_only():
        console.settle()
        console.tab_to(page.get_by_role("button", name="Add to dashboard"))
        console.press("Enter")
        console.press("Enter")
        console.expect_toast("Removed from Weekly")
    assert project.get(f"dashboards/{dashboard['id']}")["tiles"] == []
