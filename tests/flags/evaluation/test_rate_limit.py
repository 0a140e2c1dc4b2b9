"""Rate limits of requests for flags by one key, as set by the operator."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from fanion.events.storage.store import EventStore
from fanion.flags.evaluation.rate_limit import KEYS_MAX, EvaluationLimit, TooManyEvaluations
from fanion.projects.auth.keys import KEY_CHARS_MAX
from tests.support.application import Tenant, error, open_app_server, open_tenant

REFUSED = error("validation_error", "rate_limit_exceeded", "Rate limit exceeded ")


@pytest.fixture
async def tenant(
    records_url: str, events: EventStore, tmp_path: Path, project_id: int
) -> AsyncIterator[Tenant]:
    """Yield a server that allows three requests, and then one in a thousand seconds."""
    async with (
        open_app_server(
            records_url, events, tmp_path, decide_per_s=0.001, decide_burst=3
        ) as app_server,
        open_tenant(app_server, project_id) as tenant,
    ):
        yield tenant


async def statuses(tenant: Tenant, body: Any, *paths: str) -> list[int]:
    return [(await tenant.public.post(path, json=body)).status_code for path in paths]


async def test_beyond_the_limit_the_answer_is_429(tenant: Tenant) -> None:
    body = {"api_key": tenant.token, "distinct_id": "u"}

    taken = await statuses(tenant, body, "/decide?v=3", "/flags/?v=2", "/decide")
    refused = await tenant.public.post("/decide?v=3", json=body)

    assert taken == [200, 200, 200]
    assert (refused.status_code, refused.json()) == (429, REFUSED)
    assert refused.headers["retry-after"] == "1"
    assert await statuses(tenant, body, "/flags") == [429]


async def test_wrong_and_missing_keys_are_counted(tenant: Tenant) -> None:
    four = ["/decide?v=3"] * 4

    assert await statuses(tenant, {"api_key": "phc_no"}, *four) == [401, 401, 401, 429]
    assert await statuses(tenant, {}, *four[:2]) == [401, 401]
    assert await statuses(tenant, [1], *four[:2]) == [400, 429]


async def test_of_a_made_up_key_no_more_is_remembered_than_a_key_has(tenant: Tenant) -> None:
    body = {"api_key": "phc_" + "x" * 100_000, "distinct_id": "u"}

    answered = await statuses(tenant, body, "/decide?v=3")

    limit = tenant.server.running.public.flags.endpoints.decide.limit
    assert answered == [401]
    assert [len(key) for key in limit.buckets] == [KEY_CHARS_MAX]


def test_a_bucket_fills_at_its_rate() -> None:
    limit = EvaluationLimit(per_s=2, burst=2)
    moments = [0, 0, 0, 0.4, 0.6, 0.9, 100, 100, 100]

    taken = []
    for moment in moments:
        try:
            limit.take_token("key", moment)
            taken.append(True)
        except TooManyEvaluations:
            taken.append(False)

    assert taken == [True, True, False, False, True, False, True, True, False]


def test_made_up_keys_take_no_memory() -> None:
    limit = EvaluationLimit(per_s=1, burst=1)

    for number in range(KEYS_MAX + 5):
        limit.take_token(str(number), 0)

    assert len(limit.buckets) == KEYS_MAX
    limit.take_token("0", 0)
