"""Retention in the console: who came back, in a table whose numbers open the persons."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from playwright.sync_api import Locator, expect

from tests.console.captured_days import CapturedDays
from tests.console.hostile import MARKUP
from tests.console.inert_values import expect_only_text
from tests.console.insight_page import insight, rows_of, sentence
from tests.console.project import Project, has
from tests.console.screen import Console, narrow, zoomed

pytestmark = pytest.mark.long("drives Chromium")

DAYS, MOST = 8, 8
VISITS: Final = CapturedDays(
    {
        ("ann", "signed up"): [7, 4],
        ("ann", "viewed"): [7, 6, 5, 1, 0],
        ("bob", "signed up"): [7],
        ("bob", "viewed"): [5, 4],
        ("cem", "signed up"): [4],
        ("cem", "viewed"): [3, 3, 0],
        ("dee", "signed up"): [4],
        ("eve", "viewed"): [7, 1],
    }
)


def grid(console: Console) -> Locator:
    return console.page.get_by_role("grid", name="Retention")


def numbers(console: Console) -> list[list[str]]:
    """Return the numbers in the table's rows, without the means."""
    rows = [row.get_by_role("button").all() for row in grid(console).get_by_role("row").all()]
    return [[one.inner_text().split("\n")[0] for one in row] for row in rows if row]


def percent(count: int, whole: int) -> str:
    return f"{round(count / whole * 100, 1):g}%" if whole else "–"


def test_all_that_shows_retention_agrees_and_each_number_opens_its_persons(
    console: Console, project: Project
) -> None:
    VISITS.capture(project)
    page = console.page
    question = {"series": [{"event": "signed up"}, {"event": "viewed"}], "from": f"-{DAYS - 1}d"}
    console.open(insight(project, **question))
    expected = VISITS.returned("signed up", "viewed", DAYS, MOST)

    with console.keyboard_only():
        console.tab_to(page.get_by_role("button", name="Retention"))
        console.press("Enter")
        expect(sentence(console)).to_have_text(
            "How many persons did signed up, per day, and how many of them did viewed in each of "
            "the 7 days after, last 7 days, without test accounts."
        )
        console.settle()
        shown = [[str(row[0]), *(percent(count, row[0]) for count in row[1:])] for row in expected]
        assert numbers(console) == shown
        # Two days after the first: two of two came back.
        console.tab_to(grid(console).get_by_role("button").first)
        console.press("ArrowRight", "ArrowRight", "Enter")
        drawer = page.get_by_role("dialog", name="Persons behind this number")
        count = expected[0][2]
        expect(drawer).to_have_accessible_description(
            re.compile(f"signed up, .*, viewed, Day 2: {count}$")
        )
        expect(drawer.get_by_role("grid", name="Persons").get_by_role("row")).to_have_count(
            1 + count
        )
        console.press("Escape")
        expect(grid(console).locator(":focus")).to_have_text("100%")
        console.press("t")
        cells = page.get_by_role("region", name="Result").get_by_role("cell")
        expect(cells.first).to_have_text(str(expected[0][0]))
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    header, *lines = rows_of(download.value.path())
    assert header == ["Began", "Persons", *(f"Day {k} (%)" for k in range(1, MOST))]
    assert [[int(line[1]), *filter(None, line[2:])] for line in lines] == [
        [row[0], *(percent(count, row[0])[:-1] for count in row[1:] if row[0])] for row in expected
    ]


def test_every_number_of_the_table_has_as_many_persons_as_it_says(
    console: Console, project: Project
) -> None:
    VISITS.capture(project)
    series = [{"event": "signed up"}, {"event": "viewed"}]
    options = {
        "retentionType": "retention_first_time",
        "cumulative": True,
        "aggregationAxisFormat": "numeric",
    }
    console.open(
        insight(project, kind="retention", series=series, retention=options, **{"from": "-7d"})
    )
    expect(sentence(console)).to_contain_text(
        "did signed up for the first time ever, per day, and how many of them did viewed in each "
        "of the 7 days after, or later"
    )

    once = VISITS.first("signed up")
    expected = once.returned("signed up", "viewed", DAYS, MOST, later=True)
    assert numbers(console) == [[str(count) for count in row] for row in expected]
    sizes = [row[0] for row in expected]
    # All means leave out the last day, which is still in progress.
    means = grid(console).get_by_role("row").nth(1).get_by_role("gridcell").all_inner_texts()[1:]
    for k, mean in enumerate(means, start=1):
        known = [row for row in expected if len(row) > k + 1]
        whole = sum(row[0] for row in known)
        assert mean == (percent(sum(row[k] for row in known), whole) if whole else ""), k
    assert sum(sizes) == len({who for who, event in VISITS.days_ago if event == "signed up"})
    for row, k in ((0, 0), (0, 1), (0, 7), (3, 0), (3, 4)):
        number = grid(console).get_by_role("row").nth(row + 2).get_by_role("button").nth(k)
        number.click()
        drawer = console.page.get_by_role("dialog", name="Persons behind this number")
        rows = drawer.get_by_role("grid", name="Persons").get_by_role("row")
        expect(rows).to_have_count(1 + expected[row][k])
        console.press("Escape")


def test_retention_by_a_property_has_rows_for_each_value_and_a_curve(
    console: Console, project: Project
) -> None:
    page = console.page
    project.persons(ann={"plan": "pro"}, bob={"plan": MARKUP}, cem={"plan": "x" * 300})
    for who in ("ann", "bob", "cem"):
        CapturedDays({(who, MARKUP): [2, 1] if who == "ann" else [2]}).capture(project)
    console.open(
        insight(
            project,
            kind="retention",
            series=[{"event": MARKUP}],
            breakdowns=[{"property": "plan", "type": "person"}],
            retention={"display": "ActionsLineGraph", "totalIntervals": 3},
            **{"from": "-2d"},
        )
    )

    expect_only_text(page)
    table = grid(console)
    opening = table.get_by_role("button", name="Show the rows of pro")
    expect(opening).to_have_attribute("aria-expanded", "false")
    expect(table.get_by_role("row").nth(1)).to_contain_text("100%")
    opening.click()
    expect(table.get_by_role("row").nth(2).get_by_role("button")).to_have_text(
        ["1", "100%", re.compile("^0%")]
    )
    table.get_by_role("row").nth(2).get_by_role("button").nth(1).click()
    drawer = page.get_by_role("dialog", name="Persons behind this number")
    expect(drawer.get_by_role("grid", name="Persons").get_by_role("row")).to_have_count(2)
    console.press("Escape")
    curve = page.get_by_role("slider", name=re.compile("^Mean of who does"))
    console.tab_to(curve)
    console.press("Home", "ArrowRight")
    expect(curve).to_have_attribute("aria-valuetext", re.compile("^Day 1: .*pro 100%"))
    console.expect_accessible()
    console.expect_to_fit_in(narrow(390), narrow(360), zoomed(200))


def test_retention_by_cohorts_has_their_names_wherever_it_shows_numbers(
    console: Console, project: Project
) -> None:
    project.persons(ann={"plan": "pro"}, bob={"plan": "pro"}, cem={"plan": "free"})
    came = {("ann", "signed up"): [2], ("bob", "signed up"): [2], ("cem", "signed up"): [2]}
    CapturedDays(came | {("ann", "viewed"): [1], ("cem", "viewed"): [1]}).capture(project)
    cohort = project.cohort("Pros", has("plan", "pro"))
    project.await_cohorts()
    page = console.page
    ids = (str(cohort["id"]), "all")
    console.open(
        insight(
            project,
            kind="retention",
            series=[{"event": "signed up"}, {"event": "viewed"}],
            breakdowns=[{"type": "cohort", "property": one} for one in ids],
            retention={"display": "ActionsLineGraph", "totalIntervals": 3},
            **{"from": "-2d"},
        )
    )

    table = grid(console)
    expect(table.get_by_role("button", name="Show the rows of all users")).to_be_visible()
    table.get_by_role("button", name="Show the rows of Pros").click()
    of_pros = table.get_by_role("row").filter(has=page.get_by_role("button", name="50%"))
    of_pros.get_by_role("button", name="50%").click()
    drawer = page.get_by_role("dialog", name="Persons behind this number")
    expect(drawer).to_have_accessible_description(
        re.compile("^signed up, Pros, .*, viewed, Day 1: 1$")
    )
    expect(drawer.get_by_role("grid", name="Persons").get_by_role("row")).to_have_count(2)
    console.press("Escape")
    curve = page.get_by_role("slider", name=re.compile("^Mean of who does"))
    console.tab_to(curve)
    console.press("Home", "ArrowRight")
    expect(curve).to_have_attribute(
        "aria-valuetext", re.compile(r"^Day 1: .*all users 66\.7%.*Pros 50%")
    )
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").last.click()
    _, *lines = rows_of(download.value.path())
    first = {line[0].split(",")[0]: [float(one) for one in line[1:3]] for line in lines[::3]}
    assert first == {"all users": [3, 66.7], "Pros": [2, 50]}


def test_what_retention_cannot_do_is_said_at_its_field(console: Console, project: Project) -> None:
    project.events("viewed", "ann")
    page = console.page
    console.watch.expect_status(400, "/query/")

    console.open(
        insight(project, kind="retention", series=[{"event": "viewed"}], **{"from": "-90d"})
    )
    expect(page.get_by_text("Retention has at most 64 intervals")).to_be_visible()
    console.choose(page.get_by_role("combobox", name="Interval", exact=True), "by week")
    expect(grid(console)).to_be_visible()

    field = page.get_by_role("textbox", name="Intervals shown")
    field.fill("65")
    expect(field).to_have_accessible_description("A whole number from 1 to 64.")
    field.fill("2")
    expect(sentence(console)).to_contain_text("in the week after")
    field.fill("1")
    expect(sentence(console)).to_have_text(
        "How many persons did viewed, per week, last 90 days, without test accounts."
    )


def test_brackets_windows_and_sums_are_chosen_in_the_builder(
    console: Console, project: Project
) -> None:
    joined = datetime.now(UTC) - timedelta(days=4)
    paid = {1: 10, 25: 5, 73: 2}
    project.capture(
        {"event": "joined", "distinct_id": "ann", "timestamp": joined.isoformat()},
        *(
            {
                "event": "paid",
                "distinct_id": "ann",
                "timestamp": (joined + timedelta(hours=hours)).isoformat(),
                "properties": {"amount": amount},
            }
            for hours, amount in paid.items()
        ),
    )
    page = console.page
    series = [{"event": "joined"}, {"event": "paid"}]
    console.open(insight(project, kind="retention", series=series, **{"from": "-6d"}))

    field = page.get_by_role("textbox", name="Brackets")
    field.fill("1, 0")
    expect(field).to_have_accessible_description(re.compile("Whole numbers above 0"))
    field.fill("1, 2")
    page.get_by_role("switch", name="Windows of 24 hours from the first event").click()
    console.choose(page.get_by_role("combobox", name="Measure"), "Sum of a property")
    page.get_by_role("combobox", name="Property", exact=True).fill("amount")
    page.get_by_role("option", name="amount").first.click()
    expect(sentence(console)).to_contain_text(
        "in day 1 and days 2–3 after, in windows of 24 hours from their first event and the sum "
        "of the property amount"
    )
    console.choose(page.get_by_role("combobox", name="Numbers"), "numbers")
    heads = grid(console).get_by_role("columnheader")
    expect(heads).to_have_text(["Began", "Persons", "Day 0", "Day 1", "Day 2–3"])
    assert ["1", "10", "5", "2"] in numbers(console)
    grid(console).get_by_role("button", name="5", exact=True).click()
    drawer = page.get_by_role("dialog", name="Persons behind this number")
    expect(drawer).to_have_accessible_description(re.compile(r"paid, Day 1: 5 \(Persons: 1\)$"))
    expect(drawer.get_by_role("grid", name="Persons").get_by_role("row")).to_have_count(2)
    console.press("Escape")
    console.expect_accessible()
    console.expect_to_fit_in(narrow(360))
