"""Web analytics: its numbers for events that the tests have sent, and filtering by rows."""

import csv
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.console.hostile import MARKUP
from tests.console.inert_values import expect_only_text
from tests.console.input_devices import InputDevice, Keyboard, Pointer
from tests.console.project import Project
from tests.console.screen import Console, narrow, zoomed
from tests.console.web_visits import (
    LINK,
    Keeps,
    Numbers,
    View,
    Visit,
    change,
    event,
    share,
    some_visits,
)
from tests.support.awaited import until

pytestmark = pytest.mark.long("drives Chromium")

NOW, BEFORE = range(1, 13), range(31, 43)
VISITS = some_visits(7, NOW)
VISITS_BEFORE = some_visits(8, BEFORE)
PHONE = 390
ALL_PANELS_PX = 1_700  # of a window tall enough to show every panel
QUERY = "**/query/"
LAST_POINT_PX = 26  # from the right edge of a chart


@pytest.fixture(params=["pointer", "keys"])
def device(request: pytest.FixtureRequest, console: Console) -> InputDevice:
    return Pointer(console) if request.param == "pointer" else Keyboard(console)


@pytest.fixture(scope="module")
def site(module_project: Project) -> Project:
    """Send all visits; no test of this file changes the project."""
    visits = [*VISITS, *VISITS_BEFORE]
    module_project.capture(*(sent for visit in visits for sent in visit.events()))
    module_project.post("/actions/", name="Any sign-up", steps=[{"event": "signed up"}])
    return module_project


def open_web(console: Console, project: Project, query: str = "") -> None:
    console.page.set_viewport_size({"width": 1440, "height": ALL_PANELS_PX})
    console.open(project.at(f"web{query}"))


def figures(page: Page) -> list[str]:
    values = page.get_by_role("region", name="Overview").locator("li .text-2xl")
    return values.all_inner_texts()


def rows(page: Page, table: str) -> list[tuple[str, int, int]]:
    """Return the name, visitors and views of each row."""
    found = []
    for row in page.get_by_role("table", name=table, exact=True).locator("tbody tr").all():
        name, *numbers = [cell.inner_text().strip() for cell in row.locator("th, td").all()]
        found.append((name, int(numbers[0]), int(numbers[1])))
    return found


def row(page: Page, table: str, name: str) -> Locator:
    found = page.get_by_role("table", name=table, exact=True).get_by_role("row")
    return found.filter(has=page.get_by_role("button", name=name, exact=True))


def expect_numbers(console: Console, numbers: Numbers) -> None:
    """Expect the figures, and one table each by an event, session and person value."""
    console.settle()
    page = console.page
    assert figures(page) == numbers.figures()
    assert rows(page, "Pages") == numbers.table(lambda _, view: view.path)
    assert rows(page, "Browsers") == numbers.table(lambda visit, _: visit.browser)


def without_breaks(found: Sequence[tuple[str, int, int]]) -> dict[str, tuple[int, int]]:
    return {" ".join(name.split()): (visitors, views) for name, visitors, views in found}


def country(visit: Visit, _: View) -> str:
    return {"DE": "Germany", "FR": "France"}[visit.place[0]] if visit.place else "No country"


def region(visit: Visit, view: View) -> str:
    return f"{visit.place[2]} {country(visit, view)}" if visit.place else "No region"


def city(visit: Visit, view: View) -> str:
    return f"{visit.place[3]} {country(visit, view)}" if visit.place else "No city"


def referrer(visit: Visit, _: View) -> str:
    return "Direct" if visit.referrer == "$direct" else visit.referrer


def previous_page(visit: Visit, view: View) -> str:
    before = visit.before(view)
    return "No previous page" if before is None else before.path


TABLES = (
    ("Sources", "Referrers", "Referrers", referrer),
    ("Sources", "Campaigns", "UTM sources", lambda visit, _: visit.source or "No UTM source"),
    ("Pages", "Entry", "Entry pages", lambda visit, _: visit.views[0].path),
    ("Pages", "Exit", "Exit pages", lambda visit, _: visit.views[-1].path),
    ("Pages", "Previous", "Previous pages", previous_page),
    ("Places", "Countries", "Countries", country),
    ("Places", "Regions", "Regions", region),
    ("Places", "Cities", "Cities", city),
)


def test_figures_and_tables_are_those_of_the_events(console: Console, site: Project) -> None:
    page, numbers, before = console.page, Numbers(VISITS), Numbers(VISITS_BEFORE)
    open_web(console, site)

    expect_numbers(console, numbers)
    for panel, tab, table, value in TABLES:
        page.get_by_role("tablist", name=panel).get_by_role("tab", name=tab, exact=True).click()
        console.settle()
        assert without_breaks(rows(page, table)) == without_breaks(numbers.table(value)), table
    page.get_by_role("tab", name="Links", exact=True).click()
    console.settle()
    followed = [visit.person for visit in VISITS if visit.follows_link]
    assert rows(page, "External links") == [(LINK, len(set(followed)), len(followed))]
    views, views_before = (int(each.figures()[1]) for each in (numbers, before))
    percent = abs(change(views, views_before))
    button = page.get_by_role("button", name=re.compile("^Views"))
    expect(button).to_contain_text(f"{percent}% from {views_before}")


FILTERS: tuple[tuple[str, str, str, str, Keeps], ...] = (
    (
        "Places",
        "Countries",
        "Countries",
        "Germany",
        lambda visit, view: country(visit, view) == "Germany",
    ),
    ("Places", "Cities", "Cities", "No city", lambda visit, _: visit.place is None),
    (
        "Sources",
        "Referrers",
        "Referrers",
        "news.example",
        lambda visit, _: visit.referrer == "news.example",
    ),
    ("Pages", "Top", "Pages", "/users/1", lambda _, view: view.path == "/users/1"),
    ("Pages", "Exit", "Exit pages", "/docs", lambda visit, _: visit.views[-1].path == "/docs"),
)


@pytest.mark.parametrize("panel, tab, table, name, keeps", FILTERS, ids=lambda one: str(one)[:12])
def test_a_row_shows_only_its_visits_or_all_others(
    console: Console, site: Project, panel: str, tab: str, table: str, name: str, keeps: Keeps
) -> None:
    page = console.page
    open_web(console, site)
    page.get_by_role("tablist", name=panel).get_by_role("tab", name=tab, exact=True).click()

    row(page, table, name).get_by_role("button", name=name, exact=True).click()
    expect(page.get_by_role("list", name="Filters").get_by_role("listitem")).to_have_count(1)
    page.get_by_role("tablist", name="Pages").get_by_role("tab", name="Top").click()
    expect_numbers(console, Numbers(VISITS, keeps))

    page.get_by_role("list", name="Filters").get_by_role("button", name=f" is {name}").first.click()
    expect_numbers(console, Numbers(VISITS, lambda visit, view: not keeps(visit, view)))


def test_filters_are_in_the_address(device: InputDevice, site: Project) -> None:
    console, page = device.console, device.console.page

    def is_german(visit: Visit, view: View) -> bool:
        return country(visit, view) == "Germany"

    def both(visit: Visit, view: View) -> bool:
        return is_german(visit, view) and visit.browser != "Safari"

    open_web(console, site)
    device.act(row(page, "Countries", "Germany").get_by_role("button", name="Germany", exact=True))
    expect_numbers(console, Numbers(VISITS, is_german))
    device.act(page.get_by_role("button", name="Leave out Safari"))
    expect_numbers(console, Numbers(VISITS, both))
    chips = page.get_by_role("list", name="Filters").get_by_role("listitem")
    expect(chips.filter(has_text="Country is Germany")).to_be_visible()
    expect(chips.filter(has_text="Browser is not Safari")).to_be_visible()
    console.expect_accessible()

    page.reload()
    expect_numbers(console, Numbers(VISITS, both))
    page.go_back()
    expect_numbers(console, Numbers(VISITS, is_german))
    page.go_back()
    expect_numbers(console, Numbers(VISITS))
    page.go_forward()
    page.go_forward()
    expect_numbers(console, Numbers(VISITS, both))
    device.act(page.get_by_role("button", name="Remove filter: Country is Germany"))
    expect_numbers(console, Numbers(VISITS, lambda visit, _: visit.browser != "Safari"))
    device.act(page.get_by_role("button", name="Remove filter: Browser is not Safari"))
    expect_numbers(console, Numbers(VISITS))
    console.expect_to_fit_in(narrow(PHONE), zoomed(200))


def read_csv(file: Path) -> list[list[str]]:
    return list(csv.reader(file.read_text(encoding="utf-8-sig").splitlines()))


def test_all_rows_are_searched_sorted_saved_and_chosen(device: InputDevice, site: Project) -> None:
    console, page = device.console, device.console.page
    numbers, paths = Numbers(VISITS), Numbers(VISITS).table(lambda _, view: view.path)
    open_web(console, site)
    with page.expect_download() as download:
        device.act(page.get_by_role("tabpanel", name="Top").get_by_role("button", name="CSV"))
    header, *lines = read_csv(download.value.path())
    assert header == ["Page", "Visitors", "Views", "Time (p90)", "Bounce rate"]
    assert [(path, int(visitors), int(views)) for path, visitors, views, *_ in lines] == paths
    for path, _, _, seconds, rate in lines:
        assert float(seconds) == pytest.approx(numbers.seconds_on(path))
        entered = [visit for visit in VISITS if visit.views[0].path == path]
        bounced = sum(visit.is_bounce for visit in entered)
        assert float(rate) == pytest.approx(bounced / len(entered))

    device.act(page.get_by_role("button", name="Show all pages"))
    drawer = page.get_by_role("dialog", name="Pages")
    grid = drawer.get_by_role("grid", name="Pages").get_by_role("row")
    expect(grid).to_have_count(len(paths) + 1)
    console.expect_accessible()
    device.type(drawer.get_by_role("searchbox"), "users")
    expect(grid).to_have_count(3)
    with page.expect_download() as download:
        device.act(drawer.get_by_role("button", name="CSV"))
    assert len(read_csv(download.value.path())) == 3
    page.go_back()
    expect(drawer).to_have_count(0)
    page.go_forward()
    expect(grid).to_have_count(len(paths) + 1)

    console.press("Escape")
    expect(drawer).to_have_count(0)
    device.act(page.get_by_role("button", name="Show all pages"))
    choice = drawer.get_by_role("row", name="/pricing")
    if isinstance(device, Keyboard):
        device.open_row(choice)
    else:
        choice.get_by_text("/pricing").click()
    expect_numbers(console, Numbers(VISITS, lambda _, view: view.path == "/pricing"))
    assert numbers.figures() != figures(page)


def test_a_figure_is_drawn_and_its_points_open_persons(device: InputDevice, site: Project) -> None:
    console, page = device.console, device.console.page
    yesterday = [visit for visit in VISITS if visit.views[0].at.date() == today(-1)]
    open_web(console, site)
    device.act(page.get_by_role("button", name=re.compile("^Views")))
    chart = page.get_by_role("slider", name=re.compile("^Views per day"))
    device.console.tab_to(chart)
    console.press("ArrowLeft")
    views = sum(len(visit.views) for visit in yesterday)
    expect(chart).to_have_attribute("aria-valuetext", re.compile(f"Views {views}$"))
    console.press("Enter")

    drawer = page.get_by_role("dialog", name="Persons behind this number")
    expect(drawer).to_have_accessible_description(re.compile(f"Views, .*: {views}$"))
    persons = drawer.get_by_role("grid", name="Persons").get_by_role("row")
    expect(persons).to_have_count(1 + len({visit.person for visit in yesterday}))
    assert "behind=" in page.url and "figure=views" in page.url
    console.expect_accessible()
    console.press("Escape")
    expect(drawer).to_have_count(0)
    expect(chart).to_be_focused()
    device.act(page.get_by_role("button", name=re.compile("^Bounce rate")))
    expect(page.get_by_role("slider", name=re.compile("^Bounce rate per day"))).to_be_visible()


def today(days: int = 0) -> object:
    return (datetime.now(UTC) + timedelta(days=days)).date()


def test_a_period_is_compared_with_the_one_before(device: InputDevice, site: Project) -> None:
    console, page = device.console, device.console.page
    open_web(console, site)
    device.act(page.get_by_role("button", name="Period: Last 30 days"))
    device.act(page.get_by_role("checkbox", name="Compare with the previous period"))
    console.press("Escape")
    console.settle()
    expect(page.get_by_text("Visitors (previous period)")).to_be_visible()
    now, before = (
        {name: visitors for name, visitors, _ in Numbers(visits).table(country)}
        for visits in (VISITS, VISITS_BEFORE)
    )
    for name in now.keys() & before.keys():
        percent = abs(change(now[name], before[name]))
        expect(row(page, "Countries", name)).to_contain_text(f"{percent}%")
    device.act(page.get_by_role("button", name=re.compile("^Period: ")))
    device.act(page.get_by_role("button", name="Today"))
    console.settle()
    assert figures(page)[0] == "0"
    expect(page.get_by_role("slider", name=re.compile("^Visitors per hour"))).to_be_visible()
    console.expect_accessible()


def test_goals_are_chosen_and_tell_who_converts(device: InputDevice, site: Project) -> None:
    console, page = device.console, device.console.page
    numbers = Numbers(VISITS)
    converted, times = numbers.goal()
    open_web(console, site)
    field = page.get_by_role("combobox", name="Add a goal")
    device.type(field, "signed")
    page.get_by_role("option", name="signed up").wait_for()
    console.press("ArrowDown", "Enter")
    goal = row(page, "Goals", "signed up")
    rate = share(100 * converted / int(numbers.figures()[0]))
    expect(goal).to_have_text(re.compile(rf"signed up\s*{converted}\s*{times}\s*{rate}$"))
    with page.expect_download() as download:
        device.act(page.get_by_role("region", name="Goals").get_by_role("button", name="CSV"))
    [_, line] = read_csv(download.value.path())
    assert line[:3] == ["signed up", str(converted), str(times)]
    console.expect_accessible()

    device.act(goal.get_by_role("button", name="signed up", exact=True))
    console.settle()
    visitors = int(numbers.figures()[0])
    assert figures(page) == [str(visitors), str(times), str(converted), rate]
    by_country = {
        name: sum(
            bool(visit.signed_up)
            for visit, _ in numbers.kept()
            if country(visit, visit.views[0]) == name
        )
        for name in ("Germany", "France")
    }
    for name, done in by_country.items():
        assert row(page, "Countries", name).get_by_role("cell").nth(1).inner_text() == str(done)
    assert "goal=signed" in page.url

    device.act(page.get_by_role("button", name="Remove goal signed up"))
    console.settle()
    assert figures(page) == numbers.figures()
    expect(page.get_by_role("table", name="Goals")).to_have_count(0)

    device.type(field, "Any sign")
    page.get_by_role("option", name="Any sign-up").wait_for()
    console.press("ArrowDown", "Enter")
    action = row(page, "Goals", "Any sign-up")
    expect(action).to_have_text(re.compile(rf"Any sign-up\s*{converted}\s*{times}\s*{rate}$"))
    device.act(action.get_by_role("button", name="Any sign-up", exact=True))
    console.settle()
    assert figures(page) == [str(visitors), str(times), str(converted), rate]
    expect(page.get_by_text("Goal: Any sign-up")).to_be_visible()


def test_paths_are_grouped_by_the_rules_of_the_project(
    device: InputDevice, project: Project
) -> None:
    console, page = device.console, device.console.page
    visits = some_visits(9, range(1, 6))
    project.capture(*(sent for visit in visits for sent in visit.events()))
    project.patch("/", path_cleaning_filters=[{"regex": "/users/\\d+", "alias": "/users/:id"}])
    open_web(console, project)

    grouped = Numbers(visits).table(lambda _, view: grouped_path(view.path))
    assert rows(page, "Pages") == grouped
    device.act(
        row(page, "Pages", "/users/:id").get_by_role("button", name="/users/:id", exact=True)
    )
    console.settle()
    users = Numbers(visits, lambda _, view: view.path.startswith("/users/"))
    assert figures(page) == users.figures()
    device.act(page.get_by_role("switch", name="Group paths"))
    console.settle()
    assert rows(page, "Pages") == users.table(lambda _, view: view.path)
    assert figures(page) == users.figures()


def grouped_path(path: str) -> str:
    return re.sub(r"/users/\d+", "/users/:id", path)


def test_test_accounts_are_left_out_unless_wanted(device: InputDevice, project: Project) -> None:
    console, page = device.console, device.console.page
    visits = some_visits(10, range(1, 6))
    project.capture(*(sent for visit in visits for sent in visit.events()))
    condition = {"key": "$browser", "value": ["Chrome"], "operator": "is_not", "type": "event"}
    project.patch("/", test_account_filters=[condition])
    open_web(console, project)

    expect_numbers(console, Numbers(visits, lambda visit, _: visit.browser != "Chrome"))
    device.act(page.get_by_role("switch", name="Hide test accounts"))
    expect_numbers(console, Numbers(visits))
    assert "tests=true" in page.url


def test_hostile_values_are_only_text(console: Console, project: Project) -> None:
    page, now = console.page, datetime.now(UTC) - timedelta(minutes=2)
    long_path = "/" + "deep/" * 1_000
    for number, path in enumerate((long_path, "=1+1", MARKUP)):
        properties = {
            "$session_id": f"hostile-{number}",
            "$pathname": path,
            "$referring_domain": MARKUP,
            "utm_source": "=HYPERLINK(1)",
            "$browser": "user\u202egnp.exe",
            "$geoip_country_code": "<b>",
            "$timezone_offset": "noon",
        }
        project.capture(event("$pageview", "ann", now, properties))
    open_web(console, project, "?sources=InitialReferringDomain")

    expect(row(page, "Referrers", MARKUP)).to_be_visible()
    expect(page.get_by_title("too long to filter by")).to_contain_text("/deep/deep")
    expect_only_text(page)
    row(page, "Referrers", MARKUP).get_by_role("button", name=MARKUP, exact=True).click()
    console.settle()
    assert figures(page)[:3] == ["1", "3", "3"]
    page.get_by_role("tablist", name="Sources").get_by_role("tab", name="Campaigns").click()
    with page.expect_download() as download:
        page.get_by_role("tabpanel", name="Campaigns").get_by_role("button", name="CSV").click()
    assert read_csv(download.value.path())[1][0] == "'=HYPERLINK(1)"
    expect(page.get_by_role("link", name="1 visitor now")).to_be_visible()
    expect_only_text(page)
    console.expect_accessible()
    console.expect_to_fit_in(narrow(PHONE), zoomed(200))


def test_an_address_with_unknown_parts_shows_what_it_can(console: Console, site: Project) -> None:
    where = quote(json.dumps([{"by": "Planet", "value": 1}, {"by": "OS", "value": ["a", "b"]}]))
    open_web(console, site, f"?where={where}&pages=Nothing&figure=sales&behind=7&from=soon")

    expect_numbers(console, Numbers(VISITS))
    expect(console.page.get_by_role("list", name="Filters")).to_have_count(0)
    expect(console.page.get_by_role("status").filter(has_text="not valid")).to_be_visible()
    console.go(site.at("web?from=2020-01-01&to=2020-01-02"))
    assert figures(console.page)[0] == "0"
    expect(console.page.get_by_text("No visitors in this period.").first).to_be_visible()


def test_a_panel_that_fails_leaves_the_others(console: Console, site: Project) -> None:
    page = console.page

    def fail(route: Route) -> None:
        if "InitialChannelType" in (route.request.post_data or ""):
            error = {"type": "invalid", "code": "x", "detail": "Too much is asked.", "attr": None}
            route.fulfill(status=400, json=error)
        else:
            route.continue_()

    console.watch.expect_status(400, "/query/")
    page.route(QUERY, fail)
    open_web(console, site)

    sources = page.get_by_role("region", name="Sources")
    expect(sources.get_by_role("alert")).to_contain_text("Too much is asked.")
    expect_numbers(console, Numbers(VISITS))
    console.expect_accessible()
    page.unroute(QUERY)
    sources.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("table", name="Channels")).to_be_visible()


def test_a_panel_asks_when_it_is_seen_and_stops_when_it_is_left(
    console: Console, site: Project
) -> None:
    page, asked = console.page, list[str]()

    def hold_browsers(route: Route) -> None:
        asked.append(route.request.post_data or "")
        if '"Browser"' not in asked[-1]:
            route.continue_()

    page.route(QUERY, hold_browsers)
    page.set_viewport_size({"width": 1440, "height": 500})
    console.open(site.at("web"))
    assert asked and '"Browser"' not in "".join(asked)

    devices = page.get_by_role("region", name="Devices")
    devices.scroll_into_view_if_needed()
    devices.get_by_role("status").wait_for()
    with page.expect_event("requestfailed"):
        page.get_by_role("link", name="Home").click()
    assert '"Browser"' in asked[-1]


def test_panels_just_out_of_view_ask_when_those_in_view_have_their_answers(
    console: Console, site: Project
) -> None:
    page, asked, held = console.page, list[str](), list[Route]()

    def hold_channels(route: Route) -> None:
        asked.append(route.request.post_data or "")
        if '"InitialChannelType"' in asked[-1]:
            held.append(route)
        else:
            route.continue_()

    page.route(QUERY, hold_channels)
    page.goto(console.origin + site.at("web"))
    expect(page.get_by_role("table", name="Pages")).to_be_visible()
    assert '"Browser"' not in "".join(asked)

    [channels] = held
    with page.expect_request(lambda request: '"Browser"' in (request.post_data or "")):
        channels.continue_()


def refresh_of(route: Route) -> object:
    return json.loads(route.request.post_data or "{}").get("refresh")


def test_an_older_answer_is_shown_with_its_age_while_it_is_calculated_again(
    console: Console, site: Project
) -> None:
    page, behind, is_held = console.page, list[Route](), True
    twenty_minutes_ago = (datetime.now(UTC) - timedelta(minutes=20)).isoformat()

    def age(route: Route) -> None:
        if refresh_of(route) != "lazy_async":
            if is_held:
                behind.append(route)
            else:
                route.continue_()
            return
        answer = route.fetch()
        older = {"is_cached": True, "last_refresh": twenty_minutes_ago}
        route.fulfill(response=answer, json=answer.json() | older)

    page.route(QUERY, age)
    page.goto(console.origin + site.at("web"))
    expect(page.get_by_text("Calculated 20 minutes ago").first).to_be_visible()
    assert figures(page) == Numbers(VISITS).figures()
    until(lambda: page.title() and behind, "nothing is calculated again")
    assert refresh_of(behind[0]) == "blocking"
    is_held = False
    for route in behind:
        route.continue_()
    expect(page.get_by_text("Calculated 20 minutes ago")).to_have_count(0)
    expect_numbers(console, Numbers(VISITS))


def test_a_project_without_views_is_told_how_to_send_them(
    device: InputDevice, project: Project
) -> None:
    console, page = device.console, device.console.page
    project.events("paid", "ann")
    console.open(project.at())
    console.press("g", "w")
    expect(page.get_by_role("heading", name="No page view yet")).to_be_visible()
    expect(page.get_by_text("posthog.init")).to_be_visible()
    console.expect_accessible()
    device.act(page.get_by_role("link", name="Other ways to send events"))
    expect(page.get_by_role("tab", name="Python")).to_be_visible()
    page.go_back()
    device.command("web an", "Web analytics")
    expect(page.get_by_role("heading", name="No page view yet")).to_be_visible()
