"""Actions: made, counted, chosen in an insight, deleted and restored."""

import pytest
from playwright.sync_api import expect

from tests.console.project import Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")


def test_an_action_is_made_asked_about_and_deleted(console: Console, project: Project) -> None:
    project.persons(ann={"plan": "pro"}, bob={"plan": "free"})
    project.events("order placed", "ann", "bob")
    project.events("order called in", "ann")
    console.open(project.at("actions"))
    page = console.page
    page.get_by_role("link", name="New action").first.click()
    page.get_by_role("textbox", name="Name", exact=True).fill("Ordered")
    create = page.get_by_role("button", name="Create action")
    expect(create).to_be_disabled()
    for number, event in enumerate(("order placed", "order called in")):
        box = page.get_by_role("combobox", name="Event", exact=True).nth(number)
        box.fill(event)
        box.press("Enter")
        if number == 0:
            page.get_by_role("button", name="Add step").click()
    console.expect_accessible()
    create.click()
    expect(page.get_by_text("Events of the last 30 days: 3")).to_be_visible()

    # A selector that cannot be compared is refused beside its field.
    console.watch.expect_status(400, "/actions/")
    page.get_by_role("textbox", name="CSS selector").first.fill("a + b")
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_role("alert").filter(has_text="It cannot be read at")).to_be_visible()

    console.open(project.at("insights/new"))
    box = page.get_by_role("combobox", name="Add series")
    box.fill("Ordered")
    page.get_by_role("option", name="Ordered").first.click()
    expect(page.get_by_label("The question as a sentence")).to_contain_text("Ordered")
    console.settle()

    console.open(project.at("actions"))
    page.get_by_role("link", name="Ordered").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("This action is deleted.")).to_be_visible()
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("Events of the last 30 days: 3")).to_be_visible()
    with console.at_width(360):
        console.settle()
