"""Charts by day: their period in the address, and who is behind a number."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, expect

from tests.console.input_devices import InputDevice, Keyboard, Pointer
from tests.console.project import Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

LAST_POINT_PX = 26  # from the right edge of a chart


@pytest.fixture(params=["pointer", "keys"])
def device(request: pytest.FixtureRequest, console: Console) -> InputDevice:
    return Pointer(console) if request.param == "pointer" else Keyboard(console)


def open_event(console: Console, project: Project, event: str, query: str = "") -> None:
    (definition,) = project.get("/event_definitions/", search=event)["results"]
    console.open(project.at(f"events/{definition['id']}{query}"))


def open_last_point(device: InputDevice, chart: Locator) -> None:
    if isinstance(device, Keyboard):
        device.console.tab_to(chart)
        device.console.press("Enter")
        return
    box = chart.bounding_box()
    assert box is not None
    chart.click(position={"x": box["width"] - LAST_POINT_PX, "y": box["height"] / 5})


def test_who_is_behind_a_number_is_shown_and_the_focus_comes_back(
    device: InputDevice, project: Project
) -> None:
    console, page = device.console, device.console.page
    project.persons(ann={"email": "ann@corp.example"}, bob={"email": "bob@corp.example"})
    project.events("paid", "ann", "bob", "ann")
    open_event(console, project, "paid")
    chart = page.get_by_role("slider", name="“paid” per day")

    open_last_point(device, chart)

    drawer = page.get_by_role("dialog", name="Persons behind this number")
    expect(drawer).to_have_accessible_description(re.compile("“paid”, .*: 3$"))
    rows = drawer.get_by_role("grid", name="Persons").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.filter(has_text="ann")).to_contain_text("2")
    assert "behind=" in page.url
    console.expect_accessible()
    device.type(drawer.get_by_role("searchbox"), "bob@")
    expect(rows).to_have_count(2)
    console.press("Escape")
    expect(drawer).to_have_count(0)
    if isinstance(device, Keyboard):
        expect(chart).to_be_focused()
    page.go_back()
    expect(rows).to_have_count(3)
    with console.at_width(390):
        pass


def test_persons_behind_a_number_become_a_cohort_and_a_file(
    device: InputDevice, project: Project
) -> None:
    console, page = device.console, device.console.page
    project.persons(ann={"plan": "pro"}, bob={}, eve={})
    flag = project.flag("color")
    called = {"$feature_flag": "color", "$feature_flag_response": "blue"}
    project.events("$feature_flag_called", "ann", "bob", **called)
    project.events("$feature_flag_called", "eve", **{**called, "$feature_flag_response": "red"})
    console.open(project.at(f"flags/{flag['id']}?tab=usage"))
    chart = page.get_by_role("slider", name="Calls of color per day")
    expect(chart).to_have_attribute("aria-valuetext", re.compile("blue 2, red 1$"))

    open_last_point(device, chart)
    drawer = page.get_by_role("dialog", name="Persons behind this number")
    expect(drawer.get_by_role("grid").get_by_role("row")).to_have_count(3)
    with page.expect_download() as download:
        device.act(drawer.get_by_role("button", name="CSV"))
    device.act(drawer.get_by_role("button", name="Save as cohort"))
    dialog = page.get_by_role("dialog", name="Save as cohort")
    console.expect_accessible()
    device.type(dialog.get_by_label("Name"), "Blue ones")
    console.press("Enter")

    expect(page.get_by_role("heading", level=1, name="Blue ones")).to_be_visible()
    project.await_cohorts()
    (cohort,) = project.get("/cohorts/")["results"]
    members = project.get(f"/cohorts/{cohort['id']}/persons/")["results"]
    assert {member["distinct_ids"][0] for member in members} == {"ann", "bob"}
    assert len(download.value.path().read_text().splitlines()) == 3


def test_a_period_is_chosen_in_the_address_and_compared_with_the_one_before(
    device: InputDevice, project: Project
) -> None:
    console, page = device.console, device.console.page
    now = datetime.now(UTC)
    for days in (1, 8, 9):
        at = (now - timedelta(days=days)).isoformat()
        project.capture({"event": "paid", "distinct_id": "ann", "timestamp": at})
    open_event(console, project, "paid")
    figure = page.get_by_role("figure", name="“paid” per day")
    expect(page.get_by_text("3 events in this period")).to_be_visible()

    device.act(page.get_by_role("button", name="Period: Last 30 days"))
    console.expect_accessible()
    device.act(page.get_by_role("checkbox", name="Compare with the previous period"))
    device.act(page.get_by_role("button", name="Last 7 days", exact=True))
    period = page.get_by_role("button", name="Period: Last 7 days, compared")
    expect(period).to_be_focused()
    expect(page.get_by_text("1 event in this period")).to_be_visible()
    expect(figure).to_contain_text("paid (previous period)")
    assert page.url.endswith("?from=-7d&compare=true")

    first, last = (f"{(now - timedelta(days=days)):%Y-%m-%d}" for days in (9, 8))
    device.act(period)
    page.get_by_label("From").fill(last)
    page.get_by_label("To", exact=True).fill(first)
    device.act(page.get_by_role("button", name="Apply"))
    expect(page.get_by_text("The first day must not be after the last.")).to_be_visible()
    page.get_by_label("From").fill(first)
    page.get_by_label("To", exact=True).fill(last)
    device.act(page.get_by_role("button", name="Apply"))
    expect(page.get_by_text("2 events in this period")).to_be_visible()
    assert f"from={first}" in page.url
    page.go_back()
    expect(page.get_by_text("1 event in this period")).to_be_visible()
    with console.at_width(390):
        pass


def test_an_address_with_an_unknown_period_says_what_is_shown_instead(
    console: Console, project: Project
) -> None:
    page = console.page
    project.events("paid", "ann")
    open_event(console, project, "paid", "?from=yesterday")
    expect(page.get_by_role("status").filter(has_text="not valid")).to_contain_text("last 30 days")

    for path, instead in (
        ("ingestion?from=2026-02-31", "last hour"),
        ("activity?from=2026-05-02&to=2026-05-01", "all time"),
    ):
        console.open(project.at(path))
        note = page.get_by_role("status").filter(has_text="not valid")
        expect(note).to_contain_text(f"Shown instead: {instead}")
        console.expect_accessible()
