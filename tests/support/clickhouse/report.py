"""The report of the event store's suites on a real server or cluster, for its operator to send.

`python -m tests.support.clickhouse.report URL FILE` runs them and writes a page in Markdown. It
names versions, tables, and what failed, but no user, password or host.
"""

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from fanion.events.storage.client import connect, engine_at

ROOT: Final = Path(__file__).parents[3]
# The suites that run on the engine of FANION_TEST_CLICKHOUSE_URL.
SUITES: Final = ("tests/events", "tests/insights", "tests/cohorts", "tests/persons")
# It tests the stand-in.
IGNORED: Final = ("--ignore=tests/events/test_clickhouse_server.py",)
FACTS: Final = {
    "Version": "SELECT version()",
    "Shards and replicas": "SELECT cluster, max(shard_num), count() FROM system.clusters"
    " GROUP BY cluster ORDER BY cluster",
    "Tables": "SELECT name, engine, partition_key FROM system.tables"
    " WHERE database = currentDatabase() ORDER BY name",
    "Parts a minute": "SELECT table, round(count() / greatest(1, dateDiff('minute',"
    " min(event_time), max(event_time))), 1) FROM system.part_log WHERE event_type = 'NewPart'"
    " AND database = currentDatabase() GROUP BY table ORDER BY table",
    "Mutations that failed": "SELECT table, latest_fail_reason FROM system.mutations"
    " WHERE database = currentDatabase() AND latest_fail_reason != '' LIMIT 20",
    "Replicas": "SELECT table, is_readonly, absolute_delay, total_replicas, active_replicas"
    " FROM system.replicas WHERE database = currentDatabase() ORDER BY table",
}
FAILURE_CHARACTERS: Final = 2_000


def main(arguments: Sequence[str]) -> int:
    url, page = arguments
    with tempfile.TemporaryDirectory() as folder:
        outcome = Path(folder, "junit.xml")
        code = run_suites(url, outcome)
        report = "\n".join([*tested(outcome), *facts(url)])
    Path(page).write_text(hide(report, url))
    print(f"{page} is written")
    return code


def run_suites(url: str, outcome: Path) -> int:
    """Run the suites on the server, and return pytest's exit code."""
    command = [sys.executable, "-m", "pytest", "-n", "2", "-q", "-k", "clickhouse", *IGNORED]
    return subprocess.run(
        [*command, f"--junitxml={outcome}", *SUITES],
        cwd=ROOT,
        env={**os.environ, "FANION_TEST_CLICKHOUSE_URL": url},
        check=False,
    ).returncode


def tested(outcome: Path) -> Iterator[str]:
    """Yield how many tests passed, and what failed."""
    cases = list(ElementTree.parse(outcome).iter("testcase")) if outcome.exists() else []
    failed = [(case, problem) for case in cases for problem in case if is_problem(problem)]
    skipped = Counter(
        found.get("message", "") for case in cases if (found := case.find("skipped")) is not None
    )
    yield "# Fanion on ClickHouse\n"
    yield f"{len(cases)} tests, {len(failed)} failed, {sum(skipped.values())} skipped.\n"
    for reason, number in skipped.most_common():
        yield f"- skipped {number}: {reason}"
    for case, problem in failed:
        yield f"\n## {case.get('classname')}.{case.get('name')}\n"
        yield f"```\n{(problem.text or '')[-FAILURE_CHARACTERS:]}\n```"


def is_problem(element: ElementTree.Element) -> bool:
    return element.tag in ("failure", "error")


def facts(url: str) -> Iterator[str]:
    """Yield what the server says about itself."""
    with closing(connect(engine_at(url))) as client:
        for name, statement in FACTS.items():
            yield f"\n## {name}\n"
            yield f"```\n{answer(client, statement)}\n```"


def answer(client: Client, statement: str) -> str:
    try:
        rows = client.query(statement).result_rows
    except ClickHouseError as error:
        return f"not known: {getattr(error, 'name', '') or type(error).__name__}"
    return "\n".join("  ".join(map(str, row)) for row in rows) or "none"


def hide(report: str, url: str) -> str:
    """Return the report without the host, the user and the password."""
    login, _, host = url.partition("://")[2].partition("/")[0].rpartition("@")
    for secret in (*login.split(":", 1), host, host.partition(":")[0]):
        report = report.replace(secret, "…") if len(secret) > 1 else report
    return report


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
