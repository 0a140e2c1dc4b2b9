"""Evaluations are counted exactly when there are few, and sampled when there are many."""

from collections.abc import Iterator

from fanion.flags.engine.model import Decision, DecisionReason
from fanion.flags.evaluation.service import EXACT_MAX, SAMPLE_EVERY, EvaluationCounters

ON = Decision("a", True, DecisionReason.CONDITION_MATCH, 0)
OFF = Decision("a", False, DecisionReason.NO_CONDITION_MATCH)
TEST = Decision("b", "test", DecisionReason.CONDITION_MATCH, 0)


def counts_with(*chances: float) -> EvaluationCounters:
    drawn: Iterator[float] = iter(chances)
    return EvaluationCounters(lambda: next(drawn))


def test_each_answer_is_counted_by_project_flag_and_value() -> None:
    counts = counts_with()

    counts.count_decisions(1, {"a": ON, "b": TEST})
    counts.count_decisions(1, {"a": OFF, "b": TEST})
    counts.count_decisions(2, {"a": ON})

    taken = counts.take_counts()
    assert taken == {
        1: {("a", True): 1, ("a", False): 1, ("b", "test"): 2},
        2: {("a", True): 1},
    }
    assert counts.take_counts() == {}


def test_decisions_of_a_changed_flag_are_counted_together() -> None:
    counts = counts_with()
    compiled_again = Decision("a", True, DecisionReason.CONDITION_MATCH, 0)

    counts.count_decisions(1, {"a": ON})
    counts.count_decisions(1, {"a": compiled_again})

    assert counts.take_counts() == {1: {("a", True): 2}}


def test_a_busy_server_counts_a_sample_that_stands_for_all() -> None:
    below, above = 0.5 / SAMPLE_EVERY, 1.0 / SAMPLE_EVERY
    counts = counts_with(above, below, above)

    for _ in range(EXACT_MAX + 3):
        counts.count_decisions(1, {"a": ON})

    assert counts.take_counts() == {1: {("a", True): EXACT_MAX + SAMPLE_EVERY}}


def test_counting_is_exact_again_after_each_taking() -> None:
    counts = counts_with(0.9)
    for _ in range(EXACT_MAX + 1):
        counts.count_decisions(1, {"a": ON})
    counts.take_counts()

    counts.count_decisions(1, {"a": ON})

    assert counts.take_counts() == {1: {("a", True): 1}}


def test_what_could_not_be_stored_is_counted_the_next_time() -> None:
    counts = counts_with()
    counts.count_decisions(1, {"a": ON})
    taken = counts.take_counts()
    counts.count_decisions(1, {"a": ON, "b": Decision("b", False, OFF.reason)})

    counts.put_back(taken)

    assert counts.take_counts() == {1: {("a", True): 2, ("b", False): 1}}
