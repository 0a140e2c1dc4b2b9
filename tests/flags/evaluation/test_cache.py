"""Compiled flags go on answering while they are read again, and survive in a file."""

import asyncio
import sqlite3
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import pytest

from fanion.db.engine import RecordsUnavailable
from fanion.flags.engine.definition import CohortRow, FlagDefinitions, FlagRow
from fanion.flags.evaluation.cache import FlagSets
from fanion.flags.evaluation.offline_store import OfflineFlagStore
from fanion.projects.model import FormerToken, Project
from tests.support.management import Clock

T = TypeVar("T")

PROJECT = 7


class GatedFlagSource:
    """A store of flags that waits for the gate before it answers, and fails while it is down."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Event()
        self.is_down = False
        self.reads = 0
        self.version = 1

    async def definitions(self, project_id: int) -> FlagDefinitions:
        self.reads += 1
        version = self.version
        self.asked.set()
        await self.gate.wait()
        if self.is_down:
            raise RecordsUnavailable("down")
        return definitions(version)

    async def flag_versions(self, project_ids: Sequence[int]) -> Mapping[int, int]:
        if self.is_down:
            raise RecordsUnavailable("down")
        return {PROJECT: self.version}


def definitions(version: int) -> FlagDefinitions:
    flag = FlagRow(version, f"flag-{version}", {"groups": [{}]})
    return FlagDefinitions((flag,), {0: "company"}, (CohortRow(1, is_static=True),), version)


async def keys(flag_sets: FlagSets) -> list[str]:
    return list((await flag_sets.flag_set_of(PROJECT)).flags)


def without_waiting(answer: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that needs no turn of the event loop."""
    with pytest.raises(StopIteration) as done:
        answer.send(None)
    result: T = done.value.value
    return result


@pytest.fixture
def store() -> GatedFlagSource:
    return GatedFlagSource()


async def test_a_change_from_here_is_seen_by_the_next_request(store: GatedFlagSource) -> None:
    flag_sets = FlagSets(store)

    before = await keys(flag_sets)
    store.version = 2
    flag_sets.invalidate(PROJECT)

    assert (before, await keys(flag_sets)) == (["flag-1"], ["flag-2"])


async def test_a_change_from_elsewhere_is_read_while_the_former_flags_answer(
    store: GatedFlagSource,
) -> None:
    flag_sets = FlagSets(store)
    await keys(flag_sets)

    store.version = 2
    store.gate.clear()
    store.asked.clear()
    catching_up = asyncio.create_task(flag_sets.catch_up())
    await store.asked.wait()
    former = await keys(flag_sets)
    store.gate.set()
    await catching_up

    assert (former, await keys(flag_sets)) == (["flag-1"], ["flag-2"])


@pytest.mark.parametrize("ids", [{PROJECT}, None])
async def test_a_first_read_that_began_before_a_change_from_elsewhere_is_repeated(
    store: GatedFlagSource, ids: set[int] | None
) -> None:
    flag_sets = FlagSets(store)
    store.gate.clear()
    asking = asyncio.create_task(keys(flag_sets))
    await store.asked.wait()

    store.version = 2
    catching_up = asyncio.create_task(flag_sets.catch_up(ids))
    store.gate.set()
    await asking
    await catching_up

    assert await keys(flag_sets) == ["flag-2"]


async def test_only_the_flags_that_were_changed_are_read_again(store: GatedFlagSource) -> None:
    flag_sets = FlagSets(store)
    await keys(flag_sets)
    store.version = 2

    await flag_sets.catch_up({PROJECT + 1})
    before = await keys(flag_sets)
    await flag_sets.catch_up({PROJECT})

    assert (before, await keys(flag_sets)) == (["flag-1"], ["flag-2"])


async def test_requests_share_one_read(store: GatedFlagSource) -> None:
    flag_sets = FlagSets(store)

    await asyncio.gather(*(keys(flag_sets) for _ in range(20)))

    assert store.reads == 1


async def test_a_read_that_began_before_a_change_does_not_count(store: GatedFlagSource) -> None:
    flag_sets = FlagSets(store)
    store.gate.clear()
    asking = asyncio.create_task(keys(flag_sets))
    await store.asked.wait()

    store.version = 2
    flag_sets.invalidate(PROJECT)
    store.gate.set()
    await asking

    assert await keys(flag_sets) == ["flag-2"]


async def test_a_store_that_fails_leaves_the_former_flags(store: GatedFlagSource) -> None:
    flag_sets = FlagSets(store)
    await keys(flag_sets)

    store.is_down, store.version = True, 2
    flag_sets.invalidate(PROJECT)
    while_down = await keys(flag_sets)
    with pytest.raises(RecordsUnavailable):
        await flag_sets.catch_up()
    store.is_down = False
    await flag_sets.catch_up()

    assert (while_down, await keys(flag_sets)) == (["flag-1"], ["flag-2"])


async def test_a_silent_store_is_waited_for_once(store: GatedFlagSource) -> None:
    flag_sets = FlagSets(store)
    await keys(flag_sets)
    store.gate.clear()
    flag_sets.invalidate(PROJECT)

    first = await keys(flag_sets)
    second = without_waiting(keys(flag_sets))
    store.version = 2
    store.gate.set()

    assert (first, second) == (["flag-1"], ["flag-1"])


async def test_without_anything_known_the_failure_is_reported(store: GatedFlagSource) -> None:
    store.is_down = True

    with pytest.raises(RecordsUnavailable):
        await keys(FlagSets(store))


# ── What survives ────────────────────────────────────────────────────────────────────────


def project(project_id: int = PROJECT) -> Project:
    made = datetime(2024, 3, 1, 12, tzinfo=UTC)
    uuid = UUID(int=project_id)
    return Project(project_id, uuid, uuid, "Shop", f"phc_{project_id}", "Europe/Berlin", made)


async def known(project_id: int) -> Project | None:
    return project(project_id)


async def test_stored_flags_answer_when_the_store_is_down(
    store: GatedFlagSource, tmp_path: Path
) -> None:
    stored = OfflineFlagStore(tmp_path / "kept.db")
    await keys(FlagSets(store, stored))
    await stored.write_queued(known)

    store.is_down = True
    started_later = FlagSets(store, OfflineFlagStore(tmp_path / "kept.db"))

    assert await keys(started_later) == ["flag-1"]
    store.is_down, store.version = False, 2
    await started_later.catch_up()
    assert await keys(started_later) == ["flag-2"]


async def test_flags_are_as_old_as_the_last_poll_or_as_the_copy(
    store: GatedFlagSource, tmp_path: Path
) -> None:
    clock = Clock()
    stored = OfflineFlagStore(tmp_path / "kept.db", clock.now)
    flag_sets = FlagSets(store, stored, now=clock.now)
    await keys(flag_sets)
    await stored.write_queued(known)
    clock.move(seconds=100)
    before = flag_sets.age_s
    await flag_sets.catch_up(set())
    polled = flag_sets.age_s
    await stored.renew_times(*flag_sets.current_projects())

    store.is_down = True
    clock.move(seconds=30)
    with pytest.raises(RecordsUnavailable):
        await flag_sets.catch_up()
    started_later = FlagSets(store, OfflineFlagStore(tmp_path / "kept.db"), now=clock.now)
    await keys(started_later)

    assert (before, polled, flag_sets.age_s, started_later.age_s) == (100, 0, 30, 30)
    store.is_down = False
    await started_later.catch_up(set())
    assert started_later.age_s == 0


async def test_flags_are_current_once_they_were_read_again(
    store: GatedFlagSource, tmp_path: Path
) -> None:
    stored = OfflineFlagStore(tmp_path / "kept.db")
    stored.put_definitions(PROJECT, definitions(1))
    store.is_down = True
    flag_sets = FlagSets(store, stored)
    await keys(flag_sets)
    from_copy = set(flag_sets.current_projects()[0])

    store.is_down = False
    await flag_sets.catch_up(set())
    read = set(flag_sets.current_projects()[0])
    flag_sets.invalidate(PROJECT)

    assert (from_copy, read, set(flag_sets.current_projects()[0])) == (set(), {PROJECT}, set())


async def test_everything_comes_back_as_it_was(tmp_path: Path) -> None:
    stored = OfflineFlagStore(tmp_path / "kept.db")
    for number in (PROJECT, 8):
        stored.put_definitions(number, definitions(number))
    await stored.write_queued(known)

    later = OfflineFlagStore(tmp_path / "kept.db")

    copy = await later.get_copy(PROJECT)
    assert copy is not None
    restored = copy.definitions
    assert list(restored.flags) == list(definitions(PROJECT).flags)
    assert restored.group_types == {0: "company"}
    assert list(restored.cohorts) == [CohortRow(1, is_static=True)]
    assert restored.version == PROJECT
    assert await later.project_of_token("phc_8") == project(8)
    assert await later.projects() == [project(PROJECT), project(8)]
    assert await later.get_copy(9) is None
    assert await later.project_of_token("phc_none") is None
    assert (tmp_path / "kept.db").stat().st_mode & 0o077 == 0


async def test_a_project_that_was_changed_is_found_by_all_its_tokens(tmp_path: Path) -> None:
    stored = OfflineFlagStore(tmp_path / "kept.db")
    for number in (PROJECT, 8):
        stored.put_definitions(number, definitions(number))
    await stored.write_queued(known)
    former = FormerToken(f"phc_{PROJECT}", datetime(2024, 3, 2, tzinfo=UTC))
    changed = replace(project(), api_token="phc_new", former_tokens=(former,))

    now_known = {PROJECT: changed, 9: replace(project(9), name="never evaluated")}
    for number in (*now_known, 10):  # the last project is deleted
        stored.project_changed(number)

    async def project_of(project_id: int) -> Project | None:
        return now_known.get(project_id)

    await stored.write_queued(project_of)

    later = OfflineFlagStore(tmp_path / "kept.db")
    for token in ("phc_new", f"phc_{PROJECT}"):
        assert await later.project_of_token(token) == changed
    assert await later.projects() == [changed, project(8)]
    assert await later.project_of_token("phc_") is None  # a prefix of every token


async def test_the_last_of_several_changes_is_written(tmp_path: Path) -> None:
    stored = OfflineFlagStore(tmp_path / "kept.db")

    stored.put_definitions(PROJECT, definitions(1))
    await stored.write_queued(known)
    stored.put_definitions(PROJECT, definitions(2))
    stored.put_definitions(PROJECT, definitions(3))
    before_it_is_written = await stored.get_copy(PROJECT)
    await stored.write_queued(known)
    copy = await OfflineFlagStore(tmp_path / "kept.db").get_copy(PROJECT)

    assert before_it_is_written is not None and before_it_is_written.definitions.version == 3
    assert copy is not None and copy.definitions.version == 3


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 4096])
async def test_a_broken_file_counts_as_empty_and_is_replaced(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "kept.db"
    path.write_bytes(content)
    stored = OfflineFlagStore(path)

    assert await stored.projects() == []
    stored.put_definitions(PROJECT, definitions(1))
    await stored.write_queued(known)

    assert await OfflineFlagStore(path).projects() == [project()]


async def test_what_could_not_be_written_is_written_later(tmp_path: Path) -> None:
    path = tmp_path / "kept.db"
    stored = OfflineFlagStore(path)
    stored.put_definitions(PROJECT, definitions(1))
    path.mkdir()

    await stored.write_queued(known)
    path.rmdir()
    await stored.write_queued(known)

    with sqlite3.connect(path) as file:
        assert file.execute("SELECT count(*) FROM kept").fetchone() == (1,)
    file.close()
