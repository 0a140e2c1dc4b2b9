"""Paths in the console: what people do next, in a graph that arrow keys can navigate."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final

import pytest
from playwright.sync_api import Locator, expect

from tests.console.hostile import MARKUP
from tests.console.inert_values import expect_only_text
from tests.console.insight_page import insight, rows_of, sentence
from tests.console.project import Project
from tests.console.screen import Console, narrow, zoomed

pytestmark = pytest.mark.long("drives Chromium")

SITE = "https://shop.example"
REST_MIN = 30
Visits = dict[str, list[tuple[int, str]]]
Path = list[tuple[int, str]]
# The pages of each person, with the minute at which each was opened.
VISITS: Final[Visits] = {
    "ann": [(0, "/"), (2, "/docs"), (3, "/pricing"), (60, "/"), (61, "/docs")],
    "bob": [(0, "/"), (5, "/docs/"), (6, "/docs"), (9, "/product/1")],
    "cem": [(0, "/pricing"), (1, "/product/2"), (4, "/paid")],
    "dee": [(0, "/"), (1, "/product/1"), (2, "/help"), (3, "/product/2"), (8, "/paid")],
}


def capture(project: Project, visits: Visits) -> None:
    begin = datetime.now(UTC) - timedelta(days=1)
    project.capture(
        *(
            {
                "event": "$pageview",
                "distinct_id": who,
                "timestamp": (begin + timedelta(minutes=minute)).isoformat(),
                "properties": {"$current_url": f"{SITE}{page}"},
            }
            for who, pages in visits.items()
            for minute, page in pages
        )
    )


def paths(
    visits: Visits, name: Callable[[str], str | None] = lambda page: page
) -> Iterator[tuple[str, Path]]:
    """Yield each person with their path.

    Args:
        name: Returns the name of a page, or None to leave the page out.
    """
    for who, pages in visits.items():
        path: Path = []
        for minute, page in pages:
            own = name(page.removesuffix("/"))
            if own is None:
                continue
            if path and minute - path[-1][0] >= REST_MIN:
                yield who, path
                path = []
            if path and path[-1][1] == own:
                path.pop()
            path.append((minute, own))
        yield who, path


def table_of(all_paths: list[tuple[str, Path]]) -> dict[str, tuple[int, str]]:
    """Return the count and mean seconds of each link, and the number of paths that end."""
    times: dict[str, list[int]] = defaultdict(list)
    ends: Counter[str] = Counter()
    for _, path in all_paths:
        for step, ((before, source), (after, target)) in enumerate(pairwise(path), start=1):
            times[f"{step}. {SITE}{source} → {SITE}{target}"].append(60 * (after - before))
        ends[f"{len(path)}. {SITE}{path[-1][1]} → (ended)"] += 1
    links = {
        row: (len(found), f"{round(sum(found) / len(found), 1):g}") for row, found in times.items()
    }
    return {**links, **{row: (count, "") for row, count in ends.items()}}


def csv_of(console: Console) -> dict[str, tuple[int, str]]:
    with console.page.expect_download() as download:
        console.page.get_by_role("button", name="Download as CSV").click()
    header, *lines = rows_of(download.value.path())
    assert header == ["Steps", "Paths", "Mean time (s)"]
    return {row: (int(count), seconds) for row, count, seconds in lines}


def graph(console: Console) -> Locator:
    return console.page.get_by_role("group", name="Paths, step by step")


def test_all_that_shows_paths_agrees_and_is_walked_through_by_keys(
    console: Console, project: Project
) -> None:
    capture(project, VISITS)
    page = console.page
    console.open(insight(project, series=[{"event": "$pageview"}], **{"from": "-7d"}))
    all_paths = list(paths(VISITS))
    expected = table_of(all_paths)

    with console.keyboard_only():
        console.tab_to(page.get_by_role("button", name="Paths", exact=True))
        console.press("Enter")
        console.tab_to(page.get_by_role("checkbox", name="Page views"))
        console.press("Space")
        expect(sentence(console)).to_have_text(
            "The paths of persons through page views, 5 steps at most, last 7 days, 50 most "
            "frequent links, without test accounts."
        )
        console.settle()
        # The most frequent first step, and what most often follows it.
        first = graph(console).get_by_role("button", name="Step 1, / 4 paths", exact=True)
        console.tab_to(first)
        console.press("ArrowRight")
        link = graph(console).locator(":focus")
        expect(link).to_have_accessible_name("/ → /docs: 3 paths, 3 min on average")
        console.press("Enter")
        drawer = page.get_by_role("dialog", name="Persons behind this number")
        expect(drawer).to_have_accessible_description(f"{SITE} → {SITE}/docs: 3 paths")
        rows = drawer.get_by_role("grid", name="Persons").get_by_role("row")
        went = [who for who, path in all_paths if [step for _, step in path][:2] == ["", "/docs"]]
        expect(rows).to_have_count(1 + len(set(went)))
        expect(rows.filter(has_text="ann")).to_contain_text(str(went.count("ann")))
        console.press("Escape")
        expect(link).to_be_focused()
        console.press("ArrowRight")
        expect(graph(console).locator(":focus")).to_have_accessible_name("Step 2, /docs 3 paths")
        console.press("ArrowDown")
        expect(graph(console).locator(":focus")).to_have_accessible_name(re.compile("^Step 2, "))
        console.press("t")
        cells = page.get_by_role("region", name="Result").get_by_role("row")
        expect(cells).to_have_count(1 + len(expected))
    assert csv_of(console) == expected


def test_each_number_of_the_graph_has_its_persons(console: Console, project: Project) -> None:
    capture(project, VISITS)
    console.open(insight(project, kind="paths", paths={"includeEventTypes": ["$pageview"]}))
    page, all_paths = console.page, list(paths(VISITS))
    drawer = page.get_by_role("dialog", name="Persons behind this number")
    rows = drawer.get_by_role("grid", name="Persons").get_by_role("row")

    reached = {who for who, path in all_paths if [step for _, step in path][1:2] == ["/docs"]}
    graph(console).get_by_role("button", name="Step 2, /docs 3 paths").click()
    expect(drawer).to_have_accessible_description(f"Reached {SITE}/docs as step 2: 3 paths")
    expect(rows).to_have_count(1 + len(reached))
    console.press("Escape")

    ended = {who for who, path in all_paths if len(path) == 3 and path[-1][1] == "/paid"}
    graph(console).get_by_role("button", name="Step 3, /paid: 1 ended").click()
    expect(rows).to_have_count(1 + len(ended))
    console.press("Escape")

    went_on = {who for who, path in all_paths if path[0][1] == "" and len(path) > 1}
    graph(console).get_by_role("button", name="Step 1, / 4 paths", exact=True).click()
    expect(drawer).to_have_accessible_description(f"Went on from {SITE}: 4 paths")
    expect(rows).to_have_count(1 + len(went_on))


def test_paths_between_two_points_with_pages_grouped_and_left_out(
    console: Console, project: Project
) -> None:
    capture(project, VISITS)
    page = console.page
    console.open(insight(project, kind="paths", paths={"includeEventTypes": ["$pageview"]}))

    page.get_by_role("combobox", name="Start at").fill(f"{SITE}/")
    console.press("Enter")
    page.get_by_role("combobox", name="End at").fill(f"{SITE}/paid")
    console.press("Enter")
    page.get_by_role("textbox", name="Left out").fill(f"{SITE}/help")
    page.get_by_role("textbox", name="Grouped").fill(f"{SITE}/product/*")
    page.get_by_role("textbox", name="Links at most").fill("20")

    expect(sentence(console)).to_have_text(
        f"The paths of persons through page views from {SITE}/ to {SITE}/paid, 5 steps at most, "
        f"last 30 days, without {SITE}/help, grouped by {SITE}/product/*, 20 most frequent links, "
        "without test accounts."
    )
    console.settle()

    def named(step: str) -> str | None:
        if step == "/help":
            return None
        return "/product/*" if step.startswith("/product/") else step

    between = []
    for who, path in paths(VISITS, named):
        steps = [step for _, step in path]
        if "" in steps and "/paid" in steps[steps.index("") :]:
            between.append((who, path[steps.index("") : steps.index("/paid") + 1]))
    assert between
    assert csv_of(console) == table_of(between)


def test_hostile_names_are_only_text_and_errors_stand_at_their_fields(
    console: Console, project: Project
) -> None:
    page = console.page
    long = f"/{'x' * 300}"
    capture(project, {"ann": [(0, "/"), (1, long), (2, f"/{MARKUP}"), (3, "/"), (4, long)]})
    project.events(MARKUP, "ann", "bob")

    console.open(insight(project, kind="paths"))
    expect(graph(console)).to_be_visible()
    expect_only_text(page)
    console.expect_accessible()

    console.watch.expect_status(400, "/query/")
    page.get_by_role("button", name="Add rule").click()
    page.get_by_role("textbox", name="Regular expression 1").fill("(")
    expect(page.get_by_text("Not a valid regular expression (RE2).")).to_be_visible()
    page.get_by_role("textbox", name="Regular expression 1").fill("/x+$")
    page.get_by_role("textbox", name="Replacement 1").fill("/many")
    expect(sentence(console)).to_contain_text("with names cleaned by 1 rule")
    expect(graph(console).get_by_role("button", name="/many ").first).to_be_visible()
    console.expect_to_fit_in(narrow(390), narrow(360), zoomed(200))
