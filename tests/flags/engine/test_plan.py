"""Plans decide like each flag on its own, and their caches have a limit."""

from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fanion.flags.engine.definition import FlagRow, compile_flag
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.hashing import digest_ranges
from fanion.flags.engine.kept_memory import KeptMemory
from fanion.flags.engine.model import Decision, EvaluationRun, Subject
from fanion.flags.engine.plan import PROJECT_BYTES_MAX, Plans

NOW = datetime(2026, 5, 1, tzinfo=UTC)
NUMBERS = st.integers(0, 20)


def of_plan(value: str, share: float | None, **fields: Any) -> dict[str, Any]:
    leaf = {"key": "plan", "type": "person", "operator": "exact", "value": value}
    return {"properties": [leaf], "rollout_percentage": share, **fields}


VARIANTS = {"variants": [{"key": key, "rollout_percentage": 40} for key in "abc"]}
FILTERS: list[dict[str, Any]] = [
    {"groups": [of_plan("pro", 100)]},
    {"groups": [of_plan("pro", 50)]},
    {"groups": [of_plan("pro", 20), of_plan("free", 90), {"properties": []}]},
    {"groups": [of_plan("free", 10), of_plan("pro", 60), of_plan("pro", 30)]},
    {"groups": [of_plan("pro", 30), of_plan("pro", 70, variant="b")], "multivariate": VARIANTS},
    {"groups": [{"rollout_percentage": 0}]},
    {"groups": [{"rollout_percentage": 40}], "multivariate": VARIANTS},
    {"groups": [{"rollout_percentage": 100}], "multivariate": VARIANTS},
    {"groups": []},
    {"groups": [{"rollout_percentage": 50}], "aggregation_group_type_index": 0},
    {"groups": [{"rollout_percentage": 30}], "holdout_groups": [{"rollout_percentage": 30}]},
]


def project() -> FlagSet:
    numbers = count(1)
    rows = [FlagRow(n, f"flag-{n}", each) for each in FILTERS * 3 for n in [next(numbers)]]
    return build_flag_set(map(compile_flag, rows), {0: "company"})


def persons(number: int) -> Iterator[Subject]:
    for n in range(number):
        plan = ("pro", "free", "other")[n % 3]
        yield Subject(f"user-{n}", stored={"plan": plan}, groups={"company": f"company-{n}"})


def alone(flags: FlagSet, person: Subject) -> dict[str, Decision]:
    return {key: evaluate(flags, person, NOW, [key]).decisions[key] for key in flags.by_key}


def test_persons_who_pass_the_same_tests_get_the_decisions_of_each_flag_by_itself() -> None:
    flags = project()

    for person in [*persons(90), *persons(90)]:
        decisions = evaluate(flags, person, NOW).decisions

        assert list(decisions.items()) == list(alone(flags, person).items())


def test_what_is_kept_for_a_project_has_a_limit() -> None:
    flags = project()
    sizes = []

    for person in persons(9_000):
        evaluate(flags, person, NOW)
        sizes.append(flags.plans.size)

    assert PROJECT_BYTES_MAX / 2 < max(sizes) < PROJECT_BYTES_MAX * 1.01
    assert flags.plans.size < max(sizes)


def test_plans_that_were_forgotten_are_made_again() -> None:
    flags = project()
    rules = tuple(entry.rules for entry in flags.by_key.values())
    plans = Plans(rules, (), KeptMemory(20_000))

    for person in persons(300):
        run = EvaluationRun(person, NOW)
        for key, program, *_ in plans.begin(run):
            run.decisions[key] = program(run.properties, run.identity, run)

        assert run.decisions == alone(flags, person)
        assert plans.size <= 20_000


def test_a_plan_is_made_only_for_tests_that_come_again() -> None:
    flags = project()
    sizes = []

    for plan in ("pro", "free", "pro"):
        evaluate(flags, Subject("user-1", stored={"plan": plan}), NOW)
        sizes.append(flags.plans.size)

    assert sizes[:2] == [0, 0]
    assert sizes[2] > 0


@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.sampled_from("abc")), max_size=6))
def test_a_digest_has_the_value_of_the_first_range_around_it(
    ranges: list[tuple[int, int, str]],
) -> None:
    wanted = [
        next((value for low, high, value in ranges if low <= number < high), "rest")
        for number in range(22)
    ]

    bounds, values = digest_ranges([(_digest(a), _digest(b), c) for a, b, c in ranges], "rest")

    assert [values[bisect_right(bounds, _digest(number))] for number in range(22)] == wanted
    assert list(bounds) == sorted(set(bounds))


def _digest(number: int) -> bytes:
    return number.to_bytes(20, "big")
