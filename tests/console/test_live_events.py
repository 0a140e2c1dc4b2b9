"""The stream of events: they appear at once, and the stream can be held, filtered and read."""

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.installation import Installation
from tests.console.project import Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")


def row(page: Page, event: str) -> Locator:
    table = page.get_by_role("table", name="Live events, newest first")
    return table.get_by_role("row").filter(has_text=event)


def is_live(page: Page) -> None:
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()


def test_events_appear_and_are_held_while_one_is_read(console: Console, project: Project) -> None:
    zone, ago = "Asia/Tokyo", datetime.now(UTC) - timedelta(days=2)
    project.patch("/", timezone=zone)
    project.events("earlier", "ann")
    old = {"event": "of the day before yesterday", "timestamp": ago.isoformat()}
    project.capture({**old, "distinct_id": "ann"})
    page = console.page
    console.open(project.at("live"))
    is_live(page)
    expect(row(page, "earlier")).to_be_visible()
    there = ago.astimezone(ZoneInfo(zone))
    expect(row(page, old["event"])).to_contain_text(f"{there:%-d %b %Y, %H:%M:%S} ({zone})")

    project.persons(ann={"email": "ann@corp.example"})
    project.events("paid", "ann", amount=7, note="<b>\u202e</b>", **{"$pathname": "/cart"})
    expect(row(page, "paid")).to_contain_text("ann@corp.example")
    expect(row(page, "paid")).to_contain_text("/cart")
    page.get_by_role("button", name="paid").click()
    expect(page.get_by_role("table", name="Properties of paid")).to_contain_text("<b>U+202E</b>")
    assert "open=" in page.url

    project.events("later", "bob")
    project.events("later", "cem")
    expect(page.get_by_text("Paused while a row is open")).to_be_visible()
    expect(page.get_by_text("2 events waiting", exact=True)).to_be_visible()
    expect(row(page, "later")).to_have_count(0)
    console.settle()
    console.expect_accessible()
    page.get_by_role("button", name="Resume, 2 waiting").click()
    expect(row(page, "later")).to_have_count(2)
    with console.at_width(360):
        pass

    page.get_by_role("button", name="paid").click()
    page.get_by_role("link", name="Open person").click()
    expect(page).to_have_url(
        f"{console.origin}{project.at('persons/')}{project.person('ann')['uuid']}"
    )
    console.settle()


def test_filters_are_in_the_address(console: Console, project: Project) -> None:
    project.events("paid", "ann", plan="pro")
    project.events("paid", "bob", plan="free")
    page = console.page
    console.open(project.at("live?event=paid&property=plan&value=pro"))
    is_live(page)

    project.events("paid", "cem", plan="pro")
    project.events("left", "dora", plan="pro")
    project.events("paid", "eva", plan="free")
    project.events("paid", "finn", plan="pro")

    expect(row(page, "finn")).to_be_visible()
    expect(row(page, "cem")).to_be_visible()
    expect(row(page, "ann")).to_be_visible()
    for other in ("bob", "dora", "eva"):
        expect(row(page, other)).to_have_count(0)
    page.get_by_role("button", name="Clear filters").click()
    expect(row(page, "eva")).to_be_visible()
    assert page.url.endswith("/live")

    of_plan = {"event": "paid", "properties": [{"key": "plan", "value": "free"}]}
    project.post("/actions/", name="Paid nothing", steps=[of_plan])
    page.get_by_role("combobox", name="Event").fill("Paid noth")
    page.get_by_role("option", name="Paid nothing").click()
    is_live(page)
    project.events("paid", "gil", plan="pro")
    project.events("paid", "hugo", plan="free")
    expect(row(page, "hugo")).to_be_visible()
    expect(row(page, "bob")).to_be_visible()
    expect(row(page, "gil")).to_have_count(0)
    expect(row(page, "ann")).to_have_count(0)


def test_only_mine_are_those_of_a_browser_like_this_one(console: Console, project: Project) -> None:
    page = console.page
    console.open(project.at("live"))
    agent = page.evaluate("navigator.userAgent")
    is_live(page)
    project.events("paid", "my-own-id", **{"$raw_user_agent": agent})
    project.events("paid", "another", **{"$raw_user_agent": "another"})
    expect(row(page, "another")).to_be_visible()

    page.get_by_role("button", name="Only mine").click()
    expect(page.get_by_text("posthog.get_distinct_id()")).to_be_visible()
    console.expect_accessible()
    page.get_by_role("button", name="my-own-id").click()

    expect(row(page, "my-own-id")).to_be_visible()
    expect(row(page, "another")).to_have_count(0)
    expect(page.get_by_role("button", name="Only mine")).to_have_attribute("aria-pressed", "true")
    console.open(project.at("live?mine=true"))
    expect(row(page, "my-own-id")).to_be_visible()
    expect(row(page, "another")).to_have_count(0)


def test_a_flood_is_shown_as_a_sample_and_bounded(console: Console, project: Project) -> None:
    page = console.page
    console.open(project.at("live"))
    is_live(page)

    project.events("flood", *(f"user-{number}" for number in range(600)))

    expect(page.get_by_text("of the last 600 events, evenly spaced")).to_be_visible()
    expect(row(page, "flood").first).to_be_visible()
    assert row(page, "flood").count() <= 100
    console.settle()


def test_keys_go_from_row_to_row(console: Console, project: Project) -> None:
    project.events("first", "ann")
    project.events("second", "ann")
    page = console.page
    console.open(project.at("live"))
    expect(row(page, "second")).to_be_visible()

    with console.keyboard_only():
        console.press("j", "j")
        expect(page.get_by_role("button", name="first")).to_be_focused()
        console.press("k", "Enter")
        expect(page.get_by_role("table", name="Properties of second")).to_be_visible()
        console.press("Enter", "p")
        expect(page.get_by_role("button", name="Resume")).to_be_visible()


def test_a_lost_connection_is_told_and_found_again(
    console: Console, project: Project, installation: Installation
) -> None:
    page = console.page
    console.open(project.at("live"))
    is_live(page)
    console.watch.expect_lost_requests()

    with installation.stopped():
        expect(page.get_by_role("status").filter(has_text="Not connected")).to_be_visible()

    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible(timeout=60_000)
    project.events("again", "ann")
    expect(row(page, "again")).to_be_visible()


def test_an_empty_stream_teaches(console: Console, project: Project) -> None:
    console.open(project.at("live"))

    lines = console.page.get_by_role("region", name="The command that sends an event").inner_text()
    assert lines.startswith("curl ")
    assert json.dumps(project.token) in lines
    project.events("first", "ann")
    expect(row(console.page, "first")).to_be_visible()
