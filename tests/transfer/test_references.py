"""References written as names instead of ids, and back as the ids of another installation."""

from typing import Any

import pytest

from fanion.transfer.references import (
    Ids,
    Names,
    replace_ids,
    replace_ids_in_flag,
    replace_names,
    replace_names_in_flag,
)
from fanion.transfer.report import Report, listed_names
from fanion.transfer.snapshot import unique_keys

Json = dict[str, Any]

HERE = Names({3: "vip", 4: "paying"}, {"7": "base", "base": "base"}, {0: "team"})
THERE = Ids({"vip": 30, "paying": 40}, {"base": "70"}, {"team": 2})


def leaf(kind: str, **more: Any) -> Json:
    return {"type": kind, **more}


# Conditions as they are here, as the document holds them, and as they are there.
CONDITIONS: list[tuple[Any, Any, Any]] = [
    (
        leaf("cohort", key="id", value=3),
        leaf("cohort", key="id", value={"cohort": "vip"}),
        leaf("cohort", key="id", value=30),
    ),
    (
        leaf("static-cohort", key="id", value="4"),
        leaf("static-cohort", key="id", value={"cohort": "paying"}),
        leaf("static-cohort", key="id", value=40),
    ),
    (
        leaf("flag", key="7", value=True),
        leaf("flag", key={"flag": "base"}, value=True),
        leaf("flag", key="70", value=True),
    ),
    (
        leaf("flag", key=7),
        leaf("flag", key={"flag": "base"}),
        leaf("flag", key="70"),
    ),
    (
        leaf("flag", key="base"),
        leaf("flag", key={"flag": "base"}),
        leaf("flag", key="70"),
    ),
    (leaf("flag", key="8"), leaf("flag", key={"flag": None}), leaf("flag", key="")),
    (
        leaf("group", key="size", value="1", group_type_index=0),
        leaf("group", key="size", value="1", group_type_index={"group_type": "team"}),
        leaf("group", key="size", value="1", group_type_index=2),
    ),
    # No type of that index is known, so the condition stays as it is.
    (leaf("group", group_type_index=4), leaf("group", group_type_index=4),
     leaf("group", group_type_index=4)),
    (leaf("person", key="id", value=3), leaf("person", key="id", value=3),
     leaf("person", key="id", value=3)),
    (leaf("cohort", value=None), leaf("cohort", value=None), leaf("cohort", value=None)),
    (leaf("cohort", value=True), leaf("cohort", value=True), leaf("cohort", value=True)),
    (leaf("cohort"), leaf("cohort"), leaf("cohort")),
    (leaf("cohort", value=[3]), leaf("cohort", value=[3]), leaf("cohort", value=[3])),
    ({"type": ["cohort"], "value": 3}, {"type": ["cohort"], "value": 3},
     {"type": ["cohort"], "value": 3}),
    (
        {"breakdown_type": "cohort", "breakdown": [3, "all"], "math_group_type_index": 0},
        {
            "breakdown_type": "cohort",
            "breakdown": [{"cohort": "vip"}, "all"],
            "math_group_type_index": {"group_type": "team"},
        },
        {"breakdown_type": "cohort", "breakdown": [30, "all"], "math_group_type_index": 2},
    ),
    (None, None, None),
    (
        [[{"values": [leaf("cohort", value=3)]}]],
        [[{"values": [leaf("cohort", value={"cohort": "vip"})]}]],
        [[{"values": [leaf("cohort", value=30)]}]],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("here", "reported", "there"), CONDITIONS)
def test_a_condition_means_the_same_here_and_there(here: Any, reported: Any, there: Any) -> None:
    assert replace_ids(here, HERE) == reported
    assert replace_names(reported, THERE) == there


def test_what_users_say_in_a_flag_is_left_alone() -> None:
    own = {
        "payloads": {"true": leaf("cohort", value=3)},
        "multivariate": {"variants": [{"key": "flag", "type": "cohort", "value": 3}]},
        "note": leaf("cohort", value=3),
    }
    filters = {
        **own,
        "groups": [{"properties": [leaf("cohort", value=3)]}],
        "super_groups": [{"properties": [leaf("cohort", value=4)]}],
        "aggregation_group_type_index": 0,
    }

    reported = replace_ids_in_flag(filters, HERE)

    assert reported == {
        **own,
        "groups": [{"properties": [leaf("cohort", value={"cohort": "vip"})]}],
        "super_groups": [{"properties": [leaf("cohort", value={"cohort": "paying"})]}],
        "aggregation_group_type_index": {"group_type": "team"},
    }
    assert list(reported) == list(filters)
    assert replace_names_in_flag(reported, THERE)["aggregation_group_type_index"] == 2


def test_a_cohort_that_does_not_exist_gets_a_key_of_its_own() -> None:
    names = Names({3: "missing cohort 9"})

    reported = replace_ids([leaf("cohort", value=9), leaf("cohort", value="9")], names)

    assert [condition["value"] for condition in reported] == [{"cohort": "missing cohort 9'"}] * 2
    assert (names.missing, names.named) == ({9: "missing cohort 9'"}, {9})


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (leaf("cohort", value=3), 'cohort 3 must be given by key, as {"cohort": "…"}'),
        (leaf("cohort", value={"cohort": "x"}), "cohort 'x' is not in the document"),
        (leaf("cohort", value={"cohort": None}), "cohort None is not in the document"),
        (leaf("flag", key="7"), "flag '7' is not in the document"),
        (leaf("flag", key={"flag": ["x"]}), "flag ['x'] is not in the document"),
        (leaf("group", group_type_index={"group_type": "x"}),
         "group type 'x' is not in the document"),
        ({"breakdown_type": "cohort", "breakdown": {"cohort": "x"}},
         "cohort 'x' is not in the document"),
    ],
)  # fmt: skip
def test_what_the_document_does_not_hold_is_named(part: Json, said: str) -> None:
    with pytest.raises(ValueError) as refused:
        replace_names({"values": [part]}, THERE)

    assert str(refused.value) == said


def test_keys_are_names_with_a_number_where_one_is_not_enough() -> None:
    names = ["vip", "vip", None, "vip (2)", "vip", "", "vip (2)"]

    assert list(unique_keys(enumerate(names)).values()) == [
        "vip",
        "vip (2)",
        "unnamed",
        "vip (2) (2)",
        "vip (3)",
        "unnamed (2)",
        "vip (2) (3)",
    ]


def test_a_report_counts_by_kind() -> None:
    report = Report()
    report.created("flag", "a")
    report.compared("flag", "b", ["name"])
    report.compared("flag", "c", [])
    report.skipped("cohort member", "vip", "unknown", 3)
    report.created("cohort member", "vip", 0)

    assert report.counts() == {
        "flag": {"created": 1, "updated": 1, "unchanged": 1, "skipped": 0},
        "cohort member": {"created": 0, "updated": 0, "unchanged": 0, "skipped": 3},
    }
    assert listed_names(list("abcdefg")) == "a, b, c, d, e and 2 more"
