"""The operator's settings reach the sign-in by OpenID Connect."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fanion.accounts.oidc.model import OidcSettings
from fanion.app.parts.accounts import oidc_settings
from fanion.config import GroupAccess, SettingsError, read_settings
from fanion.events.storage.store import EventStore
from tests.support.application import open_app_server
from tests.support.preloaded import PreloadedServer

SET = {
    "FANION_OIDC_ISSUER": "https://id.example.com",
    "FANION_OIDC_CLIENT_ID": "fanion",
    "FANION_OIDC_DOMAINS": "example.com example.org",
    "FANION_OIDC_GROUPS_CLAIM": "roles",
    "FANION_OIDC_GROUPS": '{"staff": {"level": "admin"}}',
    "FANION_OIDC_CREATE_ACCOUNTS": "true",
    "FANION_OIDC_SCOPES": "openid email roles",
}


def test_every_setting_counts(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("of the file\n")
    file = {"FANION_OIDC_CLIENT_SECRET_FILE": str(tmp_path / "secret")}

    assert oidc_settings(read_settings(SET | file)) == OidcSettings(
        "https://id.example.com",
        "fanion",
        "of the file",
        scopes="openid email roles",
        domains=frozenset({"example.com", "example.org"}),
        groups_claim="roles",
        groups={"staff": GroupAccess("admin")},
        creates_accounts=True,
    )


def test_without_a_provider_there_is_none() -> None:
    assert oidc_settings(read_settings({})) is None


def test_a_secret_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    missing = {"FANION_OIDC_CLIENT_SECRET_FILE": str(tmp_path / "missing")}

    with pytest.raises(SettingsError, match="FANION_OIDC_CLIENT_SECRET_FILE"):
        oidc_settings(read_settings(SET | missing))


# It takes seconds: the real command starts.
def test_it_stops_the_start_in_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    settings = {**SET, "FANION_OIDC_CLIENT_SECRET_FILE": str(missing)}
    server = PreloadedServer(tmp_path / "data", settings)

    done = server.run("serve")

    reason = f"FANION_OIDC_CLIENT_SECRET_FILE: {missing} cannot be read: No such file or directory"
    assert done.returncode == 2
    assert [line for line in done.stderr.splitlines() if line[:1] != "{"] == [f"fanion: {reason}"]


def test_without_a_provider_nothing_for_it_is_loaded() -> None:
    program = (
        "import sys, fanion.app.parts.management;"
        "print({'joserfc', 'cryptography'} & set(sys.modules))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "set()\n"


async def test_a_server_says_how_people_sign_in(
    sqlite_url: str, events: EventStore, tmp_path: Path
) -> None:
    chosen: dict[str, Any] = {
        "oidc_issuer": "https://id.example.com",
        "oidc_client_id": "fanion",
        "password_sign_in": "off",
    }
    async with (
        open_app_server(sqlite_url, events, tmp_path, **chosen) as app_server,
        app_server.client() as client,
    ):
        preflight = (await client.get("/_preflight/")).json()
        credentials = {"email": "ada@example.com", "password": "a long password"}
        login = await client.post("/api/login/", json=credentials)

    assert preflight["password_sign_in"] is False
    assert preflight["available_social_auth_providers"] == {"oidc": True}
    assert (login.status_code, login.json()["code"]) == (403, "password_sign_in_off")
