"""Segments: saved from the conditions of a question, changed, deleted and restored."""

import pytest
from playwright.sync_api import expect

from tests.console.insight_page import insight, numbers, sentence
from tests.console.project import Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")


def test_conditions_are_saved_as_a_segment_and_changed(console: Console, project: Project) -> None:
    for plan, people in (("pro", ("ann", "bob")), ("team", ("cem",)), ("free", ("dan",))):
        project.persons(**{name: {"plan": plan} for name in people})
        project.events("paid", *people)
    is_pro = {"type": "person", "key": "plan", "operator": "exact", "value": ["pro"]}
    page = console.page
    console.open(insight(project, series=[{"event": "paid"}], properties=[is_pro], display="table"))

    page.get_by_role("button", name="Save as segment").click()
    dialog = page.get_by_role("dialog", name="Save as segment")
    dialog.get_by_role("textbox", name="Name").fill("Paying customers")
    console.expect_accessible()
    dialog.get_by_role("button", name="Create segment").click()
    expect(dialog).to_be_hidden()
    expect(sentence(console)).to_contain_text("in the segment Paying customers")
    assert total(console) == 2
    asked = page.url

    console.open(project.at("segments"))
    console.expect_accessible()
    page.get_by_role("link", name="Paying customers").click()
    values = page.get_by_role("combobox", name="Values")
    values.fill("team")
    values.press("Enter")
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_text("Segment “Paying customers” saved.", exact=True)).to_be_visible()
    console.settle()
    console.expect_accessible()
    with console.at_width(360):
        console.settle()

    page.goto(asked)
    expect(sentence(console)).to_contain_text("in the segment Paying customers")
    assert total(console) == 3

    console.open(project.at("segments"))
    page.get_by_role("link", name="Paying customers").click()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("This segment is deleted.")).to_be_visible()
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("button", name="Delete")).to_be_visible()


def total(console: Console) -> int:
    """Return the sum of the numbers of all intervals."""
    return sum(int(row[-1]) for row in numbers(console))
