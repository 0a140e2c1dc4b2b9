"""The list of flags: found, switched, tagged and deleted, one by one and many at once."""

import csv

import pytest
from playwright.sync_api import Locator, expect

from tests.console.bulk_rows import add_many_flags
from tests.console.conftest import Visit
from tests.console.installation import Installation
from tests.console.project import Json, Project, has, when
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

OLD = "2024-01-01T00:00:00Z"
NODES_MAX = 3_000


def row(console: Console, key: str) -> Locator:
    return console.page.get_by_role("row").filter(
        has=console.page.get_by_role("switch", name=f"Switch {key}", exact=True)
    )


def switch(console: Console, key: str) -> Locator:
    return console.page.get_by_role("switch", name=f"Switch {key}", exact=True)


def keys(console: Console) -> list[str]:
    names = [
        switch_of_flag.get_attribute("aria-label")
        for switch_of_flag in console.page.get_by_role("switch").all()
    ]
    return [(name or "").removeprefix("Switch ") for name in names]


def find(console: Console, text: str) -> None:
    console.press("Control+k")
    expect(console.page.get_by_role("combobox", name="Command menu")).to_be_focused()
    console.page.keyboard.type(text)


def stored(project: Project, flag: Json) -> Json:
    body: Json = project.get(f"/feature_flags/{flag['id']}/")
    return body


def test_an_empty_list_teaches_and_offers_a_flag(console: Console, project: Project) -> None:
    console.open(project.at("flags"))

    expect(console.page.get_by_role("heading", name="No feature flags yet")).to_be_visible()
    expect(console.page.get_by_text(project.token)).to_be_visible()
    console.expect_accessible()
    console.page.get_by_role("link", name="New flag").last.click()
    expect(console.page).to_have_url(f"{console.origin}{project.at('flags/new')}")


def test_a_flag_is_switched_off_in_two_clicks_and_on_again(
    console: Console, project: Project
) -> None:
    flag = project.flag("new-checkout", when(has("plan", "pro"), rollout=20))
    console.open(project.at())

    with console.clicks_at_most(2):
        console.page.get_by_role("link", name="Feature flags").click()
        switch(console, "new-checkout").click()
        console.expect_toast("Switched off new-checkout")
    assert stored(project, flag)["active"] is False
    expect(switch(console, "new-checkout")).not_to_be_checked()

    console.page.get_by_role("button", name="Undo").click()
    console.expect_toast("Switched on new-checkout")
    assert stored(project, flag)["active"] is True


def test_a_flag_is_switched_off_from_the_command_menu_without_a_click(
    console: Console, project: Project
) -> None:
    flag = project.flag("new-checkout")
    project.flag("old-checkout")
    console.open(project.at())

    with console.keyboard_only():
        find(console, "switch off new-ch")
        expect(
            console.page.get_by_role("option", name="Switch off new-checkout")
        ).to_have_attribute("aria-selected", "true")
        console.expect_accessible(("light",))
        console.press("Enter")
        console.expect_toast("Switched off new-checkout")
        assert stored(project, flag)["active"] is False

        find(console, "open new-ch")
        expect(console.page.get_by_role("option", name="Open new-checkout")).to_have_attribute(
            "aria-selected", "true"
        )
        console.press("Enter")
        page = project.at(f"flags/{flag['id']}")
        expect(console.page).to_have_url(console.origin + page)


def test_a_row_says_who_gets_it_how_often_it_is_asked_for_and_who_changed_it(
    console: Console, project: Project
) -> None:
    shares = [{"key": "a", "rollout_percentage": 25}, {"key": "b", "rollout_percentage": 75}]
    project.flag(
        "color",
        when(has("plan", "pro"), rollout=20),
        when(rollout=5),
        filters={"multivariate": {"variants": shares}},
        tags=["web"],
    )
    project.flag("same", created_at=OLD)
    project.events(
        "$feature_flag_called",
        "ann",
        "bob",
        **{"$feature_flag": "color", "$feature_flag_response": "a"},
    )
    console.open(project.at("flags"))

    color = row(console, "color")
    expect(color).to_contain_text("20% of people whose plan is pro, then 5% of everyone")
    expect(color.get_by_role("img", name="Variant split: a 25%, b 75%")).to_be_visible()
    calls = color.get_by_role("img", name="Calls of color per day")
    expect(calls).to_be_visible()
    # The last day is not over, so that its part of the line is dashed.
    expect(calls.locator("polyline[stroke-dasharray]")).to_have_count(1)
    expect(color.get_by_role("gridcell", name="at most 2 2", exact=False)).to_be_visible()
    expect(color).to_contain_text("by Admin")
    expect(color).to_contain_text("web")
    expect(row(console, "same")).to_contain_text("Stale: same for everyone")
    console.expect_accessible()
    with console.at_width(360):
        pass


def test_filters_search_and_sort_lie_in_the_address(console: Console, project: Project) -> None:
    project.flag("alpha", tags=["web"])
    project.flag("beta", active=False, tags=["web"])
    project.flag("gamma", created_at=OLD)
    console.open(project.at("flags"))
    page = console.page

    console.choose(page.get_by_label("Tag", exact=True), "web")
    console.choose(page.get_by_label("On or off", exact=True), "Off")
    expect(switch(console, "alpha")).to_have_count(0)
    assert keys(console) == ["beta"]
    page.reload()
    console.settle()
    assert keys(console) == ["beta"]

    console.choose(page.get_by_label("Tag", exact=True), "All tags")
    console.choose(page.get_by_label("On or off", exact=True), "On and off")
    console.choose(page.get_by_label("Status", exact=True), "Stale only")
    expect(switch(console, "beta")).to_have_count(0)
    assert keys(console) == ["gamma"]

    console.choose(page.get_by_label("Status", exact=True), "Any status")
    page.get_by_role("columnheader", name="Flag").get_by_role("button").click()
    expect(switch(console, "beta")).to_have_count(1)
    assert keys(console) == ["alpha", "beta", "gamma"]
    assert "sort=key" in page.url
    console.press("/")
    page.keyboard.type("ALP")
    expect(switch(console, "beta")).to_have_count(0)
    assert keys(console) == ["alpha"]
    page.get_by_label("Search by key or name").fill("no such flag")
    page.get_by_role("button", name="Clear filters").click()
    expect(switch(console, "gamma")).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    lines = download.value.path().read_text(encoding="utf-8-sig").splitlines()
    assert [line[0] for line in csv.reader(lines)] == ["Flag", "alpha", "beta", "gamma"]


def test_many_flags_are_switched_tagged_and_deleted_and_all_is_taken_back(
    console: Console, project: Project
) -> None:
    flags = [project.flag(f"flag-{n}", tags=["old"]) for n in range(3)]
    off = project.flag("off", active=False)
    console.open(project.at("flags"))
    page = console.page

    def undo(text: str) -> None:
        toast = page.get_by_role("listitem").filter(has_text=text)
        toast.get_by_role("button", name="Undo").click()
        expect(toast).to_have_count(0)

    page.get_by_label("Select all rows").check()
    bulk = page.get_by_role("group", name="Selected flags")
    bulk.get_by_role("button", name="Switch off").click()
    console.expect_toast("3 flags switched off.")
    assert [stored(project, flag)["active"] for flag in flags] == [False] * 3
    undo("3 flags switched off.")
    console.expect_toast("3 flags switched on.")
    assert [stored(project, flag)["active"] for flag in (*flags, off)] == [True] * 3 + [False]

    project.patch(f"/feature_flags/{off['id']}/", tags=["theirs"])  # meanwhile, elsewhere
    bulk.get_by_role("button", name="Add tags").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Tags").fill("mine")
    console.press("Enter", "Tab")  # the list of other tags is closed
    console.expect_accessible()
    dialog.get_by_role("button", name="Add", exact=True).click()
    console.expect_toast("Tags added to 4 flags.")
    assert stored(project, off)["tags"] == ["theirs", "mine"]
    undo("Tags added to 4 flags.")
    console.expect_toast("Tags removed from 4 flags.")
    assert [stored(project, flag)["tags"] for flag in (flags[0], off)] == [["old"], ["theirs"]]

    bulk.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="No feature flags yet")).to_be_visible()
    undo("4 flags deleted.")
    console.expect_toast("4 flags restored.")
    expect(switch(console, "off")).to_be_visible()
    assert [stored(project, flag)["deleted"] for flag in flags] == [False] * 3


def test_deleted_flags_are_listed_and_restored(console: Console, project: Project) -> None:
    gone, taken = project.flag("gone"), project.flag("taken")
    for flag in (gone, taken):
        project.patch(f"/feature_flags/{flag['id']}/", deleted=True)
    page = console.page
    console.open(project.at("flags"))

    page.get_by_role("link", name="Deleted flags").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Deleted flags")
    expect(page.get_by_role("button", name="Restore taken")).to_be_visible()
    console.expect_accessible()
    project.flag("taken")
    console.watch.expect_status(404, f"/feature_flags/{taken['id']}/")
    page.get_by_role("button", name="Restore taken").click()
    console.expect_toast("taken cannot be restored any more: another flag has taken its key.")
    expect(page.get_by_role("button", name="Restore taken")).to_have_count(0)
    page.get_by_role("button", name="Restore gone").click()
    console.expect_toast("Restored gone. It is on.")

    expect(page.get_by_text("No deleted flags.")).to_be_visible()
    page.get_by_role("link", name="Feature flags").last.click()
    expect(switch(console, "gone")).to_be_visible()
    assert not stored(project, gone)["deleted"]


def test_many_flags_are_changed_only_after_a_question(console: Console, project: Project) -> None:
    flags = [project.flag(f"f{number}", active=number > 0) for number in range(6)]
    page = console.page
    console.open(project.at("flags"))
    page.get_by_label("Select all rows").check()
    bulk = page.get_by_role("group", name="Selected flags")

    bulk.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name="Delete 6 flags?")
    expect(dialog).to_contain_text("5 of them are on.")
    console.expect_accessible()
    dialog.get_by_role("button", name="Cancel").click()
    assert [stored(project, flag)["deleted"] for flag in flags] == [False] * 6

    bulk.get_by_role("button", name="Switch off").click()
    dialog = page.get_by_role("dialog", name="Switch off 6 flags?")
    dialog.get_by_role("button", name="Switch off").click()
    console.expect_toast("5 flags switched off.")
    assert [stored(project, flag)["active"] for flag in flags] == [False] * 6


def test_the_list_says_where_a_flag_is_evaluated(console: Console, project: Project) -> None:
    project.flag("server", evaluation_runtime="server")
    project.flag("client", evaluation_runtime="client", evaluation_contexts=["web"])
    console.open(project.at("flags"))

    expect(row(console, "server")).to_contain_text("Everyone; only on servers")
    expect(row(console, "client")).to_contain_text(
        "Everyone; only in browsers and apps; only in the context web"
    )


def test_the_rules_of_a_flag_that_is_off_are_not_said_to_hold(
    console: Console, project: Project
) -> None:
    flag = project.flag("dark", active=False)
    console.open(project.at("flags"))

    expect(row(console, "dark")).to_contain_text("Off. When on: Everyone")
    console.open(project.at(f"flags/{flag['id']}"))
    expect(console.page.get_by_text("When switched on: Everyone")).to_be_visible()


def test_thousands_of_flags_are_searched_without_drawing_them_all(
    console: Console, project: Project
) -> None:
    add_many_flags(project, 5_000)
    console.open(project.at("flags"))

    grid = console.page.get_by_role("grid", name="Feature flags")
    expect(grid).to_have_attribute("aria-rowcount", "5001")
    assert console.page.evaluate("document.querySelectorAll('*').length") < NODES_MAX
    console.page.get_by_label("Search by key or name").fill("flag-04321")
    expect(grid).to_have_attribute("aria-rowcount", "2")
    expect(switch(console, "flag-04321")).to_be_visible()


def test_a_viewer_sees_all_and_changes_nothing(
    visit: Visit, installation: Installation, project: Project
) -> None:
    project.flag("alpha")
    console = visit(installation.viewer)
    console.open(project.at("flags"))

    expect(switch(console, "alpha")).to_be_disabled()
    expect(console.page.get_by_role("button", name="New flag")).to_be_disabled()
    expect(console.page.get_by_label("Select all rows")).to_have_count(0)
    console.expect_accessible()
