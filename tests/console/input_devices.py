"""Steps of a user, with a pointer whose clicks are counted, or with only the keyboard."""

from typing import Protocol

from playwright.sync_api import Locator

from tests.console.screen import Console

# Roles of controls that space presses, and enter does not.
TOGGLES = ("switch", "checkbox", "radio")
ROWS_MAX = 60
IS_FOCUSED = "element => element === document.activeElement"


class InputDevice(Protocol):
    console: Console

    def act(self, target: Locator) -> None:
        """Press a button, follow a link, turn a switch."""

    def type(self, field: Locator, text: str) -> None:
        """Type a text instead of what the field holds."""

    def open_row(self, row: Locator) -> None:
        """Open a row of a table by its name."""

    def command(self, text: str, entry: str) -> None:
        """Run an entry of the command menu.

        Args:
            text: As little as a user types to find the entry.
        """


class Pointer:
    def __init__(self, console: Console) -> None:
        self.console = console

    def act(self, target: Locator) -> None:
        target.click()

    def type(self, field: Locator, text: str) -> None:
        if not field.evaluate(IS_FOCUSED):
            field.click()
        replace_text(self.console, text)

    def open_row(self, row: Locator) -> None:
        row.get_by_role("link").first.click()

    def command(self, text: str, entry: str) -> None:
        page = self.console.page
        page.get_by_role("button", name="Search or run a command").click()
        page.get_by_role("combobox").last.wait_for()
        page.keyboard.type(text)
        page.get_by_role("option", name=entry).click()


class Keyboard:
    def __init__(self, console: Console) -> None:
        self.console = console

    def act(self, target: Locator) -> None:
        self.console.tab_to(target)
        is_toggle = target.get_attribute("role") in TOGGLES or target.evaluate(IS_TOGGLE)
        self.console.press("Space" if is_toggle else "Enter")

    def type(self, field: Locator, text: str) -> None:
        self.console.tab_to(field)
        replace_text(self.console, text)

    def open_row(self, row: Locator) -> None:
        self.console.tab_to(row.locator("xpath=../tr[@tabindex='0']"))
        for _ in range(ROWS_MAX):
            if row.evaluate(IS_FOCUSED):
                break
            self.console.press("j")
        assert row.evaluate(IS_FOCUSED), f"{ROWS_MAX} rows down there is no {row}"
        self.console.press("Enter")

    def command(self, text: str, entry: str) -> None:
        self.console.press("Control+k")
        page = self.console.page
        page.get_by_role("combobox").last.wait_for()
        page.keyboard.type(text)
        option = page.get_by_role("option", name=entry)
        option.wait_for()
        for _ in range(ROWS_MAX):
            if option.get_attribute("aria-selected") == "true":
                break
            self.console.press("ArrowDown")
        self.console.press("Enter")


IS_TOGGLE = "element => ['checkbox', 'radio'].includes(element.type)"


def replace_text(console: Console, text: str) -> None:
    console.press("Control+a")
    console.page.keyboard.type(text)
