"""Cohorts that are sent back whole, whatever the fields say that the server maintains."""

from collections.abc import Awaitable, Callable

import pytest

from tests.support.application import Home, Json
from tests.support.cohorts import all_of, change, create, did, in_cohort, person_is, retrieve

PRO = all_of(person_is("plan", "pro"))
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
    "version": "new",
    "pending_version": 9,
    "cohort_type": "odd",
    "experiment_set": None,
    "user_access_level": 3,
}
Maker = Callable[[Home], Awaitable[Json]]


async def nested(home: Home) -> Json:
    inner = await create(home, name="inner", filters=PRO)
    return await create(home, filters=all_of(in_cohort(inner["id"])))


async def deleted(home: Home) -> Json:
    return await change(home, await create(home, filters=PRO), deleted=True)


MAKERS: dict[str, Maker] = {
    "dynamic": lambda home: create(home, name="c", description="d", filters=PRO),
    "by events": lambda home: create(home, filters=all_of(did("opened"))),
    "by groups": lambda home: create(home, groups=[{"properties": [person_is("plan", "pro")]}]),
    "nested": nested,
    "static": lambda home: create(home, is_static=True),
    "static, with criteria": lambda home: create(home, is_static=True, filters=PRO),
    "without criteria": lambda home: create(home, name="nobody"),
    "deleted": deleted,
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("method", ["PATCH", "PUT"])
async def test_a_cohort_is_sent_back_whole(home: Home, kind: str, method: str) -> None:
    made = await MAKERS[kind](home)
    await home.site.calculated()
    cohort = await retrieve(home, made)
    path = f"/cohorts/{cohort['id']}/"

    same = await home.api.request(method, path, json=cohort)
    odd = await home.api.request(method, path, json={**cohort, **MAINTAINED})
    await home.site.calculated()

    assert (same.status_code, odd.status_code) == (200, 200), (same.text, odd.text)
    stored = await retrieve(home, cohort)
    assert stored == {**cohort, "last_calculation": stored["last_calculation"]}
