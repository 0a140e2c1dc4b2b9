"""A project of extreme size does not delay the requests of other projects."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest
from sqlalchemy import insert

from fanion.db.schema.tables import feature_flags
from fanion.flags.engine.definition import FlagDefinitions, FlagRow
from fanion.flags.evaluation.cache import FlagSets
from fanion.projects.store import move_flag_version
from tests.support.application import Tenant, open_tenant
from tests.support.events_engine import next_project

LARGE, SMALL = 1, 2
FLAGS = 3_000
PLAN = {"key": "plan", "type": "person", "operator": "regex", "value": "^pro"}
FILTERS = {"groups": [{"properties": [PLAN], "rollout_percentage": 50}]}


class Store:
    """A source with the large project's flags, and one flag for the small project."""

    def __init__(self) -> None:
        self.read = asyncio.Event()

    async def definitions(self, project_id: int) -> FlagDefinitions:
        if project_id == SMALL:
            return FlagDefinitions([FlagRow(1, "f", FILTERS)], version=1)
        self.read.set()
        return FlagDefinitions([FlagRow(i, f"f{i}", FILTERS) for i in range(FLAGS)], version=1)

    async def flag_versions(self, project_ids: Sequence[int]) -> Mapping[int, int]:
        return dict.fromkeys(project_ids, 1)


async def test_flags_are_compiled_while_others_are_answered() -> None:
    store = Store()
    flag_sets = FlagSets(store)
    large = asyncio.create_task(flag_sets.compiled_flags(LARGE))
    await store.read.wait()
    answered = 0

    while not large.done():
        assert len((await flag_sets.flag_set_of(SMALL)).flags) == 1
        answered += 1
        await asyncio.sleep(0)

    assert len((await large).flag_set.by_key) == FLAGS
    assert answered >= 5  # if the work ran on the loop it would be two at most


@pytest.mark.parametrize("path", ["/decide?v=3", "/flags/?v=2"])
async def test_requests_of_others_overtake_one_for_a_large_project(
    tenant: Tenant, path: str
) -> None:
    async with open_tenant(tenant.server, next_project()) as neighbour:
        await neighbour.create_flag(key="small")
        await store_flags(tenant)
        for asker in (tenant, neighbour):
            assert (await asker.decide("u"))["errorsWhileComputingFlags"] is False
        done: list[int] = []

        async def ask(asker: Tenant) -> int:
            body = {
                "api_key": asker.token,
                "distinct_id": "u",
                "person_properties": {"plan": "pro"},
            }
            answer = await asker.public.post(path, json=body)
            done.append(asker.project_id)
            return len(answer.json().get("flags") or answer.json()["featureFlags"])

        counts = await asyncio.gather(ask(tenant), ask(neighbour))

    assert tuple(counts) == (FLAGS, 1)
    assert done == [neighbour.project_id, tenant.project_id]


async def store_flags(tenant: Tenant) -> None:
    """Insert flags directly, because creating so many through the API would take a minute."""
    columns = {
        "project_id": tenant.project_id,
        "name": "",
        "filters": FILTERS,
        "active": True,
        "deleted": False,
        "tags": [],
        "analytics_dashboards": [],
        "has_enriched_analytics": False,
        "version": 1,
        "created_at": datetime(2024, 3, 1, tzinfo=UTC),
    }
    rows = [{**columns, "key": f"f{number}"} for number in range(FLAGS)]
    async with tenant.server.records.write() as connection:
        await connection.execute(insert(feature_flags), rows)
        await connection.run_sync(move_flag_version, tenant.project_id)
