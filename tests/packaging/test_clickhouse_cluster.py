"""The example of a ClickHouse cluster, and the report of the tests that an operator runs on one."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from fanion.events.storage.client import engine_at
from fanion.events.storage.store import NATIVE_VERSIONS
from tests.support.clickhouse import report
from tests.support.clickhouse.server import ClickHouse

FOLDER = Path(__file__).parents[2] / "deploy" / "clickhouse"
CLUSTER = FOLDER / "cluster.xml"
READ = """
import sys
import chdb
engine = chdb.connect(f":memory:?config-file={sys.argv[1]}")
print(engine.query(
    "SELECT shard_num, replica_num, host_name, internal_replication FROM system.clusters"
    " WHERE cluster = 'main' ORDER BY ALL", "CSV"))
print(engine.query("SELECT macro, substitution FROM system.macros ORDER BY macro", "CSV"))
"""


def services() -> dict[str, dict[str, Any]]:
    document: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    found: dict[str, dict[str, Any]] = document["services"]
    return found


def servers() -> dict[str, dict[str, str]]:
    """Return the environments of the ClickHouse servers by their names."""
    return {
        name: service["environment"]
        for name, service in services().items()
        if name.startswith("clickhouse-")
    }


def test_each_server_is_the_replica_of_its_name() -> None:
    shards = ElementTree.parse(CLUSTER).findall("remote_servers/main/shard")

    named = {
        host.text: (str(shard), str(replica))
        for shard, hosts in enumerate(shards, 1)
        for replica, host in enumerate(hosts.findall("replica/host"), 1)
    }
    assert named == {name: (own["SHARD"], own["REPLICA"]) for name, own in servers().items()}


def test_all_servers_have_the_same_keepers() -> None:
    asked = [node.text for node in ElementTree.parse(CLUSTER).findall("zookeeper/node/host")]
    voting = ElementTree.parse(FOLDER / "keeper.xml").findall(".//raft_configuration/server")

    hosts = [server.findtext("hostname") for server in voting]
    keepers = {
        name: service["environment"]["KEEPER"]
        for name, service in services().items()
        if name.startswith("keeper-")
    }
    assert asked == hosts == list(keepers)
    assert [server.findtext("id") for server in voting] == list(keepers.values())


def test_the_engine_reads_the_configuration() -> None:
    own = servers()["clickhouse-2-1"]
    done = subprocess.run(
        [sys.executable, "-c", READ, str(CLUSTER)],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert done.stdout.split() == [
        '1,1,"clickhouse-1-1",1',
        '1,2,"clickhouse-1-2",1',
        '2,1,"clickhouse-2-1",1',
        '2,2,"clickhouse-2-2",1',
        '"replica","1"',
        '"shard","2"',
    ]


def test_the_servers_have_a_version_that_columns_are_sent_to() -> None:
    images = {service["image"] for name, service in services().items() if name != "tests"}

    [version] = {f"{image.partition(':')[2]}." for image in images}
    assert version in NATIVE_VERSIONS


def test_the_tests_run_on_that_cluster() -> None:
    url = services()["tests"]["environment"]["URL"].removeprefix("${URL:-").removesuffix("}")

    schema = engine_at(url).cluster
    assert schema is not None
    assert (schema.cluster, schema.database) == ("main", "fanion")


def test_the_script_can_be_read() -> None:
    script = FOLDER / "check.sh"

    assert os.access(script, os.X_OK)
    subprocess.run(["sh", "-n", script], check=True)


@pytest.mark.long("it runs tests of the store in processes of their own")
def test_a_report_says_what_passed_and_what_the_server_is(
    own_events_url: str,
    clickhouse_server: ClickHouse,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = "tests/events/test_store.py::test_a_living_store_answers_a_ping"
    monkeypatch.setattr(report, "SUITES", (named,))
    page = tmp_path / "report.md"

    code = report.main([own_events_url, str(page)])

    text = page.read_text()
    assert code == 0
    assert "1 tests, 0 failed, 0 skipped." in text
    assert "events  ReplacingMergeTree  greatest(toYYYYMM(timestamp), 201001)" in text
    assert str(clickhouse_server.port) not in text


def test_a_report_has_the_end_of_each_failure_and_hides_the_login(tmp_path: Path) -> None:
    outcome = tmp_path / "junit.xml"
    case = '<testcase classname="a.b" name="c[clickhouse]">'
    outcome.write_text(
        f"<testsuite>{case}<failure>{'x' * 3000} at ada:s3cret@ch-1:8123</failure></testcase>"
        f'{case}<skipped message="why"/></testcase></testsuite>'
    )

    text = report.hide(
        "\n".join(report.tested(outcome)), "clickhouse://ada:s3cret@ch-1:8123/d?cluster=c"
    )

    assert "2 tests, 1 failed, 1 skipped." in text and "- skipped 1: why" in text
    assert "## a.b.c[clickhouse]" in text
    assert "x at …:…@…\n" in text and len(text) < 3000
    assert report.tested(tmp_path / "none").__next__().startswith("# Fanion")
