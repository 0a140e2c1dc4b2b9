"""Dashboards in the console: tiles, layout, a shared period and filter, full screen."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, Request, expect

from tests.console.project import Json, Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

IS_IN_SIGHT = "element => element.getBoundingClientRect().top < innerHeight"
# Counts how often a tile waits for something, and notes which tiles are drawn first and which are
# in sight then.
NOTE_WAITS = """() => {
  window.waits = 0;
  window.first = null;
  const look = () => {
    waits += document.querySelectorAll('article [aria-busy="true"]').length;
    const tiles = [...document.querySelectorAll('article')];
    const drawn = tiles.filter(one => one.querySelector('[role="slider"]') !== null);
    if (first !== null || drawn.length === 0) return;
    const inSight = tiles.filter(one => one.getBoundingClientRect().top < innerHeight);
    first = { drawn, inSight, tiles };
  };
  const seen = { attributeFilter: ['aria-busy'], childList: true, subtree: true };
  new MutationObserver(look).observe(document, seen);
}"""
HOSTILE = '<img src=x onerror="alert(1)">‮evil'


def trend(event: str, **fields: object) -> Json:
    series = [{"kind": "EventsNode", "event": event}]
    query = {"kind": "TrendsQuery", "series": series, "filterTestAccounts": False, **fields}
    return {"kind": "InsightVizNode", "source": query}


def dashboard_of(project: Project, *names: str, **fields: object) -> Json:
    """Return a new dashboard with one insight per event name."""
    made = project.post("dashboards", name="Weekly", **fields)
    for name in names:
        project.post("insights", name=name, query=trend(name), dashboards=[made["id"]])
    filled: Json = project.get(f"dashboards/{made['id']}")
    return filled


def path_of(project: Project, dashboard: Json) -> str:
    return project.at(f"dashboards/{dashboard['id']}")


def tile(console: Console, name: str) -> Locator:
    return console.page.get_by_role("article", name=f"Tile {name}", exact=True)


def last_number(console: Console, name: str) -> Locator:
    return tile(console, name).get_by_role("slider")


def places(project: Project, dashboard: Json) -> dict[str, tuple[int, ...]]:
    """Return the stored columns and rows of the tiles, by insight name."""
    tiles = project.get(f"dashboards/{dashboard['id']}")["tiles"]
    return {
        one["insight"]["name"]: tuple(one["layouts"]["sm"][side] for side in "xywh")
        for one in tiles
        if one["layouts"]
    }


def test_tiles_show_the_numbers_of_their_insights_within_one_period_and_filter(
    console: Console, project: Project
) -> None:
    ago = (datetime.now(UTC) - timedelta(days=20)).isoformat()
    old = {"event": "paid", "distinct_id": "old", "timestamp": ago, "properties": {"plan": "pro"}}
    project.capture(old)
    project.events("paid", "ann", "bob", plan="pro")
    project.events("paid", "cem", plan="free")
    project.events("viewed", "ann", "ann", "bob", plan="pro")
    dashboard = dashboard_of(project, "paid", "viewed")
    page = console.page
    console.open(path_of(project, dashboard))

    expect(last_number(console, "paid")).to_have_attribute("aria-valuetext", re.compile("paid 3$"))
    expect(last_number(console, "viewed")).to_have_attribute(
        "aria-valuetext", re.compile("viewed 3$")
    )
    expect(tile(console, "paid")).to_contain_text("As of")
    expect(tile(console, "paid").get_by_role("time")).to_contain_text("rows read in")
    expect(tile(console, "paid").get_by_role("figure")).to_have_accessible_name(
        re.compile("paid per day")
    )
    console.settle()

    page.get_by_role("button", name="One period for all tiles").click()
    expect(page.get_by_text("yours alone")).to_be_visible()
    console.settle()
    assert "from=-30d" in page.url
    assert project.get(f"dashboards/{dashboard['id']}")["filters"] == {}
    console.expect_accessible()
    page.get_by_role("button", name="Add filter").click()
    page.get_by_role("combobox", name="Property", exact=True).fill("plan")
    page.get_by_role("option", name="plan", exact=False).first.click()
    page.get_by_role("combobox", name="Values", exact=True).fill("free")
    page.get_by_role("option", name="free").first.click()
    expect(last_number(console, "paid")).to_have_attribute("aria-valuetext", re.compile("paid 1$"))
    expect(last_number(console, "viewed")).to_have_attribute(
        "aria-valuetext", re.compile("viewed 0$")
    )
    console.settle()
    page.get_by_role("button", name="Keep for everyone").click()
    console.expect_toast("Kept for everyone")
    kept = project.get(f"dashboards/{dashboard['id']}")["filters"]
    assert kept["date_from"] == "-30d"
    assert [(one["key"], one["value"]) for one in kept["properties"]] == [("plan", ["free"])]
    expect(page.get_by_text("yours alone")).to_have_count(0)
    page.reload()
    expect(last_number(console, "paid")).to_have_attribute("aria-valuetext", re.compile("paid 1$"))
    console.settle()
    assert "properties" not in page.url


def event_asked_about(request: Request) -> str:
    response = request.response()
    assert response is not None
    return str(response.json()["results"][0]["action"]["id"])


def test_tiles_in_sight_ask_first_and_the_others_follow(console: Console, project: Project) -> None:
    names = [f"event {number}" for number in range(8)]
    for name in names:
        project.events(name, "ann")
    dashboard = dashboard_of(project, *names)
    asked: list[Request] = []
    console.page.on(
        "request", lambda sent: asked.append(sent) if sent.url.endswith("/query/") else None
    )
    console.open(path_of(project, dashboard))

    in_sight = {name for name in names if tile(console, name).evaluate(IS_IN_SIGHT)}
    assert 0 < len(in_sight) < len(names)
    about = [event_asked_about(request) for request in asked]
    assert set(about[: len(in_sight)]) == in_sight
    assert sorted(about) == names


def test_kept_answers_come_with_the_dashboard_and_are_not_asked_for_again(
    console: Console, project: Project
) -> None:
    names = [f"event {number}" for number in range(6)]
    for name in names:
        project.events(name, "ann", "bob")
    dashboard = dashboard_of(project, *names)
    event = {"id": "event 0", "type": "events"}
    weeks = {"insight": "RETENTION", "period": "Week", "total_intervals": 12}
    weeks |= {"target_entity": event, "returning_entity": event}
    project.post("insights", name="back", filters=weeks, dashboards=[dashboard["id"]])
    asked: list[Request] = []
    console.page.on(
        "request", lambda sent: asked.append(sent) if sent.url.endswith("/query/") else None
    )
    console.open(path_of(project, dashboard))
    assert len(asked) == len(names) + 1
    # Twelve weeks, the heads and the means.
    expect(tile(console, "back").get_by_role("row")).to_have_count(12 + 2)
    asked.clear()

    console.open(project.at("dashboards"))
    console.page.evaluate(NOTE_WAITS)
    console.page.get_by_role("link", name="Weekly").click()
    for name in names:
        expect(last_number(console, name)).to_have_attribute(
            "aria-valuetext", re.compile(f"{name} 2$")
        )
    console.settle()
    assert not asked
    # No tile waits: to draw each with its heading first took twice as long. Those in sight are
    # drawn before the others.
    assert console.page.evaluate("waits") == 0
    numbers = "[first.drawn.length, first.inSight.length, first.tiles.length]"
    drawn, in_sight, tiles = console.page.evaluate(numbers)
    assert drawn == in_sight < tiles

    project.events("event 5", "cem")
    tile(console, "event 5").get_by_role("button", name="More for event 5").click()
    console.page.get_by_role("menuitem", name="Refresh").click()
    expect(last_number(console, "event 5")).to_have_attribute(
        "aria-valuetext", re.compile("event 5 3$")
    )
    assert len(asked) == 1


def test_tiles_are_moved_and_resized_by_keys_and_pointer_and_stay_there(
    console: Console, project: Project
) -> None:
    project.events("one", "ann")
    dashboard = dashboard_of(project, "one", "two", "three")
    page = console.page
    console.open(path_of(project, dashboard))
    expect(tile(console, "one").get_by_role("slider")).to_be_visible()

    with console.keyboard_only():
        console.tab_to(page.get_by_role("button", name="Move or resize two"))
        console.press("Shift+Alt+ArrowDown", "Shift+Alt+ArrowLeft", "Alt+ArrowRight")
        expect(page.get_by_text("Column 8, row 1, 5 columns wide, 5 rows high")).to_be_attached()
        console.press("Alt+ArrowLeft", "Alt+ArrowLeft")
        expect(page.get_by_role("button", name="Move or resize two")).to_be_focused()
    console.settle()
    moved = places(project, dashboard)
    assert moved["two"] == (5, 0, 5, 5)
    assert moved["one"] == (0, 5, 6, 4), "pushed down"

    handle = page.get_by_role("button", name="Move or resize three")
    handle.scroll_into_view_if_needed()
    start = handle.bounding_box()
    assert start is not None
    page.mouse.move(start["x"] + 5, start["y"] + 5)
    page.mouse.down()
    page.mouse.move(start["x"] + 580, start["y"] + 5, steps=5)
    page.mouse.up()
    console.settle()
    assert places(project, dashboard)["three"] == (6, 5, 6, 4), "to the right, and up below two"
    page.evaluate("scrollTo(0, 0)")
    before = {name: tile(console, name).bounding_box() for name in ("one", "two", "three")}
    page.reload()
    expect(tile(console, "one").get_by_role("slider")).to_be_visible()
    console.settle()
    assert {name: tile(console, name).bounding_box() for name in before} == before


def test_a_dashboard_is_made_filled_copied_deleted_and_restored(
    console: Console, project: Project
) -> None:
    project.events("paid", "ann")
    project.post("insights", name=HOSTILE, query=trend("paid"))
    project.flag("beta")
    page = console.page
    console.open(project.at())
    console.press("g", "d")
    page.get_by_role("button", name="New dashboard").click()
    page.get_by_role("textbox", name="Name").fill("Sales")
    console.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sales")
    expect(page.get_by_text("Nothing is on this dashboard yet")).to_be_visible()

    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("menuitem", name="Add insight").click()
    page.get_by_role("dialog").get_by_role("combobox", name="Insight").fill("img")
    page.get_by_role("option", name="evil").click()
    page.get_by_role("dialog").get_by_role("button", name="Add").click()
    expect(page.get_by_role("article").get_by_role("slider")).to_be_visible()
    console.settle()
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844}, {"width": 360, "height": 640})
    with console.at_zoom(200):
        console.expect_to_fit()

    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Duplicate").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sales (copy)")
    expect(page.get_by_role("article")).to_have_count(1)
    page.get_by_role("button", name=re.compile("^More for")).first.click()
    page.get_by_role("menuitem", name="Remove from dashboard").click()
    expect(page.get_by_role("article")).to_have_count(0)
    page.get_by_role("button", name="Undo").last.click()
    expect(page.get_by_role("article")).to_have_count(1)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete").click()

    rows = page.get_by_role("grid", name="Dashboards").get_by_role("row")
    expect(rows).to_have_count(2)
    page.get_by_role("checkbox", name="Show those of flags").check()
    expect(rows).to_have_count(3)
    console.expect_accessible()
    page.get_by_role("link", name="Deleted dashboards").click()
    page.get_by_role("button", name="Restore Sales (copy)").click()
    console.expect_toast("Sales (copy) restored")


def test_the_usage_dashboard_of_a_flag_is_reached_from_it_and_shows_its_calls(
    console: Console, project: Project
) -> None:
    flag = project.flag("beta")
    called = {"$feature_flag": "beta", "$feature_flag_response": "true"}
    project.events("$feature_flag_called", "ann", "bob", **called)
    page = console.page
    console.open(project.at(f"flags/{flag['id']}?tab=usage"))

    page.get_by_role("link", name=re.compile("beta Usage")).click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("beta Usage")
    first = page.get_by_role("article").first
    expect(first.get_by_role("slider")).to_have_attribute("aria-valuetext", re.compile(r"true 2\b"))
    console.settle()
    first.get_by_role("slider").press("End")
    first.get_by_role("slider").press("Enter")
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("row")).to_have_count(3)
    console.press("Escape")


def test_a_dashboard_fills_the_screen_and_an_error_stands_in_its_tile(
    console: Console, project: Project
) -> None:
    project.events("paid", "ann")
    dashboard = dashboard_of(project, "paid")
    either = [{"key": key, "value": "1", "operator": "exact"} for key in "ab"]
    project.post(
        "insights",
        name="either",
        filters={"events": [{"id": "paid"}], "properties": {"type": "OR", "values": either}},
        dashboards=[dashboard["id"]],
    )
    page = console.page
    console.open(path_of(project, dashboard))

    expect(tile(console, "either")).to_contain_text("This question cannot be shown here.")
    expect(last_number(console, "paid")).to_have_attribute("aria-valuetext", re.compile("paid 1$"))
    page.get_by_role("button", name="Full screen").click()
    page.get_by_role("menuitem", name="Refresh every 5 minutes").click()
    full = page.get_by_role("dialog", name="Weekly")
    expect(full.get_by_role("article", name="Tile paid").get_by_role("slider")).to_be_visible()
    expect(full.get_by_role("button", name="Move or resize paid")).to_have_count(0)
    console.settle()
    console.expect_accessible()
    assert "full=300" in page.url
    page.reload()
    expect(full).to_be_visible()
    console.settle()
    console.press("Escape")
    expect(full).to_have_count(0)
    expect(page).to_have_url(re.compile(r"/dashboards/\d+$"))


def test_a_link_shows_the_numbers_of_a_dashboard_to_a_stranger_until_it_is_withdrawn(
    console: Console, project: Project, visit: Callable[..., Console]
) -> None:
    project.events("paid", "ann", "bob")
    dashboard = dashboard_of(project, "paid")
    console.open(path_of(project, dashboard))
    expect(last_number(console, "paid")).to_have_attribute("aria-valuetext", re.compile("paid 2$"))
    page = console.page
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Share by link").click()
    dialog = page.get_by_role("dialog", name="Share this dashboard by a link")
    dialog.get_by_role("button", name="Create link").click()
    expect(dialog.get_by_text("it is not shown again")).to_be_visible()
    console.settle()
    console.expect_accessible()
    [link] = re.findall(r"/shared/[\w-]+", dialog.inner_text())

    stranger = visit(None)
    stranger.open(link)
    expect(stranger.page.get_by_role("heading", level=1)).to_have_text("Weekly")
    expect(last_number(stranger, "paid")).to_have_attribute("aria-valuetext", re.compile("paid 2$"))
    expect(stranger.page.get_by_role("navigation")).to_have_count(0)
    stranger.settle()
    stranger.expect_accessible()
    stranger.expect_to_fit_in({"width": 390, "height": 844})
    last_number(stranger, "paid").press("Enter")
    expect(stranger.page.get_by_role("dialog")).to_have_count(0)

    dialog.get_by_role("button", name="Withdraw the link").click()
    console.expect_toast("Link withdrawn")
    stranger.watch.expect_status(404, "/shared_dashboards/")
    stranger.page.reload()
    expect(stranger.page.get_by_role("heading", level=1)).to_have_text("This link shows nothing")
