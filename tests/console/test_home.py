"""The first screen: until the first event, and after it."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, Route, expect

from fanion.projects.model import Level
from tests.console.conftest import Visit
from tests.console.dead_letters import put_aside
from tests.console.installation import Installation
from tests.console.project import Project
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

# posthog-js sends nothing from a browser that says that it is driven by a program.
PLAIN_BROWSER = """
Object.defineProperties(Navigator.prototype, {
  userAgent: { get: () => "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0 Safari/537.36" },
  userAgentData: { get: () => undefined },
  webdriver: { get: () => false },
})"""


def snippet(page: Page, tab: str) -> str:
    page.get_by_role("tab", name=tab).click()
    return page.get_by_role("tabpanel").locator("pre").inner_text()


def test_the_first_event_turns_up_and_a_refused_one_is_explained(
    console: Console, project: Project
) -> None:
    page = console.page
    console.open(project.at())
    expect(page.get_by_role("heading", level=1)).to_have_text("Send your first event")
    expect(page.get_by_text("Waiting for the first event")).to_be_visible()
    console.expect_accessible()

    project.capture({"event": "nobody's"})
    expect(page.get_by_text("The event has no distinct_id, or an empty one.")).to_be_visible()
    project.capture({"event": "signed up", "distinct_id": "ann", "properties": {"plan": "pro"}})

    arrived = page.locator("section").filter(has=page.get_by_text("Your event has arrived"))
    expect(arrived).to_contain_text("signed up from ann")
    others = page.locator("section").filter(has=page.get_by_role("heading", name="Not stored"))
    expect(others).to_contain_text("The event has no distinct_id, or an empty one.")
    expect(page.get_by_text("Nothing yet?")).to_have_count(0)
    expect(page.get_by_role("table", name="Properties of signed up")).to_contain_text("pro")
    page.get_by_role("button", name="Go to Home").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Home")
    console.settle()


def test_the_first_project_is_asked_for_its_name_zone_and_owner_once(
    visit: Visit, installation: Installation
) -> None:
    project = installation.project("Default project")
    account = installation.member("Admin", Level.ADMIN, "fanion.local")
    console = visit(account, anew=True)
    page = console.page
    console.open(project.at())
    expect(page.get_by_role("heading", level=1)).to_have_text("Welcome to Fanion")
    console.expect_accessible()

    zone = page.evaluate("() => Intl.DateTimeFormat().resolvedOptions().timeZone")
    page.get_by_label("Project name").fill("Shop of Nina")
    page.get_by_label("Your name").fill("Nina")
    page.get_by_label("Your e-mail address").fill("nina@example.com")
    page.get_by_label("Current password").fill(account.password)
    page.get_by_role("button", name="Continue").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Send your first event")
    expect(page.get_by_role("button", name="Project: Shop of Nina")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Send your first event")
    stored = project.get("/")
    assert (stored["name"], stored["timezone"]) == ("Shop of Nina", zone)
    console.open("/account")
    expect(page.get_by_label("First name")).to_have_value("Nina")
    expect(page.get_by_label("E-mail address")).to_have_value("nina@example.com")


def test_every_snippet_has_the_key_and_the_address(console: Console, project: Project) -> None:
    console.open(project.at())

    for tab in ("HTML snippet", "JavaScript", "Python", "Node.js", "curl", "Moving from PostHog"):
        lines = snippet(console.page, tab)
        assert project.token in lines, tab
        assert console.origin in lines, tab
        # Lines that run at each load would make up what nobody did.
        if tab in ("HTML snippet", "JavaScript"):
            assert not re.search(r"^posthog\.capture", lines, re.MULTILINE), tab
    assert console.page.url.endswith("?sdk=posthog")
    with console.at_width(360):
        pass


def test_the_html_snippet_sends_from_another_page(console: Console, project: Project) -> None:
    console.open(project.at())
    lines = snippet(console.page, "HTML snippet")

    def answer(route: Route) -> None:
        route.fulfill(body=f"<html><head>{lines}</head></html>", content_type="text/html")

    console.context.route("**/a-site", answer)
    app_server = console.context.new_page()
    app_server.add_init_script(PLAIN_BROWSER)
    app_server.goto(f"{console.origin}/a-site")

    arrived = console.page.locator("section").filter(has_text="Your event has arrived")
    expect(arrived).to_contain_text("$pageview from", timeout=30_000)
    expect(console.page.get_by_text("Nothing yet?")).to_have_count(0)
    expect(console.page.get_by_text("was never accepted")).to_have_count(0)
    app_server.close()


def test_home_says_what_happens_today(console: Console, project: Project) -> None:
    project.events("paid", "ann", "bob", "ann")
    flag = project.flag("beta")
    project.patch(f"/feature_flags/{flag['id']}/", active=False)
    today = datetime.now(UTC).date()

    console.open(project.at())

    page = console.page
    if datetime.now(UTC).date() == today:  # otherwise the event was counted on another day
        assert number_of(page, "Events today") == "3"
        assert number_of(page, "Persons today") == "2"
    expect(page.get_by_text("No problems.")).to_be_visible()
    expect(page.get_by_text("Last event:")).to_be_visible()
    page.get_by_role("button", name="Show as a table").click()
    expect(page.get_by_role("table").get_by_role("row")).to_have_count(25)  # with its header
    flags = page.locator("section").filter(has_text="Recently changed flags")
    expect(flags.get_by_role("listitem").first).to_contain_text("switched it off: beta")
    console.expect_accessible()
    with console.at_width(360):
        pass
    flags.get_by_role("link", name="beta").first.click()
    expect(page).to_have_url(console.origin + project.at(f"flags/{flag['id']}"))


def test_home_says_that_no_event_comes(console: Console, project: Project) -> None:
    at = datetime.now(UTC) - timedelta(days=2)
    project.capture({"event": "paid", "distinct_id": "ann", "timestamp": at.isoformat()})

    console.open(project.at())

    problems = console.page.locator("section").filter(has_text="Problems")
    expect(problems.get_by_text("No events for more than a day")).to_be_visible()
    expect(problems.get_by_text("Last event:")).to_contain_text(f"{at:%Y}")
    expect(problems.get_by_text("No problems.")).to_have_count(0)
    console.expect_accessible()


def number_of(page: Page, title: str) -> str:
    tile = page.locator("section").filter(has=page.get_by_role("heading", name=title))
    return tile.locator("p").first.inner_text().split()[0]


def test_home_asks_once_for_each_tile(console: Console, project: Project) -> None:
    project.events("paid", "ann")
    console.open(project.at())
    console.page.get_by_role("link", name="Feature flags").click()
    console.settle()
    before = len(console.watch.requests)

    console.page.get_by_role("navigation").get_by_role("link", name="Home").click()
    console.settle()

    requested = [
        request.url for request in console.watch.requests[before:] if "/api/" in request.url
    ]
    assert len(requested) <= 6, requested


def test_what_fails_leads_to_where_it_is_mended(
    visit: Visit, installation: Installation, project: Project
) -> None:
    project.events("paid", "ann")
    put_aside(project, "ValueError: <b>a store</b> was away", {"event": "x", "distinct_id": "u"})
    console = visit(installation.owner)

    console.open(project.at())

    page = console.page
    expect(page.get_by_text("ValueError: <b>a store</b> was away")).to_be_visible()
    page.get_by_role("link", name="1 request could not be ingested").click()
    expect(page.get_by_role("list", name="Failed requests")).to_be_visible()
    console.settle()
