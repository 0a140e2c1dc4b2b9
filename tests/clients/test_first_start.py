"""The first start, the commands, and every refusal in one line, as an operator meets them."""

import asyncio
import html
import io
import json
import os
import pty
import re
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs
from typer.testing import CliRunner

from fanion import __version__
from fanion.__main__ import UMASK
from fanion.app.first_run import FirstStart, start_announcement
from fanion.cli.app import app
from fanion.cli.serve.command import app as serve_app
from fanion.config import Settings
from fanion.db.engine import open_records
from fanion.db.schema.tables import users
from fanion.projects.admin_store import SetUp
from fanion.projects.model import Project, User
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.management import password_matches
from tests.support.preloaded import is_readable, run_fanion
from tests.support.server import RealServer, free_port, this_process

pytestmark = pytest.mark.long("starts a command for each test")

GREETED_S = 120
NOW = datetime(2024, 3, 1, tzinfo=UTC)
ANY = UUID(int=1)
FIRST_START = FirstStart(
    SetUp(
        Project(1, ANY, ANY, "Home", "phc_home", "UTC", NOW),
        User(1, ANY, "owner", "Admin", "admin@fanion.local", True, 1),
        "phx_s3cret",
    ),
    "https://fanion.example.com/api/sign_in_links/s3cret/",
)
RUN_S = 120


@dataclass(frozen=True)
class CommandResult:
    code: int
    out: str
    err: str


def environment(data: Path, settings: Mapping[str, str]) -> dict[str, str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FANION_")}
    return {**environment, "FANION_DATA": str(data), "COLUMNS": "300", **settings}


def fanion(data: Path, *arguments: str, typed: bytes = b"", **settings: str) -> CommandResult:
    """Run the command in this process: starting one costs seconds on a busy machine."""
    changed: dict[str, str | None] = dict.fromkeys(k for k in os.environ if k.startswith("FANION_"))
    before = os.umask(UMASK)  # as the command itself begins
    try:
        done = CliRunner().invoke(app, arguments, typed, changed | environment(data, settings))
    finally:
        os.umask(before)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return CommandResult(done.exit_code, done.stdout, done.stderr)


def fanion_process(data: Path, *arguments: str, **settings: str) -> CommandResult:
    """Run the command as a process, if it takes the event engine or the log for itself."""
    done = run_fanion(arguments, environment(data, settings))
    return CommandResult(done.returncode, done.stdout, done.stderr)


def json_output(data: Path, *arguments: str) -> Any:
    """Return what a command prints as JSON."""
    done = fanion(data, *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) == 1
    return json.loads(done.out)


def refused(done: CommandResult, text: str) -> None:
    assert (done.code, done.out, done.err) == (2, "", f"fanion: {text}\n")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """Start a server on an empty folder, without a terminal."""
    # The console is off, so that browsers get the landing page.
    settings = {"FANION_CONSOLE": "off"}
    server = RealServer(Path(tmp_path_factory.mktemp("first-start")) / "data", settings)
    server.start()
    yield server
    server.close()


def greeting(server: RealServer) -> str:
    """Return the text that the server wrote into its data folder."""
    path = server.data / "first-start.txt"
    until(lambda: str(path) in server.log_path.read_text(), "the greeting is missing", GREETED_S)
    return path.read_text()


def said(text: str, name: str) -> str:
    [value] = re.findall(rf"^  {name} +(\S+)$", text, re.MULTILINE)
    return str(value)


def sign_in_link(text: str) -> str:
    [link] = re.findall(r"^  (http\S+/sign_in_links/\S+/)$", text, re.MULTILINE)
    return str(link)


def run_as_pasted(line: str) -> CommandResult:
    """Run a line in a shell, without curl's progress.

    curl writes its progress when its output does not go to a terminal.
    """
    quiet = line.strip().replace("curl ", "curl -sS ", 1)
    done = subprocess.run(
        ["/bin/sh", "-c", quiet], capture_output=True, text=True, timeout=RUN_S, check=False
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


def test_the_first_start_prints_everything_once(fresh: RealServer) -> None:
    text = greeting(fresh)

    assert text.count(f"Fanion serves on {fresh.url}") == 1
    assert said(text, "owner") == "admin@fanion.local"
    assert sign_in_link(text).startswith(f"{fresh.url}/api/sign_in_links/")
    assert said(text, "project API key").startswith("phc_")
    assert said(text, "personal API key").startswith("phx_")


def test_what_is_printed_to_no_terminal_holds_no_secret(fresh: RealServer) -> None:
    text, path = greeting(fresh), fresh.data / "first-start.txt"
    printed = fresh.log_path.read_text()

    assert f"The keys, and a link to sign in: {path.resolve()}" in printed
    for name in ("project API key", "personal API key"):
        assert said(text, name) not in printed
    assert sign_in_link(text) not in printed
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_terminal_gets_everything(tmp_path: Path) -> None:
    data = tmp_path / "data"
    ours, its = pty.openpty()
    settings = {"FANION_PORT": str(free_port()), "FANION_PROCESSES": "1"}
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        process = subprocess.Popen(
            [sys.executable, "-m", "fanion", "serve"],
            env=environment(data, settings),
            stdout=its,
            stderr=subprocess.DEVNULL,
        )
        os.close(its)
        try:
            text = read_until(terminal, b"and see it:")
        finally:
            process.terminate()
            process.wait(timeout=RUN_S)

    assert said(text, "personal API key").startswith("phx_")
    assert not (data / "first-start.txt").exists()


def read_until(terminal: io.RawIOBase | io.FileIO, end: bytes) -> str:
    """Return what is written to a terminal, up to these bytes."""
    read = b""
    give_up = time.monotonic() + RUN_S
    while end not in read:
        assert time.monotonic() < give_up, read
        if is_readable(terminal, 1):
            read += terminal.read(65_536) or b""
    return read.decode().replace("\r\n", "\n")


def test_a_file_that_cannot_be_written_costs_no_start(tmp_path: Path) -> None:
    missing = Settings(data=tmp_path / "none")

    with capture_logs() as lines:
        printed = start_announcement(missing, FIRST_START, to_terminal=False)

    assert (
        "could not be written to a file; create another key with `fanion keys create`, and a link "
        "to sign in with `fanion users reset`"
    ) in printed
    assert "s3cret" not in printed + str(lines)
    assert [line["event"] for line in lines] == ["first_start_not_written"]


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("kept")
    (tmp_path / "first-start.txt").symlink_to(elsewhere)

    start_announcement(Settings(data=tmp_path), FIRST_START, to_terminal=False)

    assert elsewhere.read_text() == "kept"
    assert "s3cret" in (tmp_path / "first-start.txt").read_text()


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


def test_the_snippets_of_its_landing_page_work_as_pasted(fresh: RealServer) -> None:
    page = plain_http.get(f"{fresh.url}/", headers={"accept": "text/html"}).text
    codes = [html.unescape(code) for code in re.findall(r"<code>([^<]*)</code></pre>", page)]
    [python] = [code for code in codes if code.startswith("from posthog ")]
    [capture, flags] = [line for code in codes for line in code.split("\n\n") if "curl" in line]
    token = said(greeting(fresh), "project API key")

    sent = [run_as_pasted(line.replace("phc_…", token)) for line in (capture, flags)]
    program = subprocess.run(
        [sys.executable, "-c", python.replace("phc_…", token)],
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )

    assert [(done.code, done.err) for done in sent] == [(0, ""), (0, "")]
    assert sent[0].out == '{"status":1}'
    assert json.loads(sent[1].out)["errorsWhileComputingFlags"] is False
    assert (program.returncode, program.stderr) == (0, "")


def test_its_keys_are_those_of_the_management_api(fresh: RealServer) -> None:
    text = greeting(fresh)
    headers = {"authorization": f"Bearer {said(text, 'personal API key')}"}

    project = plain_http.get(f"{fresh.url}/api/projects/@current/", headers=headers).json()
    me = plain_http.get(f"{fresh.url}/api/users/@me/", headers=headers).json()

    assert project["api_token"] == said(text, "project API key")
    assert me["email"] == "admin@fanion.local"


def test_its_link_signs_the_owner_in_once_and_asks_for_a_password(fresh: RealServer) -> None:
    link = sign_in_link(greeting(fresh))
    new = {"password": "the owner's first passphrase"}
    page = {"accept": "text/html"}

    with plain_http.Client() as browser, plain_http.Client() as thief:
        previews = [browser.get(link, headers=page).status_code for _ in range(2)]
        done = browser.post(link, data=new, headers=page)
        me = browser.get(f"{fresh.url}/api/users/@me/").json()
        again = thief.post(link, json=new)
        login = {"email": "admin@fanion.local", **new}
        signed_in = thief.post(f"{fresh.url}/api/login/", json=login)

    assert (previews, done.status_code) == ([200, 200], 303)
    assert done.headers["location"] == f"{fresh.url}/"
    assert (me["email"], me["has_password"]) == ("admin@fanion.local", True)
    assert (again.status_code, again.json()["code"]) == (400, "invalid_token")
    assert signed_in.status_code == 200
    assert link.split("/")[-2] not in fresh.log_path.read_text()


def test_an_owner_who_is_locked_out_gets_back_in_while_the_server_runs(fresh: RealServer) -> None:
    arguments = ("users", "reset", "admin@fanion.local", "--json")
    done = fanion(fresh.data, *arguments, FANION_PORT=str(fresh.port))
    link = json.loads(done.out)["link"]

    with plain_http.Client() as browser:
        answer = browser.post(link, json={"password": "another passphrase of hers"})
        me = browser.get(f"{fresh.url}/api/users/@me/").json()

    assert link.startswith(f"{fresh.url}/api/reset/")
    assert (answer.status_code, me["email"]) == (200, "admin@fanion.local")


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

    refused(
        done,
        f"cannot listen on 127.0.0.1:{port}: Address already in use by {this_process()}. Stop the "
        "process that uses it, or choose another address with FANION_HOST and FANION_PORT.",
    )


def test_the_next_start_prints_no_keys(fresh: RealServer) -> None:
    key, before = said(greeting(fresh), "personal API key"), fresh.log_path.read_text()
    path = fresh.data / "first-start.txt"
    path.unlink()

    assert fresh.stop() == 0
    fresh.start()
    second = fresh.log_path.read_text().removeprefix(before)

    assert f"Fanion serves on {fresh.url}\n" in second
    assert "This is the first start" not in second
    assert key not in second
    assert not path.exists()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Return a folder that `fanion setup` made, and the output of the command."""
    data = Path(tmp_path_factory.mktemp("installed")) / "data"
    return data, json_output(data, "setup")


def test_setup_prints_one_object_with_the_keys(installed: tuple[Path, Any]) -> None:
    _, made = installed

    assert set(made) == {
        "organization_id",
        "project_id",
        "project_api_key",
        "personal_api_key",
        "email",
        "link",
    }
    assert isinstance(made["project_id"], int)
    assert re.fullmatch(r"phc_[A-Za-z0-9]{32,}", made["project_api_key"])
    assert re.fullmatch(r"phx_[A-Za-z0-9]{32,}", made["personal_api_key"])
    assert re.fullmatch(r"http://127.0.0.1:8000/api/sign_in_links/[\w-]{43}/", made["link"])


async def test_an_owner_without_a_password_has_none(installed: tuple[Path, Any]) -> None:
    data, _ = installed

    records = await open_records(f"sqlite:///{data / 'records.db'}")
    [row] = await records.fetch(select(users.c.password_hash))
    await records.close()

    assert row.password_hash == ""
    assert not password_matches(row.password_hash, "")


GIVEN = [
    (("--password-stdin",), "p w é of the owner\n", ""),
    (("--password", "-"), "p w é of the owner", ""),
    (("--password-file", "-"), "p w é of the owner\r\n", ""),
    (("--password-file", "FILE"), "", ""),
    (
        ("--password", "p w é of the owner"),
        "",
        "fanion: a password on the command line is visible in the process list; "
        "use --password-stdin.\n",
    ),
]


@pytest.mark.parametrize(("arguments", "typed", "reported"), GIVEN)
async def test_a_password_is_read_from_hidden_sources(
    arguments: tuple[str, ...], typed: str, reported: str, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("p w é of the owner\n")
    named = tuple(str(secret) if argument == "FILE" else argument for argument in arguments)

    done = await asyncio.to_thread(
        fanion, tmp_path / "data", "setup", *named, "--json", typed=typed.encode()
    )
    records = await open_records(f"sqlite:///{tmp_path / 'data' / 'records.db'}")
    [row] = await records.fetch(select(users.c.password_hash))
    await records.close()

    assert (done.code, done.err) == (0, reported)
    assert {"password", "link"}.isdisjoint(json.loads(done.out))
    assert password_matches(row.password_hash, "p w é of the owner")


NO_PASSWORD: dict[str, tuple[tuple[str, ...], bytes, str]] = {
    "empty": (("--password", ""), b"", "The password is empty."),
    "nothing on standard input": (("--password-stdin",), b"\n", "The password is empty."),
    "two lines": (("--password-stdin",), b"a\nb\n", "The password is not one line of text."),
    "no text": (("--password-stdin",), b"\xff", "The password is not UTF-8."),
    "too short": (
        ("--password-stdin",),
        b"elevenchars\n",
        "The password: Ensure this field has at least 12 characters.",
    ),
    "too common": (
        ("--password-stdin",),
        b"qwerty123456\n",
        "The password: This password is too common.",
    ),
    "endless": (
        ("--password-file", "/dev/zero"),
        b"",
        "The password is longer than the maximum of 4096 bytes.",
    ),
    "no file": (
        ("--password-file", "/none"),
        b"",
        "/none cannot be read: No such file or directory",
    ),
    "two ways": (
        ("--password", "a", "--password-stdin"),
        b"b",
        "Give one of --password, --password-file and --password-stdin.",
    ),
}


@pytest.mark.parametrize("name", NO_PASSWORD)
def test_a_password_that_is_none_is_refused_and_nothing_is_made(name: str, tmp_path: Path) -> None:
    arguments, typed, line = NO_PASSWORD[name]

    done = fanion(tmp_path / "data", "setup", *arguments, typed=typed)

    refused(done, line)
    assert not (tmp_path / "data").exists()


def test_a_second_setup_is_refused_and_changes_nothing(installed: tuple[Path, Any]) -> None:
    data, made = installed

    done = fanion(data, "setup", "--json")

    refused(done, "Already set up. `fanion keys create` makes another key.")
    assert json_output(data, "projects", "list") == [
        {
            "project_id": made["project_id"],
            "name": "Default project",
            "project_api_key": made["project_api_key"],
        }
    ]


def test_keys_are_created_listed_and_revoked(installed: tuple[Path, Any]) -> None:
    data, _ = installed

    made = json_output(data, "keys", "create", "--label", "CI", "--scope", "feature_flag:read")
    listed = {key["id"]: key for key in json_output(data, "keys", "list")}
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
    assert made["id"] not in {key["id"] for key in json_output(data, "keys", "list")}
    refused(again, f"There is no key {made['id']}; `fanion keys list` shows them.")


def test_projects_are_created_and_listed(installed: tuple[Path, Any]) -> None:
    data, _ = installed

    made = json_output(data, "projects", "create", "Shop", "--timezone", "Europe/Berlin")
    listed = json_output(data, "projects", "list")
    returned = fanion(data, "projects", "list")

    assert made["name"] == "Shop"
    assert made in listed
    assert returned.code == 0
    assert made["project_api_key"] in returned.out


def test_doctor_finds_a_sound_installation(installed: tuple[Path, Any]) -> None:
    data, _ = installed

    migrated = fanion(data, "migrate")
    done = fanion_process(data, "doctor")

    assert (migrated.code, migrated.out) == (0, "The records store is up to date.\n")
    assert done.code == 0, done.out + done.err
    for what in ("settings", "versions", "disk", "clock", "records store", "event store"):
        assert re.search(rf"^ *ok +{what} ", done.out, re.MULTILINE), what


def test_doctor_asks_a_running_server(fresh: RealServer) -> None:
    done = fanion_process(fresh.data, "doctor", FANION_PORT=str(fresh.port))

    assert fresh.process is not None
    runs = f"runs on this folder: process {fresh.process.pid}, {fresh.url}; ready: records ok, "
    assert done.code == 0, done.out
    assert re.search(rf"^ok +server +{re.escape(runs)}", done.out, re.MULTILINE)
    assert re.search(r"^ok +event store +ok, according to the server that uses it$", done.out, re.M)
    assert done.err == ""


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
    "an unknown level": (
        ["serve"],
        {"FANION_LOG_LEVEL": "loud"},
        "FANION_LOG_LEVEL must be debug, info, warning or error",
    ),
    "no key id": (["keys", "revoke", "x"], {}, "x is not a key id; `fanion keys list` shows them."),
    "not set up": (["keys", "create"], {}, "Run `fanion setup` first."),
    "no project without an organization": (
        ["projects", "create", "x"],
        {},
        "Run `fanion setup` first.",
    ),
    "a project without a name": (
        ["projects", "create", ""],
        {},
        "The name must have 1 to 200 characters.",
    ),
    "a project of a long name": (
        ["setup", "--project", "x" * 201],
        {},
        "--project: the name must have 1 to 200 characters.",
    ),
    "an unknown time zone": (
        ["projects", "create", "x", "--timezone", "Mars/Base"],
        {},
        "--timezone: Mars/Base is not an IANA name such as Europe/Berlin.",
    ),
    "an unknown user": (
        ["keys", "create", "--email", "x@y.z"],
        {},
        "There is no active user x@y.z; `fanion users list` shows them.",
    ),
    "a folder that is a file": (
        ["migrate"],
        {"FANION_DATA": "/dev/null"},
        "there is no data folder /dev/null; name another one with --data, or make this one with "
        "`fanion serve` or `fanion setup`",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_one_clear_line_and_exit_code_2(name: str, tmp_path: Path) -> None:
    arguments, settings, line = REFUSED[name]
    (tmp_path / "data").mkdir()

    done = fanion(tmp_path / "data", *arguments, typed=b"", **settings)

    refused(done, line)


@pytest.mark.parametrize(
    "arguments",
    [
        ["migrate"],
        ["doctor"],
        ["ingestion"],
        ["keys", "list"],
        ["keys", "create"],
        ["projects", "list"],
        ["dead-letters", "list"],
        ["export", "--project", "1"],
    ],
    ids=" ".join,
)
def test_a_data_folder_that_does_not_exist_is_reported_and_not_made(
    tmp_path: Path, arguments: list[str]
) -> None:
    folder = tmp_path / "typo" / "data"

    done = fanion(folder, *arguments)

    reported = (
        f"there is no data folder {folder}; name another one with --data, or make this one with "
    )
    refused(done, f"{reported}`fanion serve` or `fanion setup`")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["migrate"], ["keys", "list"]], ids=" ".join)
def test_a_records_file_elsewhere_that_does_not_exist_is_reported_and_not_made(
    tmp_path: Path, arguments: list[str]
) -> None:
    file = tmp_path / "typo.db"

    done = fanion(tmp_path, *arguments, FANION_DATABASE_URL=f"sqlite:///{file}")

    reported = f"there is no records store {file}; name another one with FANION_DATABASE_URL, or "
    refused(done, f"{reported}make this one with `fanion serve` or `fanion setup`")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("columns", "is_terminal"), [("80", "1"), ("200", "1"), ("80", "")])
def test_a_list_shows_whole_ids(
    installed: tuple[Path, Any], columns: str, is_terminal: str
) -> None:
    data, _ = installed
    made = json_output(data, "keys", "create", "--label", "a label that takes some room")

    returned = fanion(data, "keys", "list", COLUMNS=columns, FORCE_COLOR=is_terminal)

    lines = [line for line in returned.out.splitlines() if made["id"] in line]
    assert len(lines) == 1
    assert "a label that takes some room" in returned.out
    if (columns, is_terminal) == ("80", "1"):
        assert lines == [f"id                 {made['id']}"]
        assert max(map(len, returned.out.splitlines())) <= 80
    else:
        assert "a label that takes some room" in lines[0]


@pytest.mark.parametrize(
    "command", [[], ["serve"], ["doctor"], ["keys"], ["keys", "list"], ["dead-letters", "retry"]]
)
def test_help_has_a_short_name(tmp_path: Path, command: list[str]) -> None:
    short, long = (fanion(tmp_path, *command, option) for option in ("-h", "--help"))

    assert (short.code, short.err) == (0, "")
    assert "Usage: " in short.out
    assert short == long


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_of_serve_does_without_the_rest_of_the_command_line(option: str) -> None:
    done = CliRunner().invoke(serve_app, ["serve", option])

    assert done.exit_code == 0
    assert "Serve until stopped." in done.output


def test_the_version_is_an_option_too(tmp_path: Path) -> None:
    done = fanion(tmp_path, "--version")

    assert (done.code, done.out) == (0, f"{__version__}\n")


def test_an_unreachable_store_is_one_clear_line(tmp_path: Path) -> None:
    url = f"postgresql://fanion:s3cret@127.0.0.1:{free_port()}/none"

    settings = {"FANION_DATABASE_URL": url, "FANION_PORT": str(free_port())}
    done = fanion_process(tmp_path / "data", "serve", **settings)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("fanion: the records store cannot be used: ")
    assert len(done.err.splitlines()) == 1
    assert "s3cret" not in done.err
