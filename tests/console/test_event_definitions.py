"""Events and properties: their volume, values and uses, and what users note about them."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.conftest import Visit
from tests.console.installation import Installation
from tests.console.project import Project, has
from tests.console.screen import Console
from tests.support.awaited import until

pytestmark = pytest.mark.long("drives Chromium")


def names(page: Page) -> Locator:
    return page.get_by_role("grid", name="Events").get_by_role("link")


def definition(project: Project, name: str) -> str:
    (body,) = project.get("/event_definitions/", search=name)["results"]
    return str(body["id"])


def test_events_are_listed_with_their_volume(console: Console, project: Project) -> None:
    project.events("paid", "ann", "bob", "cem")
    project.events("$pageview", "ann")
    project.events("<b>left</b>", "ann", "bob")
    hidden = definition(project, "left")
    page = console.page

    console.open(project.at("events"))

    expect(names(page)).to_have_text(["paid", "<b>left</b>", "$pageview"])
    row = page.get_by_role("row").filter(has_text="paid")
    expect(row).to_contain_text("3")
    expect(row.get_by_role("img", name="paid per day, last 30 days")).to_be_visible()
    page.get_by_role("columnheader", name="Event", exact=True).get_by_role("button").click()
    expect(names(page)).to_have_text(["$pageview", "<b>left</b>", "paid"])
    console.choose(page.get_by_role("combobox", name="Kind"), "Custom events")
    expect(names(page)).to_have_text(["<b>left</b>", "paid"])
    page.get_by_role("searchbox").fill("pa")
    expect(names(page)).to_have_text(["paid"])
    assert "q=pa" in page.url
    console.expect_accessible()

    project.patch(f"/event_definitions/{hidden}/marks/", hidden=True)
    console.open(project.at("events"))
    expect(names(page)).to_have_text(["paid", "$pageview"])
    console.choose(page.get_by_role("combobox", name="Marks"), "Hidden")
    expect(names(page)).to_have_text(["<b>left</b>Hidden"])
    with console.at_width(360):
        pass

    page.get_by_role("button", name="Export…").click()
    dialog = page.get_by_role("dialog", name="Export events")
    dialog.get_by_role("textbox", name="Event").fill("paid")
    console.expect_accessible()
    with page.expect_download() as saving:
        dialog.get_by_role("button", name="Save").click()
    console.expect_toast("The export has started.")
    assert saving.value.suggested_filename == "events.csv"
    lines = saving.value.path().read_text().splitlines()
    assert [line.split(",")[1] for line in lines] == ["event", *['"paid"'] * 3]

    console.open(project.at("insights/new"))
    page.get_by_role("combobox", name="Add series").click()
    expect(page.get_by_role("option", name="paid")).to_be_visible()
    expect(page.get_by_role("option", name="left")).to_have_count(0)


def test_an_event_in_detail(console: Console, project: Project) -> None:
    project.events("paid", "ann", "bob", plan="pro", amount=3)
    project.events("paid", "cem", plan="<b>free</b>", amount=4)
    behavior = {
        "type": "behavioral",
        "value": "performed_event",
        "key": "paid",
        "event_type": "events",
        "time_value": 30,
        "time_interval": "day",
    }
    project.cohort("Buyers", behavior)
    project.cohort("Others", has("paid", "yes"))
    page = console.page
    console.open(project.at("events"))

    page.get_by_role("link", name="paid").click()

    expect(page.get_by_text("3 events in this period")).to_be_visible()
    volume = page.get_by_role("figure", name="“paid” per day")
    volume.get_by_role("button", name="Show as a table").click()
    cells = volume.get_by_role("cell")
    expect(cells.first).to_have_text("–")  # before the project existed
    expect(cells.last).to_have_text("3")
    properties = page.get_by_role("list", name="Properties of the event")
    expect(properties.get_by_role("button", name="amount")).to_contain_text("Number")
    properties.get_by_role("button", name="plan").click()
    values = page.get_by_role("list", name="Values of plan").get_by_role("listitem")
    expect(values).to_have_text(["pro2", "<b>free</b>1"])
    expect(page.get_by_role("region", name="Cohorts")).to_have_text("CohortsBuyers")
    page.get_by_role("switch", name="Verified").click()
    page.get_by_role("textbox", name="Description").fill("An order was paid.")
    page.get_by_role("button", name="Save description").click()
    expect(page.get_by_role("button", name="Save description")).to_have_count(0)
    page.get_by_role("combobox", name="Owner").click()
    page.get_by_role("option").first.click()
    page.get_by_role("combobox", name="Tags").fill("money")
    console.press("Enter")
    expect(page.get_by_text("No changes yet.")).to_have_count(0)
    console.settle()
    console.expect_accessible()
    with console.at_width(360):
        pass

    path = f"/event_definitions/{definition(project, 'paid')}/"
    until(lambda: project.get(path)["tags"] == ["money"], "the tag is not stored")
    stored = project.get(path)
    assert (stored["hidden"], stored["verified"]) == (False, True)
    assert stored["description"] == "An order was paid."
    assert stored["owner"] is not None


def test_a_definition_is_deleted_once_its_name_is_typed(console: Console, project: Project) -> None:
    project.events("paid", "ann")
    page = console.page
    console.open(project.at(f"events/{definition(project, 'paid')}"))

    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete definition").click()
    dialog = page.get_by_role("dialog")
    console.expect_accessible()
    dialog.get_by_role("textbox").fill("paid")
    dialog.get_by_role("button", name="Delete definition").click()

    expect(page.get_by_text("No events yet")).to_be_visible()
    assert project.get("/event_definitions/")["count"] == 0


def test_a_viewer_changes_nothing(
    visit: Visit, installation: Installation, project: Project
) -> None:
    project.events("paid", "ann")
    console = visit(installation.viewer)

    console.open(project.at(f"events/{definition(project, 'paid')}"))

    page = console.page
    for name in ("Verified", "Hidden", "Notify webhooks"):
        expect(page.get_by_role("switch", name=name)).to_be_disabled()
    page.get_by_role("button", name="More actions").click()
    expect(page.get_by_role("menuitem", name="Delete definition")).to_be_disabled()


def test_properties_have_types_and_values(console: Console, project: Project) -> None:
    project.persons(ann={"plan": "pro"}, bob={"plan": 3})
    flag_value = {"$feature/dark-mode": True, "parts": [1]}
    project.events("paid", "ann", "bob", amount=7, **flag_value)
    page = console.page
    console.open(project.at("properties"))

    grid = page.get_by_role("grid", name="Properties of events")
    expect(grid.get_by_role("columnheader", name="Kinds of events with it")).to_be_visible()
    expect(grid.get_by_role("row").filter(has_text="dark-mode")).to_contain_text("True or false1")
    expect(grid.get_by_role("row").filter(has_text="parts")).to_contain_text("or other")
    expect(grid.get_by_role("row").filter(has_text="amount")).to_contain_text("Number")
    grid.get_by_role("row").filter(has_text="amount").click()
    dialog = page.get_by_role("dialog", name="amount")
    expect(dialog.get_by_role("list", name="Values of amount")).to_have_text("72")
    expect(dialog.get_by_role("link", name="paid")).to_be_visible()
    assert "open=amount" in page.url
    dialog.get_by_role("textbox", name="Description").fill("In euros")
    dialog.get_by_role("button", name="Save description").click()
    dialog.get_by_role("switch", name="Verified").click()
    expect(dialog.get_by_role("switch", name="Verified")).to_be_checked()
    console.expect_accessible()
    with console.at_width(360):
        pass
    console.press("Escape")
    row = grid.get_by_role("row").filter(has_text="amount")
    expect(row).to_contain_text("Verified")
    expect(row).to_contain_text("In euros")
    page.get_by_role("tab", name="Persons").click()
    persons = page.get_by_role("grid", name="Properties of persons")
    expect(persons.get_by_role("row").filter(has_text="plan")).to_contain_text("100%")
    expect(page.get_by_text("Seen in the newest 2 persons")).to_be_visible()
    persons.get_by_role("row").filter(has_text="plan").click()
    page.get_by_role("dialog").get_by_role("switch", name="Hidden").click()
    console.settle()
    (plan,) = project.get("/property_definitions/", type="person", search="plan")["results"]
    assert plan["hidden"]


def test_the_command_menu_finds_events(console: Console, project: Project) -> None:
    project.events("voucher used", "ann")
    page = console.page
    console.open(project.at())

    with console.keyboard_only():
        console.press("Control+k")
        expect(page.get_by_role("combobox", name="Command menu")).to_be_focused()
        page.keyboard.type("voucher")
        expect(page.get_by_role("option", name="voucher used: watch live")).to_be_visible()
        expect(page.get_by_role("option", name="voucher used", selected=True)).to_be_visible()
        console.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("voucher used")
    console.settle()
