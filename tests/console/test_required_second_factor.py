"""The requirement of a second factor: nobody is locked out, and everybody is led to it."""

from collections.abc import Iterator

import pyotp
import pytest
from playwright.sync_api import Page, expect

from fanion.projects.model import Level
from tests.console.conftest import Visit
from tests.console.installation import Installation
from tests.console.screen import Console

pytestmark = pytest.mark.long("drives Chromium")

ORGANIZATION = "/api/organizations/@current/"


@pytest.fixture
def lifted(installation: Installation) -> Iterator[None]:
    """Lift the requirement after the test, since all tests share the organization."""
    yield
    with installation.client() as client:
        assert client.patch(ORGANIZATION, json={"enforce_2fa": False}).is_success


def set_up(page: Page) -> None:
    page.get_by_role("button", name="Set up a second factor").click()
    secret = page.get_by_role("dialog").locator("code").inner_text()
    page.get_by_label("Code from the app").fill(pyotp.TOTP(secret).now())
    page.get_by_role("dialog").get_by_role("button", name="Confirm").click()
    page.get_by_role("button", name="I have saved them").click()
    expect(page.get_by_text("10 recovery codes left")).to_be_visible()


def test_administrator_without_one_is_led_to_it_before_it_can_be_required(
    visit: Visit, installation: Installation
) -> None:
    console = visit(installation.member("Gil", Level.ADMIN), anew=True)
    page = console.page
    console.open("/organization?tab=signIn")

    expect(page.get_by_role("switch")).to_be_disabled()
    expect(page.get_by_text("would lock yourself out")).to_be_visible()
    console.expect_accessible()
    page.get_by_role("link", name="Set up a second factor").click()
    set_up(page)
    console.go("/organization?tab=signIn")

    expect(page.get_by_role("switch")).to_be_enabled()


@pytest.mark.usefixtures("lifted")
def test_members_who_lack_one_are_counted_and_led_to_it(
    visit: Visit, installation: Installation
) -> None:
    account = installation.member("Hal")
    admin = visit(installation.member("Gina", Level.ADMIN), anew=True)
    admin.open("/account?tab=factor")
    set_up(admin.page)

    require(admin, account.email)
    member = visit(account, anew=True)
    page = member.page
    member.watch.expect_status(403, "/api/")
    page.goto(member.origin + "/")
    expect(page.get_by_text("Your organization requires a second factor.")).to_be_visible()
    page.get_by_role("link", name="Flags").click()
    expect(page.get_by_text("Your organization requires a second factor.")).to_be_visible()
    member.settle()  # the link leads back here: a dialog of the page before would be gone
    set_up(page)
    page.get_by_role("link", name="Flags").click()

    expect(page.get_by_role("heading", name="Flags", level=1)).to_be_visible()


def require(console: Console, email: str) -> None:
    """Require a second factor, and expect to be told who lacks one."""
    page = console.page
    console.open("/organization")
    row = page.get_by_role("row", name=email)
    expect(row.get_by_text("Off", exact=True)).to_be_visible()
    console.open("/organization?tab=signIn")
    expect(page.get_by_text("no second factor")).to_be_visible()
    page.get_by_role("switch").click()
    dialog = page.get_by_role("dialog", name="Require a second factor?")
    expect(dialog.get_by_text("can only set one up from now on")).to_be_visible()
    expect(dialog.get_by_text(email)).to_have_count(1)
    console.expect_accessible()
    dialog.get_by_role("button", name="Require it").click()
    console.expect_toast("Saved")
