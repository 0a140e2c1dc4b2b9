"""Fields that many screens have are used by pointer, by keys and by fingers."""

import pytest
from playwright.sync_api import expect

from tests.console.project import Project, has, when
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

# A field may have more in its frame than the input.
BOXES = """fields => [...fields.querySelectorAll('input, [role=combobox]')]
  .map(one => one.closest('.border-line-strong').getBoundingClientRect().toJSON())"""


def test_an_option_is_chosen_by_keys_alone(console: Console, project: Project) -> None:
    project.flag("beta")
    console.open(project.at("flags"))
    page = console.page
    state, kind = (page.get_by_role("combobox", name=name) for name in ("On or off", "Type"))

    with console.keyboard_only():
        console.tab_to(state)
        console.press("ArrowDown")
        options = page.get_by_role("listbox", name="On or off").get_by_role("option")
        expect(options).to_have_text(["On and off", "On", "Off"])
        expect(options.first).to_have_attribute("aria-selected", "true")
        console.expect_accessible()
        console.press("End", "Escape")
        expect(state).to_have_text("On and off")
        console.press("Enter", "End", "Enter")
        expect(state).to_have_text("Off")
        console.press("ArrowUp", "ArrowUp", "Tab")
        expect(state).to_have_text("On")
        expect(kind).to_be_focused()
        page.keyboard.type("w")
        expect(page.get_by_role("option", name="With variants")).to_be_visible()
        console.press("Enter")
        expect(kind).to_have_text("With variants")
        expect(page.get_by_role("listbox")).to_have_count(0)


def test_escape_in_a_list_keeps_the_dialog_around_it(console: Console) -> None:
    page = console.page
    console.open("/account?tab=keys")
    page.get_by_role("button", name="New key").first.click()
    access = page.get_by_role("dialog").get_by_role("combobox", name="Access")
    before = access.inner_text()

    access.click()
    console.press("End", "Escape")

    expect(page.get_by_role("listbox")).to_have_count(0)
    expect(access).to_have_text(before)
    expect(access).to_be_focused()


def test_fingers_get_the_list_of_the_system(console: Console, project: Project) -> None:
    project.flag("beta")
    with console.by_touch(), console.at_width(390):
        console.open(project.at("flags"))
        console.page.get_by_label("On or off").select_option("Off")
        console.settle()
        assert "active=false" in console.page.url
        console.expect_accessible()


def test_a_condition_is_one_row_whose_fields_are_of_one_height(
    console: Console, project: Project
) -> None:
    flag = project.flag("beta", when(has("plan", ["pro"]), has("seats", 10, operator="gt")))
    console.open(project.at(f"flags/{flag['id']}"))

    for fields in console.page.locator("fieldset:not(:has(fieldset)):has([role=combobox])").all():
        boxes = fields.evaluate(BOXES)
        assert len(boxes) >= 4
        assert len({(round(box["top"]), round(box["height"])) for box in boxes}) == 1, boxes
