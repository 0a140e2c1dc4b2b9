"""A person signs in to one of two real servers on one PostgreSQL."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.support import plain_http
from tests.support.awaited import until
from tests.support.management import CONSOLE
from tests.support.preloaded import PreloadedServer
from tests.support.server import RealServer

pytestmark = [pytest.mark.postgresql, pytest.mark.long("starts real servers")]

EMAIL, PASSWORD = "ada@example.com", "correct horse battery"
ME = "/api/users/@me/"


@pytest.fixture
def servers(
    postgres_url: str, own_events_url: str, tmp_path: Path
) -> Iterator[tuple[RealServer, RealServer]]:
    settings = {"FANION_DATABASE_URL": postgres_url, "FANION_EVENTS_URL": own_events_url}
    first, second = (PreloadedServer(tmp_path / name, settings) for name in ("first", "second"))
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    first.command("setup", "--email", EMAIL, "--password-file", str(password))
    with ExitStack() as stack:
        for server in (first, second):
            server.start()
            stack.callback(server.close)
        yield first, second


def test_a_cookie_is_refused_everywhere_after_the_sign_out(
    servers: tuple[RealServer, RealServer],
) -> None:
    first, second = servers
    with (
        plain_http.Client(base_url=first.url, headers=CONSOLE) as owner,
        plain_http.Client(base_url=second.url, headers=CONSOLE) as thief,
    ):
        signed_in = owner.post("/api/login/", json={"email": EMAIL, "password": PASSWORD})
        thief.cookies.set("fanion", owner.cookies["fanion"])
        before = thief.get(ME)

        left = owner.post("/api/logout/")

        # It ends on the other server when it is no longer cached there, within two seconds.
        until(lambda: thief.get(ME).status_code == httpx.codes.UNAUTHORIZED, "it goes on")
        after = owner.get(ME)

    assert (signed_in.status_code, left.status_code) == (200, 204)
    assert (before.status_code, before.json()["email"]) == (200, EMAIL)
    assert "fanion" not in owner.cookies
    assert after.status_code == 401
