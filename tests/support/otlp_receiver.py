"""A receiver of OTLP over HTTP that decodes what it is sent, by the protocol's own classes."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class SentSpan:
    """A span as it was received.

    Attributes:
        resource: The attributes of the process.
    """

    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    is_error: bool
    seconds: float
    attributes: dict[str, Any]
    resource: dict[str, Any]


@dataclass
class OtlpReceiver:
    """The address of a receiver, and what it has received.

    Attributes:
        status: What it answers.
        metrics: The number or the count of each data point, by name and labels, as last received.
    """

    url: str
    status: int = 200
    spans: list[SentSpan] = field(default_factory=list)
    metrics: dict[tuple[str, frozenset[tuple[str, Any]]], float] = field(default_factory=dict)
    raw: list[bytes] = field(default_factory=list)
    requests: int = 0

    def named(self, name: str) -> list[SentSpan]:
        return [span for span in self.spans if span.name == name]

    def metric(self, name: str, /, **labels: str) -> float | None:
        return self.metrics.get((name, frozenset(labels.items())))

    def receive(self, path: str, body: bytes) -> None:
        self.requests += 1
        self.raw.append(body)
        if path == "/v1/traces":
            self._receive_traces(ExportTraceServiceRequest.FromString(body))
        elif path == "/v1/metrics":
            self._receive_metrics(ExportMetricsServiceRequest.FromString(body))

    def _receive_traces(self, sent: ExportTraceServiceRequest) -> None:
        for process in sent.resource_spans:
            resource = _values(process.resource.attributes)
            for scope in process.scope_spans:
                self.spans += [
                    SentSpan(
                        span.name,
                        span.kind,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        span.status.code == 2,
                        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                        _values(span.attributes),
                        resource,
                    )
                    for span in scope.spans
                ]

    def _receive_metrics(self, sent: ExportMetricsServiceRequest) -> None:
        for process in sent.resource_metrics:
            for scope in process.scope_metrics:
                for metric in scope.metrics:
                    kind = metric.WhichOneof("data")
                    for point in getattr(metric, str(kind)).data_points:
                        labels = frozenset(_values(point.attributes).items())
                        number = "count" if kind == "histogram" else point.WhichOneof("value")
                        self.metrics[metric.name, labels] = float(getattr(point, number))


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@contextmanager
def otlp_receiver() -> Iterator[OtlpReceiver]:
    """Run a receiver on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if receiver.status == 200:
                receiver.receive(self.path, body)
            else:
                receiver.requests += 1
            self.send_response(receiver.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = OtlpReceiver(f"http://127.0.0.1:{server.server_port}")
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield receiver
        finally:
            server.shutdown()
