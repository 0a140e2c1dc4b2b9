"""The persons that each condition of a flag reaches, and those that earlier ones have taken."""

import random
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from fanion.errors import Invalid
from fanion.flags.blast_radius.by_condition import (
    ConditionReach,
    LadderReach,
    LadderTests,
    ladder_of,
    reach_of,
)
from fanion.flags.blast_radius.query import moment_at
from fanion.flags.engine.definition import FlagRow, compile_flag, parse_rules
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.flag_set import build_flag_set
from fanion.flags.engine.model import DecisionReason, Subject
from fanion.flags.preview.schemas import flag_reach
from tests.flags.blast_radius.test_blast_radius import in_cohort, organizations, person, persons
from tests.support.application import Json, Tenant, error

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)


async def reach(tenant: Tenant, *groups: Json, **more: Any) -> Json:
    filters = {"groups": list(groups), **more.pop("filters", {})}
    answer = await tenant.api.post("/feature_flags/reach/", json={"filters": filters, **more})
    assert answer.status_code == 200, answer.text
    result: Json = answer.json()
    return result


def condition(matches: int, taken: int, rolled_out: int, *, never: bool = False) -> Json:
    return {
        "matches": matches,
        "already_taken": taken,
        "rolled_out": rolled_out,
        "never_reached": never,
    }


def below(number: int, **more: Any) -> Json:
    return {"properties": [person(key="group", operator="lt", value=str(number))], **more}


@pytest.mark.every_engine
async def test_a_condition_takes_from_those_below(tenant: Tenant) -> None:
    await persons(tenant, 10)

    result = await reach(tenant, below(4), below(6, rollout_percentage=50), {}, below(3))

    assert result == {
        "exact": False,
        "total_persons": 10,
        "group_type_index": None,
        "super_groups": 0,
        "holdout_groups": 0,
        "conditions": [
            condition(4, 0, 4),
            condition(6, 4, 1),
            condition(10, 5, 5),
            condition(3, 3, 0, never=True),
        ],
    }


async def test_a_smaller_share_below_a_larger_one_lets_no_person_in(tenant: Tenant) -> None:
    await persons(tenant, 10)

    result = await reach(
        tenant, {"rollout_percentage": 50}, {"rollout_percentage": 30}, {"rollout_percentage": 70}
    )

    assert result["conditions"] == [
        condition(10, 0, 5),
        condition(10, 5, 0, never=True),
        condition(10, 5, 2),
    ]


async def test_conditions_with_a_variant_come_first(tenant: Tenant) -> None:
    await persons(tenant, 4)
    variants = [{"key": name, "rollout_percentage": 50} for name in ("a", "b")]
    filters = {"multivariate": {"variants": variants}}

    result = await reach(tenant, {}, below(1, variant="a"), filters=filters)

    assert result["exact"] is True
    assert result["conditions"] == [condition(4, 1, 3), condition(1, 0, 1)]


async def test_what_comes_before_the_conditions_takes_too(tenant: Tenant) -> None:
    await persons(tenant, 10)
    early = {"properties": [person(key="group", operator="exact", value=["true"])]}
    held = {"rollout_percentage": 20, "variant": "held"}

    enrolled = await reach(tenant, {}, filters={"super_groups": [early]})
    out = await reach(tenant, {"rollout_percentage": 50}, filters={"holdout_groups": [held]})
    everyone = await reach(tenant, {}, filters={"super_groups": [{"rollout_percentage": 10}]})

    # The super group decides all of them: they have the property, whatever its value.
    assert (enrolled["super_groups"], enrolled["conditions"]) == (
        10,
        [condition(10, 10, 0, never=True)],
    )
    assert (out["holdout_groups"], out["conditions"]) == (2, [condition(10, 2, 4)])
    assert everyone["conditions"] == [condition(10, 10, 0, never=True)]


async def test_cohorts_and_members_are_counted(tenant: Tenant) -> None:
    await persons(tenant, 5)
    csv = b"distinct_id\nperson1\nperson3\nnobody\n"
    answer = await tenant.api.post(
        "/cohorts/", data={"name": "c", "is_static": "true"}, files={"csv": ("c.csv", csv)}
    )
    await tenant.server.calculated()

    result = await reach(tenant, {"properties": [in_cohort(answer.json()["id"])]}, {})

    assert result["conditions"] == [condition(2, 0, 2), condition(5, 2, 3)]


async def test_a_condition_on_another_flag_is_not_counted_nor_what_it_leaves(
    tenant: Tenant,
) -> None:
    await persons(tenant, 3)
    inner = await tenant.create_flag(key="inner", filters={"groups": [{}]})
    on_flag = {"type": "flag", "key": str(inner["id"]), "operator": "flag_evaluates_to"}

    result = await reach(tenant, below(1), {"properties": [{**on_flag, "value": True}]}, {})

    nothing = dict.fromkeys(condition(0, 0, 0))
    assert result["conditions"] == [condition(1, 0, 1), nothing, {**nothing, "matches": 3}]


@pytest.mark.every_engine
async def test_groups_are_counted_for_a_group_flag(tenant: Tenant) -> None:
    await organizations(tenant, 10)
    leaf = {"key": "industry", "type": "group", "group_type_index": 0}
    some = {"properties": [{**leaf, "value": ["1", "4"]}]}
    index = {"aggregation_group_type_index": 0}

    result = await reach(tenant, some, {"rollout_percentage": 50}, filters=index)

    assert (result["total_persons"], result["group_type_index"]) == (10, 0)
    assert result["conditions"] == [condition(2, 0, 2), condition(10, 2, 4)]


async def test_a_saved_flag_is_asked_about_without_its_filters(tenant: Tenant) -> None:
    await persons(tenant, 3)
    flag = await tenant.create_flag(key="f", filters={"groups": [below(2)]})

    answer = await tenant.api.post("/feature_flags/reach/", json={"id": flag["id"]})

    assert answer.json()["conditions"] == [condition(2, 0, 2)]


async def test_many_conditions_are_counted_up_to_a_number(tenant: Tenant) -> None:
    await persons(tenant, 3)
    share = {"rollout_percentage": 1.5}

    result = await reach(tenant, *[below(2, **share)] * 50)
    answer = await tenant.api.post(
        "/feature_flags/reach/", json={"filters": {"groups": [below(2)] * 51}}
    )

    assert [condition_reach["matches"] for condition_reach in result["conditions"]] == [2] * 50
    assert [condition_reach["never_reached"] for condition_reach in result["conditions"]] == [
        False
    ] + [True] * 49
    detail = "Ensure there are at most 50 groups, not 51."
    assert answer.status_code == 400
    assert answer.json() == error("validation_error", "invalid_input", detail, "filters")


# ── Against the evaluator ─────────────────────────────────────────────────────────────────

VALUES = ["0", "1", "2"]
SHARES = st.sampled_from([None, 0, 25, 50, 75, 100])


def groups() -> st.SearchStrategy[Json]:
    leaves = st.lists(
        st.builds(
            lambda value, operator: {
                "type": "group", "group_type_index": 0, "key": "k",
                "value": value, "operator": operator,
            },
            st.lists(st.sampled_from(VALUES), min_size=1, max_size=2),
            st.sampled_from(["exact", "is_not"]),
        ),
        max_size=2,
    )  # fmt: skip
    return st.builds(
        lambda properties, share, variant: {
            "properties": properties, "rollout_percentage": share, "variant": variant,
        },
        leaves, SHARES, st.sampled_from([None, None, "a"]),
    )  # fmt: skip


@given(st.lists(groups(), min_size=1, max_size=4), st.sampled_from([None, 0, 40, 100]))
def test_the_estimate_is_what_the_evaluator_does_to_many(
    conditions: list[Json], holdout: int | None
) -> None:
    many = 1_500
    variants = [{"key": "a", "rollout_percentage": 100}]
    filters: Json = {
        "groups": conditions,
        "multivariate": {"variants": variants},
        "aggregation_group_type_index": 0,
        "holdout_groups": None if holdout is None else [{"rollout_percentage": holdout}],
    }
    flag_set = build_flag_set([compile_flag(FlagRow(1, "flag", filters))], {0: "org"})
    result = counted(filters, many)
    decided = [0] * len(conditions)
    for number in range(many):
        subject = Subject(
            "u",
            groups={"org": f"o{number}"},
            group_properties={"org": {"k": VALUES[number % 3]}},
        )
        decision = evaluate(flag_set, subject, NOW).decisions["flag"]
        if decision.reason is DecisionReason.CONDITION_MATCH:
            assert decision.condition_index is not None
            decided[decision.condition_index] += 1

    for condition_reach, count in zip(result.conditions, decided, strict=True):
        assert condition_reach.rolled_out is not None
        assert abs(condition_reach.rolled_out - count) <= many * 0.07
        if condition_reach.never_reached:
            assert count == 0


def counted(filters: Json, many: int) -> LadderReach:
    ladder = ladder_of(parse_rules(filters))
    tests, where = LadderTests(ladder), moment_at(NOW)
    values = ({"k": VALUES[number % 3], "$group_key": f"o{number}"} for number in range(many))
    return reach_of(ladder, Counter(tests.combination(properties, where) for properties in values))


async def test_the_event_store_counts_as_one_by_one(tenant: Tenant) -> None:
    choose = random.Random(7)
    values: list[Any] = ["pro", "Pro", "", 1, 1.5, True, None, ["a"], {"b": 1}, "2024-01-01"]
    known = [
        {key: choose.choice(values) for key in ("a", "b", "c") if choose.random() < 0.7}
        for _ in range(60)
    ]
    await tenant.capture(
        *(
            {"event": "$identify", "distinct_id": f"u{n}", "$set": properties}
            for n, properties in enumerate(known)
        )
    )
    operators, texts = ["exact", "is_not", "gt", "is_set", "icontains"], ["pro", "1", "true"]
    for _ in range(10):
        conditions: list[Json] = [
            {
                "properties": [
                    person(
                        key=choose.choice("abc"),
                        operator=choose.choice(operators),
                        value=choose.choice(texts),
                    )
                    for _ in range(choose.randrange(3))
                ],
                "rollout_percentage": choose.choice([None, 0, 30, 80]),
            }
            for _ in range(5)
        ]
        early = [{"properties": [person(key=choose.choice("abc"), value="pro")]}]
        more = {"super_groups": choose.choice([None, early])}
        ladder = ladder_of(parse_rules({"groups": conditions, **more}))
        tests, where = LadderTests(ladder), moment_at(NOW)
        expected = reach_of(
            ladder, Counter(tests.combination(properties, where) for properties in known)
        )

        result = await reach(tenant, *conditions, filters=more)

        assert result == structs.asdict(flag_reach(ladder, expected)) | {
            "conditions": [
                structs.asdict(condition_reach)
                for condition_reach in flag_reach(ladder, expected).conditions
            ]
        }


def test_of_no_persons_none_is_matched() -> None:
    result = counted({"groups": [{}], "aggregation_group_type_index": 0}, 0)

    assert result == LadderReach(0, 0, 0, [ConditionReach(0, 0, 0, False)])


def test_more_combinations_than_can_be_counted_are_refused() -> None:
    ladder = ladder_of(parse_rules({"groups": [{}] * 20}))

    with pytest.raises(Invalid) as error:
        reach_of(ladder, {(False, bits): 1 for bits in range(100_001)})

    assert error.value.fields() == {
        "type": "validation_error",
        "code": "invalid_input",
        "detail": "The groups match in more than 100,000 combinations.",
        "attr": "filters",
    }
