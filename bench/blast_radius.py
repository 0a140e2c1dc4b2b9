"""The flag editor's queries, on a whole server with 200,000 persons.

They count the persons that a condition would reach, explain why flags answer as they do, and
evaluate flags for the user.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from bench import cohorts
from bench.cohort_service import add_persons, calculated, client_of
from bench.report import Row
from bench.servers import whole
from fanion.events.storage.client import open_lanes

PERSONS = int(os.environ.get("BENCH_RADIUS_PERSONS", "200000"))
MEMBERS = PERSONS // 2
WANTED_MS = 300.0
ROUNDS = 11
FLAGS = 50

Call = Callable[[], httpx.Response]


def run() -> Iterator[Row]:
    with TemporaryDirectory() as folder:
        server = whole(Path(folder) / "data")
        keys = server.setup()
        asyncio.run(add_persons(server, keys.project_id, PERSONS))
        asyncio.run(_mirror(f"chdb://{folder}/data/events", keys.project_id))
        server.start()
        try:
            with client_of(server, keys) as client:
                for name, call in _questions(client):
                    yield from _timed(name, call)
        finally:
            server.close()


async def _mirror(url: str, project_id: int) -> None:
    inserts, reads = open_lanes(url)
    parameters = {"project": project_id, "persons": PERSONS}
    await inserts.run(lambda engine: engine.command(cohorts.MAKE_PERSONS, parameters))
    inserts.close()
    reads.close()


def _questions(client: httpx.Client) -> Iterator[tuple[str, Call]]:
    def radius(*leaves: dict[str, Any]) -> Call:
        body = {"condition": {"properties": list(leaves)}}
        return lambda: client.post("feature_flags/user_blast_radius/", json=body)

    plan, country = _person("plan", "pro"), _person("country", ["DE", "FR"])
    yield "everybody", radius()
    yield "one property", radius(plan)
    yield "three properties", radius(plan, country, _person("visits", "100", "gt"))
    negative = [_person("plan", "pro", "is_not"), _person("email", "corp", "not_icontains")]
    yield "three that are not", radius(*negative, _person("none", None, "is_not_set"))
    tree = {"properties": {"type": "AND", "values": [plan]}}
    dynamic = client.post("cohorts/", json={"name": "pro", "filters": tree}).json()["id"]
    yield "cohort on properties", radius(_in(dynamic), country)
    static = _static(client)
    yield f"static cohort of {MEMBERS:,}", radius(_in(static))
    yield "the same, and a property", radius(_in(static), plan)
    for number in range(FLAGS):
        groups = [{"properties": [_person("visits", f"{number}", "gt")], "rollout_percentage": 50}]
        flag = {"key": f"flag-{number}", "filters": {"groups": groups}}
        client.post("feature_flags/", json=flag).raise_for_status()
    reasons = {"distinct_id": "user-777"}
    yield (
        f"evaluation_reasons, {FLAGS} flags",
        lambda: client.get("feature_flags/evaluation_reasons/", params=reasons),
    )
    yield f"my_flags, {FLAGS} flags", lambda: client.get("feature_flags/my_flags/")


def _static(client: httpx.Client) -> int:
    csv = "\n".join(f"user-{number}" for number in range(MEMBERS)).encode()
    answer = client.post(
        "cohorts/",
        data={"name": "half", "is_static": "true"},
        files={"csv": ("half.csv", csv, "text/csv")},
    )
    answer.raise_for_status()
    cohort_id: int = answer.json()["id"]
    assert calculated(client, cohort_id)["count"] == MEMBERS
    return cohort_id


def _timed(name: str, call: Call) -> Iterator[Row]:
    """Report the first question, and the median of the others."""
    times_ms = [_ms(call) for _ in range(ROUNDS)]
    middle = statistics.median(times_ms[1:])
    reported = f"{middle:.0f} ms, first {times_ms[0]:.0f}"
    yield Row(f"radius: {name}", reported, f"{WANTED_MS:g} ms", WANTED_MS / middle, 1.0)


def _ms(call: Call) -> float:
    started = time.perf_counter()
    call().raise_for_status()
    return (time.perf_counter() - started) * 1000


def _person(key: str, value: object, operator: str = "exact") -> dict[str, Any]:
    return {"type": "person", "key": key, "value": value, "operator": operator}


def _in(cohort_id: int) -> dict[str, Any]:
    return {"type": "cohort", "key": "id", "value": cohort_id}
