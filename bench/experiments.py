"""Results of an experiment over a year of events, through the API of a whole server.

The events are those of `insights`; 500,000 persons of the last 30 days get a variant, some of them
up to three times. BENCH_INSIGHTS_EVENTS and BENCH_INSIGHTS_FOLDER are those of `insights`.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

import httpx

from bench import servers
from bench.cohort_service import client_of
from bench.experiments_events import DAYS, KEY, VARIANTS
from bench.insights import SIZES, STORED, make_events
from bench.insights_events import END
from bench.processor_time import used_s
from bench.report import Row

ROUNDS: Final = 7
ONE_S, COLD_S, KEPT_S = 2.0, 5.0, 0.3
Json = dict[str, Any]


def metric(kind: str, **fields: object) -> Json:
    return {"kind": "ExperimentMetric", "metric_type": kind, **fields}


ORDERS: Final[Json] = {"kind": "EventsNode", "event": "order placed"}
AMOUNTS: Final[Json] = {**ORDERS, "math": "sum", "math_property": "amount"}
ADDED: Final[Json] = {"kind": "EventsNode", "event": "item added"}
METRICS: Final[Mapping[str, Json]] = {
    "mean": metric("mean", source=AMOUNTS, conversion_window=14, conversion_window_unit="day"),
    "capped mean": metric("mean", source=AMOUNTS, upper_bound_percentile=0.99),
    "funnel": metric("funnel", series=[ADDED, ORDERS]),
    "ratio": metric("ratio", numerator=AMOUNTS, denominator=ORDERS),
    "retention": metric(
        "retention",
        start_event=ADDED,
        completion_event=ORDERS,
        retention_window_start=1,
        retention_window_end=7,
        retention_window_unit="day",
    ),
}


def run() -> Iterator[Row]:
    for events in SIZES:
        with TemporaryDirectory() as folder:
            yield from _of_size(Path(STORED or folder) / str(events), events)


def _of_size(folder: Path, events: int) -> Iterator[Row]:
    with TemporaryDirectory() as data:
        server = servers.whole(Path(data) / "data")
        keys = server.setup()
        make_events(folder, events, keys.project_id)
        shutil.copytree(folder / "events", server.data / "events", symlinks=True)
        arguments = [str(server.data), str(events), str(keys.project_id)]
        subprocess.run([sys.executable, "-m", "bench.experiments_events", *arguments], check=True)
        server.start()
        try:
            with client_of(server, keys) as client:
                client.timeout = httpx.Timeout(120)
                yield from _measured(client, server.pid, events)
        finally:
            server.close()


def _measured(client: httpx.Client, pid: int, events: int) -> Iterator[Row]:
    size = f"{events / 1e6:g} M"
    experiment = _create(client)
    for name, sent in METRICS.items():
        yield _one(client, pid, experiment, f"{name}, {size}", sent)
    address = f"experiments/{experiment}/results/"
    cold = [_seconds(client, pid, address, refresh=True) for _ in range(ROUNDS)]
    kept = [_seconds(client, pid, address) for _ in range(ROUNDS)]
    arms = f"experiment of {len(METRICS)} metrics and {len(VARIANTS)} arms, {size}"
    yield _row(f"{arms}, cold", cold, COLD_S)
    yield _row(f"{arms}, kept", kept, KEPT_S)


def _create(client: httpx.Client) -> int:
    variants = [{"key": key, "rollout_percentage": share} for key, share in VARIANTS.items()]
    answer = client.post(
        "experiments/",
        json={
            "name": "Bench",
            "feature_flag_key": KEY,
            "parameters": {"feature_flag_variants": variants},
            "start_date": (END - DAYS).isoformat(),
            "end_date": END.isoformat(),
            "metrics": list(METRICS.values()),
        },
    )
    answer.raise_for_status()
    number: int = answer.json()["id"]
    return number


Time = tuple[float, float]  # seconds that passed, and processor time


def _one(client: httpx.Client, pid: int, experiment: int, name: str, sent: Json) -> Row:
    query = {"kind": "ExperimentQuery", "experiment_id": experiment, "metric": sent}
    times = []
    for _ in range(ROUNDS):
        before, started = used_s([pid]), perf_counter()
        answer = client.post("query/", json={"query": query, "refresh": True})
        answer.raise_for_status()
        times.append((perf_counter() - started, used_s([pid]) - before))
    return _row(f"experiment metric: {name}", times, ONE_S)


def _seconds(client: httpx.Client, pid: int, address: str, *, refresh: bool = False) -> Time:
    before, started = used_s([pid]), perf_counter()
    answer = client.get(address, params={"refresh": "true"} if refresh else {})
    answer.raise_for_status()
    return perf_counter() - started, used_s([pid]) - before


def _row(name: str, times: list[Time], target_s: float) -> Row:
    passed, used = (median(each) for each in zip(*times, strict=True))
    shown = f"median {passed:.3f} s, processor {used:.2f} s"
    return Row(name, shown, f"{target_s:g} s", target_s / passed, 1.0)
