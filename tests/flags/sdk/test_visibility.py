"""Flags that bucket by device, and flags that are limited to some clients."""

from typing import Any

import pytest
from msgspec import to_builtins
from posthog import feature_flags

from fanion.flags.engine.definition import FlagRow, compile_flag
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.model import Subject
from fanion.flags.evaluation.request import read_request, visible_keys
from tests.flags.sdk.test_sdk_agreement import NOW

SDK: Any = feature_flags  # most of it has no types
HALF = {
    "groups": [{"properties": [], "rollout_percentage": 50}],
    "multivariate": {
        "variants": [{"key": "a", "rollout_percentage": 30}, {"key": "b", "rollout_percentage": 70}]
    },
}


def build(*rows: FlagRow) -> FlagSet:
    return build_flag_set(map(compile_flag, rows), {0: "company"})


def by_device(key: str, filters: dict[str, Any], **more: Any) -> FlagRow:
    return FlagRow(1, key, filters, bucketing_identifier="device_id", **more)


def test_a_thousand_devices_fall_where_the_sdk_puts_them() -> None:
    flags = build(by_device("f", HALF))
    reported = {"key": "f", "active": True, "filters": HALF, "bucketing_identifier": "device_id"}

    for number in range(1000):
        device = f"device-{number}"
        bucketing = SDK.resolve_bucketing_value(reported, "u", device)
        expected = SDK.match_feature_flag_properties(reported, "u", {}, bucketing_value=bucketing)

        answer = evaluate(flags, Subject("u", device_id=device), NOW)
        assert answer.decisions["f"].value == expected


def test_without_a_device_the_distinct_id_decides() -> None:
    flags, usual = build(by_device("f", HALF)), build(FlagRow(1, "f", HALF))

    for number in range(50):
        without = evaluate(flags, Subject(f"u{number}"), NOW)
        expected = evaluate(usual, Subject(f"u{number}", device_id="d"), NOW)
        assert to_builtins(without) == to_builtins(expected)


def test_a_group_is_no_device() -> None:
    filters = {**HALF, "aggregation_group_type_index": 0}
    flags, usual = build(by_device("f", filters)), build(FlagRow(1, "f", filters))

    for number in range(50):
        subject = Subject("u", groups={"company": f"c{number}"}, device_id="d")
        expected = evaluate(usual, subject, NOW)
        assert to_builtins(evaluate(flags, subject, NOW)) == to_builtins(expected)


def test_a_device_needs_no_continuity() -> None:
    flags = build(by_device("f", HALF, ensure_experience_continuity=True))

    assert flags.continuity == frozenset()
    assert flags.reads.continuity == frozenset()


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"$device_id": "d"}, "d"),
        ({"device_id": "d"}, "d"),
        ({"$device_id": None, "device_id": "d"}, "d"),
        ({"device_id": 7}, "7"),
        ({"device_id": None}, None),
        ({"device_id": ""}, None),
        ({"device_id": {"a": 1}}, None),
        ({}, None),
    ],
)
def test_the_device_is_read_where_clients_put_it(sent: dict[str, Any], read: str | None) -> None:
    assert read_request({"distinct_id": "u", **sent}).subject.device_id == read


FLAGS = build(
    FlagRow(1, "everywhere", HALF),
    FlagRow(2, "browsers", HALF, evaluation_runtime="client"),
    FlagRow(3, "backends", HALF, evaluation_runtime="server"),
    FlagRow(4, "shop", HALF, evaluation_contexts=["shop", "checkout"]),
    FlagRow(5, "shop-browsers", HALF, evaluation_runtime="client", evaluation_contexts=["shop"]),
)
ALL = ["everywhere", "browsers", "backends", "shop", "shop-browsers"]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({}, ALL),
        ({"evaluation_runtime": "server"}, ["everywhere", "backends", "shop"]),
        ({"evaluation_runtime": "client"}, ["everywhere", "browsers", "shop", "shop-browsers"]),
        ({"evaluation_runtime": "moon"}, ALL),
        ({"evaluation_runtime": ["server"]}, ALL),
        ({"evaluation_contexts": ["docs"]}, ["everywhere", "browsers", "backends"]),
        ({"evaluation_contexts": ["docs", " Checkout "]}, [*ALL[:3], "shop"]),
        ({"evaluation_environments": ["shop"]}, ALL),
        ({"evaluation_contexts": []}, ALL),
        ({"evaluation_contexts": "docs"}, ALL),
        ({"evaluation_contexts": [1, None, "docs"]}, ALL[:3]),
        (
            {"evaluation_contexts": ["shop"], "evaluation_runtime": "server"},
            ["everywhere", "backends", "shop"],
        ),
        (
            {"evaluation_runtime": "server", "flag_keys": ["browsers", "shop", "gone"]},
            ["shop"],
        ),
    ],
)
def test_a_client_gets_the_flags_that_are_meant_for_it(
    sent: dict[str, Any], expected: list[str]
) -> None:
    flag_request = read_request({"distinct_id": "u", **sent})

    answer = evaluate(FLAGS, flag_request.subject, NOW, visible_keys(FLAGS, flag_request))

    assert list(answer.decisions) == expected


def test_nothing_is_looked_for_while_no_flag_is_limited() -> None:
    flags = build(FlagRow(1, "f", HALF, evaluation_runtime="all"))
    flag_request = read_request({"distinct_id": "u", "evaluation_runtime": "server"})

    assert visible_keys(flags, flag_request) is None
