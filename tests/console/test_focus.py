"""The focus comes back to where the user was."""

import pytest
from playwright.sync_api import expect

from tests.console.project import Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")


def test_a_dialog_gives_the_focus_back_to_what_opened_it(console: Console) -> None:
    page = console.page
    console.open("/account?tab=keys")
    button = page.get_by_role("button", name="New key").first

    with console.keyboard_only():
        console.tab_to(button)
        console.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        console.press("Escape")

    expect(button).to_be_focused()


def test_a_dialog_that_a_menu_opened_gives_the_focus_back_to_its_button(
    console: Console, project: Project
) -> None:
    page = console.page
    flag = project.flag("beta")
    console.open(project.at(f"flags/{flag['id']}"))
    menu = page.get_by_role("button", name="More actions")

    with console.keyboard_only():
        console.tab_to(menu)
        console.press("Enter")
        page.get_by_role("menuitem", name="Edit as JSON").focus()
        console.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        console.press("Escape")

    expect(menu).to_be_focused()


def test_the_navigation_of_a_phone_gives_the_focus_back(console: Console, project: Project) -> None:
    page = console.page
    with console.at_width(390):
        console.open(project.at())
        button = page.get_by_role("button", name="Open navigation")
        button.click()
        expect(page.get_by_role("dialog", name="Main")).to_be_visible()
        console.press("Escape")

        expect(button).to_be_focused()


def test_back_from_a_row_gives_it_the_focus(console: Console, project: Project) -> None:
    for number in range(60):
        project.flag(f"flag-{number:02}")
    page = console.page
    console.open(project.at("flags"))
    row = page.get_by_role("row").filter(has_text="flag-55")

    with console.keyboard_only():
        console.press("j")
        while not row.evaluate("element => element === document.activeElement"):
            console.press("j")
        console.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        page.go_back()
        expect(row).to_be_focused()
        console.press("j")
        expect(row).not_to_be_focused()

    page.get_by_role("navigation", name="Main").get_by_role("link", name="Persons").click()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Feature flags").click()
    expect(page.get_by_role("heading", level=1, name="Feature flags")).to_be_focused()
