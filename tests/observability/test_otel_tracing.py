"""Spans and metrics, sent to a receiver that decodes them."""

import time
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.resources import Resource
from structlog.testing import capture_logs

from fanion.observability.export_failures import ExportFailures
from fanion.observability.metrics import Metrics
from fanion.observability.otel_metrics import MetricsExport
from fanion.observability.otel_tracing import OtelTracing
from tests.support.otlp_receiver import OtlpReceiver, otlp_receiver

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
NOT_SAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-00"}
SERVER, CLIENT = 2, 3


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpReceiver]:
    with otlp_receiver() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
        yield receiver


@pytest.fixture
def tracing(receiver: OtlpReceiver) -> OtelTracing:
    return OtelTracing(Resource({"service.name": "fanion"}), ExportFailures("trace"))


def test_a_request_continues_the_trace_of_its_client(
    tracing: OtelTracing, receiver: OtlpReceiver
) -> None:
    trace_id = tracing.record_request(SAMPLED, "POST", "capture", 200, 0.25)
    tracing.close()

    [span] = receiver.spans
    assert trace_id == span.trace_id == TRACE
    assert (span.name, span.kind, span.parent_id) == ("POST capture", SERVER, PARENT)
    assert span.seconds == pytest.approx(0.25)
    assert span.attributes == {
        "http.request.method": "POST",
        "http.route": "capture",
        "http.response.status_code": 200,
    }
    assert span.resource["service.name"] == "fanion"


def test_what_is_done_for_a_request_is_a_part_of_it(
    tracing: OtelTracing, receiver: OtlpReceiver
) -> None:
    request = tracing.begin_request({}, "GET", "management")
    with tracing.span("outer", {"fanion.lane": "live"}):
        tracing.record("events call", 0.5, {"fanion.store": "events"})
    request.end(503)
    tracing.record("events call", 0.5, {"fanion.store": "events"})  # of no request
    tracing.close()

    [door], [outer], [inner] = (
        receiver.named(name) for name in ("GET management", "outer", "events call")
    )
    assert (door.parent_id, outer.parent_id, inner.parent_id) == ("", door.span_id, outer.span_id)
    assert inner.kind == CLIENT
    assert inner.seconds == pytest.approx(0.5)
    assert door.is_error
    assert not outer.is_error


def test_a_trace_that_its_client_does_not_sample_is_not_sent(
    tracing: OtelTracing, receiver: OtlpReceiver
) -> None:
    recorded = tracing.record_request(NOT_SAMPLED, "POST", "capture", 200, 0.1)
    begun = tracing.begin_request(NOT_SAMPLED, "GET", "management")
    tracing.record("events call", 0.5, {})
    ended = begun.end(200)
    tracing.close()

    assert (recorded, ended, receiver.spans) == ("", "", [])


@pytest.mark.parametrize("header", ["", "nonsense", f"00-{'0' * 32}-{PARENT}-01"])
def test_a_header_that_is_no_trace_begins_another_one(
    header: str, tracing: OtelTracing, receiver: OtlpReceiver
) -> None:
    tracing.record_request({"traceparent": header}, "POST", "capture", 200, 0.1)
    tracing.close()

    [span] = receiver.spans
    assert span.parent_id == ""


def test_the_text_of_an_error_is_not_sent(tracing: OtelTracing, receiver: OtlpReceiver) -> None:
    with pytest.raises(ValueError, match="distinct"), tracing.span("batch", {}):
        raise ValueError("a distinct id")
    tracing.close()

    [span] = receiver.spans
    assert span.is_error
    assert b"distinct" not in b"".join(receiver.raw)


def test_spans_that_cannot_be_sent_are_one_line_of_the_log(
    tracing: OtelTracing, receiver: OtlpReceiver
) -> None:
    receiver.status = 400
    with capture_logs() as lines:
        for _ in range(3):
            tracing.record_request({}, "POST", "capture", 200, 0.1)
            tracing._provider.force_flush()
        receiver.status = 200
        tracing.record_request({}, "POST", "capture", 200, 0.1)
        tracing.close()

    assert [line["event"] for line in lines] == ["telemetry_not_sent", "failure_ended"]
    assert lines[0]["what"] == "traces"
    assert "400" in lines[0]["reason"]
    assert lines[1]["failures"] == 3


def test_metrics_are_sent_under_their_names(receiver: OtlpReceiver) -> None:
    metrics = Metrics()
    answered, seconds = metrics.hot.requests("decide", 200)
    for duration in (0.002, 0.3, 20):
        answered.count += 1
        seconds.observe(duration)
    metrics.job("cohorts").succeeded(1.5)
    metrics.lag_is_unknown()
    metrics.ready.set(1)
    export = MetricsExport(Resource({}), ExportFailures("metric"), time.time_ns())

    export.send(metrics.families(), time.time_ns())
    export.close()

    assert receiver.metric("fanion_requests_total", route="decide", status="200") == 3
    assert receiver.metric("fanion_request_seconds", route="decide") == 3
    assert receiver.metric("fanion_job_seconds", name="cohorts") == 1
    assert receiver.metric("fanion_ready") == 1
    assert receiver.metric("fanion_log_lag_seconds") is None
