"""Cohorts that are sent back whole, whatever the fields say that the server maintains."""

from collections.abc import Awaitable, Callable

import pytest

from tests.support.application import Json, Tenant
from tests.support.cohorts import (
    all_conditions,
    change_cohort,
    create_cohort,
    in_cohort,
    performed,
    person_is,
    retrieve_cohort,
)

PRO = all_conditions(person_is("plan", "pro"))
# The value of another cohort, or nonsense, for every field that is not written.
MAINTAINED: Json = {
    "id": "x",
    "created_by": {"id": -1},
    "created_at": "never",
    "is_calculating": "perhaps",
    "last_calculation": 7,
    "errors_calculating": None,
    "last_error_message": ["a"],
    "count": -5,
    "next_calculation": "soon",
    "version": "new",
    "pending_version": 9,
    "cohort_type": "odd",
    "experiment_set": None,
    "user_access_level": 3,
}
Maker = Callable[[Tenant], Awaitable[Json]]


async def nested(tenant: Tenant) -> Json:
    inner = await create_cohort(tenant, name="inner", filters=PRO)
    return await create_cohort(tenant, filters=all_conditions(in_cohort(inner["id"])))


async def deleted(tenant: Tenant) -> Json:
    return await change_cohort(tenant, await create_cohort(tenant, filters=PRO), deleted=True)


MAKERS: dict[str, Maker] = {
    "dynamic": lambda tenant: create_cohort(tenant, name="c", description="d", filters=PRO),
    "by events": lambda tenant: create_cohort(tenant, filters=all_conditions(performed("opened"))),
    "by groups": lambda tenant: create_cohort(
        tenant, groups=[{"properties": [person_is("plan", "pro")]}]
    ),
    "nested": nested,
    "static": lambda tenant: create_cohort(tenant, is_static=True),
    "static, with criteria": lambda tenant: create_cohort(tenant, is_static=True, filters=PRO),
    "without criteria": lambda tenant: create_cohort(tenant, name="nobody"),
    "deleted": deleted,
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("method", ["PATCH", "PUT"])
async def test_a_cohort_is_sent_back_whole(tenant: Tenant, kind: str, method: str) -> None:
    made = await MAKERS[kind](tenant)
    await tenant.server.calculated()
    cohort = await retrieve_cohort(tenant, made)
    path = f"/cohorts/{cohort['id']}/"

    same = await tenant.api.request(method, path, json=cohort)
    odd = await tenant.api.request(method, path, json={**cohort, **MAINTAINED})
    await tenant.server.calculated()

    assert (same.status_code, odd.status_code) == (200, 200), (same.text, odd.text)
    stored = await retrieve_cohort(tenant, cohort)
    moved = {name: stored[name] for name in ("last_calculation", "next_calculation")}
    assert stored == {**cohort, **moved}
