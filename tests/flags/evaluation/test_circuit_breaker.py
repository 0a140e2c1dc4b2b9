"""A store that does not answer is read by only one caller at a time."""

from fanion.flags.evaluation.subject_store import RETRY_S, CircuitBreaker


class Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_after_a_failure_one_caller_a_round_tries_again() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)

    breaker.failed(breaker.answers)
    at_once = breaker.allows_read()
    clock.seconds += RETRY_S
    later = [breaker.allows_read() for _ in range(3)]

    assert at_once is False
    assert later == [True, False, False]


def test_an_answer_closes_the_breaker_again() -> None:
    breaker = CircuitBreaker(Clock())
    breaker.failed(breaker.answers)

    breaker.answered()

    assert [breaker.allows_read() for _ in range(3)] == [True] * 3


def test_one_late_read_among_answered_ones_closes_nothing() -> None:
    breaker = CircuitBreaker(Clock())
    before = breaker.answers

    breaker.answered()
    breaker.failed(before)

    assert breaker.allows_read()
