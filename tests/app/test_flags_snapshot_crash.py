"""A server that starts from a snapshot of flags, and answers while PostgreSQL is unreachable."""

import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from msgspec import json

from tests.support import plain_http
from tests.support.awaited import until
from tests.support.preloaded import PreloadedServer
from tests.support.server import START_S, Keys, free_port

pytestmark = pytest.mark.long("starts real servers and kills them")

FLAG = "answered-from-the-snapshot"
HOUR_S = 3600


@pytest.fixture
def home(tmp_path: Path) -> PreloadedServer:
    """Return an installation that does not run."""
    return PreloadedServer(tmp_path / "home")


@pytest.fixture
def keys(home: PreloadedServer) -> Keys:
    return home.setup()


@pytest.fixture
def snapshot(home: PreloadedServer, keys: Keys, tmp_path: Path) -> Path:
    """Return a snapshot of one flag, taken an hour ago."""
    flag = {"key": FLAG, "name": "", "created_at": "2024-01-01T00:00:00Z", "active": True}
    flag["filters"] = {"groups": [{"rollout_percentage": 100}]}
    document, out = tmp_path / "flags.json", tmp_path / "flags.db"
    document.write_bytes(json.encode({"format": "fanion-project", "version": 1, "flags": [flag]}))
    home.command("import", str(document), "--project", str(keys.project_id))
    home.command("flags", "snapshot", "--out", str(out))
    with closing(sqlite3.connect(out)) as file, file:
        file.execute("UPDATE taken SET taken_at = taken_at - ?", (HOUR_S,))
    return out


def far_away(folder: Path, snapshot: Path) -> PreloadedServer:
    settings = {
        "FANION_ROLE": "web",
        "FANION_DATABASE_URL": f"postgresql://fanion@127.0.0.1:{free_port()}/gone",
        "FANION_FLAGS_SNAPSHOT": str(snapshot),
    }
    return PreloadedServer(folder, settings)


def test_a_fresh_folder_answers_from_a_snapshot_and_says_its_age(
    tmp_path: Path, keys: Keys, snapshot: Path
) -> None:
    web = far_away(tmp_path / "web", snapshot)
    web.launch()
    try:
        until(lambda: is_up(web), "the server does not answer")
        body = {"api_key": keys.project_api_key, "distinct_id": "u"}
        with plain_http.Client() as client:
            decided = client.post(f"{web.url}/decide?v=3", json=body).json()
            ready = client.get(f"{web.url}/_ready")
            exposed = client.get(f"{web.url}/metrics").text
    finally:
        web.close()

    assert decided["featureFlags"] == {FLAG: True}
    age_s = ready.json().pop("flags_age_s")
    assert (ready.status_code, ready.json()) == (
        200,
        {
            "status": "ready",
            "checks": {"records": "unreachable", "spool": "ok"},
            "flags_age_s": age_s,
        },
    )
    assert HOUR_S <= age_s < HOUR_S + START_S
    [line] = [
        sample for sample in exposed.splitlines() if sample.startswith("fanion_flags_age_seconds ")
    ]
    assert age_s - 1 <= float(line.split()[1]) < HOUR_S + START_S


def is_up(server: PreloadedServer) -> bool:
    try:
        with plain_http.Client() as client:
            return bool(client.get(f"{server.url}/_health").is_success)
    except httpx.TransportError:
        return False


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file or directory"), (b"no database" * 100, "file is not a database")],
    ids=["missing", "broken"],
)
def test_a_start_with_a_broken_snapshot_is_refused_in_one_line(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    path = tmp_path / "flags.db"
    if content is not None:
        path.write_bytes(content)

    done = far_away(tmp_path / "web", path).run("serve")

    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        f"fanion: FANION_FLAGS_SNAPSHOT: {path} cannot be read as a snapshot of flags: {reason}\n",
    )
