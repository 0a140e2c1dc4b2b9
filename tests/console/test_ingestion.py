"""The ingestion of events: the ledger, the search for an event, and dead letters."""

import re
from datetime import datetime
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import Visit
from tests.console.dead_letters import UNREADABLE, put_aside
from tests.console.installation import Installation
from tests.console.project import Project
from tests.console.screen import Console
from tests.support.awaited import until

pytestmark = pytest.mark.long("drives Chromium")

FAR = "Asia/Tokyo"  # nine hours from the browser's zone
LATE = {"event": "late", "distinct_id": "ann", "properties": {"amount": 7}}


def find(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="The event's uuid, or the distinct id").fill(text)
    page.get_by_role("button", name="Find event").click()


def is_stored(project: Project, event: str) -> bool:
    return len(project.get("/events/", event=event)["results"]) == 1


def test_the_ledger_counts_and_explains(console: Console, project: Project) -> None:
    same = str(uuid4())
    project.capture(
        {"event": "paid", "distinct_id": "ann", "uuid": same},
        {"event": "paid", "distinct_id": "ann"},
        {"event": "<i>nobody's</i>"},
    )
    project.capture({"event": "paid", "distinct_id": "ann", "uuid": same})
    project.patch("/", timezone=FAR)

    console.open(project.at("ingestion"))

    page = console.page
    expect_now_in(FAR, page.get_by_text("By time of arrival").inner_text())
    for name, count in (("Stored", 2), ("Duplicates", 1), ("Dropped", 1), ("Failed requests", 0)):
        fact = page.locator("dl > div").filter(has=page.get_by_text(name, exact=True))
        expect(fact.get_by_role("definition")).to_contain_text(str(count))
    expect(page.get_by_role("slider", name="Events per minute")).to_be_visible()
    expect(page.get_by_text("The event has no distinct_id, or an empty one.")).to_be_visible()
    page.get_by_text("Newest examples").first.click()
    page.get_by_text("Newest examples").last.click()
    expect(page.get_by_role("list", name="Examples: No distinct id")).to_contain_text(
        "<i>nobody's</i>"
    )
    page.get_by_role("button", name="Period: Last hour").click()
    page.get_by_role("button", name="Last 30 days").click()
    expect(page.get_by_role("slider", name="Events per day")).to_be_visible()
    assert page.url.endswith("?from=-30d")
    console.settle()
    console.expect_accessible()
    with console.at_width(360):
        pass


def expect_now_in(zone: str, text: str) -> None:
    """Expect the time of day on the clocks of a zone, to the hour, and the name of the zone."""
    found = re.search(r"(\d\d):(\d\d) \(" + zone, text)
    assert found is not None, text
    now = datetime.now(ZoneInfo(zone))
    minutes = (now.hour - int(found[1])) * 60 + now.minute - int(found[2])
    assert (minutes + 30) % 1440 <= 60, text


def test_where_an_event_is(console: Console, project: Project) -> None:
    stored, twice = str(uuid4()), str(uuid4())
    project.persons(ann={"email": "ann@corp.example"})
    project.capture(
        {"event": "paid", "distinct_id": "ann", "uuid": stored},
        {"event": "", "distinct_id": "nameless"},
        {"event": "left", "distinct_id": "bob", "uuid": twice},
    )
    project.capture({"event": "left", "distinct_id": "bob", "uuid": twice})
    put_aside(project, "ValueError: a store was away", {"event": "late", "distinct_id": "cem"})
    page = console.page
    console.open(project.at("ingestion"))

    answers = {
        stored: "It is stored: “paid” from ann@corp.example",
        "nameless": "was not stored. The event has no name.",
        "bob": "1 event with this distinct id is stored.",
        twice: "was not stored. An event with this uuid is already stored.",
        "cem": "and failed: ValueError: a store was away",
        "nobody": "401: the key of the request is not this project's.",
    }
    for text, answer in answers.items():
        find(page, text)
        expect(page.get_by_text(answer)).to_be_visible()

    find(page, "cem")
    page.get_by_role("button", name="Open the failed request").click()
    expect(page.get_by_role("region", name="What was sent")).to_contain_text('"late"')
    console.expect_accessible()


def test_a_dead_letter_is_sent_again_with_few_clicks(console: Console, project: Project) -> None:
    project.events("paid", "ann")
    put_aside(project, "ValueError: a store was away", LATE)
    page = console.page
    console.open(project.at())

    with console.clicks_at_most(3):
        page.get_by_role("link", name="1 request could not be ingested").click()
        letters = page.get_by_role("list", name="Failed requests")
        expect(letters).to_contain_text("ValueError: a store was away")
        page.get_by_role("button", name="Send again").click()
        expect(page.get_by_text("No failed requests.")).to_be_visible()

    until(lambda: is_stored(project, "late"), "the event is not stored")


def test_the_keyboard_alone_sends_it_again(console: Console, project: Project) -> None:
    project.events("paid", "ann")
    put_aside(project, "ValueError: a store was away", LATE)
    page = console.page
    console.open(project.at())

    with console.keyboard_only():
        console.tab_to(page.get_by_role("link", name="1 request could not be ingested"))
        console.press("Enter")
        console.tab_to(page.get_by_role("button", name="Send again"))
        console.press("Enter")
        expect(page.get_by_text("No failed requests.")).to_be_visible()


def test_one_that_fails_again_says_so_and_is_deleted(console: Console, project: Project) -> None:
    for _ in range(2):
        put_aside(project, "OSError: the disk was full", body=UNREADABLE)
    page = console.page
    console.open(project.at("ingestion"))

    page.get_by_role("button", name="Send all again").click()
    letters = page.get_by_role("list", name="Failed requests").get_by_role("listitem")
    expect(letters.first).to_contain_text("It failed again.")
    expect(letters.first).to_contain_text("InvalidPayload")
    letters.first.get_by_role("button", name="Show its events").click()
    expect(page.get_by_role("region", name="What was sent")).to_contain_text('{"event": "paid"')
    letters.first.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    console.expect_accessible()
    dialog.get_by_role("textbox").fill("delete")
    dialog.get_by_role("button", name="Delete").click()

    expect(letters).to_have_count(1)
    assert project.get("/ingestion/dead_letters/")["count"] == 1
    console.settle()


def test_a_viewer_sees_dead_letters_and_changes_none(
    visit: Visit, installation: Installation, project: Project
) -> None:
    put_aside(project, "ValueError: a store was away", LATE)
    console = visit(installation.viewer)

    console.open(project.at("ingestion"))

    for name in ("Send again", "Delete"):
        expect(console.page.get_by_role("button", name=name)).to_be_disabled()
