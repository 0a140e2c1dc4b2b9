"""Versions that are higher than all drawn before, and than what they replace."""

import asyncio

import pytest

from fanion.db.engine import Records
from fanion.persons.state.versions_store import RESERVED, Versions

pytestmark = pytest.mark.every_engine


async def test_each_version_is_higher_than_those_before(records: Records) -> None:
    versions = Versions(records)

    drawn = [await versions.draw() for _ in range(RESERVED + 2)]

    assert drawn == sorted(set(drawn))


async def test_concurrent_draws_are_different(records: Records) -> None:
    versions = Versions(records)

    drawn = await asyncio.gather(*(versions.draw() for _ in range(20)))

    assert len(set(drawn)) == 20


async def test_a_version_is_higher_than_what_it_replaces_and_so_are_those_after_it(
    records: Records,
) -> None:
    versions = Versions(records)
    before = await versions.draw()

    raised = await versions.draw(before + 10 * RESERVED)

    assert raised > before + 10 * RESERVED
    assert await versions.draw() > raised


async def test_a_program_that_is_started_anew_continues_above(records: Records) -> None:
    last = await Versions(records).draw(5 * RESERVED)

    assert await Versions(records).draw() > last
