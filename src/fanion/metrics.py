"""What the server counts about itself, for `/metrics`. Built once in main, handed down."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """Labels have few values on purpose: routes, reasons, stores; never projects or ids."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "fanion_requests", "Requests answered", ["route", "status"], registry=registry
        )
        self.request_seconds = Histogram(
            "fanion_request_seconds",
            "Time to answer",
            ["route"],
            registry=registry,
            buckets=_SECONDS,
        )
        self.accepted = Counter(
            "fanion_items_accepted", "Items answered with 200 and durable", registry=registry
        )
        self.ingested = Counter(
            "fanion_events_ingested", "Events stored and visible", registry=registry
        )
        self.dropped = Counter(
            "fanion_items_dropped", "Items not stored, by reason", ["reason"], registry=registry
        )
        self.dead_letters = Counter(
            "fanion_dead_letters", "Envelopes that could not be ingested", registry=registry
        )
        self.log_events = Gauge(
            "fanion_log_lag_envelopes", "Accepted, not ingested envelopes", registry=registry
        )
        self.log_bytes = Gauge(
            "fanion_log_bytes", "Bytes that wait in the accept log", registry=registry
        )
        self.log_seconds = Gauge(
            "fanion_log_lag_seconds", "Age of the oldest waiting envelope", registry=registry
        )
        self.batch_seconds = Histogram(
            "fanion_ingest_batch_seconds",
            "Time to ingest one run",
            registry=registry,
            buckets=_SECONDS,
        )
        self.evaluation_seconds = Histogram(
            "fanion_flag_evaluation_seconds",
            "Time to evaluate the flags of one request",
            registry=registry,
            buckets=(0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, *_SECONDS[1:]),
        )
        self.flag_listeners = Gauge(
            "fanion_flag_listeners", "Connections that wait for changes of flags", registry=registry
        )
        self.webhook_attempts = Counter(
            "fanion_webhook_attempts",
            "Attempts to deliver to a webhook, by outcome",
            ["outcome"],
            registry=registry,
        )
        self.store_seconds = Histogram(
            "fanion_store_seconds",
            "Time of one call of a store",
            ["store"],
            registry=registry,
            buckets=_SECONDS,
        )
        self.store_errors = Counter(
            "fanion_store_errors", "Calls of a store that failed", ["store"], registry=registry
        )

    def render(self) -> bytes:
        return generate_latest(self.registry)
