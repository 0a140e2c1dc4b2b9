"""The console below a path of a name that has other things too, behind the proxies of deploy/."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.console.installation import Installation
from tests.console.screen import Console, open_console
from tests.support.proxies import SAMPLES_BELOW_A_PATH, Ports, started_proxy

pytestmark = pytest.mark.long("drives Chromium")

BELOW = "/fanion"
# An address at which a browser trusts the page even without a certificate.
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class ProxiedInstallation:
    """An installation below a path.

    Attributes:
        origin: The origin of the proxy.
    """

    installation: Installation
    origin: str


@pytest.fixture(params=SAMPLES_BELOW_A_PATH)
def proxied(
    request: pytest.FixtureRequest,
    built_console: None,
    installation: Installation,
    tmp_path: Path,
) -> Iterator[ProxiedInstallation]:
    ports = Ports(servers=(installation.server.port,))
    with started_proxy(request.param, tmp_path, ports, LOOPBACK):
        yield ProxiedInstallation(installation, f"https://{LOOPBACK}:{ports.proxy}")


@pytest.fixture
def below(chromium_browser: Browser, proxied: ProxiedInstallation) -> Iterator[Console]:
    """Open the page of a stranger."""
    with open_console(chromium_browser, proxied.origin) as console:
        yield console
        console.watch.assert_clean()
        outside = [
            request.url
            for request in console.watch.requests
            if not is_below(request.url, proxied.origin)
        ]
        assert not outside


def is_below(url: str, origin: str) -> bool:
    return url.startswith(f"{origin}{BELOW}/")


def test_all_of_the_console_works_below_a_path(
    below: Console, proxied: ProxiedInstallation
) -> None:
    """This covers sign-in, links, a deep link loaded again, files, a saved change, live events."""
    page, owner = below.page, proxied.installation.owner
    project = proxied.installation.project()
    flag = project.flag("beta")
    below.watch.expect_status(401, "/api/users/@me/")

    below.open(BELOW + project.at("flags"))
    page.get_by_label("E-mail address").fill(owner.email)
    page.get_by_label("Password").fill(owner.password)
    below.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Feature flags")).to_be_visible()
    expect(page).to_have_url(f"{proxied.origin}{BELOW}{project.at('flags')}")

    page.get_by_role("switch", name="beta").click()
    below.expect_toast("Switched off beta")
    assert project.get(f"/feature_flags/{flag['id']}/")["active"] is False
    page.get_by_role("grid").get_by_role("link", name="beta").click()
    path = project.at(f"flags/{flag['id']}")
    deep = f"{proxied.origin}{BELOW}{path}"
    expect(page).to_have_url(deep)
    page.reload()
    below.settle()
    expect(page.get_by_role("heading", level=1)).to_contain_text("beta")
    assert page.url == deep

    below.press("g", "l")
    expect(page.get_by_role("status").filter(has_text="Live")).to_be_visible()
    project.events("paid", "ann")
    expect(page.get_by_role("button", name="paid")).to_be_visible()
    expect(page).to_have_url(f"{proxied.origin}{BELOW}{project.at('live')}")
