"""Long lists cost no more than what is seen of them, in elements of the page and in requests."""

import pytest
from playwright.sync_api import expect

from tests.console.bulk_rows import add_many_flags, add_many_persons
from tests.console.project import Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

FLAGS, PERSONS = 5_000, 100_000
NODES_MAX = 3_000
# Requests of a whole visit, including scripts and styles.
REQUESTS_MAX = 45
PAGES = 12

NODES = "() => document.querySelectorAll('*').length"
LAST_ROW = """() =>
  Number([...document.querySelectorAll('tr[aria-rowindex]')].at(-1).getAttribute('aria-rowindex'))"""


@pytest.fixture(scope="module")
def many_flags(module_project: Project) -> Project:
    add_many_flags(module_project, FLAGS)
    return module_project


def test_5000_flags_are_listed_and_filtered(console: Console, many_flags: Project) -> None:
    console.open(many_flags.at("flags"))
    assert console.page.evaluate(NODES) <= NODES_MAX
    assert console.watch.count() <= REQUESTS_MAX

    console.page.get_by_role("grid").hover()
    console.page.mouse.wheel(0, 500_000)
    console.settle()
    assert console.page.evaluate(NODES) <= NODES_MAX

    console.press("/")
    console.page.keyboard.type("flag-04999")
    expect(console.page.get_by_role("row", name="flag-04999")).to_be_visible()
    assert console.watch.count() <= 2 * REQUESTS_MAX


def test_a_list_of_100000_persons_costs_what_is_seen(console: Console, project: Project) -> None:
    add_many_persons(project, PERSONS)
    console.open(project.at("persons"))
    before = console.watch.count()

    console.page.get_by_role("grid").hover()
    for _ in range(PAGES):
        console.page.mouse.wheel(0, 50_000)
        console.settle()

    assert console.page.evaluate(LAST_ROW) > PAGES * 50
    assert console.page.evaluate(NODES) <= NODES_MAX
    assert console.watch.count() - before <= 2 * PAGES
