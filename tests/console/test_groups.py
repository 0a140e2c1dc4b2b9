"""Groups: the list by type, and one group with its properties, events and flags."""

import pytest
from playwright.sync_api import expect

from tests.console.project import Project, has, when
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

HOSTILE = "a/b?<b>"


@pytest.fixture
def companies(project: Project) -> Project:
    project.capture(
        identified("company", "acme", name="Acme", plan="enterprise"),
        identified("company", HOSTILE, plan="free"),
        identified("team", "red", name="Red"),
        {
            "event": "order placed",
            "distinct_id": "ann",
            "properties": {"$groups": {"company": "acme"}, "amount": 42},
        },
    )
    return project


def identified(kind: str, key: str, **properties: str) -> dict[str, object]:
    known = {"$group_type": kind, "$group_key": key, "$group_set": properties}
    return {"event": "$groupidentify", "distinct_id": "ann", "properties": known}


def test_groups_are_listed_by_type_and_searched(console: Console, companies: Project) -> None:
    console.open(companies.at("groups"))
    page = console.page

    page.get_by_role("tab", name="team").click()
    expect(page.get_by_role("link", name="red")).to_be_visible()
    page.get_by_role("tab", name="company").click()
    page.get_by_role("button", name="Key").click()
    expect(page.get_by_role("link").filter(has_text="a").nth(0)).to_be_visible()
    first = page.locator("tr[data-index='0']")
    expect(first).to_contain_text(HOSTILE)
    page.get_by_role("button", name="Key").click()
    expect(first).to_contain_text("acme")
    assert "sort=-key" in page.url
    page.get_by_role("searchbox", name="Search for groups").fill("enterprise")

    expect(page.get_by_role("link", name=HOSTILE)).to_have_count(0)
    expect(page.get_by_role("link", name="acme")).to_be_visible()
    assert "q=enterprise" in page.url
    console.expect_accessible()
    with console.at_width(360):
        pass


def test_a_group_shows_its_properties_events_and_flags(
    console: Console, companies: Project
) -> None:
    by_company = {"aggregation_group_type_index": 0}
    plan = has("plan", "enterprise", type="group") | {"group_type_index": 0}
    companies.flag("dashboard", when(plan), filters=by_company)
    companies.flag("for-persons")
    console.open(companies.at("groups"))
    page = console.page

    page.get_by_role("link", name="acme").click()
    expect(page.get_by_role("row", name="plan")).to_contain_text("enterprise")
    page.get_by_role("tab", name="Flags now").click()
    expect(page.get_by_role("row", name="dashboard")).to_contain_text("Condition 1 matches")
    expect(page.get_by_text("for-persons")).to_have_count(0)
    page.get_by_role("tab", name="Events").click()
    page.get_by_role("row", name="order placed").click()

    expect(page.get_by_role("dialog").get_by_role("row", name="amount")).to_contain_text("42")
    console.expect_accessible()


def test_a_key_of_any_signs_is_opened(console: Console, companies: Project) -> None:
    console.open(companies.at("groups"))

    console.page.get_by_role("link", name=HOSTILE).click()

    expect(console.page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    expect(console.page.get_by_role("row", name="plan")).to_contain_text("free")


def test_an_empty_project_says_how_groups_come(console: Console, project: Project) -> None:
    console.open(project.at("groups"))

    expect(console.page.get_by_text("posthog.group(")).to_be_visible()
    console.expect_accessible()
