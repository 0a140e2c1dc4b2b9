"""The documentation at /docs/ in a browser: its pages, its search and its policy."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.console.installation import Installation
from tests.console.project import Project
from tests.console.screen import Console, open_console
from tests.support.built_documentation import built_documentation

pytestmark = pytest.mark.long("drives Chromium, and builds the documentation")


@pytest.fixture(scope="module")
def built_docs() -> None:
    built_documentation()


@pytest.fixture
def reader(
    built_docs: None, chromium_browser: Browser, installation: Installation
) -> Iterator[Console]:
    """Open the page of a stranger, who must cause no error and no request to another host."""
    with open_console(chromium_browser, installation.server.url) as reader:
        yield reader
        reader.watch.assert_clean()


def test_a_search_finds_a_page(reader: Console) -> None:
    page = reader.page
    page.goto(f"{reader.origin}/docs")
    expect(page).to_have_url(f"{reader.origin}/docs/")

    page.get_by_role("textbox", name="Search").fill("signatures of webhooks")
    results = page.locator(".md-search-result")
    results.get_by_role("heading", name="Webhooks", exact=True, level=1).click()

    expect(page.get_by_role("heading", name="Webhooks", level=1)).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Webhooks", level=1)).to_be_visible()


def test_the_theme_is_kept_from_page_to_page(reader: Console) -> None:
    page = reader.page
    page.goto(f"{reader.origin}/docs/")
    page.get_by_title("Use the light theme").click()
    page.get_by_title("Use the dark theme").click()

    page.goto(f"{reader.origin}/docs/decisions/0002-accept-log/")

    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")


def test_the_account_menu_of_the_console_leads_to_it(
    built_docs: None, console: Console, project: Project
) -> None:
    page = console.page
    console.open(project.at())

    with console.keyboard_only():
        console.tab_to(page.get_by_role("button", name="Account"))
        console.press("Enter")
        page.get_by_role("menuitem", name="Documentation", exact=True).press("Enter")

    expect(page).to_have_url(f"{console.origin}/docs/")
