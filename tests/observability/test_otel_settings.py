"""The variables of OpenTelemetry: what turns telemetry on, and what is refused."""

import subprocess
import sys

import pytest

from fanion.config import OtelSettings, SettingsError, read_otel_settings

URL = "http://collector:4318"
ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": URL}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, OtelSettings()),
        ({"OTEL_SERVICE_NAME": "fanion", "OTEL_EXPORTER_OTLP_ENDPOINT": ""}, OtelSettings()),
        (ENDPOINT, OtelSettings(URL, URL)),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "True"}, OtelSettings()),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "false"}, OtelSettings(URL, URL)),
        ({**ENDPOINT, "OTEL_METRICS_EXPORTER": "none"}, OtelSettings(URL, "")),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, OtelSettings("", URL)),
        ({**ENDPOINT, "OTEL_METRIC_EXPORT_INTERVAL": "1500"}, OtelSettings(URL, URL, 1.5)),
        (
            {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://u:p@traces/v1/traces"},
            OtelSettings("https://traces", ""),
        ),
        ({**ENDPOINT, "OTEL_TRACES_SAMPLER": "parentbased_traceidratio"}, OtelSettings(URL, URL)),
    ],
)
def test_an_endpoint_turns_telemetry_on(given: dict[str, str], expected: OtelSettings) -> None:
    assert read_otel_settings(given) == expected
    assert expected.is_on is bool(expected.traces or expected.metrics)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, got 'grpc'",
        ),
        (
            {"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/json"},
            "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL must be http/protobuf, got 'http/json'",
        ),
        (
            {"OTEL_TRACES_EXPORTER": "jaeger"},
            "OTEL_TRACES_EXPORTER must be otlp or none, got 'jaeger'",
        ),
        (
            {"OTEL_TRACES_SAMPLER": "some"},
            "OTEL_TRACES_SAMPLER must be one of always_on, always_off, traceidratio, "
            "parentbased_always_on, parentbased_always_off, parentbased_traceidratio; got 'some'",
        ),
        (
            {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "2"},
            "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, got '2'",
        ),
        (
            {"OTEL_METRIC_EXPORT_INTERVAL": "1m"},
            "OTEL_METRIC_EXPORT_INTERVAL must be a number of milliseconds from 1, got '1m'",
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"},
            "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://localhost:4318",
        ),
    ],
)
def test_wrong_values_are_refused_by_name(given: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read_otel_settings({**ENDPOINT, **given})

    assert str(refused.value) == message


def test_while_it_is_off_its_library_is_not_loaded() -> None:
    program = (
        "import sys, fanion.app.startup.stages, fanion.app.web_worker, fanion.app.server\n"
        "from fanion.app.telemetry import open_tracing\n"
        "from fanion.config import OtelSettings, Settings\n"
        "assert not open_tracing(Settings(), OtelSettings()).is_on\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'requests'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"
