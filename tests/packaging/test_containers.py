"""The container files name existing settings, commands, roles and files. No image is built."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from fanion.cli.app import app
from fanion.config import ALL, PREFIX, Settings, read_settings
from fanion.config.roles import read_roles
from fanion.events.storage.store import NATIVE_VERSIONS
from tests.packaging.test_distribution import PARTS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
COMPOSE = ("compose.yaml", "compose.scaled.yaml")
VARIABLES = {
    "POSTGRES_PASSWORD": "p",
    "CLICKHOUSE_PASSWORD": "c",
    "KAFKA_CLUSTER_ID": "k",
    "FANION_PUBLIC_URL": "",
    "FANION_MANAGEMENT_URL": "",
}

Service = dict[str, Any]


def compose_file(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(substitute_variables((DEPLOY / name).read_text()))
    return document


def substitute_variables(text: str) -> str:
    """Replace `${NAME}`, `${NAME:-default}` and `${NAME:?problem}` like Compose does."""

    def value(match: re.Match[str]) -> str:
        name, operator, rest = match.groups()
        assert operator or VARIABLES[name]
        return VARIABLES[name] or (rest if operator == ":-" else "")

    return re.sub(r"\$\{(\w+)(?:(:[-?])([^}]*))?\}", value, text)


def own_services(name: str) -> Mapping[str, Service]:
    services = compose_file(name)["services"]
    return {
        key: service for key, service in services.items() if service["image"].startswith("fanion")
    }


def image_environment() -> dict[str, str]:
    [line] = re.findall(r"(?m)^ENV (PATH=.*)$", DOCKERFILE)
    return dict(part.split("=", 1) for part in line.split())


def parsed_options(arguments: list[str]) -> Mapping[str, Any]:
    """Return the options of the command.

    Raises:
        click.UsageError: The command does not have such an option.
    """
    group: Any = typer.main.get_command(app)
    command = group.commands[arguments[0]]
    params: Mapping[str, Any] = command.make_context(arguments[0], arguments[1:]).params
    return params


@pytest.mark.parametrize(
    ("name", "key"), [(name, key) for name in COMPOSE for key in own_services(name)]
)
def test_a_service_has_settings_that_the_program_takes(name: str, key: str) -> None:
    service = own_services(name)[key]
    options = parsed_options(service.get("command", ["serve"]))
    environment = {**image_environment(), **service["environment"]}

    settings = read_settings(environment, {"role": ",".join(options.get("role") or ()) or None})

    assert settings.host == "0.0.0.0"
    assert settings.data == Path("/var/lib/fanion")
    assert {n for n in environment if n.startswith(PREFIX)} <= {
        f"{PREFIX}{field.upper()}" for field in Settings.__struct_fields__
    }


@pytest.mark.parametrize("name", COMPOSE)
def test_every_role_is_served(name: str) -> None:
    commands = [service.get("command", ["serve"]) for service in own_services(name).values()]
    roles = [
        parsed_options(command)["role"] or ["all"] for command in commands if command[0] == "serve"
    ]

    assert frozenset().union(*(read_roles(",".join(role_names)) for role_names in roles)) == ALL


def test_several_of_a_service_share_no_port_and_no_folder() -> None:
    for service in own_services("compose.scaled.yaml").values():
        count = service.get("deploy", {}).get("replicas", 1)
        if count == 1:
            continue
        assert not service.get("volumes")
        for port in service.get("ports", ()):
            first, last = port.split(":")[1].split("-")
            assert int(last) - int(first) == count - 1


def test_who_serves_waits_for_the_migration() -> None:
    services = own_services("compose.scaled.yaml")
    serving = [service for service in services.values() if service["command"][0] == "serve"]

    assert services["migrate"]["command"] == ["migrate"]
    assert len(serving) == len(services) - 1
    for service in serving:
        assert service["depends_on"]["migrate"]["condition"] == "service_completed_successfully"


def test_every_server_uses_the_kafka_log_of_the_file_that_adds_it() -> None:
    added = compose_file("compose.kafka.yaml")["services"]
    servers = own_services("compose.scaled.yaml")
    brokers = {name: service for name, service in added.items() if "image" in service}
    settings = {
        name: read_settings(servers[name]["environment"] | service["environment"])
        for name, service in added.items()
        if name not in brokers
    }

    assert settings.keys() == servers.keys() - {"migrate"}
    [log] = {read.kafka for read in settings.values()}
    assert log is not None
    assert log.servers == ",".join(f"{name}:9092" for name in brokers)


def test_the_kafka_brokers_are_one_cluster() -> None:
    services = compose_file("compose.kafka.yaml")["services"]
    brokers = {name: service for name, service in services.items() if "image" in service}
    environments = {name: service["environment"] for name, service in brokers.items()}
    [voters] = {settings["KAFKA_CONTROLLER_QUORUM_VOTERS"] for settings in environments.values()}

    assert voters == ",".join(
        f"{settings['KAFKA_NODE_ID']}@{name}:9093" for name, settings in environments.items()
    )
    for name, settings in environments.items():
        assert settings["KAFKA_ADVERTISED_LISTENERS"] == f"PLAINTEXT://{name}:9092"
        assert settings["KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR"] == len(brokers)
        assert brokers[name]["volumes"] == [f"{name}:{settings['KAFKA_LOG_DIRS']}"]


def test_volumes_are_declared() -> None:
    for name in (*COMPOSE, "compose.kafka.yaml"):
        file = compose_file(name)
        named = {
            volume.partition(":")[0]
            for service in file["services"].values()
            for volume in service.get("volumes", ())
        }
        assert named == set(file["volumes"])


def test_the_version_of_clickhouse_is_one_that_the_tests_know() -> None:
    image = compose_file("compose.scaled.yaml")["services"]["clickhouse"]["image"]

    assert f"{image.partition(':')[2]}.".startswith(NATIVE_VERSIONS)


def test_the_image_has_settings_and_a_command_of_the_program() -> None:
    settings = read_settings(image_environment())
    entry, command = (
        json.loads(text) for text in re.findall(r"(?m)^(?:ENTRYPOINT|CMD) (\[.*\])$", DOCKERFILE)
    )

    assert (settings.host, settings.port) == ("0.0.0.0", 8000)
    assert f"EXPOSE {settings.port}" in DOCKERFILE
    assert f"VOLUME {settings.data}" in DOCKERFILE
    assert entry == ["fanion"]
    parsed_options(command)


def test_the_image_does_not_run_as_root() -> None:
    [user] = re.findall(r"(?m)^USER (\d+):\d+$", DOCKERFILE)

    assert int(user) > 0


def test_the_image_is_healthy_while_the_server_answers() -> None:
    [check] = re.findall(r"(?s)^HEALTHCHECK .*?CMD (\[.*?\])$", DOCKERFILE, re.MULTILINE)
    python, option, program = json.loads(check)

    assert (python, option) == ("python", "-c")
    assert "/_health" in program and f"{PREFIX}PORT" in program
    compile(program, "HEALTHCHECK", "exec")


def test_what_the_image_is_built_from_reaches_the_builder() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    let_in = {line[1:] for line in lines if line.startswith("!")}
    named = set(re.findall(r"deploy/[\w-]+\.lock", DOCKERFILE))

    assert "*" in lines
    assert let_in == set(PARTS)
    assert named == {f"deploy/{path.name}" for path in DEPLOY.glob("*.lock")}
