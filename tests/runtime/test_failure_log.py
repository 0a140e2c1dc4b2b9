"""The log of failures that last, on a clock that the tests move."""

from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from fanion.runtime.failure_log import AGAIN_S, SUMMARIES_S, FailureLog
from tests.support.awaited import until_soon


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    with capture_logs() as entries:
        yield entries


def test_a_failure_is_logged_at_once_and_then_counted_until_it_ends(lines: list[Any]) -> None:
    clock = Clock()
    failures = FailureLog("store_waits", clock=clock)

    for _ in range(40):
        failures.failed("refused")
        clock.now += 0.5
    failures.succeeded()
    failures.succeeded()

    assert lines == [
        {"event": "store_waits", "reason": "refused", "log_level": "warning"},
        {
            "event": "failure_ended",
            "failure": "store_waits",
            "failures": 40,
            "seconds": 20.0,
            "log_level": "warning",
        },
    ]


def test_the_number_so_far_is_logged_at_growing_intervals(lines: list[Any]) -> None:
    clock = Clock()
    failures = FailureLog("store_waits", clock=clock)

    for _ in range(4 * 3_600):
        failures.failed("refused")
        clock.now += 1.0

    logged = [line.get("seconds") for line in lines]
    assert logged == [None, *SUMMARIES_S, 2 * 3_600.0, 3 * 3_600.0]
    assert [line["failures"] for line in lines[1:]] == [s + 1 for s in logged[1:]]


def test_a_failure_that_comes_and_goes_is_logged_now_and_then(lines: list[Any]) -> None:
    clock = Clock()
    failures = FailureLog("store_waits", clock=clock)

    for _ in range(100):
        failures.failed("refused")
        failures.succeeded()
        clock.now += 1.0

    assert len(lines) == 2 * 100 / AGAIN_S


def test_a_failure_that_begins_again_soon_and_lasts_is_logged(lines: list[Any]) -> None:
    clock = Clock()
    failures = FailureLog("store_waits", clock=clock)
    failures.failed("refused")
    failures.succeeded()

    failures.failed("refused")
    clock.now += AGAIN_S
    failures.failed("refused")

    assert lines[-1]["event"] == "store_waits"
    assert lines[-1]["failures"] == 2


async def test_without_a_success_a_failure_ends_when_it_has_not_happened_for_a_while(
    lines: list[Any],
) -> None:
    failures = FailureLog("store_waits", quiet_s=0.01)

    async def is_ended() -> bool:
        return len(lines) > 1

    failures.failed("refused")
    failures.failed("refused")
    await until_soon(is_ended, "the end was not logged")

    assert [(line["event"], line.get("failures")) for line in lines] == [
        ("store_waits", None),
        ("failure_ended", 2),
    ]


def test_other_fields_and_the_level_are_those_of_the_caller(lines: list[Any]) -> None:
    failures = FailureLog("task_failed", level="error")

    failures.failed("broken", task="mirror")

    expected = {"event": "task_failed", "reason": "broken", "task": "mirror"}
    assert lines == [{**expected, "log_level": "error"}]
