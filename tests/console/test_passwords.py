"""Forgotten passwords, and the pages of links that set one, which run no script."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from fanion.config import PREFIX
from tests.console.browser import Chromium
from tests.console.conftest import Visit
from tests.console.installation import Account, Installation, open_installation
from tests.console.screen import Console
from tests.support.preloaded import PreloadedServer
from tests.support.server import free_port
from tests.support.smtp_server import MailServer, smtp_server

pytestmark = pytest.mark.long("drives Chromium")

NEW_PASSWORD = "quite another passphrase"
# What makes a page look like another: its font, its colours, and the place of its text.
LOOKS = """() => new Promise(drawn => requestAnimationFrame(() => setTimeout(drawn))).then(() =>
  [document.body, ...['main', 'label', 'input:not([readonly])', 'form button']
    .map(one => document.querySelector(one))].map(one => {
    const { fontFamily, fontSize, fontWeight, lineHeight, color, backgroundColor, borderTopColor,
      maxWidth, paddingLeft } = getComputedStyle(one);
    return { fontFamily, fontSize, fontWeight, lineHeight, color, backgroundColor, borderTopColor,
      maxWidth, paddingLeft };
  }))"""


# The page of the link has no attribute: its style sheet alone follows the theme of the system.
IS_THEME = "theme => (document.documentElement.dataset.theme ?? theme) === theme"


@dataclass(frozen=True)
class Mailing:
    """A server that sends mails, and the page of a stranger."""

    installation: Installation
    mails: MailServer
    console: Console


@pytest.fixture
def mailing(
    built_console: None, chromium_browser: Browser, chromium: Chromium, tmp_path: Path
) -> Iterator[Mailing]:
    with ExitStack() as stack:
        mails, port = stack.enter_context(smtp_server()), free_port()
        settings = {
            f"{PREFIX}SMTP_URL": f"smtp+plain://127.0.0.1:{mails.port}",
            f"{PREFIX}MAIL_FROM": "fanion@example.com",
            f"{PREFIX}PUBLIC_URL": f"http://127.0.0.1:{port}",
        }
        server = PreloadedServer(tmp_path / "data", settings, port)
        installation = stack.enter_context(open_installation(tmp_path, server))
        console = stack.enter_context(chromium.console(server.url))
        yield Mailing(installation, mails, console)
        console.watch.assert_clean()


def ask_for_a_link(console: Console, account: Account) -> None:
    console.watch.expect_status(401, "/api/users/@me/")
    console.open("/login")
    console.page.get_by_label("E-mail address").fill(account.email)
    console.page.get_by_role("button", name="Forgot your password?").click()
    expect(console.page.get_by_role("heading", name="Get a new password")).to_be_focused()


def looks(page: Page) -> list[dict[str, str]]:
    """Return the looks of the form that is shown, light and then dark."""
    found: list[dict[str, str]] = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.wait_for_function(IS_THEME, arg=scheme)
        found += page.evaluate(LOOKS)
    return found


def test_forgotten_password_is_replaced_with_a_mailed_link(mailing: Mailing) -> None:
    console, owner = mailing.console, mailing.installation.owner
    page = console.page
    console.watch.expect_status(401, "/api/users/@me/")
    console.open("/login")
    of_sign_in = looks(page)

    ask_for_a_link(console, owner)
    expect(page.get_by_label("E-mail address")).to_have_value(owner.email)
    console.expect_accessible()
    page.get_by_role("button", name="Send link").click()
    expect(page.get_by_role("status")).to_contain_text(owner.email)
    [mail] = mailing.mails.received()
    [link] = re.findall(r"http://\S+", mail.text)

    page.goto(link)
    console.expect_accessible()
    for own, of_console in zip(looks(page), of_sign_in, strict=True):
        assert own == of_console
    with console.at_width(360):
        pass
    page.get_by_label("New password").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Set password and sign in").click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("navigation")).to_be_visible()

    console.watch.expect_status(400, "/api/reset/")
    page.goto(link)
    expect(page.get_by_role("alert")).to_contain_text("used before")
    console.expect_accessible()
    page.get_by_role("link", name="sign in").click()
    expect(page.get_by_role("navigation")).to_be_visible()


def test_forgotten_password_names_the_command_where_no_mail_is_sent(
    visit: Visit, installation: Installation
) -> None:
    console = visit(None)
    ask_for_a_link(console, installation.owner)

    expect(
        console.page.get_by_text(f"fanion users reset {installation.owner.email}")
    ).to_be_visible()
    console.expect_accessible()
    with console.at_width(360):
        pass
    console.page.get_by_role("button", name="Back to sign-in").click()

    expect(console.page.get_by_label("E-mail address")).to_have_value(installation.owner.email)
