"""Traces by OpenTelemetry's library, sent by OTLP over HTTP. Loaded only where they are on."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import (
    Span,
    SpanKind,
    StatusCode,
    format_trace_id,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from fanion import __version__
from fanion.observability.export_failures import ExportFailures
from fanion.observability.tracing import Attributes
from fanion.server.forwarded import Headers

# How long the end of a process waits for the last spans to be sent.
CLOSE_S_MAX: Final = 3.0
_TRACE_HEADERS: Final = ("traceparent", "tracestate")
_NO_PARENT: Final = otel_context.Context()
_propagator = TraceContextTextMapPropagator()


class OtelTracing:
    """Traces that are on.

    Args:
        resource: Describes this process.
        failures: Logs that spans could not be sent.
    """

    is_on = True

    def __init__(self, resource: Resource, failures: ExportFailures) -> None:
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = _LoggedExporter(OTLPSpanExporter(), failures)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("fanion", __version__)

    def begin_request(self, headers: Headers, method: str, route: str) -> "OtelRequestSpan":
        span = self._request_span(headers, method, route, time.time_ns())
        return OtelRequestSpan(span)

    def record_request(
        self, headers: Headers, method: str, route: str, status: int, seconds: float
    ) -> str:
        ended = time.time_ns()
        span = self._request_span(headers, method, route, ended - int(seconds * 1e9))
        return _end_request(span, status, ended)

    @contextmanager
    def span(self, name: str, attributes: Attributes) -> Iterator[None]:
        # The library would copy the texts of errors, which may quote what clients have sent.
        with self._tracer.start_as_current_span(
            name, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except Exception:
                span.set_status(StatusCode.ERROR)
                raise

    def record(self, name: str, seconds: float, attributes: Attributes) -> None:
        if not get_current_span().is_recording():
            return
        ended = time.time_ns()
        self._tracer.start_span(
            name, kind=SpanKind.CLIENT, attributes=attributes, start_time=ended - int(seconds * 1e9)
        ).end(ended)

    def close(self) -> None:
        """Send what has not been sent, for a few seconds at most."""
        closing = Thread(target=self._provider.shutdown, name="otel-close", daemon=True)
        closing.start()
        closing.join(CLOSE_S_MAX)

    def _request_span(self, headers: Headers, method: str, route: str, started_ns: int) -> Span:
        return self._tracer.start_span(
            f"{method} {route}",
            context=_parent(headers),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": method, "http.route": route},
            start_time=started_ns,
        )


class OtelRequestSpan:
    """The span of a request, which is the current one until it ends."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._token = otel_context.attach(set_span_in_context(span))

    def end(self, status: int) -> str:
        otel_context.detach(self._token)
        return _end_request(self._span, status, time.time_ns())


def _parent(headers: Headers) -> otel_context.Context:
    """Return the context that the client has sent, or an empty one."""
    if not headers.get("traceparent"):  # most clients send none
        return _NO_PARENT
    sent = {name: value for name in _TRACE_HEADERS if (value := headers.get(name))}
    return _propagator.extract(sent, _NO_PARENT)


def _end_request(span: Span, status: int, ended_ns: int) -> str:
    if not span.is_recording():
        span.end(ended_ns)
        return ""
    span.set_attribute("http.response.status_code", status)
    if status >= 500:
        span.set_status(StatusCode.ERROR)
    span.end(ended_ns)
    return format_trace_id(span.get_span_context().trace_id)


class _LoggedExporter(SpanExporter):
    """An exporter whose failures are logged as those of a store."""

    def __init__(self, exporter: SpanExporter, failures: ExportFailures) -> None:
        self._exporter = exporter
        self._failures = failures

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        self._failures.ended(is_sent=result is SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)
