"""Every command of the documentation is run as it is written, or checked where it cannot be.

A page with another command than those named here fails. What needs another machine, or would change
this one, is checked by the programs' own help, and by what the command names.
"""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from tests.clients.management import Api, serving
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.clickhouse.server import SERVER, clickhouse
from tests.support.documented_commands import PAGES, ROOT, Shell, commands_of
from tests.support.otlp_receiver import otlp_receiver
from tests.support.postgres import Outage, Postgres
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer, free_port

long = pytest.mark.long("runs commands, each in a process of its own")
# Pages whose own tests run all their commands.
OTHERS = {
    "README.md": "tests/clients/test_readme.py",
    "docs/tutorial.md": "tests/clients/test_tutorial.py",
}
Served = tuple[RealServer, Keys]


@pytest.mark.quick
def test_every_page_with_commands_has_a_test() -> None:
    here = set(re.findall(r'commands_of\(\s*"(.+?)"\s*\)', Path(__file__).read_text()))
    elsewhere = {page for page, file in OTHERS.items() if (ROOT / file).is_file()}

    assert {page for page in PAGES if commands_of(page)} == here | elsewhere


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("documented")) as server:
        yield server


@pytest.fixture
def shell(served: Served, tmp_path: Path) -> Shell:
    """Return a shell with the server's settings, an address and a key as pages name them."""
    server, keys = served
    given = {"FANION": server.url, "KEY": keys.personal_api_key}
    return Shell(tmp_path, {**server.environment(), **given})


@long
def test_questions_are_answered(shell: Shell) -> None:
    legacy, query = commands_of("docs/analysis.md")
    sql, _ = commands_of("docs/sql.md")  # the second needs a ClickHouse server

    assert "result" in json.loads(shell.run(legacy))
    assert "results" in json.loads(shell.run(query))
    assert len(json.loads(shell.run(sql))["columns"]) == 2


@long
def test_a_backup_is_made_listed_read_and_restored(shell: Shell, tmp_path: Path) -> None:
    make, show, check, restore = commands_of("docs/backup.md")
    shell.replaced = {"/mnt/backups": f"{tmp_path}/backups", "/var/lib/": f"{tmp_path}/"}

    for command in (make, show, check, restore):
        assert shell.run(command)

    assert (tmp_path / "fanion-restored" / "records.db").is_file()


@long
def test_users_and_roles_are_made(shell: Shell) -> None:
    add_user, add_role, add_member = commands_of("docs/command-line.md")

    assert "phx_" in shell.run(add_user)
    shell.run(add_role)
    shell.run(add_member)

    assert "ada@example.com" in shell.run("fanion roles list")


@long
def test_live_events_are_shown(shell: Shell, served: Served) -> None:
    [stream] = commands_of("docs/live-events.md")
    server, keys = served
    event = {"api_key": keys.project_api_key, "event": "$pageview", "distinct_id": "ada"}

    with shell.running(stream) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"retry: ")
        plain_http.post(f"{server.url}/capture/", json=event).raise_for_status()
        line = next(line for line in process.stdout if line.startswith(b"data:"))

    assert b'"event":"$pageview"' in line


@long
def test_events_are_exported(shell: Shell, served: Served, tmp_path: Path) -> None:
    key, export, parquet, persons, request, regular, asked = commands_of("docs/exports.md")
    server, keys = served
    event = {"api_key": keys.project_api_key, "event": "exported", "distinct_id": "ada"}
    event["timestamp"] = "2026-01-15T12:00:00Z"
    plain_http.post(f"{server.url}/capture/", json=event).raise_for_status()
    address = f"{server.url}/api/projects/1/events/?event=exported"
    headers = {"authorization": f"Bearer {keys.personal_api_key}"}
    until(lambda: httpx.get(address, headers=headers).json()["results"], "it is not stored")

    assert "january.csv" in shell.run(f"{key}\n{export}")
    shell.run(f"{key}\n{parquet}")
    shell.run(f"{key}\n{persons}")
    shell.run(request)
    assert "exported,1" in shell.run(asked)
    shell.replaced = {"s3://exports/fanion": f"{tmp_path}/bucket"}
    shell.run(f"{key}\n{regular}")

    assert "exported" in (tmp_path / "january.csv").read_text()
    assert (tmp_path / "events" / "000001.parquet").read_bytes().startswith(b"PAR1")
    assert "ada" in (tmp_path / "persons.csv").read_text()
    assert (tmp_path / "week.jsonl").is_file()
    assert (tmp_path / "bucket" / "project-1" / "2026-01-15" / "manifest.json").is_file()


@long
def test_projects_are_exported_and_imported(shell: Shell, served: Served, tmp_path: Path) -> None:
    export, dry_run, apply, own_key, archive, restore, key, plan, events = commands_of(
        "docs/transfer.md"
    )
    server, keys = served
    with closing(Api(*served)) as api:
        api.create_flag(key="exported")
    event = {"api_key": keys.project_api_key, "event": "archived", "distinct_id": "ada"}
    plain_http.post(f"{server.url}/capture/", json=event).raise_for_status()
    address = f"{server.url}/api/projects/1/events/?event=archived"
    headers = {"authorization": f"Bearer {keys.personal_api_key}"}
    until(lambda: httpx.get(address, headers=headers).json()["results"], "it is not stored")
    shell.run("fanion projects create Other")

    shell.run(export)
    assert "exported" in (tmp_path / "project.json").read_text()
    assert "flag" in shell.run(dry_run)
    shell.run(apply)
    shell.replaced = {"phx_…": keys.personal_api_key}
    shell.run(f"{own_key}\n{archive}")
    restored = shell.run(f"{own_key}\n{restore}")
    assert re.search(r"that the server has stored: \d+, all of them\.", restored)
    assert {path.name for path in tmp_path.glob("shop*")} == {"shop.tar"}
    copied = httpx.get(address.replace("projects/1", "projects/2"), headers=headers)
    assert [row["event"] for row in copied.json()["results"]] == ["archived"]
    # From this server, which has PostHog's API, into its other project.
    shell.replaced = {
        "phx_…": keys.personal_api_key,
        "https://eu.posthog.com": server.url,
        "12345 --into 1": "1 --into 2",
    }
    assert shell.run(f"{key}\n{plan}")
    assert shell.run(f"{key}\n{events}")


@long
def test_events_are_imported(shell: Shell, tmp_path: Path) -> None:
    preview, apply = commands_of("docs/import.md")
    (tmp_path / "events.csv").write_text("Name,Time,User\npaid,2024-05-01,ada\n")
    mapping = {"event": "Name", "timestamp": "Time", "distinct_id": "User"}
    (tmp_path / "mapping.json").write_text(json.dumps(mapping))

    shell.run(preview)
    assert '"event": "Name"' in (tmp_path / "preview.txt").read_text()
    assert "that the server has stored: 1, all of them." in shell.run(apply)


@long
def test_a_server_sends_traces_and_metrics(tmp_path: Path) -> None:
    [serve] = commands_of("docs/observe.md")
    server = PreloadedServer(tmp_path / "data")
    server.setup()

    with otlp_receiver() as receiver:
        replaced = {"http://127.0.0.1:4318": receiver.url}
        with Shell(tmp_path, server.environment(), replaced).running(serve) as process:
            until(lambda: is_ready(server.url), "the server is not ready")
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0

        assert receiver.metric("fanion_ready") is not None


def is_ready(url: str) -> bool:
    try:
        return plain_http.get(f"{url}/_ready").is_success
    except httpx.TransportError:
        return False


@long
@pytest.mark.postgresql
def test_an_installation_is_moved(tmp_path: Path, postgres: Postgres) -> None:
    create, move = commands_of("docs/move.md")
    server = PreloadedServer(tmp_path / "data")
    server.setup()
    with clickhouse(tmp_path) as events, closing(server):
        server.start()
        settings = {**server.environment(), "PGHOST": "127.0.0.1", "PGUSER": "fanion"}
        shell = Shell(tmp_path, {**settings, "PGPORT": str(postgres.port)})
        shell.replaced = {
            "postgresql://fanion:secret@db/fanion": postgres.url("fanion"),
            "clickhouse://fanion:secret@events:8123/fanion": events.url(SERVER),
        }

        shell.run(create)
        with shell.running(move) as command:
            assert command.stdout is not None
            assert any(b"Nothing was ingested for" in line for line in command.stdout)
            # It sends on what the former server accepts, until that is stopped.
            assert server.stop() == 0
            assert command.wait() == 0


@long
@pytest.mark.postgresql
async def test_servers_have_roles_snapshots_and_spools(
    tmp_path: Path, postgres: Postgres, postgres_url: str
) -> None:
    *roles, snapshot, start, send = commands_of("docs/scale-out.md")
    with clickhouse(tmp_path) as events, ExitStack() as stack:
        stores = {
            "FANION_DATABASE_URL": postgres_url,
            "FANION_EVENTS_URL": events.url(SERVER),
            "FANION_PROCESSES": "1",
        }
        replaced = {"/srv/fanion/": f"{tmp_path}/", "/mnt/old-disk/fanion/": f"{tmp_path}/web/"}

        def shell_of(name: str, **settings: str) -> Shell:
            (folder := tmp_path / name).mkdir(exist_ok=True)
            return Shell(folder, {**stores, "FANION_DATA": str(folder), **settings}, replaced)

        def serve(command: str, name: str) -> str:
            port = str(free_port())
            shell = shell_of(name, FANION_PORT=port)
            stack.enter_context(shell.running(re.sub(r"--port \d+", f"--port {port}", command)))
            until(lambda: is_ready(f"http://127.0.0.1:{port}"), f"{name} is not ready")
            return f"http://127.0.0.1:{port}"

        keys = json.loads(shell_of("set-up").run("fanion setup --json"))
        web, *_ = [
            serve(role, name) for role, name in zip(roles, ("web", "api", "back"), strict=True)
        ]
        shell_of("set-up").run(snapshot)
        from_snapshot = serve(start, "elsewhere")
        event = {"api_key": keys["project_api_key"], "event": "kept", "distinct_id": "ada"}
        # From then on the server knows the project without PostgreSQL.
        plain_http.post(f"{web}/decide/?v=3", json=event).raise_for_status()
        async with Outage(postgres, postgres_url):
            kept = plain_http.post(f"{web}/capture/", json=event)
            decided = plain_http.post(f"{from_snapshot}/decide/?v=3", json=event)
            spooled = list((tmp_path / "web" / "spool").iterdir())
            stack.close()
        shell_of("set-up").run(send)

    assert (kept.status_code, decided.status_code) == (200, 200)
    assert spooled
    assert not any((tmp_path / "web" / "spool").iterdir())


# Commands that another test runs, in an environment of its own.
RUN_ELSEWHERE = {
    "fanion migrate": "tests/db/test_released_versions_crash.py",
    "fanion migrate --check": "tests/db/test_released_versions_crash.py",
    "fanion serve": "tests/packaging/test_built_release.py",
    "make run": "tests/clients/test_first_start.py",
    "pip install --no-deps --require-hashes -r .venv/share/fanion/requirements-embedded.lock": (
        "tests/packaging/test_built_release.py"
    ),
    "pip install --no-deps --require-hashes -r .venv/share/fanion/requirements.lock": (
        "tests/packaging/test_built_release.py"
    ),
    "pip install --no-deps fanion": "tests/packaging/test_built_release.py",
    "pip install --upgrade fanion": "tests/packaging/test_upgrade_crash.py",
    "pip install fanion": "tests/packaging/test_built_release.py",
    "pip install fanion==0.15.0": "tests/packaging/test_upgrade_crash.py",
    "python3 -m venv .venv && . .venv/bin/activate": "tests/packaging/test_built_release.py",
}
# The beginnings of commands that would change this machine, or need another; for each a file, and
# what that defines of what the command names.
CHECKED = {
    "useradd ": ("deploy/fanion.service", "User=fanion\n"),
    "python3 -m venv /opt/fanion/.venv ": (
        "deploy/fanion.service",
        "=/opt/fanion/.venv/bin/fanion",
    ),
    "bin/pip install --no-deps fanion": ("pyproject.toml", 'name = "fanion"'),
    "bin/pip install --no-deps --require-hashes ": ("pyproject.toml", "share/fanion/requirements."),
    "install -D ": ("pyproject.toml", '"share/fanion/fanion.env"'),
    "install -m ": ("pyproject.toml", '"share/fanion/fanion.service"'),
    "systemctl enable ": ("deploy/fanion.service", "StateDirectory=fanion\n"),
    "systemd-run ": ("deploy/fanion.service", "EnvironmentFile=/etc/fanion/fanion.env\n"),
    "docker build -f deploy/Dockerfile -t fanion .": (
        "deploy/compose.scaled.yaml",
        "image: fanion",
    ),
    "docker build -f deploy/Dockerfile -t fanion:embedded ": ("deploy/Dockerfile", "ARG ENGINE="),
    "kubectl create namespace fanion": ("docs/install.md", "namespace: fanion\n"),
    "kubectl --namespace fanion create ": ("deploy/kubernetes/jobs.yaml", "{name: fanion-stores, "),
    "kubectl apply ": ("deploy/kubernetes/kustomization.yaml", "kind: Kustomization"),
    "kubectl --namespace fanion logs ": ("deploy/kubernetes/api.yaml", "component: api}"),
    "pip install 'fanion[kafka]'": ("pyproject.toml", "kafka = ["),
    "FANION_LOG_URL='kafka:": ("src/fanion/config/fields.py", "    log_url: str"),
    "FANION_EVENTS_URL=": ("src/fanion/config/stores.py", '"cluster"'),
    "cd console && npm ci && npm run dev": ("console/package.json", '"dev": "vite"'),
}
PIP = (sys.executable, "-m", "pip")
# How programs tell their options; where one is missing, these are not compared.
HELP: Mapping[str, Sequence[Sequence[str]]] = {
    "docker": [("docker", "build", "--help")],
    "install": [("install", "--help")],
    "kubectl": [
        ("kubectl", *words.split())
        for words in ("options", "create secret generic --help", "apply --help", "logs --help")
    ],
    "pip": [(*PIP, "install", "--help")],
    "systemctl": [("systemctl", "--help")],
    "systemd-run": [("systemd-run", "--help")],
    "useradd": [("useradd", "--help")],
}


def checked_commands() -> list[str]:
    return [
        command
        for command in (
            *commands_of("docs/install.md"),
            *commands_of("docs/upgrade.md"),
            *commands_of("docs/console.md"),
            *commands_of("docs/kafka.md"),
            *commands_of("docs/clickhouse-cluster.md"),
        )
        if command not in RUN_ELSEWHERE
    ]


@pytest.mark.quick
def test_every_other_command_is_run_by_another_test_or_checked() -> None:
    pages = [*map(commands_of, ("docs/install.md", "docs/upgrade.md", "docs/console.md"))]
    beginnings = [[start for start in CHECKED if c.startswith(start)] for c in checked_commands()]

    assert [len(found) for found in beginnings] == [1] * len(CHECKED)
    assert RUN_ELSEWHERE.keys() <= set().union(*pages)
    assert all((ROOT / file).is_file() for file in RUN_ELSEWHERE.values())


@pytest.mark.quick
@pytest.mark.parametrize("command", checked_commands())
def test_a_command_names_what_exists(command: str) -> None:
    [(file, text)] = [named for start, named in CHECKED.items() if command.startswith(start)]

    assert text in (ROOT / file).read_text()


@long
@pytest.mark.parametrize("program", HELP)
def test_programs_have_the_options_of_commands(program: str) -> None:
    options = {
        option
        for command in checked_commands()
        for part in re.split(r" (?:&&|\|) ", command)
        for name, *words in [shlex.split(part)]
        if Path(name).name == program
        for word in words
        for option in [word.partition("=")[0]]
        if option.startswith("-")
    }
    assert options
    for asked in HELP[program]:
        if shutil.which(asked[0]) is None:
            return

    told = "".join(
        subprocess.run(asked, capture_output=True, text=True, check=False).stdout
        for asked in HELP[program]
    )

    assert {option for option in options if not re.search(rf"(?<!\w){option}\b", told)} == set()
