"""The environment variables of OpenTelemetry that decide whether, and where, telemetry is sent.

All other `OTEL_…` variables are read by its library.

Source: OpenTelemetry specification, "Environment Variable Specification" and "OpenTelemetry
Protocol Exporter".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from fanion.config.settings import SettingsError

PROTOCOL: Final = "http/protobuf"
_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_SAMPLERS: Final = (
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
)
_EXPORT_INTERVAL_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class OtelSettings:
    """The telemetry to send.

    Attributes:
        traces: The URL without path that traces are sent to; "" if none are.
        metrics: The same for metrics.
    """

    traces: str = ""
    metrics: str = ""
    metrics_every_s: float = _EXPORT_INTERVAL_MS / 1e3

    @property
    def is_on(self) -> bool:
        return bool(self.traces or self.metrics)


def read_otel_settings(environment: Mapping[str, str]) -> OtelSettings:
    """Return what to send: nothing, unless a variable names an endpoint.

    Raises:
        SettingsError: A value is wrong, or of a kind that is not supported.
    """
    given = {name: value.strip() for name, value in environment.items() if name[:5] == "OTEL_"}
    if given.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return OtelSettings()
    settings = OtelSettings(
        _read_endpoint(given, "TRACES"), _read_endpoint(given, "METRICS"), _read_interval_s(given)
    )
    if settings.traces:
        _check_sampler(given)
    return settings


def _read_endpoint(given: Mapping[str, str], signal: str) -> str:
    exporter = f"OTEL_{signal}_EXPORTER"
    chosen = given.get(exporter, "") or "otlp"
    if chosen not in ("otlp", "none"):
        raise SettingsError(f"{exporter} must be otlp or none, got {chosen!r}")
    own = f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"
    name = own if given.get(own) else _ENDPOINT
    endpoint = given.get(name, "")
    if chosen == "none" or not endpoint:
        return ""
    _check_protocol(given, signal)
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SettingsError(f"{name} must be a URL such as http://localhost:4318")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _check_protocol(given: Mapping[str, str], signal: str) -> None:
    own, name = f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
    name = own if given.get(own) else name
    protocol = given.get(name, "") or PROTOCOL
    if protocol != PROTOCOL:
        raise SettingsError(f"{name} must be {PROTOCOL}, got {protocol!r}")


def _check_sampler(given: Mapping[str, str]) -> None:
    sampler = given.get("OTEL_TRACES_SAMPLER", "") or "parentbased_always_on"
    if sampler not in _SAMPLERS:
        allowed = ", ".join(_SAMPLERS)
        raise SettingsError(f"OTEL_TRACES_SAMPLER must be one of {allowed}; got {sampler!r}")
    ratio = given.get("OTEL_TRACES_SAMPLER_ARG", "")
    if sampler.endswith("traceidratio") and ratio and not _is_ratio(ratio):
        raise SettingsError(f"OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, got {ratio!r}")


def _is_ratio(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


def _read_interval_s(given: Mapping[str, str]) -> float:
    text = given.get("OTEL_METRIC_EXPORT_INTERVAL", "") or str(_EXPORT_INTERVAL_MS)
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise SettingsError(
            f"OTEL_METRIC_EXPORT_INTERVAL must be a number of milliseconds from 1, got {text!r}"
        )
    return int(text) / 1e3
