"""The answer to a question of any kind is the same by `filters` and by a `query`.

Source: insights.md, section 1.
"""

from typing import Any
from uuid import uuid4

import pytest

from tests.support.application import Json, Tenant

NODES = [{"kind": "EventsNode", "event": name} for name in ("seen", "paid")]
EVENTS = [{"id": name, "type": "events", "order": n} for n, name in enumerate(("seen", "paid"))]
SPAN = {"dateRange": {"date_from": "-5d"}}
FUNNEL: Json = {"kind": "FunnelsQuery", "series": NODES, **SPAN}
# Maps an address to filters and to a query that ask for the same.
ASKED: dict[str, tuple[str, Json, Json]] = {
    "trends": ("trend", {"events": EVENTS}, {"kind": "TrendsQuery", "series": NODES, **SPAN}),
    "stickiness": (
        "trend",
        {"insight": "STICKINESS", "events": EVENTS},
        {"kind": "StickinessQuery", "series": NODES, **SPAN},
    ),
    "life cycle": (
        "trend",
        {"shown_as": "Lifecycle", "events": EVENTS[:1]},
        {"kind": "LifecycleQuery", "series": NODES[:1], **SPAN},
    ),
    "funnel": ("funnel", {"events": EVENTS}, FUNNEL),
    "correlation": (
        "funnel/correlation",
        {"events": EVENTS},
        {
            "kind": "FunnelCorrelationQuery",
            "source": {"kind": "FunnelsActorsQuery", "source": FUNNEL},
            "funnelCorrelationType": "events",
        },
    ),
    "retention": (
        "retention",
        {"target_entity": EVENTS[0], "returning_entity": EVENTS[0], "total_intervals": 7},
        {
            "kind": "RetentionQuery",
            "retentionFilter": {
                "targetEntity": {"id": "seen", "type": "events"},
                "returningEntity": {"id": "seen", "type": "events"},
            },
            **SPAN,
        },
    ),
    "paths": (
        "path",
        {"include_event_types": ["custom_event"]},
        {"kind": "PathsQuery", "pathsFilter": {"includeEventTypes": ["custom_event"]}, **SPAN},
    ),
}


async def happened(tenant: Tenant) -> None:
    await tenant.capture(
        *(
            {
                "event": event,
                "distinct_id": who,
                "uuid": str(uuid4()),
                "timestamp": f"2024-02-{day}T10:0{number}:00Z",
            }
            for number, (event, who, day) in enumerate(
                (("seen", "ann", 26), ("paid", "ann", 26), ("seen", "bob", 27), ("seen", "ann", 28))
            )
        )
    )


@pytest.mark.parametrize("name", ASKED)
async def test_both_ways_to_ask_have_one_answer(tenant: Tenant, name: str) -> None:
    await happened(tenant)
    path, filters, query = ASKED[name]

    async def question(address: str, sent: Any) -> Json:
        answer = await tenant.api.post(address, json=sent)
        assert answer.status_code == 200, answer.text
        body: Json = answer.json()
        return body

    by_filters = await question(f"/insights/{path}/", {**filters, "date_from": "-5d"})
    by_query = await question("/query/", {"query": query})
    again = await question("/query/", {"query": query, "refresh": True})

    assert by_filters["result"]
    assert by_query["results"] == by_filters["result"]
    assert (by_filters["is_cached"], by_query["is_cached"]) == (False, True)
    assert type(again["results"]) is type(by_filters["result"])
