"""Lists of events by expressions.

Source: insights.md, section 10c.
"""

from typing import Any
from uuid import UUID

import pytest

from tests.support.sql import Asker

ANN = str(UUID(int=1))


async def test_a_list_has_events_and_persons_as_objects(asker: Asker) -> None:
    select = ["*", "person", "timestamp", "properties.plan"]

    answer = await asker.ask({"select": select, "limit": 1})

    [[event, person, time, plan]] = answer["results"]
    assert answer["columns"] == select
    assert [kind for _, kind in answer["types"]][:2] == ["Tuple", "Tuple"]
    assert event["event"] == "paid"
    assert event["properties"]["o"] == {"x": {"y": "z"}}
    assert set(event) == {
        *("uuid", "event", "properties", "timestamp", "distinct_id", "elements_chain"),
        *("created_at", "person_id"),
    }
    assert (person["uuid"], person["distinct_id"]) == (ANN, "d1")
    assert person["properties"]["plan"] == "vip"
    assert (time, plan) == ("2024-04-03T01:00:00+02:00", "pro")


@pytest.mark.parametrize(
    ("query", "results"),
    [
        ({"select": ["event"]}, [["paid"], ["seen"]]),
        ({"select": ["event"], "after": "-15h"}, [["paid"]]),
        ({"select": ["event"], "after": "2024-01-01"}, [["paid"], ["seen"], ["seen"]]),
        ({"select": ["event"], "after": "2024-01-01", "limit": 1, "offset": 1}, [["seen"]]),
        (
            {"select": ["event"], "after": "2024-01-01", "before": "2024-04-03T00:00:00+02:00"},
            [["seen"], ["seen"]],
        ),
        ({"select": ["event", "count() -- n"], "after": "2024-01-01"}, [["seen", 2], ["paid", 1]]),
        ({"select": ["distinct_id"], "after": "2024-01-01", "event": "seen"}, [["d2"], ["d3"]]),
        ({"select": ["distinct_id"], "after": "2024-01-01", "personId": ANN}, [["d1"], ["d2"]]),
        ({"select": ["distinct_id"], "after": "2024-01-01", "personId": str(UUID(int=4))}, []),
        (
            {
                "select": ["distinct_id"],
                "after": "2024-01-01",
                "where": ["event = 'seen' or event = 'paid'", "distinct_id != 'd1'"],
                "orderBy": ["distinct_id DESC"],
            },
            [["d3"], ["d2"]],
        ),
        (
            {
                "select": ["event"],
                "after": "2024-01-01",
                "properties": [{"key": "plan", "value": ["pro", "free"]}],
                "fixedProperties": [{"key": "plan", "value": "pro"}],
            },
            [["paid"]],
        ),
    ],
)
async def test_a_list_is_answered(asker: Asker, query: Any, results: Any) -> None:
    assert await asker.rows(query) == results


@pytest.mark.parametrize(
    ("query", "detail", "at"),
    [
        ({"select": ["event", "foo"]}, 'There is no column "foo". Line 1, column 1.',
         "query__select__1"),
        ({"where": ["event =", "1"]}, "The query cannot be read", "query__where__0"),
        ({"select": ["1 from events"]}, "This must be one expression.", "query__select__0"),
        ({"select": ["1, 2"]}, "This must be one expression.", "query__select__0"),
        ({"where": ["1) or (1"]}, "The query cannot be read", "query__where__0"),
        ({"orderBy": ["event limit 1"]}, "This must be one expression.", "query__orderBy__0"),
        ({"personId": "x"}, "Must be a UUID.", "query__personId"),
        ({"actionId": 1}, "Unknown field", "query__actionId"),
    ],
)  # fmt: skip
async def test_what_is_wrong_is_named(asker: Asker, query: Any, detail: str, at: str) -> None:
    error = await asker.refusal(query)

    assert detail in error.detail
    assert error.attr == at
