"""The two forms of the document from which SDKs evaluate flags locally."""

import json
from typing import Any

import pytest

from fanion.flags.engine.definition import CohortRow, FlagDefinitions, FlagRow
from fanion.flags.evaluation.compiled import build_compiled_flags
from fanion.flags.sdk.local_evaluation import definitions_document
from fanion.server.response import is_known_version

Json = dict[str, Any]


def document(*flags: FlagRow, newer: bool = True, cohorts: tuple[CohortRow, ...] = ()) -> Json:
    definitions = FlagDefinitions(flags, {0: "company"}, cohorts, 1)
    flag_set = build_compiled_flags(definitions).flag_set
    made = definitions_document(7, definitions, flag_set, with_cohorts=True, newer=newer)
    sent_document: Json = json.loads(made.body)
    return sent_document


def test_conditions_that_force_a_variant_come_first_for_newer_clients() -> None:
    groups = [{"rollout_percentage": 70}, {"variant": "b"}, {"variant": ""}, {"variant": "a"}]
    flag = FlagRow(1, "f", {"groups": groups})

    newer, older = document(flag), document(flag, newer=False)

    assert newer["flags"][0]["filters"]["groups"] == [groups[1], groups[3], groups[0], groups[2]]
    assert older["flags"][0]["filters"]["groups"] == groups


@pytest.mark.parametrize(
    ("leaf", "written"),
    [
        ({"key": "a", "value": 1}, {"type": "person", "operator": "exact"}),
        ({"key": "a", "value": 1, "operator": None}, {"type": "person", "operator": "exact"}),
        ({"key": "id", "type": "cohort", "value": 1}, {"operator": "in"}),
        ({"key": "a", "type": "person", "operator": "gt", "value": "1"}, {}),
    ],
)
def test_type_and_operator_are_spelled_out(leaf: Json, written: Json) -> None:
    sent_document = document(FlagRow(1, "f", {"groups": [{"properties": [leaf]}]}))

    assert sent_document["flags"][0]["filters"]["groups"] == [{"properties": [{**leaf, **written}]}]


@pytest.mark.parametrize(
    "groups", [None, [None], ["x"], [{"properties": 5}], [{"properties": [5]}]]
)
def test_filters_that_cannot_be_read_are_sent_as_they_are(groups: Any) -> None:
    sent_document = document(FlagRow(1, "f", {"groups": groups}))

    assert sent_document["flags"][0]["filters"]["groups"] == groups


def test_filters_without_groups_are_sent_as_the_group_that_they_mean() -> None:
    sent_document = document(FlagRow(1, "f", {}, rollout_percentage=30), newer=False)

    assert sent_document["flags"][0]["filters"] == {
        "groups": [{"properties": [], "rollout_percentage": 30}]
    }


def test_static_cohorts_are_never_sent() -> None:
    tree = {"type": "AND", "values": [{"key": "a", "type": "person", "value": 1}]}
    leaves = [{"key": "id", "type": "cohort", "value": number} for number in (1, 2)]
    flag = FlagRow(1, "f", {"groups": [{"properties": leaves}]})

    sent_document = document(flag, cohorts=(CohortRow(1, tree), CohortRow(2, is_static=True)))

    assert sent_document["cohorts"].keys() == {"1"}


@pytest.mark.parametrize(
    ("header", "known"),
    [
        (None, False),
        ("", False),
        ('"a"', True),
        ('W/"a"', True),
        ('"x", "a"', True),
        ('"x"', False),
        ("*", True),
        ("a", False),
    ],
)
def test_a_version_is_known_by_any_of_the_tags_given(header: str | None, known: bool) -> None:
    assert is_known_version(header, '"a"') is known
