"""The log lines: one form of time in all of them, whatever writes them."""

import io
import json
import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
import structlog

from fanion.observability import logging as product_logging
from fanion.observability.logging import (
    LibraryLines,
    LineWriter,
    Telemetry,
    log_time,
    open_command_logs,
    open_logs,
    without_token,
)
from fanion.observability.metrics import Metrics
from tests.support.awaited import until

LOG_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture
def output() -> Iterator[io.BytesIO]:
    """Yield a destination for logs, and restore the former one afterwards."""
    before = structlog.get_config()
    yield io.BytesIO()
    structlog.configure(**before)
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, LibraryLines)]:
        root.removeHandler(handler)


def lines_of(writer: LineWriter, output: io.BytesIO) -> list[dict[str, Any]]:
    writer.close()
    return [json.loads(line) for line in output.getvalue().splitlines()]


def test_every_line_has_its_time_in_one_form(
    output: io.BytesIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = open_logs("info", output)
    telemetry = Telemetry(Metrics(), writer)

    telemetry.log_request("id", "capture", "POST", "/e/", 200, 0.001, "192.0.2.1")
    telemetry.log_failure("id", "/e/", ValueError("no"))
    structlog.get_logger().warning("store_not_ready", store="events")
    logging.getLogger("asyncio").error("forgotten %s", "task", exc_info=ValueError("no"))
    monkeypatch.setattr(product_logging, "WAITING_LINES_MAX", 0)
    structlog.get_logger().info("too_many")
    lines = lines_of(writer, output)

    assert [line["event"] for line in lines] == [
        "request",
        "request_failed",
        "store_not_ready",
        "library_message",
        "log_lines_dropped",
    ]
    assert [line["level"] for line in lines] == ["info", "error", "warning", "error", "warning"]
    for line in lines:
        assert LOG_TIME.fullmatch(line["timestamp"]), line
    assert lines[3]["logger"] == "asyncio"
    assert lines[3]["message"] == "forgotten task"
    assert "ValueError: no" in lines[3]["exception"]


def test_a_message_of_a_library_that_is_broken_breaks_nothing(
    output: io.BytesIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    writer = open_logs("info", output)

    logging.getLogger("some.library").warning("%d of %d", "a")
    logging.getLogger("some.library").info("not logged")
    structlog.get_logger().info("after")

    assert [line["event"] for line in lines_of(writer, output)] == ["after"]


def test_another_writer_takes_the_place_of_the_former(output: io.BytesIO) -> None:
    former = io.BytesIO()
    first, second = open_logs("info", former), open_logs("info", output)

    logging.getLogger("asyncio").warning("once")

    assert lines_of(first, former) == []
    assert [line["message"] for line in lines_of(second, output)] == ["once"]


def test_a_command_logs_to_standard_error_alone(
    output: io.BytesIO, capsys: pytest.CaptureFixture[str]
) -> None:
    open_command_logs()

    structlog.get_logger().warning("data_readable_by_others", path="/data")

    printed = capsys.readouterr()
    line = json.loads(printed.err)
    assert printed.out == ""
    assert LOG_TIME.fullmatch(line.pop("timestamp"))
    assert line == {"level": "warning", "event": "data_readable_by_others", "path": "/data"}


def test_a_whole_second_is_written_with_its_fraction() -> None:
    line = io.BytesIO()
    writer = LineWriter(line)

    writer.msg({"timestamp": log_time(datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC))})

    [entry] = lines_of(writer, line)
    assert entry == {"timestamp": "2026-05-06T07:08:09.000001Z"}


def test_a_line_after_a_pause_is_written_like_the_first(output: io.BytesIO) -> None:
    writer = LineWriter(output)

    def is_written(lines: int) -> bool:
        return output.getvalue().count(b"\n") == lines

    for lines in (1, 2, 3):
        writer.msg({"event": "after a pause"})
        until(partial(is_written, lines), "the line is not written")
    writer.close()


@pytest.mark.parametrize(
    ("path", "logged"),
    [
        ("/api/reset/t0ken/", "/api/reset/…/"),
        ("/api/reset/t0ken", "/api/reset/…"),
        ("/api/shared_dashboards/t0ken/", "/api/shared_dashboards/…/"),
        ("/shared/t0ken", "/shared/…"),
        ("/api/sign_in_links/t0ken/", "/api/sign_in_links/…/"),
        ("/api/signup/t0ken/", "/api/signup/…/"),
        ("/api/%72eset/t0ken/", "/api/reset/…/"),
        ("/api%2Freset%2Ft0ken", "/api/reset/…"),
        ("/fanion//api//reset/t0ken/x", "/fanion//api//reset/…/x"),
        ("/api/reset/", "/api/reset/"),
        ("/api/projects/1/reset_token/", "/api/projects/1/reset_token/"),
        ("/api/a%20b/", "/api/a%20b/"),
    ],
)
def test_a_path_is_logged_without_the_token_of_a_link(path: str, logged: str) -> None:
    assert without_token(path) == logged
