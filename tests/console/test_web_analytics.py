"""Web analytics: its numbers, of events that a test has sent, and how rows filter them."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.input_devices import InputDevice, Keyboard, Pointer
from tests.console.project import Project
from tests.console.screen import Console
from tests.console.web_visits import Numbers, View, Visit, some_visits

pytestmark = pytest.mark.long("drives Chromium")

NOW, BEFORE = range(1, 13), range(31, 43)
VISITS = some_visits(7, NOW)
VISITS_BEFORE = some_visits(8, BEFORE)
PHONE = 390


@pytest.fixture(params=["pointer", "keys"])
def device(request: pytest.FixtureRequest, console: Console) -> InputDevice:
    return Pointer(console) if request.param == "pointer" else Keyboard(console)


@pytest.fixture(scope="module")
def site(module_project: Project) -> Project:
    """Send all visits; no test of this file changes the project."""
    visits = [*VISITS, *VISITS_BEFORE]
    module_project.capture(*(sent for visit in visits for sent in visit.events()))
    return module_project


def figures(page: Page) -> list[str]:
    values = page.get_by_role("region", name="Overview").locator("li .text-2xl")
    return values.all_inner_texts()


def rows(page: Page, table: str) -> list[tuple[str, int, int]]:
    """Return name, visitors and views of each row."""
    found = []
    for row in page.get_by_role("table", name=table, exact=True).locator("tbody tr").all():
        name, *numbers = [cell.inner_text().strip() for cell in row.locator("th, td").all()]
        found.append((name, int(numbers[0]), int(numbers[1])))
    return found


def row(page: Page, table: str, name: str) -> Locator:
    found = page.get_by_role("table", name=table, exact=True).get_by_role("row")
    return found.filter(has=page.get_by_role("button", name=name, exact=True))


def expect_numbers(console: Console, numbers: Numbers) -> None:
    """Expect the figures and the tables that are shown first."""
    console.settle()
    page = console.page
    assert figures(page) == numbers.figures()
    assert rows(page, "Pages") == numbers.table(lambda _, view: view.path)[:10]
    browsers = numbers.table(lambda visit, _: visit.browser)
    assert rows(page, "Browsers") == browsers


def country(visit: Visit, _: View) -> str | None:
    return {"DE": "Germany", "FR": "France"}[visit.place[0]] if visit.place else "No country"


def city(visit: Visit, _: View) -> str:
    return f"{visit.place[3]}{country(visit, _)}" if visit.place else "No city"


def region(visit: Visit, _: View) -> str:
    return f"{visit.place[2]}{country(visit, _)}" if visit.place else "No region"


TABLES = (
    ("Sources", "Referrers", "Referrers", lambda visit, _: named(visit.referrer)),
    ("Sources", "Campaigns", "UTM sources", lambda visit, _: visit.source or "No UTM source"),
    ("Pages", "Entry", "Entry pages", lambda visit, _: visit.views[0].path),
    ("Pages", "Exit", "Exit pages", lambda visit, _: visit.views[-1].path),
    ("Places", "Countries", "Countries", country),
    ("Places", "Regions", "Regions", region),
    ("Places", "Cities", "Cities", city),
)


def named(referrer: str) -> str:
    return "Direct" if referrer == "$direct" else referrer


def test_figures_and_tables_are_those_of_the_events(console: Console, site: Project) -> None:
    page, numbers = console.page, Numbers(VISITS)
    console.open(site.at("web"))
    page.get_by_role("region", name="Goals").or_(
        page.get_by_text("Add a goal")
    ).first.scroll_into_view_if_needed()

    expect_numbers(console, numbers)
    for panel, tab, table, value in TABLES:
        page.get_by_role("tablist", name=panel).get_by_role("tab", name=tab, exact=True).click()
        console.settle()
        found = {name.replace("\n", ""): tuple(others) for name, *others in rows(page, table)}
        wanted = {name: tuple(others) for name, *others in numbers.table(value)}
        assert found == wanted, table
    before = int(Numbers(VISITS_BEFORE).figures()[1])
    percent = abs(round(100 * (int(numbers.figures()[1]) - before) / before))
    views = page.get_by_role("button", name=re.compile("^Views"))
    expect(views).to_contain_text(f"{percent}% from {before}")
