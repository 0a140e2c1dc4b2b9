"""Persons: found, read, changed, merged and deleted."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import Visit
from tests.console.installation import Installation
from tests.console.project import Json, Project, has, when
from tests.console.screen import LAYOUT_SHIFT_MAX, Console

pytestmark = pytest.mark.long("drives Chromium")

HOSTILE = '<img src=x onerror="document.title=1">'
LAST_WEEK = datetime.now(UTC) - timedelta(days=7)


@pytest.fixture
def ann(project: Project) -> Json:
    """Create a person with a session a week ago and one of today, and two other persons."""
    project.persons(
        ann={"email": "ann@corp.example", "name": "Ann Miller", "plan": "pro", "bio": HOSTILE},
        bob={"email": "bob@corp.example", "plan": "free"},
        kim={"email": "kim@mail.example", "name": "Kim", "phone": "+49 30 1"},
    )
    project.capture(
        visited("report opened", "old", LAST_WEEK),
        visited("order placed", "new", datetime.now(UTC), amount=42, **{"$set": {"plan": "team"}}),
    )
    return project.person("ann")


def visited(event: str, session: str, at: datetime, **properties: Any) -> Json:
    known = {"$session_id": session, **properties}
    return {"event": event, "distinct_id": "ann", "timestamp": at.isoformat(), "properties": known}


def open_person(console: Console, project: Project, person: Json, query: str = "") -> Page:
    console.open(project.at(f"persons/{person['id']}{query}"))
    expect(console.page.get_by_role("heading", level=1)).to_have_text(person["name"])
    return console.page


def test_an_empty_project_says_how_persons_come(console: Console, project: Project) -> None:
    console.open(project.at("persons"))

    expect(console.page.get_by_text(project.token)).to_be_visible()
    console.expect_accessible()


def test_a_person_is_found_by_email_with_the_last_session_in_two_clicks(
    console: Console, project: Project, ann: Json
) -> None:
    console.open(project.at())
    page = console.page

    with console.clicks_at_most(2):
        page.get_by_role("navigation").get_by_role("link", name="Persons").click()
        page.get_by_role("searchbox", name="Search for persons").fill("ann@c")
        page.get_by_role("link", name="ann@corp.example").click()

    newest = page.get_by_role("listitem").filter(has_text="order placed")
    expect(page.get_by_role("heading", name="Session", exact=True)).to_have_count(2)
    expect(newest).to_be_visible()


def test_a_person_is_found_by_the_keyboard_alone(
    console: Console, project: Project, ann: Json
) -> None:
    console.open(project.at())
    page = console.page

    with console.keyboard_only():
        console.press("Control+k")
        expect(page.get_by_role("combobox", name="Command menu")).to_be_focused()
        page.keyboard.type("ann@corp")
        option = page.get_by_role("option", name="ann@corp.example", selected=True)
        expect(option).to_be_visible()
        console.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("ann@corp.example")
        console.tab_to(page.get_by_role("tab", name="Timeline"))

    expect(page.get_by_text("order placed")).to_be_visible()


def test_the_list_is_filtered_by_the_address_and_saved_whole(
    console: Console, project: Project, ann: Json
) -> None:
    filters = '[{"type":"person","key":"plan","operator":"is_set"}]'
    console.open(project.at(f"persons?filters={filters}"))
    page = console.page
    expect(page.get_by_role("row")).to_have_count(3)

    console.choose(page.get_by_role("combobox", name="Search in"), "Name")
    page.get_by_role("searchbox", name="Search for persons").fill("mill")
    expect(page.get_by_role("row")).to_have_count(2)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()

    assert "ann@corp.example" in download.value.path().read_text()
    assert "in=name" in page.url
    console.expect_accessible()
    with console.at_width(360):
        pass


def test_an_event_opens_in_place_with_its_properties(
    console: Console, project: Project, ann: Json
) -> None:
    project.patch("/", timezone="Asia/Tokyo")
    page = open_person(console, project, ann)
    placed = page.get_by_role("button", name="order placed")
    # To the second; the date and the zone are at the head of the session.
    expect(placed.locator("time")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d$"))
    expect(page.locator("header").filter(has_text="Session").last).to_contain_text("(Asia/Tokyo)")
    expect(page.get_by_text("Times are in the time zone of the project")).to_be_visible()

    placed.click()

    expect(page.get_by_role("table", name="Properties of the event")).to_contain_text("42")
    expect(page.get_by_text("nothing older exists")).to_be_visible()
    assert "open=" in page.url
    console.expect_accessible()


def test_a_property_is_changed_deleted_and_restored(
    console: Console, project: Project, ann: Json
) -> None:
    page = open_person(console, project, ann, "?tab=properties")
    expect(page.get_by_text(HOSTILE)).to_be_visible()

    menu = page.get_by_role("button", name="Actions for plan")
    menu.click()
    page.get_by_role("menuitem", name="Edit…").click()
    page.get_by_role("textbox", name="Value").fill("enterprise")
    console.expect_accessible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row", name="plan")).to_contain_text("enterprise")
    menu.click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.get_by_role("row", name="plan")).to_have_count(0)
    page.get_by_role("button", name="Undo").last.click()

    expect(page.get_by_role("row", name="plan")).to_contain_text("enterprise")
    assert project.person("ann")["properties"]["plan"] == "enterprise"
    menu.click()
    page.get_by_role("menuitem", name="History").click()
    expect(page.get_by_role("dialog").get_by_text("order placed")).to_be_visible()
    console.expect_accessible()


def test_flags_now_say_why(console: Console, project: Project, ann: Json) -> None:
    project.flag("beta", when(has("plan", "free")))
    console.open(project.at(f"persons/{ann['id']}"))
    page = console.page

    with console.clicks_at_most(1):
        page.get_by_role("tab", name="Flags now").click()

    expect(page.get_by_role("row", name="beta")).to_contain_text("No condition matches")


def test_flags_are_those_of_the_browser_that_the_person_uses(
    console: Console, project: Project
) -> None:
    anonymous = "018e0000-0000-7000-8000-000000000001"
    project.flag("of-free", when(has("plan", "free")))
    project.flag("of-ben", when(has("distinct_id", "ben")))
    project.capture(
        {"event": "viewed", "distinct_id": anonymous},
        {
            "event": "$identify",
            "distinct_id": "ben",
            "properties": {"$anon_distinct_id": anonymous},
            "$set": {"plan": "pro", "email": "ben@example.com"},
        },
    )
    console.open(project.at("persons"))
    page = console.page
    expect(page.get_by_role("row", name="ben@example.com")).to_contain_text("benand 1 more")

    console.open(project.at(f"persons/{project.person('ben')['id']}?tab=flags"))
    expect(page.get_by_text("the id that this person used last")).to_be_visible()
    expect(page.get_by_role("row", name="of-free")).to_contain_text("plan is pro")
    expect(page.get_by_role("row", name="of-ben")).to_contain_text("true")
    page.get_by_role("row", name="of-ben").click()

    expect(page.get_by_label("Distinct id or e-mail address")).to_have_value("ben")
    page.get_by_label("Distinct id or e-mail address").fill("ben@example.com")
    expect(page.get_by_text("as ben", exact=False)).to_be_visible()
    expect(page.get_by_role("region", name="Saved")).to_contain_text("true")


def test_the_cohorts_and_ids_of_a_person_are_listed(
    console: Console, project: Project, ann: Json
) -> None:
    cohort = project.post("/cohorts/", name="By hand", is_static=True)
    path = f"/cohorts/{cohort['id']}/add_persons_to_static_cohort/"
    project.patch(path, person_ids=[ann["id"]])

    page = open_person(console, project, ann, "?tab=cohorts")

    expect(page.get_by_role("link", name="By hand")).to_be_visible()
    page.get_by_role("tab", name="Identities").click()
    expect(page.get_by_role("button", name=f"Copy {ann['distinct_ids'][0]}")).to_be_visible()


def test_persons_are_merged_after_a_preview(console: Console, project: Project, ann: Json) -> None:
    page = open_person(console, project, ann)
    page.get_by_role("button", name="Merge with…").click()
    dialog = page.get_by_role("dialog")

    dialog.get_by_role("combobox").fill("bob@corp")
    page.get_by_role("option", name="bob@corp.example").click()
    expect(dialog.get_by_role("row", name="plan")).to_contain_text("free")
    expect(dialog.get_by_text("This cannot be undone")).to_be_visible()
    console.expect_accessible()
    merge = dialog.get_by_role("button", name="Merge", exact=True)
    expect(merge).to_be_disabled()
    dialog.get_by_role("textbox", name="Type ann@corp.example to confirm").fill("ann@corp.example")
    merge.click()

    expect(dialog).to_have_count(0)
    expect(page.get_by_text("2 distinct ids")).to_be_visible()
    assert project.person("bob")["id"] == ann["id"]


def test_a_distinct_id_is_split_off_after_a_preview(
    console: Console, project: Project, ann: Json
) -> None:
    project.capture({"event": "seen", "distinct_id": "phone"})
    project.capture(
        {
            "event": "$identify",
            "distinct_id": "ann",
            "properties": {"$anon_distinct_id": "phone"},
        }
    )
    page = open_person(console, project, ann, "?tab=ids")
    merges = page.get_by_role("grid", name="Merges and splits of the person")
    expect(merges.get_by_role("row", name="$identify of ann")).to_contain_text("phone")
    split = page.get_by_role("button", name="Split off…")
    expect(split).to_be_disabled()
    console.expect_accessible()

    page.get_by_label("Select phone").check()
    split.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("1 distinct id leaves with 1 event; 1 stays.")).to_be_visible()
    console.expect_accessible()
    dialog.get_by_role("button", name="Split off", exact=True).click()

    expect(dialog).to_have_count(0)
    made = page.get_by_role("region", name="New persons")
    expect(merges.get_by_role("row", name="Split off")).to_contain_text("phone")
    made.get_by_role("link", name="phone").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("phone")
    assert project.person("phone")["id"] != ann["id"]


def test_a_person_is_deleted_with_its_events_once_the_name_is_typed(
    console: Console, project: Project, ann: Json
) -> None:
    page = open_person(console, project, ann)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete…").click()
    page.get_by_label("Also delete the events").check()
    remove = page.get_by_role("button", name="Delete", exact=True)
    expect(remove).to_be_disabled()
    console.expect_accessible()

    page.get_by_role("textbox").last.fill("ann@corp.example")
    remove.click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Persons")
    expect(page.get_by_role("link", name="ann@corp.example")).to_have_count(0)
    assert project.get("/persons/", distinct_id="ann")["results"] == []


def test_all_data_of_a_person_is_saved_as_a_file(
    console: Console, project: Project, ann: Json
) -> None:
    page = open_person(console, project, ann)
    page.get_by_role("button", name="More actions").click()
    console.expect_accessible()

    with page.expect_download() as saving:
        page.get_by_role("menuitem", name="Download all data").click()
    console.expect_toast("The download has started.")
    page.get_by_role("tab", name="Activity").click()

    document = json.loads(saving.value.path().read_bytes())
    assert saving.value.suggested_filename == f"person-{ann['id']}.json"
    assert document["person"]["distinct_ids"] == ["ann"]
    assert document["person"]["properties"]["bio"] == HOSTILE
    assert "order placed" in [event["event"] for event in document["events"]]
    expect(page.get_by_text("downloaded all data of the person")).to_be_visible()


def test_a_viewer_changes_no_person(
    visit: Visit, installation: Installation, project: Project, ann: Json
) -> None:
    console = visit(installation.viewer)

    page = open_person(console, project, ann, "?tab=properties")

    expect(page.get_by_role("button", name="Add property")).to_be_disabled()
    page.get_by_role("button", name="More actions").click()
    expect(page.get_by_role("menuitem", name="Delete…")).to_be_disabled()


def test_the_list_of_persons_does_not_move_while_it_is_loaded(
    console: Console, project: Project
) -> None:
    project.persons(**{f"u{number}": {"plan": "pro"} for number in range(60)})

    console.open(project.at("persons"))

    assert console.layout_shift() < LAYOUT_SHIFT_MAX


def test_persons_are_counted_and_sorted_by_the_server(console: Console, project: Project) -> None:
    project.persons(**{f"u{n:03}": {"email": f"u{n:03}@corp.example"} for n in range(120)})
    console.open(project.at("persons"))
    page = console.page
    expect(page.get_by_role("status").filter(has_text="of 120 rows")).to_be_visible()
    first = page.locator("tr[data-index='0']")

    page.get_by_role("button", name="Person", exact=True).click()
    expect(first).to_contain_text("u000@corp.example")
    page.get_by_role("button", name="Person", exact=True).click()
    expect(first).to_contain_text("u119@corp.example")
    assert "sort=-name" in page.url
    page.get_by_role("searchbox", name="Search for persons").fill("u11")

    expect(page.get_by_role("status").filter(has_text="10 rows")).to_be_visible()
    expect(first).to_contain_text("u119@corp.example")
    console.expect_accessible()


def test_persons_are_sorted_by_any_property(console: Console, project: Project) -> None:
    seats = {"ann": 10, "bob": 9, "cy": None}
    project.persons(**{name: {"seats": number, "email": name} for name, number in seats.items()})
    console.open(project.at("persons"))
    page = console.page
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("checkbox", name="seats").check()
    console.press("Escape")
    rows = page.locator("tr[data-index]")

    page.get_by_role("button", name="seats", exact=True).click()
    expect(rows).to_contain_text(["bob", "ann", "cy"])
    page.get_by_role("button", name="seats", exact=True).click()
    expect(rows).to_contain_text(["ann", "bob", "cy"])
    page.reload()

    expect(rows).to_contain_text(["ann", "bob", "cy"])
    header = page.get_by_role("columnheader", name="seats")
    expect(header).to_have_attribute("aria-sort", "descending")


def test_all_columns_of_the_flags_of_a_person_fit_on_a_phone(
    console: Console, project: Project, ann: Json
) -> None:
    project.flag("a-key-of-usual-length", when(has("plan", "team")))
    page = open_person(console, project, ann, "?tab=flags")

    with console.at_width(390):
        why = page.get_by_role("row", name="a-key-of-usual-length").get_by_text("Condition 1 match")
        expect(why).to_be_visible()
        box = why.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= 390
        table = page.locator("[data-box]").first
        assert table.evaluate("box => box.scrollWidth - box.clientWidth") <= 0
