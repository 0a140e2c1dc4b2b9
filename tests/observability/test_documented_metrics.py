"""The metrics of the documentation, the alerts and the dashboard are those of `/metrics`."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs_site.reference.metrics import iter_metrics
from fanion.observability.metrics import Metrics
from tests.packaging.test_documented_names import anchors
from tests.support.application import AppServer

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "observe.md"
RULES = ROOT / "deploy" / "prometheus" / "rules.yaml"
DASHBOARD = ROOT / "deploy" / "grafana" / "fanion.json"
# What Prometheus itself adds to each scrape.
OF_PROMETHEUS = {"up"}
FUNCTIONS = {
    "and", "avg_over_time", "by", "changes", "count", "histogram_quantile", "increase", "max",
    "min_over_time", "on", "or", "rate", "sum", "time", "vector",
}  # fmt: skip
# Labels that an aggregation keeps, or that selectors and histograms have.
LABELS = {"instance", "job", "le"}
VARIABLES = {"$job": "fanion", "$instance": ".+", "$__rate_interval": "5m"}


def families(exposition: str) -> dict[str, str]:
    """Return the type of each metric by its name, without times of creation."""
    found = re.findall(r"(?m)^# TYPE (\S+) (\w+)$", exposition)
    return {name: kind for name, kind in found if not name.endswith("_created")}


def labels_of(exposition: str) -> Mapping[str, set[str]]:
    """Return the labels of each metric that has samples, without bounds of histograms."""
    kinds, labels = families(exposition), dict[str, set[str]]()
    for sample, given in re.findall(r"(?m)^([a-z_]+)(?:\{(.*)\})? \S+$", exposition):
        name = sample if sample in kinds else re.sub(r"_(bucket|sum|count)$", "", sample)
        labels.setdefault(name, set()).update(re.findall(r'(\w+)="', given))
    return {name: names - {"le"} for name, names in labels.items()}


@pytest.fixture
async def exposition(app_server: AppServer) -> str:
    async with app_server.client() as client:
        return (await client.get("/metrics")).text


async def test_the_documentation_has_every_metric_with_its_labels(exposition: str) -> None:
    documented = {name: (kind, set(labels)) for name, kind, labels, _ in iter_metrics()}

    assert {name: kind for name, (kind, _) in documented.items()} == families(exposition)
    for name, labels in labels_of(exposition).items():
        if name in documented and labels:
            assert labels == documented[name][1], name


def alerts() -> list[dict[str, Any]]:
    [group] = yaml.safe_load(RULES.read_text())["groups"]
    return list(group["rules"])


def expressions_of_dashboard() -> dict[str, str]:
    board = json.loads(DASHBOARD.read_text())
    found = {
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in board["panels"]
        for target in panel.get("targets", ())
    }
    found |= {note["name"]: note["expr"] for note in board["annotations"]["list"]}
    for variable, value in VARIABLES.items():
        found = {where: text.replace(variable, value) for where, text in found.items()}
    return found


def expressions() -> dict[str, str]:
    return {alert["alert"]: alert["expr"] for alert in alerts()} | expressions_of_dashboard()


def samples(exposition: str) -> set[str]:
    """Return the names that an expression can select."""
    ends = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}
    return {
        name + end for name, kind in families(exposition).items() for end in ends.get(kind, ("",))
    }


def words_of(expression: str) -> set[str]:
    """Return the names in an expression that are neither values nor durations."""
    return set(re.findall(r"[a-z_]{2,}", re.sub(r'"[^"]*"|\[[^\]]*\]', "", expression)))


async def test_expressions_select_metrics_and_labels_that_exist(exposition: str) -> None:
    labels = {label for _, _, labels, _ in iter_metrics() for label in labels}
    known = samples(exposition) | OF_PROMETHEUS | FUNCTIONS | LABELS | labels

    unknown = {where: words_of(text) - known for where, text in expressions().items()}

    assert {where: words for where, words in unknown.items() if words} == {}


async def test_the_dashboard_shows_every_metric(exposition: str) -> None:
    shown = set().union(*(words_of(text) for text in expressions_of_dashboard().values()))

    assert {
        name
        for name in families(exposition)
        if not any(word == name or word.startswith(f"{name}_") for word in shown)
    } == {"fanion_store_ready", "process_virtual_memory_bytes"} - shown


def test_each_alert_has_a_section_that_its_annotation_names() -> None:
    headings = re.findall(r"(?m)^### (Fanion\w+)$", PAGE.read_text())

    assert headings == [alert["alert"] for alert in alerts()]
    for alert in alerts():
        path, _, anchor = alert["annotations"]["runbook"].partition("#")
        assert ROOT / path == PAGE
        assert anchor == alert["alert"].lower()
        assert anchor in anchors(PAGE)
        assert alert["labels"]["severity"] in {"critical", "warning"}
        assert {"summary", "description"} < alert["annotations"].keys()


def promtool() -> str:
    path = shutil.which("promtool")
    if path is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    return path


def run_promtool(*arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [promtool(), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_prometheus_accepts_the_rules(tmp_path: Path) -> None:
    assert f"{len(alerts())} rules found" in run_promtool(
        "check", "rules", str(RULES), folder=tmp_path
    )


def test_prometheus_accepts_the_expressions_of_the_dashboard(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": text}
        for number, text in enumerate(expressions_of_dashboard().values())
    ]
    file = tmp_path / "panels.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))

    run_promtool("check", "rules", str(file), folder=tmp_path)


def test_prometheus_finds_the_metrics_well_named() -> None:
    metrics = Metrics()
    metrics.describe_server()
    done = subprocess.run(
        [promtool(), "check", "metrics"], input=metrics.render(), capture_output=True, check=False
    )

    complaints = done.stderr.decode().splitlines()
    assert [line for line in complaints if not re.match(r"\S+_created ", line)] == []


# An alert, what Prometheus has read each minute, and when the alert fires for the first time.
FIRING = [
    ("FanionDown", {'up{job="fanion"}': "1 0x10"}, "3m"),
    ("FanionNotReady", {'fanion_ready{job="fanion"}': "1 0x10"}, "3m"),
    (
        "FanionStoreUnreachable",
        {'fanion_store_ready{job="fanion", store="events"}': "1 0x10"},
        "3m",
    ),
    (
        "FanionRequestsFail",
        {
            'fanion_requests_total{job="fanion", route="capture", status="200"}': "0+980x30",
            'fanion_requests_total{job="fanion", route="capture", status="503"}': "0+20x30",
        },
        "6m",
    ),
    (
        "FanionFlagsSlow",
        {
            'fanion_request_seconds_bucket{job="fanion", route="decide", le="0.5"}': "0+95x30",
            'fanion_request_seconds_bucket{job="fanion", route="decide", le="1.0"}': "0+100x30",
            'fanion_request_seconds_bucket{job="fanion", route="decide", le="+Inf"}': "0+100x30",
        },
        "11m",
    ),
    ("FanionFlagsStale", {'fanion_flags_age_seconds{job="fanion"}': "0+61x10"}, "2m"),
    ("FanionIngestionBehind", {'fanion_log_lag_seconds{job="fanion"}': "0+61x20"}, "6m"),
    (
        "FanionAcceptLogFillsUp",
        {
            'fanion_log_bytes{job="fanion"}': "0 51x20",
            'fanion_log_bytes_max{job="fanion"}': "100x20",
        },
        "6m",
    ),
    ("FanionSpoolWaits", {'fanion_spool_seconds{job="fanion"}': "301x10"}, "1m"),
    ("FanionDeadLetters", {'fanion_dead_letters_total{job="fanion"}': "0 0 1x20"}, "2m"),
    ("FanionChangesNotMirrored", {'fanion_changes_to_mirror{job="fanion"}': "1001x40"}, "0m"),
    (
        "FanionJobFails",
        {
            'fanion_job_failures_total{job="fanion", name="webhooks"}': "0+1x60",
            'fanion_job_last_success_timestamp_seconds{job="fanion", name="webhooks"}': "60x60",
        },
        "22m",
    ),
    (
        "FanionConnectionsShort",
        {'fanion_db_connections_waiting{job="fanion", pool="records"}': "2x20"},
        "5m",
    ),
    (
        "FanionFilesShort",
        {'process_open_fds{job="fanion"}': "81x20", 'process_max_fds{job="fanion"}': "100x20"},
        "5m",
    ),
    ("FanionRestarts", {'process_start_time_seconds{job="fanion"}': "1 2 3 4x20"}, "3m"),
    (
        "FanionVersionsDiffer",
        {
            'fanion_build_info{job="fanion", instance="a", version="1.0.0"}': "1x90",
            'fanion_build_info{job="fanion", instance="b", version="1.1.0"}': "1x90",
        },
        "60m",
    ),
    (
        "FanionWebhooksFail",
        {
            'fanion_webhook_attempts_total{job="fanion", outcome="failed"}': "0+6x90",
            'fanion_webhook_attempts_total{job="fanion", outcome="delivered"}': "0+4x90",
        },
        "31m",
    ),
    ("FanionMailsFail", {'fanion_mails_total{job="fanion", outcome="dropped"}': "0 0 1x20"}, "2m"),
    ("FanionBackupFailed", {'fanion_backup_failed{job="fanion"}': "1x20"}, "5m"),
    ("FanionEventsMissing", {'fanion_events_missing{job="fanion"}': "1x20"}, "5m"),
    (
        "FanionKeysGuessed",
        {'fanion_key_failures_total{job="fanion", kind="key", reason="throttled"}': "0+60x30"},
        "11m",
    ),
]


def test_each_alert_is_tried() -> None:
    assert [name for name, _, _ in FIRING] == [alert["alert"] for alert in alerts()]


@pytest.mark.parametrize(("name", "series", "at"), FIRING, ids=[name for name, _, _ in FIRING])
def test_an_alert_fires_when_its_time_is_over_and_not_before(
    name: str, series: Mapping[str, str], at: str, tmp_path: Path
) -> None:
    minutes = int(at.removesuffix("m"))
    firing = f'count(ALERTS{{alertname="{name}", alertstate="firing"}}) or vector(0)'
    moments = {minutes: 1, minutes - 1: 0} if minutes else {0: 1}
    test = {
        "interval": "1m",
        "input_series": [{"series": one, "values": values} for one, values in series.items()],
        "promql_expr_test": [
            {
                "expr": firing,
                "eval_time": f"{minute}m",
                "exp_samples": [{"labels": "{}", "value": value}],
            }
            for minute, value in sorted(moments.items())
        ],
    }
    document = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump(document))

    run_promtool("test", "rules", str(file), folder=tmp_path)
