"""SQL: the editor with its errors, variables and result."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.console.conftest import Visit
from tests.console.hostile import HOSTILE, MARKUP
from tests.console.inert_values import expect_only_text
from tests.console.project import Project
from tests.console.screen import LAYOUT_SHIFT_MAX, Console

pytestmark = pytest.mark.long("drives Chromium")

LARGE = 18_446_744_073_709_551_615
WRONG = "select event,\n  nonsense(event)\nfrom events"


@pytest.fixture
def orders(project: Project) -> Project:
    project.events("order", "ann", "ben", plan="pro")
    project.events("order", "cem", plan="free", note=HOSTILE["formula"])
    project.events(MARKUP, "ann", unseen=HOSTILE["bidi"], note=HOSTILE["lines"])
    return project


def editor_of(console: Console) -> Locator:
    return console.page.get_by_role("textbox", name="SQL query")


def write(console: Console, text: str) -> None:
    """Replace the text of the editor by typing."""
    editor_of(console).focus()
    console.press("Control+a")
    console.page.keyboard.insert_text(text)


def run(console: Console, text: str) -> None:
    write(console, text)
    console.press("Control+Enter")
    console.settle()


def cells(console: Console) -> list[list[str]]:
    rows = console.page.get_by_role("grid", name="Result").locator("tbody tr[data-index]").all()
    return [row.get_by_role("gridcell").all_inner_texts() for row in rows]


def test_a_query_is_written_run_and_corrected_by_keyboard_alone(
    console: Console, orders: Project
) -> None:
    console.open(orders.at())
    page = console.page

    with console.keyboard_only():
        console.press("g", "q")
        console.settle()
        assert console.layout_shift() < LAYOUT_SHIFT_MAX
        console.tab_to(editor_of(console))
        console.watch.expect_status(400, "/query/")
        run(console, WRONG)
        error = page.get_by_role("alert")
        expect(error).to_contain_text("nonsense")
        expect(page.locator(".cm-sql-error")).to_have_text("nonsense")
        console.expect_accessible()
        console.tab_to(page.get_by_role("button", name="Go to the error"))
        console.press("Enter")
        expect(editor_of(console)).to_be_focused()
        console.press(*(["Delete"] * len("nonsense")))
        page.keyboard.insert_text("upper")
        expect(page.locator(".cm-sql-error")).to_have_count(0)
        console.press("Control+Enter")
        console.settle()
        expect(error).to_have_count(0)
        assert ["order", "ORDER"] in cells(console)
        console.press("Tab")
        expect(editor_of(console)).not_to_be_focused()
    expect(page.get_by_text(re.compile(r"^4 rows\. .* read in"))).to_be_visible()
    console.expect_accessible()
    expect_only_text(page)
    with console.at_width(360), console.at_zoom(200):
        pass
    asked = page.url
    console.open(asked.removeprefix(console.origin))
    assert ["order", "ORDER"] in cells(console)


def test_variables_are_fields_and_the_csv_has_the_values_shown(
    console: Console, orders: Project, tmp_path: Path
) -> None:
    console.open(orders.at("sql"))
    page = console.page
    write(
        console,
        "select event, properties.note as note, toFloat({variables.by}) * 2 as twice,"
        f" {LARGE} as large from events where properties.plan = {{variables.plan}}"
        " or event = 'none' order by distinct_id limit 1",
    )

    page.get_by_label("plan", exact=True).fill("free")
    page.get_by_label("by", exact=True).fill("2.5")
    page.get_by_role("button", name="Run", exact=True).click()
    console.settle()

    assert cells(console) == [["order", str(HOSTILE["formula"]), "5", str(LARGE)]]
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    path = tmp_path / "sql.csv"
    download.value.save_as(path)
    header, row = csv.reader(path.read_text("utf-8-sig").splitlines())
    assert header == ["event", "note", "twice", "large"]
    assert row == ["order", f"'{HOSTILE['formula']}", "5", str(LARGE)]
    run(console, "select distinct_id, null, [1, 2], properties from events limit 2")
    expect(page.get_by_text("The first 2 rows of more.")).to_be_visible()
    expect_only_text(page)


def test_a_running_query_is_cancelled(console: Console, orders: Project) -> None:
    console.open(orders.at("sql"))
    console.page.route("**/query/", lambda _: None)

    write(console, "select 1")
    console.press("Control+Enter")
    console.page.get_by_role("button", name="Cancel").click()

    expect(console.page.get_by_text("Cancelled. No answer was read.")).to_be_visible()
    console.page.unroute_all()
    run(console, "select 41 + 1 as answer")
    assert cells(console) == [["42"]]


def test_names_are_completed_while_they_are_typed(console: Console, orders: Project) -> None:
    console.open(orders.at("sql"))
    page = console.page
    write(console, "SELECT person.")

    console.press("Control+Space")
    expect(page.get_by_role("option", name="created_at")).to_be_visible()
    console.expect_accessible()
    console.press("Escape")
    write(console, "SELECT properties.pl")
    console.press("Control+Space")
    # Keys choose nothing in the first moment of a list, so that none is chosen by mistake.
    page.get_by_role("option", name=".plan").click()
    page.keyboard.type(" AS plan, uniqEx")
    page.get_by_role("option", name="uniqExact", exact=True).click()
    page.keyboard.type("person_id) AS persons FROM even")
    expect(page.get_by_role("option", name="events", exact=True)).to_be_visible()
    console.press("Escape")
    page.keyboard.type("ts WHERE event = 'order' GROUP BY plan ORDER BY plan")
    console.press("Control+Enter")
    console.settle()

    assert cells(console) == [["free", "1"], ["pro", "2"]]
    write(console, "select count() from persons where")
    persons = page.locator("summary").get_by_text("persons", exact=True)
    persons.click()
    columns = page.get_by_role("list", name="Columns of persons")
    expect(columns.get_by_role("button")).to_have_count(4)
    columns.get_by_role("button", name="created_at time").click()
    expect(editor_of(console)).to_be_focused()
    page.keyboard.type(" > '2000-01-01'")
    console.press("Control+Enter")
    console.settle()
    assert cells(console) == [["3"]]
    console.expect_accessible()
    with console.at_width(360):
        console.open(orders.at("sql"))
        expect(page.get_by_text("Tables", exact=True)).to_be_visible()
        expect(persons).to_be_hidden()


def test_a_query_is_saved_drawn_and_shown_on_a_dashboard_and_behind_its_link(
    console: Console, orders: Project, visit: Visit
) -> None:
    board = orders.post("/dashboards/", name="Plans", filters={"date_from": "-3d"})
    console.open(orders.at("sql"))
    page = console.page
    run(
        console,
        "select properties.plan as plan, count() as orders from events"
        " where {filters} and event = 'order' group by plan order by plan",
    )
    console.choose(page.get_by_label("Show as", exact=True), "Bars")
    chart = page.get_by_role("figure", name="orders by plan")
    expect(chart.get_by_role("slider")).to_have_attribute(
        "aria-valuetext", re.compile("pro: orders 2")
    )
    assert "display=bar" in page.url

    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_label("Name", exact=True).fill("Orders by plan")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Orders by plan")
    expect(chart).to_be_visible()
    write(console, "select count() as all_orders from events where event = 'order' and {filters}")
    console.choose(page.get_by_label("Show as", exact=True), "Number")
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_role("button", name="Save changes")).to_have_count(0)
    page.get_by_role("button", name="Add to dashboard").click()
    page.get_by_role("menuitem", name="Plans").click()
    console.expect_toast("Added to Plans")

    console.open(orders.at("insights?kind=sql"))
    expect(page.get_by_role("row", name="Orders by plan")).to_contain_text("SQL")
    console.open(orders.at(f"dashboards/{board['id']}"))
    tile = page.get_by_role("article", name="Orders by plan")
    expect(tile.get_by_role("figure", name="all_orders")).to_contain_text("3")
    console.expect_accessible()
    by_zero = {"kind": "HogQLQuery", "query": "select intDiv(1, count() - count()) from events"}
    orders.post("insights", name="By zero", query=by_zero, dashboards=[board["id"]])
    token = orders.post(f"/dashboards/{board['id']}/share/")["token"]
    stranger = visit(None)
    stranger.open(f"/shared/{token}")
    expect(stranger.page.get_by_role("figure", name="all_orders")).to_contain_text("3")
    failed = stranger.page.get_by_role("article", name="By zero")
    expect(failed).to_contain_text("This number cannot be calculated.")


def test_what_was_run_and_typed_is_kept_in_the_browser(console: Console, orders: Project) -> None:
    console.open(orders.at("sql"))
    run(console, "select 1 as first_one")
    run(console, "select 2 as second_one")
    write(console, "select 'typed'")

    console.open(orders.at("sql"))

    expect(editor_of(console)).to_have_text("select 'typed'")
    console.page.get_by_text("History", exact=True).click()
    console.page.get_by_role("button", name="Open the query select 1 as first_one").click()
    expect(editor_of(console)).to_have_text("select 1 as first_one")
    console.page.get_by_role("button", name="Clear the history").click()
    expect(console.page.get_by_text("Queries that you run are kept here")).to_be_visible()
