"""Flags that keep a person's value across a login.

`example_id` is inside a rollout of 30 % and gets the first variant; `other_id` is outside and does
not.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import pytest
from sqlalchemy import select

from fanion.db.batching import DataLoader, DataLoaderLimits
from fanion.db.engine import RecordsUnavailable
from fanion.db.schema.flags import flag_continuity, waiting_identities
from fanion.flags.engine.model import Subject
from fanion.flags.evaluation.continuity_store import ContinuityStore, ContinuityWrite
from fanion.flags.evaluation.request import FlagRequest
from fanion.flags.evaluation.subject_store import CircuitBreaker
from fanion.persons.state.pending_identities_store import (
    ROW_BYTES,
    HashKeys,
    PendingIdentity,
    put_waiting,
    sweep_waiting,
)
from tests.support.application import Tenant

pytestmark = pytest.mark.every_engine

Json = dict[str, Any]
ON, OFF = (
    {"beta-feature": True, "multivariate-flag": "first"},
    {
        "beta-feature": False,
        "multivariate-flag": "third",
    },
)


@pytest.fixture
async def flags(tenant: Tenant) -> None:
    shares = (("first", 50), ("second", 25), ("third", 25))
    variants = [{"key": key, "rollout_percentage": share} for key, share in shares]
    await tenant.create_flag(
        key="beta-feature",
        filters={"groups": [{"rollout_percentage": 30}]},
        ensure_experience_continuity=True,
    )
    await tenant.create_flag(
        key="multivariate-flag",
        filters={"groups": [{}], "multivariate": {"variants": variants}},
        ensure_experience_continuity=True,
    )


async def persons(tenant: Tenant, *ids: str) -> None:
    await tenant.capture(*({"event": "seen", "distinct_id": name} for name in ids))


async def merge(tenant: Tenant, survivor: str, anon: str) -> None:
    properties = {"$anon_distinct_id": anon}
    await tenant.capture({"event": "$identify", "distinct_id": survivor, "properties": properties})


async def ask(tenant: Tenant, distinct_id: str, anon: Any = None, **fields: Any) -> Json:
    if anon is not None:
        fields["$anon_distinct_id"] = anon
    decided = await tenant.decide(distinct_id, **fields)
    assert decided["errorsWhileComputingFlags"] is False
    flags: Json = decided["featureFlags"]
    return flags


async def remaining(tenant: Tenant) -> Sequence[tuple[str, str]]:
    table = flag_continuity.c
    rows = await tenant.server.records.fetch(
        select(table.flag_key, table.hash_key)
        .where(table.project_id == tenant.project_id)
        .order_by(table.person_id, table.flag_key)
    )
    return [(row.flag_key, row.hash_key) for row in rows]


async def waiting(tenant: Tenant) -> Sequence[str]:
    """Return the distinct ids without a person for which an identity is stored."""
    table = waiting_identities.c
    rows = await tenant.server.records.fetch(
        select(table.distinct_id)
        .where(table.project_id == tenant.project_id)
        .order_by(table.distinct_id)
    )
    return [row.distinct_id for row in rows]


FLAGS = ("beta-feature", "multivariate-flag")
BOTH_FLAGS = [("beta-feature", "example_id"), ("multivariate-flag", "example_id")]


async def test_the_value_of_the_anonymous_person_is_stored(tenant: Tenant, flags: None) -> None:
    await persons(tenant, "example_id")

    assert await ask(tenant, "example_id") == ON
    assert await ask(tenant, "other_id", "example_id") == ON
    assert await remaining(tenant) == BOTH_FLAGS
    assert await ask(tenant, "other_id") == ON


async def test_after_the_merge_the_new_id_alone_is_enough(tenant: Tenant, flags: None) -> None:
    await persons(tenant, "example_id")
    await ask(tenant, "other_id", "example_id")
    await merge(tenant, "other_id", "example_id")

    assert await ask(tenant, "other_id") == ON


async def test_the_value_is_stored_before_there_is_any_person(tenant: Tenant, flags: None) -> None:
    assert await ask(tenant, "other_id", "example_id") == ON
    assert await remaining(tenant) == []

    assert await ask(tenant, "other_id") == ON
    assert await ask(tenant, "example_id") == ON


async def test_the_first_identity_wins_before_there_is_a_person(
    tenant: Tenant, flags: None
) -> None:
    await ask(tenant, "other_id", "example_id")

    assert await ask(tenant, "other_id", "another_id") == ON
    assert await ask(tenant, "other_id", "other_id") == ON


async def test_a_person_takes_over_what_was_stored_for_its_id(tenant: Tenant, flags: None) -> None:
    await ask(tenant, "other_id", "example_id")
    await persons(tenant, "other_id")

    assert await remaining(tenant) == BOTH_FLAGS
    assert await waiting(tenant) == ["example_id"]

    await merge(tenant, "other_id", "further")
    assert await ask(tenant, "further") == ON


async def test_an_id_that_is_merged_into_a_person_brings_what_was_stored(
    tenant: Tenant, flags: None
) -> None:
    await persons(tenant, "known")
    await ask(tenant, "other_id", "example_id")
    await merge(tenant, "known", "other_id")

    assert await ask(tenant, "known") == ON
    assert await remaining(tenant) == BOTH_FLAGS


async def test_the_record_of_the_person_wins_over_what_waited(tenant: Tenant, flags: None) -> None:
    await persons(tenant, "known")
    await ask(tenant, "known", "example_id")
    await ask(tenant, "anon", "other_id")
    await merge(tenant, "known", "anon")

    assert await ask(tenant, "known") == ON
    assert await remaining(tenant) == BOTH_FLAGS


async def test_a_login_whose_events_come_later_keeps_the_value(tenant: Tenant, flags: None) -> None:
    assert await ask(tenant, "example_id") == ON
    assert await ask(tenant, "other_id", "example_id") == ON

    await tenant.capture({"event": "$pageview", "distinct_id": "example_id"})
    await merge(tenant, "other_id", "example_id")

    assert await ask(tenant, "other_id") == ON
    assert await remaining(tenant) == BOTH_FLAGS
    assert await waiting(tenant) == []


async def test_a_further_flag_is_added_to_what_waits(tenant: Tenant, flags: None) -> None:
    await ask(tenant, "other_id", "example_id")
    await tenant.create_flag(
        key="later",
        filters={"groups": [{"rollout_percentage": 1}]},
        ensure_experience_continuity=True,
    )
    await ask(tenant, "other_id", "example_id")
    await persons(tenant, "other_id")

    assert await remaining(tenant) == [BOTH_FLAGS[0], ("later", "example_id"), BOTH_FLAGS[1]]


async def test_what_waits_is_dropped_after_30_days(tenant: Tenant, flags: None) -> None:
    records, clock = tenant.server.records, tenant.server.clock
    await ask(tenant, "other_id", "example_id")

    clock.move(days=30, seconds=-1)
    await sweep_waiting(records, clock.now)
    assert await ask(tenant, "other_id") == ON

    clock.move(seconds=1)
    await sweep_waiting(records, clock.now)
    assert await ask(tenant, "other_id") == OFF
    assert await waiting(tenant) == []


async def test_the_sweep_adopts_what_ingestion_did_not_see(tenant: Tenant, flags: None) -> None:
    """A concurrent transaction on PostgreSQL may create a person without seeing the identity."""
    await persons(tenant, "other_id")
    identity = PendingIdentity(tenant.project_id, "other_id", dict(BOTH_FLAGS))
    async with tenant.server.records.write() as connection:
        await connection.run_sync(put_waiting, [identity], tenant.server.clock.now())
    assert await ask(tenant, "other_id") == ON
    assert await remaining(tenant) == []

    await sweep_waiting(tenant.server.records, tenant.server.clock.now)

    assert await remaining(tenant) == BOTH_FLAGS
    assert await waiting(tenant) == []


async def test_the_oldest_go_when_a_project_keeps_too_much(tenant: Tenant, flags: None) -> None:
    records, clock = tenant.server.records, tenant.server.clock
    size = ROW_BYTES + len("user-0") + len(json.dumps(dict(BOTH_FLAGS), separators=(",", ":")))
    keeper = ContinuityStore(records, clock.now, 3 * size, trim_after_bytes=0)
    for number in range(5):
        clock.move(seconds=1)
        await keeper.keep_identities(
            [ContinuityWrite(tenant.project_id, f"user-{number}", f"user-{number}", FLAGS)]
        )

    assert await waiting(tenant) == ["user-2", "user-3", "user-4"]


async def test_what_waits_goes_with_the_person_that_owns_the_id(
    tenant: Tenant, flags: None
) -> None:
    await persons(tenant, "other_id")
    identity = PendingIdentity(tenant.project_id, "other_id", dict(BOTH_FLAGS))
    async with tenant.server.records.write() as connection:
        await connection.run_sync(put_waiting, [identity], tenant.server.clock.now())
    person = await tenant.person("other_id")

    answer = await tenant.api.delete(f"/persons/{person['uuid']}/")

    assert answer.status_code in {202, 204}
    assert await waiting(tenant) == []
    assert await ask(tenant, "other_id") == OFF


async def test_what_cannot_be_written_decides_the_one_answer(tenant: Tenant, flags: None) -> None:
    async def nothing_stored(_: Sequence[tuple[int, str]]) -> dict[tuple[int, str], HashKeys]:
        return {}

    async def fails(_: Sequence[ContinuityWrite]) -> dict[ContinuityWrite, HashKeys]:
        raise RecordsUnavailable("the disk is full")

    evaluator = tenant.server.running.public.flags.evaluator
    limits = DataLoaderLimits(timeout_s=60)
    subjects = replace(
        evaluator.subjects,
        identities=DataLoader(nothing_stored, limits),
        continuity_writes=DataLoader(fails, limits),
        breaker=CircuitBreaker(monotonic),  # the failure must not open the server's own breaker
    )
    flag_request = FlagRequest(Subject("other_id"), anon_distinct_id="example_id")

    _, result = await replace(evaluator, subjects=subjects).evaluate(
        tenant.project_id, flag_request
    )

    assert {key: decision.value for key, decision in result.decisions.items()} == ON
    assert result.failed == frozenset()


async def test_two_separate_persons_both_keep_it(tenant: Tenant, flags: None) -> None:
    await persons(tenant, "example_id", "other_id")

    assert await ask(tenant, "other_id", "example_id") == ON
    assert await remaining(tenant) == BOTH_FLAGS * 2
    assert await ask(tenant, "other_id") == ON


async def test_the_first_record_wins_for_ever(tenant: Tenant, flags: None) -> None:
    await persons(tenant, "example_id", "other_id")
    await ask(tenant, "other_id", "example_id")

    assert await ask(tenant, "other_id", "another_id") == ON
    assert await ask(tenant, "example_id", "other_id") == ON
    assert await remaining(tenant) == BOTH_FLAGS * 2


async def test_every_further_id_of_the_person_goes_on_with_it(tenant: Tenant, flags: None) -> None:
    await persons(tenant, "example_id", "12345")
    await merge(tenant, "12345", "xyz")

    assert await ask(tenant, "12345", "example_id") == ON
    assert await ask(tenant, "xyz", "12345") == ON
    assert await ask(tenant, "5", "12345") == ON


async def test_the_record_of_the_present_id_hides_that_of_the_former(
    tenant: Tenant, flags: None
) -> None:
    await persons(tenant, "1", "2")
    await ask(tenant, "1", "example_id")
    await ask(tenant, "2", "other_id")

    assert await ask(tenant, "1", "2") == ON
    assert await ask(tenant, "2", "1") == OFF


async def test_a_merge_moves_records_that_the_survivor_lacks(tenant: Tenant, flags: None) -> None:
    await persons(tenant, "anon", "known")
    await ask(tenant, "anon", "example_id")
    await merge(tenant, "known", "anon")

    assert await ask(tenant, "known") == ON
    assert await remaining(tenant) == BOTH_FLAGS


async def test_a_merge_keeps_the_record_of_the_survivor(tenant: Tenant, flags: None) -> None:
    await persons(tenant, "anon", "known")
    await ask(tenant, "anon", "other_id")
    await ask(tenant, "known", "example_id")
    await merge(tenant, "known", "anon")

    assert await ask(tenant, "known") == ON
    assert await remaining(tenant) == BOTH_FLAGS


async def test_a_flag_that_begins_to_keep_values_is_added(tenant: Tenant, flags: None) -> None:
    await persons(tenant, "example_id")
    await ask(tenant, "other_id", "example_id")
    await tenant.create_flag(
        key="later",
        filters={"groups": [{"rollout_percentage": 1}]},
        ensure_experience_continuity=True,
    )

    await ask(tenant, "other_id", "example_id")

    assert ("later", "example_id") in await remaining(tenant)


async def test_other_flags_and_groups_never_look_at_the_anonymous_id(tenant: Tenant) -> None:
    await tenant.create_flag(key="beta-feature", filters={"groups": [{"rollout_percentage": 30}]})
    await tenant.create_flag(
        key="of-groups",
        filters={"groups": [{"rollout_percentage": 30}], "aggregation_group_type_index": 0},
        ensure_experience_continuity=True,
    )
    await persons(tenant, "example_id")

    assert (await ask(tenant, "other_id", "example_id"))["beta-feature"] is False
    assert await remaining(tenant) == []


async def test_conditions_see_the_present_id(tenant: Tenant) -> None:
    itself = {"key": "distinct_id", "type": "person", "value": "other_id"}
    await tenant.create_flag(
        key="beta-feature",
        filters={"groups": [{"properties": [itself], "rollout_percentage": 30}]},
        ensure_experience_continuity=True,
    )
    await persons(tenant, "example_id")

    assert await ask(tenant, "other_id", "example_id") == {"beta-feature": True}


@pytest.mark.parametrize(
    ("anon", "stored"), [(12345, "12345"), (True, "true"), ("nul\0in it", "nul\ufffdin it")]
)
async def test_any_scalar_is_an_anonymous_id(
    tenant: Tenant, flags: None, anon: Any, stored: str
) -> None:
    await persons(tenant, "example_id")

    await ask(tenant, "example_id", anon)

    assert await remaining(tenant) == [("beta-feature", stored), ("multivariate-flag", stored)]


async def test_asking_for_one_flag_keeps_the_identity_for_all(tenant: Tenant, flags: None) -> None:
    await persons(tenant, "example_id")

    result = await ask(tenant, "other_id", "example_id", flag_keys_to_evaluate=["beta-feature"])

    assert result == {"beta-feature": True}
    assert await remaining(tenant) == BOTH_FLAGS


async def test_many_logins_at_once_are_written_together(tenant: Tenant, flags: None) -> None:
    names = [f"user-{number}" for number in range(50)]
    await persons(tenant, *names)

    answers = await asyncio.gather(*(ask(tenant, name, "example_id") for name in names))

    assert answers == [ON] * 50
    assert await remaining(tenant) == BOTH_FLAGS * 50
