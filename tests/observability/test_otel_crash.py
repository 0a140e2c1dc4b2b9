"""A real server that sends its traces and metrics to a receiver."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.awaited import until
from tests.support.otlp_receiver import OtlpReceiver, otlp_receiver
from tests.support.server import RealServer

pytestmark = pytest.mark.long("starts a real server")

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
DISTINCT_ID, SECRET = "someone@example.com", "a-secret-property"


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with otlp_receiver() as receiver:
        yield receiver


def test_a_server_sends_what_it_does_and_no_ids_or_keys(
    receiver: OtlpReceiver, tmp_path: Path
) -> None:
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
        "OTEL_SERVICE_NAME": "analytics",
        "OTEL_METRIC_EXPORT_INTERVAL": "200",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    server = RealServer(tmp_path / "data", environment)
    keys = server.setup()
    server.start()
    try:
        traced = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        event = {"event": "seen", "distinct_id": DISTINCT_ID, "properties": {"secret": SECRET}}
        body = {"api_key": keys.project_api_key, "batch": [event]}
        with httpx.Client(base_url=server.url, trust_env=False, headers=traced) as client:
            assert client.post("/batch/", json=body).status_code == 200
            until(lambda: bool(receiver.named("ingest batch")), "the batch is not traced")
            question = {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "seen"}]}
            asked = client.post(
                f"/api/projects/{keys.project_id}/query/",
                json={"query": question},
                headers={"authorization": f"Bearer {keys.personal_api_key}"},
            )
            assert asked.status_code == 200
        until(lambda: bool(receiver.named("events call")), "the question is not traced")
        until(lambda: bool(receiver.metric("fanion_events_ingested_total")), "no metrics are sent")
    finally:
        server.stop()

    [captured], [managed] = receiver.named("POST capture"), receiver.named("POST management")
    assert (captured.trace_id, captured.parent_id) == (TRACE, PARENT)
    assert captured.resource["service.name"] == "analytics"
    asked_of_store = [span for span in receiver.named("events call") if span.trace_id == TRACE]
    assert asked_of_store
    assert {span.parent_id for span in asked_of_store} == {managed.span_id}
    sent = b"".join(receiver.raw)
    for secret in (DISTINCT_ID, SECRET, keys.project_api_key, keys.personal_api_key):
        assert secret.encode() not in sent


def test_a_receiver_that_is_away_costs_one_line_and_no_request(
    receiver: OtlpReceiver, tmp_path: Path
) -> None:
    receiver.status = 404
    server = RealServer(
        tmp_path / "data",
        {
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{receiver.url}/v1/traces",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
            "FANION_PROCESSES": "1",
        },
    )
    server.setup()
    server.start()
    try:
        with httpx.Client(base_url=server.url, trust_env=False) as client:
            until(
                lambda: client.get("/_health").status_code == 200 and receiver.requests > 5,
                "nothing is sent",
            )
    finally:
        server.stop()

    lines = [line for line in server.log_lines() if line["event"] == "telemetry_not_sent"]
    assert [line["what"] for line in lines] == ["traces"]


def test_a_wrong_variable_ends_the_start_in_one_line(tmp_path: Path) -> None:
    server = RealServer(
        tmp_path / "data",
        {
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4317",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        },
    )

    done = server.run("serve")

    assert (done.returncode, done.stderr) == (
        2,
        "fanion: OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, got 'grpc'\n",
    )
