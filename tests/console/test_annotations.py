"""Annotations in the console: added at a chart, shown where they belong, changed, restored."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.console.insight_page import insight
from tests.console.project import Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

HOSTILE = '<img src=x onerror="alert(1)">‮evil'
PAID = {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "paid"}]}


def test_an_annotation_is_added_at_a_chart_by_keys_and_shown_where_it_belongs(
    console: Console, project: Project
) -> None:
    project.events("paid", "ann", "bob")
    project.events("$pageview", "ann", **{"$session_id": "s1", "$pathname": "/"})
    dashboard = project.post("dashboards", name="Shop")
    own = project.post("insights", name="Payments", query=PAID, dashboards=[dashboard["id"]])
    page = console.page
    notes = page.get_by_role("region", name="Annotations in this period")
    chart = page.get_by_role("slider")
    console.open(project.at(f"insights/{own['id']}"))

    with console.keyboard_only():
        console.settle()
        console.tab_to(notes.get_by_role("button", name="Add annotation"))
        console.press("Enter")
        expect(page.get_by_role("dialog", name="New annotation")).to_be_visible()
        page.keyboard.type("Released 2.0")
        scope = page.get_by_role("combobox", name="Shown on")
        console.tab_to(scope)
        page.keyboard.type("This insight")
        console.expect_accessible()
        console.tab_to(page.get_by_role("button", name="Save"))
        console.press("Enter")
        console.expect_toast("Annotation added")
    expect(notes.get_by_role("listitem")).to_have_count(1)
    # The last interval, in which the annotation is.
    expect(chart).to_have_attribute("aria-valuetext", re.compile("Released 2.0"))
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844}, {"width": 360, "height": 640})

    console.open(project.at(f"dashboards/{dashboard['id']}"))
    expect(chart).to_have_attribute("aria-valuetext", re.compile("Released 2.0"))
    console.open(insight(project, series=[{"event": "paid"}]))
    expect(notes.get_by_role("button", name="Add annotation")).to_be_visible()
    expect(chart).to_have_attribute("aria-valuetext", re.compile("paid"))
    expect(notes.get_by_role("listitem")).to_have_count(0)

    project.post("annotations", content="Sale began")
    console.open(insight(project, kind="lifecycle", series=[{"event": "paid"}]))
    expect(notes.get_by_role("listitem")).to_have_text(re.compile("Sale began"))
    chart.focus()
    console.press("End")
    expect(chart).to_have_attribute("aria-valuetext", re.compile("Sale began"))
    console.open(project.at("web"))
    expect(chart).to_have_attribute("aria-valuetext", re.compile("Sale began"))


def test_annotations_are_found_changed_deleted_and_restored(
    console: Console, project: Project
) -> None:
    project.post("dashboards", name="Home")
    shop = project.post("dashboards", name="Shop")
    yesterday = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    project.post("annotations", content=HOSTILE, scope="organization")
    project.post("annotations", content="Deployed", creation_type="GIT", date_marker=yesterday)
    page = console.page
    console.open(project.at("annotations"))
    rows = page.get_by_role("grid", name="Annotations").get_by_role("row")

    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("All projects of this organization")
    expect(rows.nth(2)).to_contain_text("Deployment")
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844}, {"width": 360, "height": 640})
    with console.at_zoom(200):
        console.expect_to_fit()
    page.get_by_role("searchbox").fill("deploy")
    expect(rows).to_have_count(2)

    page.get_by_role("button", name="Deployed", exact=True).click()
    dialog = page.get_by_role("dialog", name="Edit annotation")
    dialog.get_by_label("Annotation", exact=True).fill("Deployed twice")
    console.choose(dialog.get_by_label("Shown on", exact=True), "One dashboard")
    console.choose(dialog.get_by_label("Dashboard", exact=True), "Shop")
    console.expect_accessible()
    dialog.get_by_role("button", name="Save").click()
    console.expect_toast("Annotation saved")
    expect(rows.nth(1)).to_contain_text("Dashboard: Shop")
    page.get_by_role("button", name="Deployed twice").click()
    dialog.get_by_role("button", name="Delete").click()
    console.expect_toast("Annotation deleted")
    expect(page.get_by_text("No annotation matches.")).to_be_visible()

    page.get_by_role("link", name="Deleted annotations").click()
    page.get_by_role("button", name="Restore Deployed twice").click()
    console.expect_toast("Restored the annotation")
    expect(page.get_by_text("No deleted annotations.")).to_be_visible()
    page.get_by_role("link", name="All annotations").click()
    expect(rows).to_have_count(3)
    kept = project.get("annotations")["results"]
    assert {(one["content"], one["dashboard_id"]) for one in kept} == {
        (HOSTILE, None),
        ("Deployed twice", shop["id"]),
    }
