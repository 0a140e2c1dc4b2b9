"""The screen of everything that happened in a project and its organization."""

import pytest
from playwright.sync_api import expect

from tests.console.conftest import Visit
from tests.console.installation import Installation
from tests.console.project import Project, when
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")


def test_activity_is_filtered_in_the_address_and_saved_as_a_file(
    console: Console, project: Project
) -> None:
    flag = project.flag("dark-mode")
    half = {"groups": [when(rollout=50)]}
    project.patch(f"/feature_flags/{flag['id']}/", filters=half)
    project.post("/cohorts/", name="By hand", is_static=True)
    page = console.page
    console.open(project.at())
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Activity").click()
    entries = page.get_by_role("list", name="Activity").get_by_role("listitem")
    expect(entries.filter(has_text="dark-mode")).to_have_count(2)

    console.choose(page.get_by_label("Kind"), "flag")
    page.get_by_label("Name or value").fill("dark")
    expect(page).to_have_url(f"{console.origin}{project.at('activity')}?kind=FeatureFlag&q=dark")
    expect(entries.filter(has_text="By hand")).to_have_count(0)
    expect(entries.first.get_by_role("link", name="dark-mode")).to_be_visible()
    console.choose(page.get_by_label("What"), "changed")
    expect(entries).to_have_count(1)
    expect(entries).to_contain_text("changed the conditions")
    page.reload()
    expect(entries).to_have_count(1)
    console.expect_accessible()
    entries.get_by_role("button", name="Difference").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()

    text = download.value.path().read_text()
    assert "dark-mode" in text
    assert "By hand" not in text


def test_the_pages_of_the_changes_of_an_item_are_in_the_address(
    console: Console, project: Project
) -> None:
    page = console.page
    flag = project.flag("busy")
    project.events("paid", "ann")
    (event,) = project.get("/event_definitions/", search="paid")["results"]
    for number in range(21):
        project.patch(f"/feature_flags/{flag['id']}/", name=f"name {number}")
        project.patch(f"/event_definitions/{event['id']}/", tags=[f"tag {number}"])

    for path, old in (
        (f"flags/{flag['id']}?tab=activity", "created the flag"),
        (f"events/{event['id']}", "“tag 9”"),
    ):
        console.open(project.at(path))
        entries = page.get_by_role("list", name="Activity")
        expect(entries).not_to_contain_text(old)
        page.get_by_role("button", name="Older").click()
        expect(entries).to_contain_text(old)
        assert "page=2" in page.url
        page.reload()
        expect(entries).to_contain_text(old)
        page.go_back()
        expect(entries).not_to_contain_text(old)


def test_members_do_not_see_where_others_sign_in(
    visit: Visit, installation: Installation, project: Project
) -> None:
    account = installation.member("Ivo")
    installation.cookie(installation.owner, anew=True)  # the owner signs in
    console = visit(account)
    console.open(project.at("activity?kind=User"))
    signed_in = console.page.get_by_role("listitem").filter(has_text="signed in")

    expect(signed_in.first).to_contain_text("signed in (password)")
