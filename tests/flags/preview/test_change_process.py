"""The process that counts the effect of a change: sampled, abandoned, killed, idle and late."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from sqlalchemy import insert

from fanion.db.engine import Records
from fanion.db.schema.tables import groups, person_distinct_ids, persons
from fanion.errors import AppError, Throttled, Unavailable
from fanion.flags.engine.definition import FlagDefinitions, FlagRow, compile_flag
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.flag_set import build_flag_set
from fanion.flags.engine.model import Subject
from fanion.flags.preview.change import Question, Result, Version
from fanion.flags.preview.change_client import ChangeLimits, ChangePreviews, Superseded
from fanion.persons.merge import person_uuid
from tests.support.awaited import SOON_S, until_soon
from tests.support.management import NOW

PERSONS = 700
HALF: dict[str, Any] = {"groups": [{"rollout_percentage": 50}]}
ENDED = "The process that evaluates the change has ended. Please retry."


def version(filters: dict[str, Any], *, types: dict[int, str] | None = None) -> Version:
    row = FlagRow(1, "flag", filters)
    return Version("flag", msgspec.json.encode(FlagDefinitions([row], types or {})))


QUESTION = Question(1, Version("", b"{}"), version(HALF), None, NOW)


async def store_persons(records: Records, number: int) -> None:
    ids = range(1, number + 1)
    rows = [
        {
            "id": n,
            "project_id": 1,
            "uuid": person_uuid(1, f"user{n - 1}"),
            "properties": {"n": n},
            "is_identified": True,
            "created_at": NOW,
            "version": 1,
            "email": None,
        }
        for n in ids
    ]
    links = [
        {"project_id": 1, "distinct_id": f"user{n}", "person_id": n + 1} for n in range(number)
    ]
    async with records.write() as connection:
        await connection.execute(insert(persons), rows)
        await connection.execute(insert(person_distinct_ids), links)


async def store_groups(records: Records, number: int) -> None:
    rows = [
        {
            "project_id": 1,
            "group_type_index": 0,
            "group_key": f"org{n}",
            "properties": {"n": n},
            "created_at": NOW,
            "version": 1,
        }
        for n in range(number)
    ]
    async with records.write() as connection:
        await connection.execute(insert(groups), rows)


@pytest.fixture
async def previews(records: Records, records_url: str) -> AsyncIterator[ChangePreviews]:
    patient = ChangeLimits(seconds_max=SOON_S, abandon_s_max=SOON_S)
    previews = ChangePreviews(records_url, patient)
    yield previews
    await previews.close()


def pid_of(previews: ChangePreviews) -> int:
    pid = previews.process.pid
    assert pid is not None
    return pid


@contextmanager
def process_stopped(pid: int) -> Iterator[None]:
    """Stop the process for the duration of the block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def question_arrives(previews: ChangePreviews) -> None:
    """Wait until a question has reached the process."""

    async def is_asked() -> bool:
        return previews.process.is_busy

    await until_soon(is_asked, "nothing was asked")


def fields(error: AppError) -> tuple[int, str, str, str]:
    return error.status, error.type, error.code, error.detail


def on_by_evaluator(number: int) -> int:
    flag_set = build_flag_set([compile_flag(FlagRow(1, "flag", HALF))], {})
    return sum(
        evaluate(flag_set, Subject(f"user{n}"), NOW).decisions["flag"].enabled
        for n in range(number)
    )


@pytest.mark.every_engine
async def test_all_are_evaluated_up_to_the_limit_and_then_a_fixed_sample(
    records: Records, previews: ChangePreviews
) -> None:
    await store_persons(records, PERSONS)
    on = on_by_evaluator(PERSONS)

    whole = await previews.compute_change(1, replace_limits(PERSONS, 100))
    sampled = await previews.compute_change(1, replace_limits(PERSONS - 1, 400))
    again = await previews.compute_change(1, replace_limits(PERSONS - 1, 400))

    assert whole == Result(PERSONS, PERSONS, whole.transitions)
    assert set(whole.transitions) == {(False, True, on), (False, False, PERSONS - on)}
    assert (sampled.total, sampled.evaluated) == (PERSONS, 400)
    counted = {after: count for _, after, count in sampled.transitions}
    assert sum(counted.values()) == 400
    assert abs(counted[True] / 400 - on / PERSONS) < 0.08
    assert again == sampled


def replace_limits(exact_max: int, sample: int, question: Question = QUESTION) -> Question:
    return msgspec.structs.replace(question, exact_max=exact_max, sample=sample)


@pytest.mark.every_engine
async def test_of_many_groups_a_fixed_sample_is_evaluated(
    records: Records, previews: ChangePreviews
) -> None:
    await store_groups(records, PERSONS)
    leaf = {"key": "n", "type": "group", "group_type_index": 0, "operator": "is_set"}
    filters = {"groups": [{"properties": [leaf]}], "aggregation_group_type_index": 0}
    question = Question(1, Version("", b"{}"), version(filters, types={0: "org"}), 0, NOW)

    whole = await previews.compute_change(1, question)
    sampled = await previews.compute_change(1, replace_limits(100, 250, question))

    assert whole == Result(PERSONS, PERSONS, [(False, True, PERSONS)])
    assert sampled == Result(PERSONS, 250, [(False, True, 250)])


async def test_no_person_is_counted_where_there_is_none(
    records: Records, previews: ChangePreviews
) -> None:
    assert await previews.compute_change(1, QUESTION) == Result(0, 0, [])


async def test_one_asked_again_abandons_what_was_asked_before(
    records: Records, previews: ChangePreviews
) -> None:
    await store_persons(records, 3)
    await previews.compute_change("ann", QUESTION)

    with process_stopped(pid_of(previews)):
        first = asyncio.create_task(previews.compute_change("ann", QUESTION))
        await question_arrives(previews)
        second = asyncio.create_task(previews.compute_change("ann", QUESTION))
        with pytest.raises(Superseded) as refusal:
            await first

    assert (await second).total == 3
    assert fields(refusal.value) == (
        409,
        "invalid_request",
        "superseded",
        "A newer request for the same flag has replaced this one.",
    )


async def test_who_waits_for_a_turn_is_superseded_too(
    records: Records, previews: ChangePreviews
) -> None:
    await store_persons(records, 3)
    await previews.compute_change("ann", QUESTION)

    with process_stopped(pid_of(previews)):
        running = asyncio.create_task(previews.compute_change("ann", QUESTION))
        await question_arrives(previews)
        first = asyncio.create_task(previews.compute_change("bob", QUESTION))
        await asyncio.sleep(0)
        second = asyncio.create_task(previews.compute_change("bob", QUESTION))
        with pytest.raises(Superseded):
            await first

    assert [(await task).total for task in (running, second)] == [3, 3]


async def test_what_is_cancelled_is_abandoned(records: Records, previews: ChangePreviews) -> None:
    await store_persons(records, 3)
    await previews.compute_change("ann", QUESTION)
    pid = pid_of(previews)

    with process_stopped(pid):
        first = asyncio.create_task(previews.compute_change("ann", QUESTION))
        await question_arrives(previews)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
    result = await previews.compute_change("bob", QUESTION)

    assert result.total == 3
    assert pid_of(previews) == pid


async def test_more_than_may_wait_are_refused(records: Records, records_url: str) -> None:
    previews = ChangePreviews(records_url, ChangeLimits(asked_max=2))
    try:
        await previews.compute_change(0, QUESTION)
        with process_stopped(pid_of(previews)):
            waiting = [asyncio.create_task(previews.compute_change(n, QUESTION)) for n in (1, 2)]
            await question_arrives(previews)
            with pytest.raises(Throttled):
                await previews.compute_change(3, QUESTION)
        assert await asyncio.gather(*waiting) == [Result(0, 0, [])] * 2
    finally:
        await previews.close()


async def test_a_killed_process_is_an_error_and_the_next_question_is_answered(
    records: Records, previews: ChangePreviews
) -> None:
    await store_persons(records, 3)
    await previews.compute_change(1, QUESTION)

    for _ in range(2):
        pid = pid_of(previews)
        with pytest.raises(Unavailable) as error:
            os.kill(pid, signal.SIGSTOP)
            work = asyncio.create_task(previews.compute_change(1, QUESTION))
            await question_arrives(previews)
            os.kill(pid, signal.SIGKILL)
            await work

        assert fields(error.value) == (503, "server_error", "preview_failed", ENDED)
        assert (await previews.compute_change(1, QUESTION)).total == 3
        assert pid_of(previews) != pid


async def test_a_process_that_died_while_idle_is_replaced(
    records: Records, previews: ChangePreviews
) -> None:
    await store_persons(records, 3)
    await previews.compute_change(1, QUESTION)
    former = pid_of(previews)
    os.kill(former, signal.SIGKILL)

    async def is_noticed() -> bool:
        return previews.process.pid is None

    await until_soon(is_noticed, "the end was not noticed")

    assert (await previews.compute_change(1, QUESTION)).total == 3
    assert pid_of(previews) != former


async def test_what_takes_too_long_is_an_error(records: Records, records_url: str) -> None:
    await store_persons(records, 3)
    previews = ChangePreviews(records_url, ChangeLimits(abandon_s_max=0.05))
    try:
        await previews.compute_change(1, QUESTION)
        pid = pid_of(previews)
        os.kill(pid, signal.SIGSTOP)
        late = ChangePreviews(records_url, ChangeLimits(seconds_max=0.05))
        late.process = previews.process
        with pytest.raises(Unavailable) as error:
            await late.compute_change(1, QUESTION)

        assert fields(error.value) == (
            503,
            "server_error",
            "preview_timeout",
            "The change could not be evaluated within 0.05 seconds.",
        )
        # The process does not abandon the question either, so it is killed and another one answers.
        assert (await previews.compute_change(1, QUESTION)).total == 3
        assert pid_of(previews) != pid
    finally:
        await previews.close()


async def test_the_process_ends_when_nothing_is_asked(records: Records, records_url: str) -> None:
    previews = ChangePreviews(records_url, ChangeLimits(idle_s=0.05))

    async def has_ended() -> bool:
        return previews.process.pid is None

    try:
        for _ in range(2):
            await previews.compute_change(1, QUESTION)
            await until_soon(has_ended, "the process has not ended")
    finally:
        await previews.close()


async def test_a_store_that_does_not_answer_is_an_error_of_its_own(tmp_path: Any) -> None:
    previews = ChangePreviews(f"sqlite:///{tmp_path}/none/records.db")
    try:
        with pytest.raises(Unavailable) as error:
            await previews.compute_change(1, QUESTION)
    finally:
        await previews.close()

    assert error.value.code in {"unavailable", "preview_failed"}


async def test_what_cannot_be_read_is_an_error_and_not_the_end(
    records: Records, previews: ChangePreviews
) -> None:
    await store_persons(records, 3)
    broken = msgspec.structs.replace(QUESTION, saved=Version("flag", b"no JSON"))

    with pytest.raises(Unavailable) as error:
        await previews.compute_change(1, broken)

    assert error.value.code == "preview_failed"
    assert (await previews.compute_change(1, QUESTION)).total == 3


def test_its_memory_has_a_limit() -> None:
    program = (
        "from fanion.processes.limits import limit_memory\n"
        "limit_memory(512 * 1024 ** 2)\n"
        "bytearray(1024 ** 3)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "MemoryError"
