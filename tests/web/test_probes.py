"""The probes, metrics, request ids and the request log."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import structlog

from fanion import __version__
from fanion.events.storage.store import EventStore
from fanion.observability.metrics import Metrics
from fanion.projects.auth.keys import mask
from fanion.server.request import Request
from fanion.web.probes import OK, CheckResult, Probes, State
from tests.support.application import AppServer, Tenant, open_app_server, open_tenant


async def test_a_running_process_is_healthy(app_server: AppServer) -> None:
    async with app_server.client() as client:
        for path in ("/_health", "/_health/"):
            answer = await client.get(path)
            assert answer.status_code == 200
            assert answer.json() == {"status": "ok", "version": __version__}


def spool_of(app_server: AppServer) -> dict[str, str]:
    """Return the state of the spool, which only captures on PostgreSQL have."""
    return {"spool": "ok"} if app_server.settings.has_spool else {}


@pytest.mark.every_engine
async def test_ready_reports_each_store(app_server: AppServer) -> None:
    async with app_server.client() as client:
        answer = await client.get("/_ready")

    checks = {"records": "ok", "events": "ok", "accept_log": "ok", **spool_of(app_server)}
    assert (answer.status_code, answer.json()) == (200, {"status": "ready", "checks": checks})


@pytest.mark.every_engine
async def test_ready_without_the_event_store_which_capture_and_flags_do_not_need(
    app_server: AppServer,
) -> None:
    async with app_server.client() as client:
        app_server.events.is_down = True
        try:
            down = await client.get("/_ready")
        finally:
            app_server.events.is_down = False
        up = await client.get("/_ready")

    checks = {
        "records": "ok",
        "events": "unreachable",
        "accept_log": "ok",
        **spool_of(app_server),
    }
    assert (down.status_code, down.json()) == (200, {"status": "ready", "checks": checks})
    assert up.json()["checks"] == {**checks, "events": "ok"}


MOVED = {
    "fanion_requests_total": {"route": "capture", "status": "200"},
    "fanion_items_accepted_total": {},
    "fanion_events_ingested_total": {},
    "fanion_items_dropped_total": {"reason": "no_name"},
    "fanion_flag_evaluation_seconds_count": {},
    "fanion_ingest_batch_seconds_count": {},
    "fanion_request_seconds_count": {"route": "decide"},
}


async def samples(app_server: AppServer) -> dict[str, float]:
    values = {name: await app_server.metric(name, **labels) for name, labels in MOVED.items()}
    for store in ("records", "events"):
        values[store] = await app_server.metric("fanion_store_seconds_count", store=store)
    return values


async def refresh_nothing() -> None:
    """Refresh nothing."""


async def test_the_response_does_not_reveal_why_a_store_is_unreachable() -> None:
    """The error texts of stores contain addresses, users and statements."""
    reports = [
        CheckResult(State.UNREACHABLE, "postgresql://fanion:s3cret@10.1.2.3/db: refused"),
        CheckResult(State.UNREACHABLE, "postgresql://fanion:s3cret@10.1.2.3/db: refused"),
        OK,
    ]

    async def records() -> CheckResult:
        return reports.pop(0)

    probes = Probes({"records": records}, Metrics(), refresh_nothing)
    request = Request("GET", "/_ready", "", {}, "", b"")
    with structlog.testing.capture_logs() as lines:
        answers = [await probes.ready(request) for _ in range(3)]

    down = b'{"status":"not ready","checks":{"records":"unreachable"}}'
    assert [answer.body for answer in answers] == [
        down,
        down,
        b'{"status":"ready","checks":{"records":"ok"}}',
    ]
    assert [(line["event"], line.get("reason", "")) for line in lines] == [
        ("store_not_ready", "postgresql://fanion:s3cret@10.1.2.3/db: refused"),
        ("store_ready", ""),
    ]


async def test_a_server_that_drains_is_not_ready_though_its_stores_answer() -> None:
    async def records() -> CheckResult:
        return OK

    metrics, draining = Metrics(), asyncio.Event()
    probes = Probes({"records": records}, metrics, refresh_nothing, draining)
    request = Request("GET", "/_ready", "", {}, "", b"")
    before = await probes.ready(request)
    draining.set()
    answer, exposition = await probes.ready(request), await probes.exposition(request)

    assert (before.status, answer.status) == (200, 503)
    assert answer.body == b'{"status":"draining","checks":{"records":"ok"}}'
    assert b"\nfanion_ready 0.0\n" in exposition.body


async def test_concurrent_requests_share_one_check_of_the_stores() -> None:
    checks, may_answer = 0, asyncio.Event()

    async def records() -> CheckResult:
        nonlocal checks
        checks += 1
        await may_answer.wait()
        return OK

    probes = Probes({"records": records}, Metrics(), refresh_nothing)
    request = Request("GET", "/_ready", "", {}, "", b"")
    waiting = [asyncio.create_task(probes.ready(request)) for _ in range(50)]
    waiting[0].cancel()  # a client that disconnects does not cancel the shared check
    await asyncio.sleep(0)
    may_answer.set()
    answers = await asyncio.gather(*waiting[1:])

    assert checks == 1
    assert {answer.status for answer in answers} == {200}


async def test_a_store_that_takes_long_says_again_what_it_said_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fanion.web.probes.ANSWER_S_MAX", 0.01)
    may_answer, results = asyncio.Event(), [OK, CheckResult(State.UNREACHABLE)]

    async def slow() -> CheckResult:
        await may_answer.wait()
        return results.pop(0)

    async def quick() -> CheckResult:
        return OK

    probes = Probes({"records": slow, "events": quick}, Metrics(), refresh_nothing)
    states = []
    for answers in (False, True, False, True):
        may_answer.set() if answers else may_answer.clear()
        states.append({name: result.state for name, result in (await probes.check()).items()})

    assert [answer["records"] for answer in states] == ["opening", "ok", "ok", "unreachable"]
    assert {answer["events"] for answer in states} == {"ok"}


async def test_a_store_that_does_not_answer_at_all_is_unreachable(
    app_server: AppServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanion.web.probes.SILENT_S_MAX", 0.01)

    async def silent() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(app_server.events, "ping", silent, raising=False)
    async with app_server.client() as client:
        answer = await client.get("/_ready")

    assert answer.json()["checks"]["events"] == "unreachable"


async def test_metrics_count_what_happens(tenant: Tenant) -> None:
    app_server = tenant.server
    before = await samples(app_server)

    await tenant.capture(
        {"event": "a", "distinct_id": "u"}, {"event": "b", "distinct_id": "u"}, {"distinct_id": "u"}
    )
    await tenant.decide("u")
    after = await samples(app_server)

    moved = {name: after[name] - before[name] for name in before}
    assert moved.pop("records") >= 1
    assert moved.pop("events") >= 1
    assert moved == {
        "fanion_requests_total": 1,
        "fanion_items_accepted_total": 3,
        "fanion_events_ingested_total": 2,
        "fanion_items_dropped_total": 1,
        "fanion_flag_evaluation_seconds_count": 1,
        "fanion_ingest_batch_seconds_count": 1,
        "fanion_request_seconds_count": 1,
    }


async def test_metrics_report_the_ingestion_lag(tenant: Tenant) -> None:
    app_server = tenant.server
    app_server.events.is_down = True
    try:
        for name in ("a", "b"):
            body = {"api_key": tenant.token, "event": name, "distinct_id": "u"}
            assert (await tenant.public.post("/capture/", json=body)).status_code == 200
        app_server.clock.move(seconds=90)
        behind = (
            await app_server.metric("fanion_log_lag_envelopes"),
            await app_server.metric("fanion_log_lag_seconds"),
            await app_server.metric("fanion_log_bytes"),
        )
    finally:
        app_server.events.is_down = False
    await app_server.ingested()

    assert behind[:2] == (2, 90)
    assert behind[2] > 0
    assert await app_server.metric("fanion_log_lag_envelopes") == 0
    assert await app_server.metric("fanion_log_lag_seconds") == 0


async def test_metrics_are_in_the_format_of_prometheus(app_server: AppServer) -> None:
    async with app_server.client() as client:
        answer = await client.get("/metrics")

    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "# TYPE fanion_requests_total counter" in answer.text


ROUTES = [
    ("POST", "/capture/"),
    ("GET", "/_health"),
    ("GET", "/api/projects/"),
    ("GET", "/nowhere"),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_a_request_id_is_echoed_or_generated(tenant: Tenant, method: str, path: str) -> None:
    async def echoed(**headers: str) -> str:
        answer = await tenant.public.request(method, path, headers=headers)
        return str(answer.headers["x-request-id"])

    assert await echoed(**{"x-request-id": "abc-123"}) == "abc-123"
    request_ids = [await echoed(), await echoed(), await echoed(**{"x-request-id": "x" * 129})]
    assert len({*request_ids, "x" * 129}) == 4


async def test_each_request_is_one_line_of_the_log(
    sqlite_url: str, events: EventStore, tmp_path: Path, project_id: int
) -> None:
    async with (
        open_app_server(sqlite_url, events, tmp_path, trusted_proxies="127.0.0.1") as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        known = {"x-request-id": "first"}
        await tenant.public.post("/capture/?ip=1", json={"api_key": tenant.token}, headers=known)
        await tenant.public.post("/decide?v=3", json={"api_key": "phc_x", "distinct_id": "u"})
        await tenant.get("/persons/")
        await tenant.public.get("/nowhere")
        theirs = {"api_key": tenant.key, "project_id": project_id, "distinct_id": "u"}
        await tenant.public.post("/decide", json=theirs)
        secret = (await tenant.api.post("/secret_key/")).json()["secret_api_key"]
        await tenant.public.get("/flags/definitions", headers={"authorization": f"Bearer {secret}"})
        forwarded = {"x-forwarded-for": "10.0.0.1, 198.51.100.7"}
        await tenant.public.post(
            "/decide", json={"api_key": tenant.token, "distinct_id": "u"}, headers=forwarded
        )
        key_id = str(
            (
                await tenant.public.get(
                    "/api/personal_api_keys/", headers={"authorization": f"Bearer {tenant.key}"}
                )
            ).json()["results"][0]["id"]
        )
        await asyncio.to_thread(app_server.writer.close)
        lines = [json.loads(line) for line in app_server.lines.getvalue().splitlines()]

    assert [shape(line) for line in lines] == [
        ("capture", "POST", "/capture/", 200),
        ("decide", "POST", "/decide", 401),
        ("management", "GET", f"/api/projects/{project_id}/persons/", 200),
        ("management", "GET", "/nowhere", 404),
        ("decide", "POST", "/decide", 200),
        ("management", "POST", f"/api/projects/{project_id}/secret_key/", 201),
        ("flag_definitions", "GET", "/flags/definitions", 200),
        ("decide", "POST", "/decide", 200),
        ("management", "GET", "/api/personal_api_keys/", 200),
    ]
    mine = {"key": key_id, "user": tenant.user_id}
    assert [{name: line[name] for name in ("key", "user") if name in line} for line in lines] == [
        {}, {}, mine, {}, mine, mine, {"key": mask(secret)}, {}, mine,
    ]  # fmt: skip
    assert [line["client"] for line in lines] == [
        "198.51.100.7" if number == 7 else "127.0.0.1" for number in range(len(lines))
    ]
    assert lines[0]["request_id"] == "first"
    assert all(line["event"] == "request" and line["ms"] > 0 for line in lines)
    for text in (tenant.token, tenant.key, secret):
        assert not any(text in json.dumps(line) for line in lines)


def shape(line: dict[str, Any]) -> tuple[Any, ...]:
    return line["route"], line["method"], line["path"], line["status"]
