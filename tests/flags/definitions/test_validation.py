"""Mistakes in a flag are refused with their path and a suggestion."""

from collections.abc import Mapping
from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.flags.definitions.rollback_conditions import CONDITIONS_MAX, check_conditions
from fanion.flags.definitions.validation.filters import check_filters, check_key
from fanion.properties.operators import COMPARISONS, VALUES_MAX

Json = dict[str, Any]
PLAN: Json = {"key": "plan", "type": "person", "operator": "exact", "value": "pro"}
ABOVE: Json = {
    "threshold": 5,
    "threshold_type": "insight",
    "operator": "gt",
    "threshold_metric": {"insight": "TRENDS", "events": [{"id": "paid"}]},
}


def leaf(**changes: Any) -> Json:
    return {"groups": [{"properties": [{**PLAN, **changes}]}]}


def lacking(name: str) -> Json:
    return {"groups": [{"properties": [{k: v for k, v in PLAN.items() if k != name}]}]}


def variants(*made: Mapping[str, Any], **more: Any) -> Json:
    return {"groups": [{}], "multivariate": {"variants": list(made), **more}}


def v(key: Any = "a", share: Any = 100, **more: Any) -> Json:
    return {"key": key, "rollout_percentage": share, **more}


PROPERTY = "filters__groups__0__properties__0"
VARIANT = "filters__multivariate__variants__0"
MISTAKES: dict[str, tuple[Json, str, str]] = {
    "group for groups": ({"groups": [], "group": [{}]}, "filters__group", '"groups"'),
    "variants next to multivariate": (
        {"groups": [{}], "multivariat": None},
        "filters__multivariat",
        '"multivariate"',
    ),
    "payload for payloads": ({"groups": [{}], "payload": {}}, "filters__payload", '"payloads"'),
    "rollout": ({"groups": [{"rollout": 50}]}, "filters__groups__0__rollout", "rollout_percentage"),
    "rolloutPercentage": (
        {"groups": [{}, {"rolloutPercentage": 50}]},
        "filters__groups__1__rolloutPercentage",
        "rollout_percentage",
    ),
    "percentage": (
        {"groups": [{"percentage": 50}]},
        "filters__groups__0__percentage",
        "rollout_percentage",
    ),
    "property for properties": (
        {"groups": [{"property": [PLAN]}]},
        "filters__groups__0__property",
        "properties",
    ),
    "filters in a group": ({"groups": [{"filters": []}]}, "filters__groups__0__filters", "known"),
    "op for operator": (leaf(op="gt"), f"{PROPERTY}__op", "operator"),
    "values for value": (leaf(values=["pro"]), f"{PROPERTY}__values", '"value"'),
    "negate": (leaf(negate=True), f"{PROPERTY}__negate", "negation"),
    "variants: rollout": (variants(v(rollout=5)), f"{VARIANT}__rollout", "rollout_percentage"),
    "variants: payload": (variants(v(payload=5)), f"{VARIANT}__payload", "Allowed are"),
    "variant for variants": (
        {"groups": [{}], "multivariate": {"variant": [v()]}},
        "filters__multivariate__variant",
        "variants",
    ),
    "a super group": (
        {"groups": [{}], "super_groups": [{"propertys": []}]},
        "filters__super_groups__0__propertys",
        "properties",
    ),
    "conditions that are an object": (
        {"groups": [{}], "super_groups": [{}, {"properties": {}}]},
        "filters",
        "a list of conditions",
    ),
    "a holdout": (
        {"groups": [{}], "holdout_groups": [{"rollout": 5}]},
        "filters__holdout_groups__0__rollout",
        "rollout_percentage",
    ),
    "a holdout without a percentage": (
        {"groups": [{}], "holdout": {"id": 1}},
        "filters__holdout",
        "exclusion_percentage",
    ),
    "conditions next to groups": (
        {"groups": [{}], "properties": [PLAN]},
        "filters__properties",
        "groups",
    ),
    "early exit": ({"groups": [{}], "early_exit": True}, "filters__early_exit", "not supported"),
    "enrollment": (
        {"groups": [{}], "feature_enrollment": True},
        "filters__feature_enrollment",
        "super_groups",
    ),
    "a set of another group type": (
        {"groups": [{"aggregation_group_type_index": 1}]},
        "filters__groups__0__aggregation_group_type_index",
        "group types",
    ),
    "a share of 150": (
        {"groups": [{"rollout_percentage": 150}]},
        "filters__groups__0__rollout_percentage",
        "between 0 and 100, not 150",
    ),
    "a share below 0": (
        {"groups": [{"rollout_percentage": -0.5}]},
        "filters__groups__0__rollout_percentage",
        "not -0.5",
    ),
    "a share as text": ({"groups": [{"rollout_percentage": "50"}]}, "filters", "a number"),
    "a share as boolean": ({"groups": [{"rollout_percentage": True}]}, "filters", "a number"),
    "a variant's share": (
        variants(v(share=-10), v("b", 110)),
        f"{VARIANT}__rollout_percentage",
        "between 0 and 100",
    ),
    "a key twice": (
        variants(v(share=50), v(share=50)),
        "filters__multivariate__variants__1__key",
        '"a"',
    ),
    "a blank key": (variants(v(" ")), f"{VARIANT}__key", "blank"),
    "a sum of 90": (variants(v(share=90)), "", "must sum to 100"),
    "a payload that is no JSON": (
        {"groups": [{}], "payloads": {"true": "{color: red}"}},
        "filters__payloads__true",
        "not valid JSON",
    ),
    "a payload that no client reads": (
        {"groups": [{}], "payloads": {"true": "NaN"}},
        "filters__payloads__true",
        "not valid JSON",
    ),
    "group type 5": ({"groups": [{}], "aggregation_group_type_index": 5}, "filters", "0 to 4"),
    "less": (leaf(operator="less", value="5"), f"{PROPERTY}__operator", "Unknown operator"),
    "equals": (leaf(operator="equals"), f"{PROPERTY}__operator", '"equals"'),
    "contains": (leaf(operator="contains"), f"{PROPERTY}__operator", '"icontains"'),
    "Exact": (leaf(operator="Exact"), f"{PROPERTY}__operator", '"exact"'),
    "an empty operator": (leaf(operator=""), f"{PROPERTY}__operator", 'Unknown operator ""'),
    "semver": (leaf(operator="semver_gt"), f"{PROPERTY}__value", "a version such as"),
    "a person in": (leaf(operator="in"), f"{PROPERTY}__operator", "cohorts"),
    "a cohort by is_not": (
        leaf(type="cohort", key="id", value=1, operator="is_not"),
        f"{PROPERTY}__operator",
        "not_in",
    ),
    "a flag by exact": (
        leaf(type="flag", key="1", value=True),
        f"{PROPERTY}__operator",
        "flag_evaluates_to",
    ),
    "a flag that is 5": (
        leaf(type="flag", key="1", value=5, operator="flag_evaluates_to"),
        f"{PROPERTY}__value",
        "the key of a variant",
    ),
    "no value": (lacking("value"), f"{PROPERTY}__value", "It must be"),
    "no values": (leaf(value=[]), f"{PROPERTY}__value", "at least one"),
    "an object as value": (leaf(value={"a": 1}), f"{PROPERTY}__value", "It must be"),
    "no key": (lacking("key"), f"{PROPERTY}__key", "name of a property"),
    "negation as text": (leaf(negation="yes"), f"{PROPERTY}__negation", "boolean"),
    "too many values": (leaf(value=["x"] * (VALUES_MAX + 1)), "filters", "more than 1000 values"),
    "between with one end": (leaf(operator="between", value=[1]), "filters", "between"),
    "a cohort by name": (leaf(type="cohort", value="vip"), "filters", "vip does not exist"),
    "a variant that is a number": (
        {"groups": [{"variant": 1}]},
        "filters__groups__0__variant",
        "string",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_refused_where_it_stands(name: str) -> None:
    filters, attr, reported = MISTAKES[name]

    with pytest.raises(Invalid) as refused:
        check_filters(filters, creating=False)

    assert (refused.value.attr or "") == attr
    assert reported in refused.value.detail


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_that_is_stored_is_no_reason_to_refuse_a_change(name: str) -> None:
    stored, _, _ = MISTAKES[name]

    check_filters(stored, creating=False, stored=stored)
    check_filters({**stored}, creating=False, stored={**stored})
    more = {"properties": [], "rollout_percentage": 1}
    check_filters({**stored, "groups": [*stored["groups"], more]}, creating=False, stored=stored)


def test_a_new_mistake_is_refused_where_a_stored_one_remains() -> None:
    stored = {"groups": [{"rollout": 50}]}

    with pytest.raises(Invalid) as refused:
        check_filters({"groups": [{"rollout": 50}, {"rollout": 60}]}, creating=False, stored=stored)

    assert refused.value.attr == "filters__groups__1__rollout"


@pytest.mark.parametrize("odd", [{}, {"key": None}, {"key": ["a"]}], ids=["no", "null", "a list"])
def test_a_stored_variant_without_a_key_is_no_reason_to_refuse_another(odd: Json) -> None:
    stored_variant = {**odd, "rollout_percentage": 50}
    stored = variants(stored_variant, v("b", 50))

    check_filters(variants(stored_variant, v("c", 50)), creating=False, stored=stored)


def test_a_stored_condition_is_checked_again_by_another_group_type() -> None:
    stored = leaf()

    with pytest.raises(Invalid):
        check_filters({**stored, "aggregation_group_type_index": 0}, creating=False, stored=stored)


WRITTEN_BY_THE_INTERFACE: Json = {
    "groups": [
        {
            "properties": [
                {**PLAN, "label": "Plan", "group_type_index": None, "negation": None},
                {
                    "key": "id",
                    "type": "cohort",
                    "value": 1,
                    "operator": "in",
                    "cohort_name": "VIP",
                },
                {
                    "key": "1",
                    "type": "flag",
                    "value": "a",
                    "operator": "flag_evaluates_to",
                    "dependency_chain": ["base"],
                },
            ],
            "rollout_percentage": None,
            "variant": None,
            "sort_key": "0190a6f5",
            "description": "Everyone on pro",
            "users_affected": 5,
            "aggregation_group_type_index": None,
        }
    ],
    "multivariate": {"variants": [{"key": "a", "name": None, "rollout_percentage": 100}]},
    "payloads": {"a": '{"color": "red"}'},
    "aggregation_group_type_index": None,
    "super_groups": None,
    "holdout_groups": None,
    "holdout": None,
    "early_exit": False,
    "feature_enrollment": False,
}


def test_what_the_interface_writes_is_accepted() -> None:
    check_filters(WRITTEN_BY_THE_INTERFACE, creating=True)


VALUES: dict[str, Any] = {
    "any": ["pro", 5, True],
    "text": "5",
    "texts": ["a", "b"],
    "pattern": "^a",
    "range": [1, 2],
    "date": "-7d",
    "none": None,
    "order": 5,
    "version": "v1.2",
    "wildcard": "1.2.*",
}


@pytest.mark.parametrize("operator", COMPARISONS)
def test_every_operator_takes_a_value_of_its_kind(operator: str) -> None:
    check_filters(leaf(operator=operator, value=VALUES[COMPARISONS[operator]]), creating=True)


@pytest.mark.parametrize("key", ["a", "A-b_9", "0"])
def test_a_key_that_is_none_of_a_mistake(key: str) -> None:
    check_key(key)


@pytest.mark.parametrize("key", ["my flag", "a.b", "ключ", "a/b", "a\n"])
def test_a_key_of_other_characters_is_refused(key: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_key(key)

    assert (refused.value.code, refused.value.attr) == ("invalid_key", "key")


AT = "rollback_conditions__0"
WRONG_ROLLBACKS: dict[str, tuple[Any, str, str]] = {
    "less": ([{**ABOVE, "operator": "less"}], f"{AT}__operator", "gt, lt"),
    "an operator that is a list": (
        [{**ABOVE, "operator": ["lt"]}],
        f"{AT}__operator",
        "Allowed are: gt, lt",
    ),
    "no operator": ([{**ABOVE, "operator": None}], f"{AT}__operator", "required"),
    "sentry": ([{**ABOVE, "threshold_type": "sentry"}], f"{AT}__threshold_type", "insight"),
    "an unknown name": ([{**ABOVE, "treshold": 5}], f"{AT}__treshold", '"threshold"'),
    "a threshold as text": ([{**ABOVE, "threshold": "5"}], f"{AT}__threshold", "number"),
    "a metric as text": ([{**ABOVE, "threshold_metric": "x"}], f"{AT}__threshold_metric", "dict"),
    "a metric of nothing": (
        [{**ABOVE, "threshold_metric": {"insight": "TRENDS"}}],
        f"{AT}__threshold_metric__events",
        "at least one event",
    ),
    "another insight": (
        [{**ABOVE, "threshold_metric": {"insight": "funnels"}}],
        f"{AT}__threshold_metric__insight",
        "trends",
    ),
    "a number": ([5], AT, "dictionary"),
    "text": ("less", "rollback_conditions", "list"),
    "the second": ([ABOVE, {}], "rollback_conditions__1__threshold_type", "required"),
    "one alone": ({**ABOVE, "operator": "<"}, f"{AT}__operator", "gt, lt"),
    "too many": ([ABOVE] * (CONDITIONS_MAX + 1), "rollback_conditions", "at most 20"),
}


@pytest.mark.parametrize("name", WRONG_ROLLBACKS)
def test_a_rollback_condition_that_is_not_read_as_meant_is_refused(name: str) -> None:
    sent, attr, reported = WRONG_ROLLBACKS[name]

    with pytest.raises(Invalid) as refused:
        check_conditions(sent, None)

    assert refused.value.attr == attr
    assert reported in refused.value.detail
    check_conditions(sent, sent)


def test_rollback_conditions_are_one_a_list_or_none() -> None:
    for sent in (None, [], {}, ABOVE, [ABOVE, {**ABOVE, "operator": "lt"}]):
        check_conditions(sent, None)
    stored = {**ABOVE, "operator": "less"}
    check_conditions([stored, ABOVE], [stored])
