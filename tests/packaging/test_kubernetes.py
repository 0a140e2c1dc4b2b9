"""The Kustomize base is complete, valid for Kubernetes, and runs the program as it is."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from fanion.config import ALL, PREFIX, Settings, read_settings
from fanion.server.server import DRAIN_S_MAX, LAST_REQUESTS_S
from tests.packaging.test_containers import image_environment, parsed_options

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
INSTALL = FOLDER.parents[1] / "docs" / "install.md"
# The oldest and the newest version that the base is checked against.
VERSIONS = ("1.29", "1.37")
# Values for the chart of another program.
NO_RESOURCES = {"kustomization.yaml", "prometheus-adapter.yaml"}
WORKLOADS = {"Deployment", "StatefulSet", "Job"}
NAME = {"app.kubernetes.io/name": "fanion"}
SECRETS = {
    "database-url": "postgresql://fanion:p@db/fanion",
    "events-url": "clickhouse://fanion:p@events:8123/fanion",
    "log-url": "kafka://kafka:9092/fanion",
}
SURPLUS_S = 10  # for a busy node

Json = dict[str, Any]


@cache
def kustomization() -> Json:
    document: Json = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    return document


@cache
def resources() -> list[Json]:
    """Return the resources, without what the kustomization adds."""
    names = kustomization()["resources"]
    return [document for name in names for document in read_all(FOLDER / name)]


def read_all(path: Path) -> list[Json]:
    return list(yaml.safe_load_all(path.read_text()))


def of_kind(*kinds: str) -> Iterator[Json]:
    return (resource for resource in resources() if resource["kind"] in kinds)


def name_of(resource: Json) -> str:
    return f"{resource['kind']}/{resource['metadata']['name']}"


def pod_of(workload: Json) -> Json:
    pod: Json = workload["spec"]["template"]["spec"]
    return pod


def containers_of(workload: Json) -> list[Json]:
    pod = pod_of(workload)
    return [*pod.get("initContainers", ()), *pod["containers"]]


def environment_of(container: Json) -> Mapping[str, str]:
    [config] = of_kind("ConfigMap")
    assert container["envFrom"] == [{"configMapRef": {"name": config["metadata"]["name"]}}]
    named = {entry["name"]: entry["valueFrom"]["secretKeyRef"] for entry in container["env"]}
    assert {secret["name"] for secret in named.values()} == {"fanion-stores"}
    secrets = {name: SECRETS[secret["key"]] for name, secret in named.items()}
    return {**image_environment(), **config["data"], **secrets}


def settings_of(container: Json) -> Settings:
    role = parsed_options(container["args"]).get("role")
    return read_settings(environment_of(container), {"role": ",".join(role) if role else None})


def serving() -> list[Json]:
    return [
        workload
        for workload in of_kind("Deployment", "StatefulSet")
        if pod_of(workload)["containers"][0]["args"][0] == "serve"
    ]


every_workload = pytest.mark.parametrize("workload", list(of_kind(*WORKLOADS)), ids=name_of)
every_server = pytest.mark.parametrize("workload", serving(), ids=name_of)


def test_the_kustomization_lists_every_file_once() -> None:
    listed = kustomization()["resources"]

    assert sorted(listed) == sorted(
        path.name for path in FOLDER.iterdir() if path.name not in NO_RESOURCES
    )


def test_no_two_resources_have_the_same_kind_and_name() -> None:
    names = [name_of(resource) for resource in resources()]

    assert len(names) == len(set(names))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("resource", resources(), ids=name_of)
def test_kubernetes_knows_every_field(resource: Json, version: str) -> None:
    kubernetes_validate.validate(resource, version, strict=True)


def test_selectors_find_the_pods_of_one_workload() -> None:
    """The kustomization adds the same label to all selectors and pods."""
    assert kustomization()["labels"] == [{"pairs": NAME, "includeSelectors": True}]
    labels = [workload["spec"]["template"]["metadata"]["labels"] for workload in serving()]
    selectors = {
        **{name_of(r): r["spec"]["selector"] for r in of_kind("Service")},
        **{
            name_of(r): r["spec"]["selector"]["matchLabels"]
            for r in of_kind("PodDisruptionBudget", "Deployment", "StatefulSet")
        },
    }

    for name, selector in selectors.items():
        assert labels.count(selector) == 1, name
        assert selector["app.kubernetes.io/component"] == name.rpartition("-")[2]


@every_server
def test_a_server_uses_kafka_only_if_the_secret_names_it(workload: Json) -> None:
    [server] = pod_of(workload)["containers"]
    keys = [entry["valueFrom"]["secretKeyRef"] for entry in server["env"]]

    assert settings_of(server).kafka is not None
    assert [secret["key"] for secret in keys if secret.get("optional")] == ["log-url"]


@every_workload
def test_every_command_takes_its_settings(workload: Json) -> None:
    for container in containers_of(workload):
        settings = settings_of(container)

        assert (settings.host, settings.port) == ("0.0.0.0", 8000)
        assert {name for name in environment_of(container) if name.startswith(PREFIX)} <= {
            f"{PREFIX}{name.upper()}" for name in Settings.__struct_fields__
        }


@every_workload
def test_a_pod_may_do_little(workload: Json) -> None:
    pod = pod_of(workload)

    # Variables of services would be refused as settings: FANION_WEB_PORT, …
    assert pod["enableServiceLinks"] is False
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == 10001
    for container in containers_of(workload):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@every_workload
def test_the_data_folder_and_tmp_can_be_written(workload: Json) -> None:
    """Also before Fanion owns the folder, which is made below the one of the volume."""
    claims = workload["spec"].get("volumeClaimTemplates", ())
    volumes = {v["name"] for v in pod_of(workload)["volumes"]} | {
        claim["metadata"]["name"] for claim in claims
    }
    for container in containers_of(workload):
        mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}

        assert set(mounts) == {"/var/lib/fanion", "/tmp"}
        assert set(mounts.values()) == volumes
        assert settings_of(container).data.parent == Path("/var/lib/fanion")


def test_what_is_kept_while_postgresql_is_away_outlasts_its_pod() -> None:
    kept = {
        workload["metadata"]["name"]
        for workload in serving()
        if workload["spec"].get("volumeClaimTemplates")
    }
    with_spool = {
        workload["metadata"]["name"]
        for workload in serving()
        if settings_of(pod_of(workload)["containers"][0]).has_spool
    }

    assert kept == with_spool == {"fanion-web"}


def test_every_role_is_served() -> None:
    roles = [settings_of(pod_of(workload)["containers"][0]).roles for workload in serving()]

    assert frozenset().union(*roles) == ALL


@every_server
def test_a_pod_has_time_to_drain_and_stop(workload: Json) -> None:
    pod = pod_of(workload)
    [container] = pod["containers"]
    settings = settings_of(container)
    needed = settings.drain_s + LAST_REQUESTS_S + DRAIN_S_MAX + settings.shutdown_s

    assert settings.drain_s > 0
    assert pod["terminationGracePeriodSeconds"] >= needed + SURPLUS_S
    assert "lifecycle" not in container


@every_server
def test_probes_ask_for_what_there_is(workload: Json) -> None:
    [container] = pod_of(workload)["containers"]
    port = {"name": "http", "containerPort": settings_of(container).port}
    paths = {
        probe: container[probe]["httpGet"]
        for probe in ("startupProbe", "livenessProbe", "readinessProbe")
    }

    assert container["ports"] == [port]
    assert paths == {
        "startupProbe": {"path": "/_health", "port": "http"},
        "livenessProbe": {"path": "/_health", "port": "http"},
        "readinessProbe": {"path": "/_ready", "port": "http"},
    }


def test_an_autoscaler_scales_a_workload_without_replicas_of_its_own() -> None:
    workloads = {(w["apiVersion"], w["kind"], w["metadata"]["name"]): w for w in serving()}

    for autoscaler in of_kind("HorizontalPodAutoscaler"):
        target = autoscaler["spec"]["scaleTargetRef"]
        workload = workloads[target["apiVersion"], target["kind"], target["name"]]
        assert "replicas" not in workload["spec"]
        [container] = pod_of(workload)["containers"]
        assert "cpu" in container["resources"]["requests"]  # of which the processor is a share


def test_the_adapter_answers_the_metric_of_the_autoscaler() -> None:
    [values] = read_all(FOLDER / "prometheus-adapter.yaml")
    answered = {rule["name"]["as"]: rule for rule in values["rules"]["external"]}
    wanted = {
        metric["external"]["metric"]["name"]
        for autoscaler in of_kind("HorizontalPodAutoscaler")
        for metric in autoscaler["spec"]["metrics"]
        if metric["type"] == "External"
    }

    assert answered.keys() == wanted == {"fanion_log_lag_seconds"}
    for name, rule in answered.items():
        assert rule["seriesQuery"].startswith(f"{name}{{")
        assert f"({name}{{" in rule["metricsQuery"]


def test_the_documentation_names_the_secrets() -> None:
    text = INSTALL.read_text()

    assert "create secret generic fanion-stores" in text
    for key in SECRETS:
        assert f"--from-literal={key}=" in text
