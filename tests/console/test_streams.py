"""Changes made elsewhere are shown at once, over connections that all tabs of a browser share."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.conftest import Visit
from tests.console.installation import PASSWORD, Installation
from tests.console.project import Project
from tests.console.relay import Relay, relay
from tests.console.screen import Console, open_console
from tests.console.test_interruptions import end_sessions
from tests.console.test_live_events import is_live, row

pytestmark = pytest.mark.long("drives Chromium")

TABS = 6
STREAMS_MAX = 3
HIDE = """hidden => {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}"""


def streams(console: Console) -> int:
    """Return how many streams of live events were opened."""
    return console.watch.count(lambda request: "/events/stream/" in request.url)


def open_live(console: Console, project: Project, query: str = "") -> Page:
    page = console.context.new_page()
    page.goto(console.origin + project.at(f"live{query}"))
    is_live(page)
    return page


@dataclass(frozen=True)
class RelayedConsole:
    """A page of the owner, whose streams can fall silent, and whose clock can be put forward."""

    console: Console
    relay: Relay


@pytest.fixture
def relayed(
    built_console: None, chromium_browser: Browser, installation: Installation
) -> Iterator[RelayedConsole]:
    with (
        relay(installation.server.port) as to_server,
        open_console(chromium_browser, to_server.url) as console,
    ):
        console.begin_again(installation.cookie(installation.owner))
        console.page.clock.install()
        yield RelayedConsole(console, to_server)
        console.watch.assert_clean()


def test_live_tabs_share_a_connection_and_the_next_takes_it_over(
    console: Console, project: Project
) -> None:
    tabs = [open_live(console, project) for _ in range(TABS)]

    project.events("paid", "ann")
    for tab in tabs:
        expect(row(tab, "paid")).to_be_visible()
    assert streams(console) == 1

    tabs.pop(0).close()
    project.events("left", "ann")
    for tab in tabs:
        expect(row(tab, "left")).to_be_visible()
        expect(row(tab, "paid")).to_have_count(1)
    assert streams(console) == 2
    console.open(project.at("flags"))


def test_streams_leave_connections_for_requests(console: Console, project: Project) -> None:
    tabs = [open_live(console, project, f"?event=paid-{n}") for n in range(STREAMS_MAX)]
    late = console.context.new_page()
    late.goto(console.origin + project.at("live?event=late"))

    expect(late.get_by_text("Other windows of this browser show live events")).to_be_visible()
    assert streams(console) == STREAMS_MAX
    tabs[0].close()
    is_live(late)
    project.events("late", "ann")
    expect(row(late, "late")).to_be_visible()


def test_a_hidden_page_closes_its_stream_and_catches_up(console: Console, project: Project) -> None:
    page = console.page
    console.open(project.at("live"))
    is_live(page)
    project.events("first", "ann")
    expect(row(page, "first")).to_be_visible()

    with page.expect_event("requestfailed", lambda request: "/events/stream/" in request.url):
        page.evaluate(HIDE, True)
    project.events("meanwhile", "ann")
    page.evaluate(HIDE, False)

    expect(row(page, "meanwhile")).to_be_visible()
    expect(row(page, "first")).to_have_count(1)


def test_an_event_before_any_other_is_not_missed_by_a_hidden_page(
    console: Console, project: Project
) -> None:
    page = console.page
    console.open(project.at("live"))
    is_live(page)

    with page.expect_event("requestfailed", lambda request: "/events/stream/" in request.url):
        page.evaluate(HIDE, True)
    project.events("meanwhile", "ann")
    page.evaluate(HIDE, False)

    expect(row(page, "meanwhile")).to_be_visible()


def test_a_stream_whose_session_has_ended_asks_for_a_sign_in(
    visit: Visit, project: Project, installation: Installation
) -> None:
    account = installation.member("Sid")
    console = visit(account, anew=True)
    page = console.page
    console.open(project.at("live"))
    is_live(page)
    console.watch.expect_status(401, "/api/")

    end_sessions(installation, account)

    again = page.get_by_role("dialog", name="Your session has ended")
    again.get_by_label("Password").fill(PASSWORD)
    console.press("Enter")
    is_live(page)
    project.events("again", "ann")
    expect(row(page, "again")).to_be_visible()


def test_the_list_and_the_page_of_flags_follow_changes_elsewhere(
    console: Console, project: Project
) -> None:
    flag = project.flag("beta", name="before")
    console.open(project.at("flags"))
    other = console.context.new_page()
    other.goto(console.origin + project.at(f"flags/{flag['id']}"))
    expect(other.get_by_role("heading", name="beta")).to_be_visible()
    listed = console.page.get_by_role("switch", name="Switch beta", exact=True)
    expect(listed).to_be_checked()

    project.patch(f"/feature_flags/{flag['id']}/", active=False)
    expect(listed).not_to_be_checked()
    expect(other.get_by_role("switch").first).not_to_be_checked()

    project.flag("made-elsewhere")
    expect(console.page.get_by_role("row", name="made-elsewhere")).to_be_visible()
    changes = console.watch.count(lambda request: "/changes/stream/" in request.url)
    assert changes == 1


def test_a_stream_that_falls_silent_is_replaced(relayed: RelayedConsole, project: Project) -> None:
    page = relayed.console.page
    project.events("first", "ann")
    relayed.console.open(project.at("live"))
    is_live(page)

    relayed.relay.fall_silent()
    project.events("meanwhile", "ann")
    page.clock.fast_forward("00:31")

    expect(row(page, "meanwhile")).to_be_visible()
    is_live(page)
    expect(row(page, "first")).to_have_count(1)


def test_after_a_sleep_of_the_computer_everything_is_read_again_and_what_was_typed_stays(
    relayed: RelayedConsole, project: Project
) -> None:
    console, page = relayed.console, relayed.console.page
    flag = project.flag("beta")
    console.open(project.at("flags"))
    page.get_by_role("searchbox").fill("bet")
    listed = page.get_by_role("switch", name="Switch beta", exact=True)
    expect(listed).to_be_checked()

    relayed.relay.fall_silent()
    project.patch(f"/feature_flags/{flag['id']}/", active=False)
    page.clock.fast_forward("02:00:00")

    expect(listed).not_to_be_checked()
    expect(page.get_by_role("searchbox")).to_have_value("bet")
    # Nothing was lost that the user would have to know of.
    expect(page.get_by_text("Connected again")).to_have_count(0)
    project.patch(f"/feature_flags/{flag['id']}/", active=True)
    expect(listed).to_be_checked()
