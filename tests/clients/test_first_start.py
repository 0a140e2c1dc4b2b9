"""What an operator meets: the first start, the commands, and every refusal in one line."""

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fanion.__main__ import UMASK
from fanion.cli import app
from tests import plain_http
from tests.preloaded import run_fanion
from tests.server import RealServer, free_port

GREETED_S = 30
RUN_S = 60


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def environment(data: Path, settings: Mapping[str, str]) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("FANION_")}
    return {**kept, "FANION_DATA": str(data), "COLUMNS": "300", **settings}


def fanion(data: Path, *arguments: str, **settings: str) -> Done:
    """The command, in this process: starting one costs seconds on a busy machine."""
    changed: dict[str, str | None] = dict.fromkeys(k for k in os.environ if k.startswith("FANION_"))
    before = os.umask(UMASK)  # as the command itself begins
    try:
        done = CliRunner().invoke(app, arguments, env=changed | environment(data, settings))
    finally:
        os.umask(before)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


def fanion_process(data: Path, *arguments: str, **settings: str) -> Done:
    """The command as a process, for what takes the event engine or the log for itself."""
    done = run_fanion(arguments, environment(data, settings))
    return Done(done.returncode, done.stdout, done.stderr)


def found(data: Path, *arguments: str) -> Any:
    """What a command prints as JSON."""
    done = fanion(data, *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) == 1
    return json.loads(done.out)


def refused(done: Done, text: str) -> None:
    assert (done.code, done.out, done.err) == (2, "", f"fanion: {text}\n")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A server that was started on an empty folder; what it said is in its log."""
    server = RealServer(Path(tmp_path_factory.mktemp("first-start")) / "data")
    server.start()
    yield server
    server.close()


def greeting(server: RealServer) -> str:
    give_up = time.monotonic() + GREETED_S
    while time.monotonic() < give_up:
        text = server.log_path.read_text()
        if "and see it:" in text:
            return text
        time.sleep(0.02)
    raise AssertionError(server.log_path.read_text())


def said(text: str, name: str) -> str:
    [value] = re.findall(rf"^  {name} +(\S+)$", text, re.MULTILINE)
    return str(value)


def run_as_pasted(line: str) -> Done:
    """Without curl's progress, which it writes when its output goes to no terminal."""
    quiet = line.strip().replace("curl ", "curl -sS ", 1)
    done = subprocess.run(
        ["/bin/sh", "-c", quiet], capture_output=True, text=True, timeout=RUN_S, check=False
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_the_first_start_tells_everything_once(fresh: RealServer) -> None:
    text = greeting(fresh)

    assert text.count(f"Fanion serves on {fresh.url}") == 1
    assert said(text, "e-mail") == "admin@fanion.local"
    assert len(said(text, "password")) >= 12
    assert said(text, "project API key").startswith("phc_")
    assert said(text, "personal API key").startswith("phx_")


def test_its_curl_lines_work_as_pasted(fresh: RealServer) -> None:
    capture, listing = [
        line for line in greeting(fresh).splitlines() if line.strip().startswith("curl ")
    ]

    captured = run_as_pasted(capture)
    results: list[Any] = []
    give_up = time.monotonic() + GREETED_S
    while not results and time.monotonic() < give_up:
        listed = run_as_pasted(listing)
        results = json.loads(listed.out)["results"]

    assert (captured.code, captured.out, captured.err) == (0, '{"status":1}', "")
    assert [(event["event"], event["distinct_id"]) for event in results] == [("hello", "me")]


def test_its_keys_are_those_of_the_management_api(fresh: RealServer) -> None:
    text = greeting(fresh)
    headers = {"authorization": f"Bearer {said(text, 'personal API key')}"}

    project = plain_http.get(f"{fresh.url}/api/projects/@current/", headers=headers).json()
    me = plain_http.get(f"{fresh.url}/api/users/@me/", headers=headers).json()

    assert project["api_token"] == said(text, "project API key")
    assert me["email"] == "admin@fanion.local"


def test_a_folder_in_use_is_refused_in_one_line(fresh: RealServer) -> None:
    done = fanion_process(fresh.data, "serve", FANION_PORT=str(free_port()))

    refused(
        done,
        f"another Fanion serves from {fresh.data.resolve()}; stop it first, "
        "or choose another folder with --data",
    )


def test_a_port_in_use_is_refused_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        done = fanion(tmp_path / "data", "serve", "--port", str(port))

    refused(done, f"cannot listen on 127.0.0.1:{port}: Address already in use")


def test_the_next_start_tells_no_keys(fresh: RealServer) -> None:
    first = greeting(fresh)

    assert fresh.stop() == 0
    fresh.start()
    second = fresh.log_path.read_text().removeprefix(first)

    assert f"Fanion serves on {fresh.url}\n" in second
    assert "password" not in second
    assert said(first, "personal API key") not in second


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A folder that `fanion setup` made, and what it said."""
    data = Path(tmp_path_factory.mktemp("installed")) / "data"
    return data, found(data, "setup")


def test_setup_prints_one_object_with_the_keys(installed: tuple[Path, Any]) -> None:
    _, made = installed

    assert set(made) == {
        "organization_id",
        "project_id",
        "project_api_key",
        "personal_api_key",
        "email",
        "password",
    }
    assert isinstance(made["project_id"], int)
    assert re.fullmatch(r"phc_[A-Za-z0-9]{32,}", made["project_api_key"])
    assert re.fullmatch(r"phx_[A-Za-z0-9]{32,}", made["personal_api_key"])


def test_a_second_setup_is_refused_and_changes_nothing(installed: tuple[Path, Any]) -> None:
    data, made = installed

    done = fanion(data, "setup", "--json")

    refused(done, "Already set up. `fanion keys create` makes another key.")
    assert found(data, "projects", "list") == [
        {
            "project_id": made["project_id"],
            "name": "Default project",
            "project_api_key": made["project_api_key"],
        }
    ]


def test_keys_are_created_listed_and_revoked(installed: tuple[Path, Any]) -> None:
    data, _ = installed

    made = found(data, "keys", "create", "--label", "CI", "--scope", "feature_flag:read")
    listed = {key["id"]: key for key in found(data, "keys", "list")}
    revoked = fanion(data, "keys", "revoke", made["id"])
    again = fanion(data, "keys", "revoke", made["id"])

    assert set(made) == {"id", "label", "personal_api_key", "expires_at"}
    assert made["personal_api_key"].startswith("phx_")
    assert (listed[made["id"]]["label"], listed[made["id"]]["email"]) == (
        "CI",
        "admin@fanion.local",
    )
    assert made["personal_api_key"] not in json.dumps(listed)
    assert (revoked.code, revoked.out) == (0, "Revoked.\n")
    assert made["id"] not in {key["id"] for key in found(data, "keys", "list")}
    refused(again, f"There is no key {made['id']}; `fanion keys list` shows them.")


def test_projects_are_created_and_listed(installed: tuple[Path, Any]) -> None:
    data, _ = installed

    made = found(data, "projects", "create", "Shop", "--timezone", "Europe/Berlin")
    listed = found(data, "projects", "list")
    shown = fanion(data, "projects", "list")

    assert made["name"] == "Shop"
    assert made in listed
    assert shown.code == 0
    assert made["project_api_key"] in shown.out


def test_doctor_finds_a_sound_installation(installed: tuple[Path, Any]) -> None:
    data, _ = installed

    migrated = fanion(data, "migrate")
    done = fanion_process(data, "doctor")

    assert (migrated.code, migrated.out) == (0, "The records store is up to date.\n")
    assert done.code == 0, done.out + done.err
    for what in ("settings", "versions", "disk", "clock", "records store", "event store"):
        assert re.search(rf"^ *ok +{what} ", done.out, re.MULTILINE), what


def test_doctor_says_what_is_wrong(tmp_path: Path) -> None:
    done = fanion(
        tmp_path / "data",
        "doctor",
        FANION_DATABASE_URL=f"postgresql://nobody@127.0.0.1:{free_port()}/none",
        FANION_EVENTS_URL=f"clickhouse://127.0.0.1:{free_port()}/none",
    )

    assert done.code == 1
    assert re.search(r"^ *!! +records store ", done.out, re.MULTILINE)
    assert re.search(r"^ *!! +event store ", done.out, re.MULTILINE)
    assert "Traceback" not in done.out + done.err


REFUSED: dict[str, tuple[list[str], dict[str, str], str]] = {
    "a wrong value": (["serve"], {"FANION_PORT": "http"}, "FANION_PORT: expected int, got 'http'"),
    "an unknown setting": (
        ["migrate"],
        {"FANION_PROT": "1"},
        "FANION_PROT is not a setting; docs/configuration.md lists them all.",
    ),
    "a level that is none": (
        ["doctor"],
        {"FANION_LOG_LEVEL": "loud"},
        "FANION_LOG_LEVEL must be debug, info, warning or error",
    ),
    "no key id": (["keys", "revoke", "x"], {}, "x is no key id; `fanion keys list` shows them."),
    "nobody set up": (["keys", "create"], {}, "Run `fanion setup` first."),
    "no project without an organization": (
        ["projects", "create", "x"],
        {},
        "Run `fanion setup` first.",
    ),
    "an unknown user": (["keys", "create", "--email", "x@y.z"], {}, "There is no user x@y.z."),
    "a folder that is a file": (
        ["migrate"],
        {"FANION_DATA": "/dev/null"},
        "a file cannot be used: [Errno 17] File exists: '/dev/null'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_one_clear_line_and_exit_code_2(name: str, tmp_path: Path) -> None:
    arguments, settings, line = REFUSED[name]

    done = fanion(tmp_path / "data", *arguments, **settings)

    refused(done, line)


def test_an_unreachable_store_is_one_clear_line(tmp_path: Path) -> None:
    url = f"postgresql://fanion:s3cret@127.0.0.1:{free_port()}/none"

    settings = {"FANION_DATABASE_URL": url, "FANION_PORT": str(free_port())}
    done = fanion_process(tmp_path / "data", "serve", **settings)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("fanion: the records store cannot be used: ")
    assert len(done.err.splitlines()) == 1
    assert "s3cret" not in done.err
