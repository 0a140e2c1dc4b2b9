"""A user who is signed in at a real server in a real browser, and the site of an attacker."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.clients.devtools import Tab, open_devtools
from tests.clients.management import Json
from tests.clients.neighbour import Neighbour, open_neighbour
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer

EMAIL, PASSWORD = "olga@example.com", "correct horse battery"
FLAGS = "/api/projects/@current/feature_flags"
COHORTS = "/api/projects/@current/cohorts"
CHANGE = "create_static_cohort_for_flag"
COOKIE = "fanion"

Requests = list[tuple[str, int]]


@dataclass
class Victim:
    """A user who is signed in at the server, in one window of their browser."""

    server: PreloadedServer
    keys: Keys
    neighbour: Neighbour
    tab: Tab
    _kept: list[Json] = field(default_factory=list)
    _markers = count(1)

    def create_flag(self) -> str:
        """Create a flag, and return the path where a POST without a body makes a cohort of it."""
        created = self._api("POST", f"{FLAGS}/", {"key": f"forged-{next(self._markers):04}"})
        return f"{FLAGS}/{created['id']}/{CHANGE}/"

    def is_changed(self, path: str) -> bool:
        key = self._api("GET", path.removesuffix(f"{CHANGE}/"))["key"]
        count: int = self._api("GET", f"{COHORTS}/?search={key}")["count"]
        return count > 0

    def requests(self, path: str) -> Requests:
        """Return method and status of all requests that the server has got at this path so far."""
        marker = f"/_health/{next(self._markers)}"
        plain_http.get(f"{self.server.url}{marker}")
        until(lambda: self._logged(marker), "the server wrote no log")
        return self._logged(path)

    def here(self, script: str, *arguments: Any, base: str = "") -> Any:
        """Return the result of a function in a page of the server itself.

        Args:
            base: The address of the server, such as `by_name`.
        """
        self.tab.go(f"{base or self.server.url}/_health")
        return self.tab.run(call(script, *arguments))

    @property
    def by_name(self) -> str:
        """The server's address by a name: browsers do not tell the site of a request to it."""
        return f"http://fanion.test:{self.server.port}"

    def sign_in(self) -> None:
        """Sign the user in, with no other cookie.

        The session of before is used if it lasts, since a password takes longer to check than most
        tests.
        """
        self.tab.command("Network.clearBrowserCookies")
        if self._kept:
            self.tab.command("Network.setCookies", cookies=self._kept)
        if self.here(WHO) != EMAIL:
            assert self.here(SIGN_IN, EMAIL, PASSWORD) == 200
            self._kept = self.tab.command("Network.getCookies", urls=[self.server.url])["cookies"]

    @property
    def cookie(self) -> str | None:
        return self.tab.cookies(f"{self.server.url}/api/").get(COOKIE)

    def _logged(self, path: str) -> Requests:
        lines = (line for line in self.server.log_lines() if line["event"] == "request")
        return [(line["method"], line["status"]) for line in lines if line["path"] == path]

    def _api(self, method: str, path: str, body: Any = None) -> Any:
        key = {"authorization": f"Bearer {self.keys.personal_api_key}"}
        with plain_http.Client(base_url=self.server.url, headers=key) as client:
            answer = client.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json()


def call(script: str, *arguments: Any) -> str:
    """Return the expression that calls a function with these arguments."""
    return f"({script})({', '.join(json.dumps(argument) for argument in arguments)})"


SIGN_IN = """async (email, password) => {
  const body = JSON.stringify({ email, password });
  const headers = { "Content-Type": "application/json", "X-Fanion-Console": "1" };
  return (await fetch("/api/login/", { method: "POST", headers, body })).status;
}"""
WHO = """async () => {
  const answer = await fetch("/api/users/@me/");
  return answer.ok ? (await answer.json()).email : answer.status;
}"""


@contextmanager
def open_victim(folder: Path) -> Iterator[Victim]:
    """Start a server, a browser and the attacker's site.

    Args:
        folder: For the server and the browser.
    """
    server = PreloadedServer(folder / "data")
    keys = _set_up(server, folder / "password")
    server.start()
    try:
        with open_neighbour() as neighbour, open_devtools(folder / "chromium") as devtools:
            victim = Victim(server, keys, neighbour, devtools.open("about:blank"))
            victim.sign_in()
            yield victim
    finally:
        server.close()


def _set_up(server: RealServer, secret: Path) -> Keys:
    secret.write_text(PASSWORD)
    made = json.loads(
        server.command("setup", "--json", "--email", EMAIL, "--password-file", str(secret))
    )
    return Keys(int(made["project_id"]), made["project_api_key"], made["personal_api_key"])
