"""The number of threads that a question gets beside what the server does."""

import pytest

from fanion.insights.calculation.threads_worker import (
    BUSY_EVENTS_PER_S,
    BUSY_FOR_S,
    BUSY_REQUESTS_PER_S,
    QuestionThreads,
)


class Load:
    def __init__(self, cores: int) -> None:
        self.requests = self.events = 0
        self.threads = QuestionThreads(lambda: self.requests, lambda: self.events, cores, at=0.0)

    def after(self, at: float, requests: int = 0, events: int = 0) -> int:
        self.requests += requests
        self.events += events
        self.threads.look(at)
        return self.threads.now()


@pytest.mark.parametrize(("cores", "half"), [(1, 1), (2, 1), (3, 1), (8, 4)])
def test_half_of_the_cores_are_left_to_clients_and_ingestion(cores: int, half: int) -> None:
    load = Load(cores)

    assert load.threads.now() == cores
    assert load.after(1.0, requests=BUSY_REQUESTS_PER_S) == half
    assert load.after(1.0 + BUSY_FOR_S) == cores
    assert load.after(4.0, events=BUSY_EVENTS_PER_S) == half
    assert load.after(4.0 + BUSY_FOR_S) == cores
    assert load.after(7.0, BUSY_REQUESTS_PER_S - 1, BUSY_EVENTS_PER_S - 1) == cores


def test_they_are_left_to_them_between_two_batches() -> None:
    load = Load(2)

    assert load.after(0.2, events=BUSY_EVENTS_PER_S) == 1
    assert [load.after(0.2 + more) for more in (0.2, 0.4, BUSY_FOR_S - 0.1)] == [1, 1, 1]


def test_rates_count_whatever_time_has_passed() -> None:
    load = Load(2)

    assert load.after(10.0, requests=BUSY_REQUESTS_PER_S * 9) == 2
    assert load.after(10.5, requests=BUSY_REQUESTS_PER_S) == 1


def test_a_look_says_whether_there_was_any_load() -> None:
    load = Load(2)
    load.requests += 1

    assert [load.threads.look(1.0), load.threads.look(1.2)] == [True, False]
    load.events += 1
    assert load.threads.look(1.4)
