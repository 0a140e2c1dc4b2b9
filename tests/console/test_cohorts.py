"""Cohorts: built, previewed, explained, filled by a file, deleted and restored."""

import re
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.console.conftest import Visit
from tests.console.installation import Installation
from tests.console.project import Json, Project, has, when
from tests.console.screen import Console
from tests.support.awaited import until

pytestmark = pytest.mark.long("drives Chromium")

# Words of the event store's own queries, which mean nothing to users.
ENGINE = re.compile(r"\b(SELECT|UUIDStringToNum|person_overrides)\b")


@pytest.fixture
def people(project: Project) -> Project:
    project.persons(
        ann={"email": "ann@corp.example", "plan": "pro"},
        bob={"email": "bob@corp.example", "plan": "free"},
        kim={"email": "kim@mail.example", "plan": "pro"},
    )
    project.events("order placed", "ann", "bob", total=70)
    return project


def bought(**more: Any) -> Json:
    return {
        "type": "behavioral",
        "key": "order placed",
        "event_type": "events",
        "value": "performed_event",
        "time_value": 30,
        "time_interval": "day",
        **more,
    }


def choose(page: Page, field: str, text: str) -> None:
    box = page.get_by_role("combobox", name=field, exact=True)
    box.fill(text)
    box.press("Enter")


def test_a_cohort_is_built_with_who_matches_while_it_is(console: Console, people: Project) -> None:
    console.open(people.at("cohorts"))
    page = console.page
    page.get_by_role("link", name="New cohort").first.click()
    page.get_by_role("textbox", name="Name", exact=True).fill("Buyers")
    live = page.get_by_role("region", name="Who matches now")
    expect(live).to_contain_text("Complete every condition")

    kind = page.get_by_role("combobox", name="Kind of condition")
    console.choose(kind, "did an event a number of times")
    choose(page, "Event", "order placed")
    page.get_by_role("spinbutton", name="Number of times").fill("1")
    expect(live.get_by_role("status")).to_have_text("2 persons match now")
    expect(live.get_by_role("listitem").filter(has_text="ann@corp.example")).to_contain_text(
        "order placed: last time"
    )
    page.get_by_role("button", name="Add condition", exact=True).click()
    choose(page, "Property", "plan")
    choose(page, "Values", "pro")
    expect(live.get_by_role("status")).to_have_text("1 person matches now")
    console.expect_accessible()
    with console.at_width(360):
        pass
    page.get_by_role("button", name="Create cohort").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Buyers")
    expect(page.get_by_role("link", name="ann@corp.example")).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="Columns").click()
    columns = page.get_by_role("dialog", name="Columns")
    expect(columns.get_by_text("E-mail", exact=True)).to_have_count(1)
    console.press("Escape")
    (made,) = people.get("/cohorts/")["results"]
    first, second = made["filters"]["properties"]["values"]
    assert (first["value"], first["operator_value"]) == ("performed_event_multiple", 1)
    assert (second["key"], second["value"]) == ("plan", ["pro"])


def test_a_condition_names_an_action(console: Console, people: Project) -> None:
    action = people.post("/actions/", name="Bought", steps=[{"event": "order placed"}])
    cohort = people.cohort("Buyers", bought())
    page = console.page
    console.open(people.at(f"cohorts/{cohort['id']}?tab=criteria"))

    event = page.get_by_role("combobox", name="Event", exact=True)
    event.fill("Bou")
    page.get_by_role("option", name="Bought").click()
    page.get_by_role("button", name="Save criteria").click()
    expect(page.get_by_role("button", name="Save criteria")).to_have_count(0)
    page.reload()

    expect(event).to_have_value("Bought")
    (made,) = people.get("/cohorts/")["results"]
    [leaf] = made["filters"]["properties"]["values"]
    assert (leaf["event_type"], leaf["key"]) == ("actions", action["id"])


def test_groups_of_conditions_are_nested_and_what_is_unknown_is_kept(
    console: Console, people: Project
) -> None:
    cohort = people.cohort("Buyers", bought(negation=False))
    console.open(people.at(f"cohorts/{cohort['id']}?tab=criteria"))
    page = console.page

    page.get_by_role("button", name="Add condition group").click()
    group = page.get_by_role("group", name="Group 2")
    choose(page, "Property", "plan")
    choose(page, "Values", "free")
    expect(group).to_be_visible()
    page.get_by_role("button", name="Save criteria").click()
    expect(page.get_by_role("button", name="Save criteria")).to_have_count(0)

    tree = people.get(f"/cohorts/{cohort['id']}/")["filters"]["properties"]
    assert tree["type"] == "OR"
    assert [inner_group["type"] for inner_group in tree["values"]] == ["AND", "AND"]
    assert tree["values"][0]["values"] == [bought(negation=False)]
    page.get_by_role("tab", name="How it is calculated").click()
    expect(page.get_by_text("order placed").first).to_be_visible()
    expect(page.get_by_text(ENGINE)).to_have_count(0)
    console.expect_accessible()


def test_a_file_of_members_is_recognised_and_rejected_rows_are_told(
    console: Console, people: Project
) -> None:
    console.open(people.at("cohorts/new"))
    page = console.page
    page.get_by_role("textbox", name="Name", exact=True).fill("Invited")
    page.get_by_role("radio", name="Static A list").check()
    table = b'name,E-Mail\n"Miller, Ann",ann@corp.example\nNobody,nobody@corp.example\n'
    file: FilePayload = {"name": "invited.csv", "mimeType": "text/csv", "buffer": table}
    page.get_by_label("Drop a CSV file here").set_input_files(file)

    expect(page.get_by_text("Reading column “E-Mail”")).to_be_visible()
    expect(page.get_by_role("cell", name="Miller, Ann")).to_be_visible()
    console.expect_accessible()
    page.get_by_role("button", name="Create cohort").click()

    rejected = page.get_by_role("list", name="Unmatched rows")
    expect(rejected).to_contain_text("nobody@corp.example", timeout=30_000)
    expect(page.get_by_role("link", name="ann@corp.example")).to_be_visible()
    console.expect_accessible()


def test_a_person_is_added_to_a_static_cohort_and_removed(
    console: Console, people: Project
) -> None:
    cohort = people.post("/cohorts/", name="By hand", is_static=True)
    console.open(people.at(f"cohorts/{cohort['id']}"))
    page = console.page

    page.get_by_role("combobox", name="Add person").fill("kim@")
    page.get_by_role("option", name="kim@mail.example").click()
    expect(page.get_by_role("link", name="kim@mail.example")).to_be_visible()
    page.get_by_role("button", name="Remove from cohort").click()
    expect(page.get_by_role("link", name="kim@mail.example")).to_have_count(0)
    page.get_by_role("button", name="Undo").last.click()

    expect(page.get_by_role("link", name="kim@mail.example")).to_be_visible()


def test_a_cohort_is_deleted_and_restored(console: Console, people: Project) -> None:
    cohort = people.cohort("Payers", has("plan", ["pro"]))
    console.open(people.at(f"cohorts/{cohort['id']}"))
    page = console.page

    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Cohorts")
    expect(page.get_by_role("link", name="Payers")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()

    expect(page.get_by_role("link", name="Payers")).to_be_visible()
    assert people.get(f"/cohorts/{cohort['id']}/")["deleted"] is False


def test_a_cohort_that_was_deleted_long_ago_is_found_and_restored(
    console: Console, people: Project
) -> None:
    cohort = people.cohort("Payers", has("plan", ["pro"]))
    people.cohort("Others", has("plan", ["free"]))
    people.patch(f"/cohorts/{cohort['id']}/", deleted=True)
    console.open(people.at("cohorts"))
    page = console.page

    page.get_by_role("link", name="Deleted cohorts").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Deleted cohorts")
    expect(page.get_by_role("link", name="Others")).to_have_count(0)
    console.expect_accessible()
    page.get_by_role("link", name="Payers").click()
    expect(page.get_by_text("This cohort is deleted")).to_be_visible()
    page.get_by_role("button", name="Restore").click()

    expect(page.get_by_text("This cohort is deleted")).to_have_count(0)
    assert people.get("/cohorts/", deleted="true")["results"] == []


def test_a_cohort_is_calculated_now_and_says_when_it_is_next(
    console: Console, people: Project
) -> None:
    cohort = people.cohort("Payers", has("plan", ["pro"]))
    console.open(people.at(f"cohorts/{cohort['id']}?tab=criteria"))
    page = console.page
    expect(page.get_by_text("Calculated again in")).to_be_visible()
    before = people.get(f"/cohorts/{cohort['id']}/")["count"]
    people.persons(new={"plan": "pro", "email": "new@corp.example"})
    console.open(people.at(f"cohorts/{cohort['id']}?tab=criteria"))
    expect(page.get_by_text(f"The cohort has {before} member")).to_be_visible()
    console.expect_accessible()

    page.get_by_role("button", name="Calculate now").click()

    expect(page.get_by_text(f"The cohort has {before} member")).to_have_count(0)
    expect(page.get_by_text(f"{before + 1} person", exact=False).first).to_be_visible()
    until(
        lambda: people.get(f"/cohorts/{cohort['id']}/")["count"] == before + 1,
        "the cohort is not calculated",
    )


def test_the_list_says_who_uses_a_cohort_and_a_used_one_is_not_deleted(
    console: Console, people: Project
) -> None:
    cohort = people.cohort("Payers", has("plan", ["pro"]))
    people.flag("beta", when({"type": "cohort", "key": "id", "value": cohort["id"]}))
    console.open(people.at("cohorts"))
    page = console.page
    expect(page.get_by_role("row", name="Payers")).to_contain_text("1 flag")
    console.expect_accessible()

    page.get_by_role("link", name="Payers").click()
    page.get_by_role("tab", name="Used by").click()
    expect(page.get_by_role("link", name="beta")).to_be_visible()
    console.watch.expect_status(400, "/cohorts/")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete", exact=True).click()

    console.expect_toast("This cohort is used in 1 active feature flag")


def test_a_viewer_changes_no_cohort(
    visit: Visit, installation: Installation, people: Project
) -> None:
    cohort = people.cohort("Payers", has("plan", ["pro"]))
    console = visit(installation.viewer)

    console.open(people.at(f"cohorts/{cohort['id']}?tab=criteria"))

    expect(console.page.get_by_role("button", name="Calculate now")).to_be_disabled()
    expect(console.page.get_by_role("combobox", name="Kind of condition")).to_be_disabled()
