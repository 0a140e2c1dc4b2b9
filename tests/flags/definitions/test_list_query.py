"""The flags that a list shows, and their order."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.flags.definitions.list_query import (
    EVERYTHING,
    Candidate,
    Staleness,
    StaleReason,
    is_stale,
    kind_of,
    read_flag_query,
)

NOW = datetime(2024, 3, 1, tzinfo=UTC)
OLD = NOW - timedelta(days=31)
VARIANTS = {"variants": [{"key": "a", "rollout_percentage": 100}]}
HALVES = {
    "variants": [{"key": "a", "rollout_percentage": 50}, {"key": "b", "rollout_percentage": 50}]
}
PROPERTY = {"properties": [{"key": "a", "type": "person", "value": 1}]}


def flag(flag_id: int, key: str, **changes: Any) -> Candidate:
    plain = Candidate(flag_id, key, "", True, {"groups": [{}]}, (), None, NOW)
    return replace(plain, **changes)


FLAGS = (
    flag(1, "beta", name="First try", created_at=OLD, tags=("web", "old")),
    flag(2, "Alpha", name="ÜBUNG", active=False, creator_id=7, runtime="server"),
    flag(3, "gamma_x", filters={"groups": [{}], "multivariate": VARIANTS}, tags=("web",)),
    flag(4, "gammaXx", creator_id=8, filters={"groups": [PROPERTY]}),
)

# Source: flags.md section 13.
QUERIES: dict[str, tuple[dict[str, str], list[int]]] = {
    "nothing": ({}, [4, 3, 2, 1]),
    "empty texts": ({"search": "", "kind": "", "tags": "", "order": ""}, [4, 3, 2, 1]),
    "part of a key, in any case": ({"search": "ALPH"}, [2]),
    "part of a name": ({"search": "übung"}, [2]),
    "no wildcards": ({"search": "gamma_"}, [3]),
    "active": ({"active": "true"}, [4, 3, 1]),
    "inactive": ({"active": "false"}, [2]),
    "stale": ({"active": "STALE"}, [1]),
    "boolean": ({"kind": "boolean"}, [4, 2, 1]),
    "multivariant": ({"kind": "multivariant"}, [3]),
    "experiments": ({"kind": "experiment"}, []),
    "a creator": ({"created_by_id": "7"}, [2]),
    "a tag": ({"tags": '[" WEB "]'}, [3, 1]),
    "one of two tags": ({"tags": '["old", "none"]'}, [1]),
    "no tags": ({"tags": "[]"}, [4, 3, 2, 1]),
    "without keys": ({"excluded": '["beta", "gamma_x"]'}, [4, 2]),
    "of a runtime": ({"runtime": "server"}, [2]),
    "of every runtime": ({"runtime": "both"}, [4, 3, 1]),
    "by key": ({"order": "key"}, [2, 1, 3, 4]),
    "by key, backwards": ({"order": "-key"}, [4, 3, 1, 2]),
    "by age": ({"order": "created_at"}, [1, 4, 3, 2]),
    "by state": ({"order": "active"}, [2, 4, 3, 1]),
    "by what cannot be ordered by": ({"order": "filters"}, [4, 3, 2, 1]),
    "all at once": ({"search": "a", "active": "true", "kind": "boolean", "tags": '["web"]'}, [1]),
}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_chooses_flags(name: str) -> None:
    parameters, expected = QUERIES[name]

    query = read_flag_query(**parameters)

    assert query.choose(FLAGS, NOW) == expected
    if not any(parameters.values()):
        assert query == EVERYTHING


WRONG: list[tuple[dict[str, str], str, str]] = [
    ({"active": "yes"}, "invalid_choice", "active"),
    ({"kind": "other"}, "invalid_choice", "type"),
    ({"created_by_id": "me"}, "invalid_input", "created_by_id"),
    ({"created_by_id": "9" * 30}, "invalid_input", "created_by_id"),
    ({"tags": "web"}, "invalid_input", "tags"),
    ({"tags": "[1]"}, "invalid_input", "tags"),
    ({"excluded": "[" * 9000}, "invalid_input", "excluded_properties"),
]


@pytest.mark.parametrize(("parameters", "code", "parameter"), WRONG)
def test_what_cannot_be_asked_is_named(
    parameters: dict[str, str], code: str, parameter: str
) -> None:
    with pytest.raises(Invalid) as refused:
        read_flag_query(**parameters)

    assert (refused.value.code, refused.value.attr) == (code, parameter)


STALE: list[tuple[dict[str, Any], bool]] = [
    ({"groups": [{}]}, True),
    ({"groups": [{"rollout_percentage": 100, "properties": []}]}, True),
    ({"groups": [{"rollout_percentage": 99}]}, False),
    ({"groups": [PROPERTY]}, False),
    ({"groups": [PROPERTY, {}]}, True),
    ({"groups": []}, False),
    ({"groups": [{}], "multivariate": VARIANTS}, True),
    ({"groups": [{}], "multivariate": HALVES}, False),
    ({"groups": [{"variant": "a"}], "multivariate": HALVES}, True),
    ({"groups": [{}], "multivariate": {"variants": []}}, True),
    ({"groups": [{}], "multivariate": None}, True),
]


@pytest.mark.parametrize(("filters", "expected"), STALE)
def test_a_flag_is_stale_when_it_has_long_answered_one_thing(
    filters: dict[str, Any], expected: bool
) -> None:
    old = flag(1, "a", filters=filters, created_at=OLD)

    assert is_stale(old, NOW) is expected
    assert not is_stale(replace(old, active=False), NOW)
    assert not is_stale(replace(old, created_at=NOW - timedelta(days=30)), NOW)


REASONS: dict[str, tuple[Candidate, StaleReason | None]] = {
    "one answer": (flag(1, "a", created_at=OLD), StaleReason.FULLY_ROLLED_OUT),
    "off": (flag(1, "a", created_at=OLD, active=False), None),
    "young": (flag(1, "a"), None),
    "never evaluated": (
        flag(1, "a", created_at=OLD, filters={"groups": [PROPERTY]}),
        StaleReason.NOT_EVALUATED,
    ),
    "evaluated long ago": (
        flag(1, "asleep", created_at=OLD, filters={"groups": [PROPERTY]}),
        StaleReason.NOT_EVALUATED,
    ),
    "evaluated lately": (flag(1, "used", created_at=OLD, filters={"groups": [PROPERTY]}), None),
}


@pytest.mark.parametrize("name", REASONS)
def test_a_query_chooses_flags_that_are_no_longer_needed(name: str) -> None:
    candidate, expected = REASONS[name]
    staleness = Staleness({"asleep": OLD, "used": NOW}, days=30)

    assert staleness.reason(candidate, NOW) is expected
    chosen = replace(EVERYTHING, staleness=staleness).choose([candidate], NOW)
    assert chosen == ([] if expected is None else [1])


def test_a_flag_without_variants_is_boolean() -> None:
    stored: list[Any] = [None, {}, {"variants": []}, HALVES]

    kinds = [kind_of({"multivariate": multivariate}) for multivariate in stored]

    assert kinds == ["boolean", "boolean", "boolean", "multivariant"]
