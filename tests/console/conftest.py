"""One browser and one server for all tests of a process.

Each test has its own project, and pages that begin again.
"""

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest
from playwright.sync_api import Browser

from tests.console.browser import Chromium, why_no_browser, why_no_console
from tests.console.installation import Account, Installation, open_installation
from tests.console.project import Project
from tests.console.screen import Console
from tests.console.showcase import Showcase, make_showcase

FAILED = pytest.StashKey[bool]()
IS_LAST = pytest.StashKey[bool]()


class Visit(Protocol):
    """A call that opens a page.

    Args:
        account: None for a stranger.
        anew: Whether the session is one that no other test uses.
    """

    def __call__(self, account: Account | None, *, anew: bool = False) -> Console: ...


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests that need a browser run one after another, since the first one starts it."""
    for item in items:
        if is_in_browser(item):
            item.add_marker("browser")
    items.sort(key=lambda item: not is_in_browser(item))


def is_in_browser(item: pytest.Item) -> bool:
    """Return whether a test of this folder needs a browser.

    Other tests that drive a browser do so without Playwright.
    """
    return "chromium_browser" in getattr(item, "fixturenames", ())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    item.stash[IS_LAST] = nextitem is None or not is_in_browser(nextitem)


@pytest.fixture(scope="session")
def chromium() -> Chromium:
    return Chromium()


@pytest.fixture(autouse=True)
def close_after_last(chromium: Chromium, request: pytest.FixtureRequest) -> Iterator[None]:
    """Close the browser before asynchronous tests, and the ends of fixtures, need the loop."""
    yield
    if request.node.stash[IS_LAST]:
        chromium.close()


@pytest.fixture
def chromium_browser(chromium: Chromium) -> Browser:
    reason = why_no_browser()
    if reason is not None:
        pytest.skip(reason)
    return chromium.browser()


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with open_installation(tmp_path_factory.mktemp("console")) as installation:
        yield installation


@pytest.fixture
def project(installation: Installation) -> Project:
    """Create an empty project for one test."""
    return installation.project()


@pytest.fixture(scope="module")
def module_project(installation: Installation) -> Project:
    """Create a project for the tests of a file, none of which may depend on another's changes."""
    return installation.project()


@pytest.fixture(scope="session")
def showcase(installation: Installation) -> Showcase:
    """Create a project for many tests, none of which may change it."""
    return make_showcase(installation)


@pytest.fixture
def built_console() -> None:
    reason = why_no_console()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture
def visit(
    built_console: None,
    chromium_browser: Browser,
    chromium: Chromium,
    installation: Installation,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> Iterator[Visit]:
    """Open a further page, with cookies and storage of its own, for a signed-in user.

    Anything that no page may do fails the test at its end; see `Watch`.
    """
    visits: list[Console] = []
    with ExitStack() as stack:

        def begin(account: Account | None, *, anew: bool = False) -> Console:
            session = "" if account is None else installation.cookie(account, anew=anew)
            opened = chromium.console(installation.server.url, session)
            visits.append(stack.enter_context(opened))
            return visits[-1]

        yield begin
        if request.node.stash.get(FAILED, False):
            for number, console in enumerate(visits):
                console.page.screenshot(path=tmp_path / f"failed-{number}.png")
            print(f"screenshots: {tmp_path}")
        for console in visits:
            console.watch.assert_clean()


@pytest.fixture
def console(visit: Visit, installation: Installation) -> Console:
    """Open the page of the owner."""
    return visit(installation.owner)
