"""A real server with its owner and other users, who are signed in without the page for it."""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from fanion.accounts.sessions.cookies import PLAIN_NAME
from fanion.projects.model import Level
from tests.console.project import Project
from tests.support import plain_http
from tests.support.management import CONSOLE
from tests.support.preloaded import PreloadedServer
from tests.support.proxies import TRUSTING
from tests.support.server import Keys, RealServer

OWNER, PASSWORD = "olga@example.com", "correct horse battery"
# This is well within the ten minutes that a sign-in counts as fresh.
REUSED_S = 300.0


@dataclass(frozen=True)
class Account:
    email: str
    password: str = PASSWORD


@dataclass
class Installation:
    """The installation for all tests of a process.

    Each test has its own project in it, and shares the organization with the others.
    """

    server: RealServer
    keys: Keys
    owner: Account = Account(OWNER)
    _sessions: dict[str, tuple[str, float]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    def project(self, name: str = "") -> Project:
        """Create a project in which nothing has happened yet."""
        with self.client() as client:
            sent = {"name": name or f"Project {next(self._numbers)}"}
            answer = client.post("/api/projects/", json=sent)
        assert answer.status_code == 201, answer.text
        made = answer.json()
        return Project(self.server, self.keys.personal_api_key, made["id"], made["api_token"])

    def member(
        self, name: str, level: Level = Level.MEMBER, domain: str = "example.com"
    ) -> Account:
        """Create a user of the organization.

        Args:
            name: Also the first part of the address.
        """
        account = Account(f"{name.lower()}-{next(self._numbers)}@{domain}")
        with self.client() as client:
            invited = client.post(
                "/api/organizations/@current/invites/",
                json={"target_email": account.email, "level": int(level)},
            )
        assert invited.status_code == 201, invited.text
        token = invited.json()["link"].rstrip("/").rpartition("/")[2]
        with plain_http.Client(base_url=self.server.url, headers=CONSOLE) as client:
            sent = {"first_name": name, "password": account.password}
            joined = client.post(f"/api/signup/{token}/", json=sent)
            assert joined.is_success, joined.text
            self._sessions[account.email] = client.cookies[PLAIN_NAME], time.monotonic()
        return account

    def forget_password(self, account: Account) -> None:
        """Remove the password, as for users of an identity provider; sessions go on."""
        with closing(sqlite3.connect(self.server.data / "records.db", timeout=10)) as records:
            forgotten = "UPDATE users SET password_hash = '' WHERE email = ?"
            records.execute(forgotten, (account.email,))
            records.commit()

    @cached_property
    def viewer(self) -> Account:
        """The viewer for all tests that only look.

        A member takes longer to create than such a test takes.
        """
        return self.member("Vic", Level.VIEWER)

    def cookie(self, account: Account, *, anew: bool = False) -> str:
        """Return the cookie of a session, which several tests use.

        Args:
            anew: Whether only the caller uses the session.
        """
        value, begun = self._sessions.get(account.email, ("", 0.0))
        now = time.monotonic()
        if anew or now - begun > REUSED_S or not self._is_valid(value):
            value = self._sign_in(account)
            if not anew:
                self._sessions[account.email] = value, now
        return value

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the server within the context; it comes back with all that it had stored."""
        self.server.stop()
        try:
            yield
        finally:
            self.server.start()

    def client(self) -> Any:
        """Return a client of the management API with the owner's key."""
        key = {"authorization": f"Bearer {self.keys.personal_api_key}"}
        return plain_http.Client(base_url=self.server.url, headers=key, timeout=30)

    def _is_valid(self, cookie: str) -> bool:
        with plain_http.Client(base_url=self.server.url, cookies={PLAIN_NAME: cookie}) as client:
            return bool(client.get("/api/users/@me/").is_success)

    def _sign_in(self, account: Account) -> str:
        with plain_http.Client(base_url=self.server.url, headers=CONSOLE, timeout=30) as client:
            sent = {"email": account.email, "password": account.password}
            answer = client.post("/api/login/", json=sent)
            assert answer.is_success, answer.text
            value: str = client.cookies[PLAIN_NAME]
        return value


@contextmanager
def open_installation(folder: Path, server: RealServer | None = None) -> Iterator[Installation]:
    """Set up a server and start it.

    Args:
        folder: An empty folder.
        server: A server that has not been set up.
    """
    server = server or PreloadedServer(folder / "data", TRUSTING)
    secret = folder / "password"
    secret.write_text(PASSWORD)
    options = ("--email", OWNER, "--password-file", str(secret))
    made = json.loads(server.command("setup", "--json", *options))
    keys = Keys(int(made["project_id"]), made["project_api_key"], made["personal_api_key"])
    server.start()
    try:
        yield Installation(server, keys)
    finally:
        server.close()
