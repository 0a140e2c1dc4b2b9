"""Background loops and tasks, on a clock that only moves when a loop waits."""

import asyncio
from functools import partial

import pytest
from structlog.testing import capture_logs

from fanion.runtime.background import (
    FAILURE_BACKOFF_FIRST_S,
    FAILURE_BACKOFF_MAX_S,
    Backoff,
    background_tasks,
    backoff_s,
    common_moment,
    run_loop,
    run_observed,
    wait_for_event,
    wait_in_step,
)

INTERVAL_S = 3.0


class Ended(BaseException):
    """The end of a loop, which no `Exception` causes."""


class Rounds:
    """The scripted rounds of a loop: each outcome is returned or raised.

    Attributes:
        waits: The pauses of the loop.
    """

    def __init__(self, *outcomes: bool | Exception | None) -> None:
        self._outcomes = list(outcomes)
        self.waits: list[float] = []

    async def work(self) -> bool | None:
        if not self._outcomes:
            raise Ended
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def wait(self, _: asyncio.Event, seconds: float) -> None:
        self.waits.append(seconds)

    async def run(self, initial_delay_s: float = 0.0) -> None:
        with pytest.raises(Ended):
            await run_loop(
                self.work,
                INTERVAL_S,
                "work_waits",
                (OSError,),
                initial_delay_s=initial_delay_s,
                wait=self.wait,
            )


async def test_a_loop_waits_for_its_interval_unless_there_is_more_to_do() -> None:
    rounds = Rounds(None, False, True, None)

    await rounds.run()

    assert rounds.waits == [INTERVAL_S, INTERVAL_S, INTERVAL_S]


async def test_a_first_round_can_be_delayed() -> None:
    rounds = Rounds(None)

    await rounds.run(initial_delay_s=60.0)

    assert rounds.waits == [60.0, INTERVAL_S]


async def test_an_expected_error_is_logged_in_one_line_and_retried_at_the_next_interval() -> None:
    rounds = Rounds(OSError("disk full"), None)

    with capture_logs() as lines:
        await rounds.run()

    assert rounds.waits == [INTERVAL_S, INTERVAL_S]
    first, ended = lines
    assert first == {"event": "work_waits", "reason": "disk full", "log_level": "warning"}
    assert (ended["event"], ended["failure"], ended["failures"]) == (
        "failure_ended",
        "work_waits",
        1,
    )


async def test_an_expected_error_that_lasts_is_logged_once_and_retried_as_the_loop_says() -> None:
    rounds = Rounds(*[OSError("away")] * 50, None)

    with capture_logs() as lines, pytest.raises(Ended):
        await run_loop(
            rounds.work, INTERVAL_S, "work_waits", (OSError,), wait=rounds.wait, retry_s=1.0
        )

    assert rounds.waits == [*[1.0] * 50, INTERVAL_S]
    assert [(line["event"], line.get("failures")) for line in lines] == [
        ("work_waits", None),
        ("failure_ended", 50),
    ]


async def test_unexpected_errors_are_logged_with_their_traceback_and_backed_off() -> None:
    defects = [ValueError(str(number)) for number in range(6)]
    rounds = Rounds(*defects, None, ValueError("again"))

    with capture_logs() as lines:
        await rounds.run()

    first = FAILURE_BACKOFF_FIRST_S
    growing = [first, first * 2, first * 4, first * 8, FAILURE_BACKOFF_MAX_S, FAILURE_BACKOFF_MAX_S]
    assert rounds.waits == [*growing, INTERVAL_S, first]
    assert [line["exc_info"] for line in lines[:6]] == defects
    failed = [line for line in lines if line["event"] == "background_task_failed"]
    assert len(failed) == len(lines) - 1 == 7
    assert {line["task"] for line in failed} == {"Rounds.work"}


async def test_the_same_unexpected_error_is_logged_once_and_counted() -> None:
    rounds = Rounds(*[ValueError("broken")] * 5, None)

    with capture_logs() as lines:
        await rounds.run()

    assert [(line["event"], line.get("failures")) for line in lines] == [
        ("background_task_failed", None),
        ("failure_ended", 5),
    ]


async def test_an_event_wakes_a_loop_before_its_interval_is_over() -> None:
    wake, rounds = asyncio.Event(), asyncio.Semaphore(0)

    async def work() -> None:
        rounds.release()

    loop = asyncio.create_task(run_loop(work, 3600.0, "work_waits", (), wake=wake))
    async with asyncio.timeout(60):
        for _ in range(3):
            await rounds.acquire()
            wake.set()

    loop.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loop


async def test_waiting_for_an_event_ends_with_its_timeout() -> None:
    await asyncio.wait_for(wait_for_event(asyncio.Event(), 0.001), 60)


@pytest.mark.parametrize(
    ("now", "delay_s", "moment"),
    [
        (7.25, 1.0, 8.0),
        (8.003, 1.0, 9.0),
        (7.999, 1.0, 9.0),
        (7.7, 5.0, 13.0),
        (7.7, 0.5, 8.0),
        (8.001, 0.5, 8.5),
        (7.65, 0.4, 8.0),
        (8.001, 0.4, 8.4),
        (7.25, 0.05, 7.3),
    ],
)
def test_loops_with_one_interval_go_on_at_the_same_moment(
    now: float, delay_s: float, moment: float
) -> None:
    assert common_moment(now, delay_s) == pytest.approx(moment)


async def test_a_wait_for_a_common_moment_ends_with_the_event() -> None:
    event = asyncio.Event()
    event.set()

    await asyncio.wait_for(wait_in_step(event, 3_600.0), 60)


def test_a_delay_is_doubled_with_each_failure_up_to_its_maximum() -> None:
    assert [backoff_s(failures, 0.5, 3.0) for failures in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert backoff_s(10_000, 0.5, 3.0) == 3.0


def test_a_backoff_starts_again_after_a_reset() -> None:
    backoff = Backoff(0.5, 3.0)

    assert [backoff.next_s() for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    backoff.reset()
    assert backoff.next_s() == 0.5


async def test_background_tasks_are_cancelled_and_awaited_at_the_end_of_the_block() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def task() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.set()

    async with background_tasks(task):
        await began.wait()

    assert ended.is_set()


async def test_a_task_that_fails_is_logged_and_ends_no_other() -> None:
    failed, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def fail() -> None:
        failed.set()
        raise ValueError("defect")

    async def last() -> None:
        await may_end.wait()
        ended.set()

    with capture_logs() as lines:
        async with background_tasks(fail, last):
            await failed.wait()
            may_end.set()
            await asyncio.wait_for(ended.wait(), 60)

    assert [line["event"] for line in lines] == ["background_task_failed"]


class Runs:
    """An observer that remembers which runs succeeded."""

    def __init__(self) -> None:
        self.succeeded_runs: list[bool] = []

    def succeeded(self, seconds: float) -> None:
        self.succeeded_runs.append(True)

    def failed(self, seconds: float) -> None:
        self.succeeded_runs.append(False)


async def test_each_round_of_a_loop_is_reported_to_its_observer() -> None:
    rounds, runs = Rounds(None, OSError("away"), ValueError("a defect"), None), Runs()
    loop = partial(run_loop, rounds.work, INTERVAL_S, "waits", (OSError,), wait=rounds.wait)

    with capture_logs(), pytest.raises(Ended):
        await run_observed(loop, runs)

    assert runs.succeeded_runs == [True, False, False, True]
