"""New dashboards by template, and a tile of every kind of insight, in the console."""

import re

import pytest
from playwright.sync_api import expect

from tests.console.project import Json, Project
from tests.console.screen import Console
from tests.console.test_dashboards import dashboard_of, path_of, tile

pytestmark = pytest.mark.long("drives Chromium")

HOSTILE = '<img src=x onerror="alert(1)">\u202eevil'


def of_template(console: Console, project: Project, template: str) -> Console:
    console.open(project.at("dashboards"))
    console.page.get_by_role("button", name="New dashboard").click()
    console.page.get_by_role("dialog").get_by_role("radio", name=re.compile(template)).check()
    return console


def test_a_dashboard_begins_with_a_template_by_keys_alone(
    console: Console, project: Project
) -> None:
    project.events("$pageview", "ann", "ann", "bob", **{"$pathname": "/start"})
    page = console.page
    console.open(project.at("dashboards"))

    with console.keyboard_only():
        console.tab_to(page.get_by_role("button", name="New dashboard"))
        console.press("Enter")
        expect(page.get_by_role("textbox", name="Name")).to_be_focused()
        console.press("Tab", "ArrowDown", "ArrowDown")
        expect(page.get_by_role("radio", name=re.compile("^Web"))).to_be_checked()
        console.settle()
        console.expect_accessible()
        console.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Web")
    expect(tile(console, "Visitors")).to_contain_text("2")
    expect(tile(console, "Page views")).to_contain_text("3")
    expect(tile(console, "Pages")).to_contain_text("/start")
    expect(page.get_by_text("cannot be shown here")).to_have_count(0)
    console.settle()
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844}, {"width": 360, "height": 640})


def test_the_template_of_a_flag_asks_for_the_flag(console: Console, project: Project) -> None:
    project.flag("beta")
    called = {"$feature_flag": "beta", "$feature_flag_response": "true"}
    project.events("$feature_flag_called", "ann", "bob", **called)
    page = of_template(console, project, "^Flag").page
    create = page.get_by_role("dialog").get_by_role("button", name="Create")

    page.get_by_role("textbox", name="Name").fill(HOSTILE)
    expect(create).to_be_disabled()
    page.get_by_role("combobox", name="Flag").fill("beta")
    page.get_by_role("option", name="beta").click()
    console.settle()
    console.expect_accessible()
    create.click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("evil")
    expect(page.get_by_role("heading", level=1).locator("img")).to_have_count(0)
    expect(tile(console, "Persons by value")).to_contain_text("true")
    expect(tile(console, "Persons by value")).to_contain_text("2")
    expect(tile(console, "What the flag does").get_by_role("heading")).to_be_visible()
    expect(page.get_by_text("cannot be shown here")).to_have_count(0)


SERIES = [{"kind": "EventsNode", "event": name} for name in ("viewed", "paid")]
RETURNS = {"period": "Day", "targetEntity": SERIES[0], "returningEntity": SERIES[1]}
COMPARED = {"compareFilter": {"compare": True}, "trendsFilter": {"display": "BoldNumber"}}
KINDS: list[tuple[str, Json, str]] = [
    ("Number", {"kind": "TrendsQuery", "series": SERIES[:1], **COMPARED}, r"3.*viewed"),
    ("Funnel", {"kind": "FunnelsQuery", "series": SERIES}, r"50"),
    ("Retention", {"kind": "RetentionQuery", "retentionFilter": RETURNS}, r"Day 0|2"),
    ("Stickiness", {"kind": "StickinessQuery", "series": SERIES[:1]}, r"viewed"),
    ("Life cycle", {"kind": "LifecycleQuery", "series": SERIES[:1]}, r"[Nn]ew"),
    ("Paths", {"kind": "PathsQuery", "pathsFilter": {}}, r"viewed"),
]


def test_every_kind_of_insight_shows_its_answer_on_a_tile(
    console: Console, project: Project
) -> None:
    project.events("viewed", "ann", "ann", "bob")
    project.events("paid", "ann")
    dashboard = dashboard_of(project)
    for name, source, _ in KINDS:
        query = {"kind": "InsightVizNode", "source": {"filterTestAccounts": False, **source}}
        project.post("insights", name=name, query=query, dashboards=[dashboard["id"]])
    console.open(path_of(project, dashboard))

    for name, _, shown in KINDS:
        one = tile(console, name)
        one.scroll_into_view_if_needed()
        expect(one).to_contain_text(re.compile(shown, re.DOTALL))
        expect(one).to_contain_text("As of")
    expect(console.page.get_by_text("cannot be shown here")).to_have_count(0)
    number = tile(console, "Number").get_by_text("3", exact=True)
    box = number.bounding_box()
    assert box is not None
    assert box["height"] > 80, "a number fills its tile"
    console.settle()
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844})


def test_a_name_that_somebody_else_has_changed_is_not_overwritten(
    console: Console, project: Project
) -> None:
    dashboard = dashboard_of(project)
    page = console.page
    console.open(path_of(project, dashboard))
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Edit name and tags").click()
    project.patch(f"dashboards/{dashboard['id']}", name="Theirs")
    console.watch.expect_status(409, "/dashboards/")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name").fill("Mine")

    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    assert project.get(f"dashboards/{dashboard['id']}")["name"] == "Theirs"
    console.settle()
    console.expect_accessible()
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Mine")
