"""Texts on dashboards in the console: written, changed in place, moved, copied, removed, shared."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from tests.console.project import Json, Project
from tests.console.screen import Console
from tests.console.test_dashboards import dashboard_of, path_of, tile

pytestmark = pytest.mark.long("drives Chromium")

MARKDOWN = """# Sales

**Up** by *3 %* since [May](https://example.com/may).

- `paid` counts
- not [refunds](javascript:alert(1))

<img src=x onerror="alert(1)"> ![pixel](https://elsewhere.example/pixel.png)
"""


def with_texts(project: Project, *bodies: str) -> Json:
    dashboard = dashboard_of(project)
    texts = [{"text": {"body": body}} for body in bodies]
    changed: Json = project.patch(f"dashboards/{dashboard['id']}", tiles=texts)
    return changed


def texts_of(project: Project, dashboard: Json) -> list[str]:
    tiles = project.get(f"dashboards/{dashboard['id']}")["tiles"]
    return [one["text"]["body"] for one in tiles]


def choose(console: Console, name: str, action: str) -> None:
    tile(console, name).get_by_role("button", name=f"More for {name}").click()
    console.page.get_by_role("menuitem", name=action).click()


def editor(console: Console) -> Locator:
    return console.page.get_by_role("textbox", name="Text in Markdown")


def test_a_text_is_written_and_shows_its_markdown_and_nothing_of_strangers(
    console: Console, project: Project
) -> None:
    dashboard = dashboard_of(project)
    page = console.page
    console.open(path_of(project, dashboard))

    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("menuitem", name="Add text").click()
    expect(editor(console)).to_be_focused()
    editor(console).fill(MARKDOWN)
    preview = page.get_by_role("region", name="Preview")
    expect(preview.get_by_role("heading", name="Sales")).to_be_visible()
    console.settle()
    console.expect_accessible()
    page.get_by_role("dialog").get_by_role("button", name="Add").click()
    console.expect_toast("Text added")

    text = tile(console, "Sales")
    expect(text.get_by_role("heading", name="Sales", level=2)).to_be_visible()
    expect(text.locator("strong")).to_have_text("Up")
    expect(text.get_by_role("listitem")).to_have_count(2)
    link = text.get_by_role("link")
    expect(link).to_have_count(1)
    expect(link).to_have_attribute("href", "https://example.com/may")
    expect(link).to_have_attribute("rel", re.compile("noopener"))
    expect(text).to_contain_text("[refunds](javascript:alert(1))")
    expect(text).to_contain_text('<img src=x onerror="alert(1)">')
    expect(text.locator("img")).to_have_count(0)
    console.settle()
    console.expect_accessible()
    console.expect_to_fit_in({"width": 390, "height": 844}, {"width": 360, "height": 640})
    with console.at_zoom(200):
        console.expect_to_fit()
    [stored] = project.get(f"dashboards/{dashboard['id']}")["tiles"]
    assert stored["text"]["body"] == MARKDOWN.strip()
    assert stored["layouts"]["sm"] == {"x": 0, "y": 0, "w": 6, "h": 2}


def test_a_text_is_changed_moved_copied_and_removed_by_keys_alone(
    console: Console, project: Project
) -> None:
    dashboard = with_texts(project, "# First", "# Second")
    page = console.page
    console.open(path_of(project, dashboard))
    expect(tile(console, "First").get_by_role("heading")).to_be_visible()
    console.settle()

    with console.keyboard_only():
        console.tab_to(page.get_by_role("button", name="Move or resize First"))
        console.press(*["Shift+Alt+ArrowUp"] * 4, "Shift+Alt+ArrowRight")
        expect(page.get_by_text("7 columns wide, 1 row high")).to_be_attached()
        console.tab_to(page.get_by_role("button", name="More for First"))
        console.press("Enter")
        expect(page.get_by_role("menuitem", name="Edit text")).to_be_focused()
        console.press("Enter")
        expect(editor(console)).to_be_focused()
        console.press("End", "!", "Control+Enter")
        expect(tile(console, "First!")).to_be_visible()
        console.settle()
        expect(page.get_by_role("button", name="More for First!")).to_be_focused()
        console.press("Enter")
        expect(page.get_by_role("menuitem", name="Edit text")).to_be_focused()
        console.press("ArrowDown")
        expect(page.get_by_role("menuitem", name="Duplicate")).to_be_focused()
        console.press("Enter")
        expect(tile(console, "First!")).to_have_count(2)
        console.tab_to(page.get_by_role("button", name="More for Second"))
        console.press("Enter")
        expect(page.get_by_role("menuitem", name="Edit text")).to_be_focused()
        console.press("End")
        expect(page.get_by_role("menuitem", name="Remove from dashboard")).to_be_focused()
        console.press("Enter")
        expect(tile(console, "Second")).to_have_count(0)
        expect(page.get_by_role("heading", level=1)).to_be_focused()
    console.settle()
    assert sorted(texts_of(project, dashboard)) == ["# First!", "# First!"]
    page.get_by_role("button", name="Undo").last.click()
    expect(tile(console, "Second")).to_be_visible()
    console.settle()
    tiles = project.get(f"dashboards/{dashboard['id']}")["tiles"]
    assert tiles[0]["layouts"]["sm"] == {"x": 0, "y": 0, "w": 7, "h": 1}
    assert tiles[2]["layouts"]["sm"] == {"x": 0, "y": 1, "w": 7, "h": 1}, "the copy is below"


def test_what_somebody_else_writes_meanwhile_is_not_overwritten(
    console: Console, project: Project
) -> None:
    dashboard = with_texts(project, "# Plan")
    [stored] = dashboard["tiles"]
    page = console.page
    console.open(path_of(project, dashboard))
    choose(console, "Plan", "Edit text")
    editor(console).fill("# Mine")
    theirs = {"id": stored["id"], "text": {"body": "# Theirs"}}
    project.patch(f"dashboards/{dashboard['id']}", tiles=[theirs])

    console.watch.expect_status(409, "/dashboards/")
    page.get_by_role("button", name="Save", exact=True).click()
    dialog = page.get_by_role("dialog", name="Someone else has changed this text")
    expect(dialog.get_by_role("heading", name="Mine", exact=True)).to_be_visible()
    expect(dialog.get_by_role("heading", name="Theirs", exact=True)).to_be_visible()
    console.settle()
    console.expect_accessible()
    assert texts_of(project, dashboard) == ["# Theirs"]
    console.press("Escape")
    expect(editor(console)).to_have_value("# Mine")
    console.watch.expect_status(409, "/dashboards/")
    page.get_by_role("button", name="Save", exact=True).click()
    dialog.get_by_role("button", name="Save yours over it").click()
    expect(tile(console, "Mine")).to_be_visible()
    console.settle()
    assert texts_of(project, dashboard) == ["# Mine"]


def test_a_text_that_is_too_long_stays_in_its_field(console: Console, project: Project) -> None:
    dashboard = with_texts(project, "# Long")
    console.open(path_of(project, dashboard))
    choose(console, "Long", "Edit text")

    editor(console).fill("x" * 4001)
    expect(console.page.get_by_text("1 character too many")).to_be_visible()
    expect(console.page.get_by_role("button", name="Save", exact=True)).to_be_disabled()
    editor(console).fill("x" * 3990)
    expect(console.page.get_by_text("10 characters left")).to_be_visible()
    console.press("Escape")
    expect(editor(console)).to_have_value("x" * 3990)
    console.page.get_by_role("button", name="Cancel").click()
    expect(tile(console, "Long")).to_be_visible()
    assert texts_of(project, dashboard) == ["# Long"]


def test_copies_and_links_show_texts_too(
    console: Console, project: Project, visit: Callable[..., Console]
) -> None:
    dashboard = with_texts(project, MARKDOWN)
    token = project.post(f"dashboards/{dashboard['id']}/share")["token"]
    page = console.page
    console.open(path_of(project, dashboard))
    expect(tile(console, "Sales").get_by_role("link")).to_be_visible()
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Duplicate").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Weekly (copy)")
    expect(tile(console, "Sales").get_by_role("link")).to_be_visible()

    stranger = visit(None)
    stranger.open(f"/shared/{token}")
    text = tile(stranger, "Sales")
    expect(text.get_by_role("link")).to_have_attribute("href", "https://example.com/may")
    expect(text.locator("img")).to_have_count(0)
    expect(text.get_by_role("button")).to_have_count(0)
    stranger.settle()
    stranger.expect_accessible()
    stranger.expect_to_fit_in({"width": 390, "height": 844})
