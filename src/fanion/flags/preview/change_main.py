"""The process that counts what a change of a flag does.

It evaluates the saved and the unsaved flag for persons or groups, page by page. It reads the
records store itself, runs at a lower priority than the server, and has a memory limit. One question
is computed at a time; the process ends with its channel to the server.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from typing import assert_never

import uvloop

from fanion.db.engine import Records, RecordsUnavailable, unopened_records
from fanion.flags.engine.model import Subject
from fanion.flags.evaluation.pages_store import SubjectPages
from fanion.flags.preview.change import (
    Abandon,
    Answer,
    Compute,
    Computed,
    Failed,
    Question,
    Request,
    Result,
    Start,
    TransitionCount,
    compile_version,
)
from fanion.processes.channel import Channel, socket_to_parent
from fanion.processes.limits import limit_memory

# Limit of the address space, of which 290 MB are usual. Beyond it allocation fails, and so does the
# question.
MEMORY_BYTES_MAX = 1024 * 1024**2
NICENESS = 10
CONNECTIONS = 2  # to PostgreSQL


async def compute(records: Records, question: Question) -> Result:
    """Count the transitions that a question asks for.

    Raises:
        RecordsUnavailable: The records store does not answer.
    """
    saved, unsaved = compile_version(question.saved), compile_version(question.unsaved)
    count = TransitionCount(saved, unsaved, question.now)
    pages = SubjectPages(records)
    index = question.group_type_index
    if index is None:
        total = await pages.count_persons(question.project_id)
    else:
        total = await pages.count_groups(question.project_id, index)
    is_exact = total <= question.exact_max
    subjects_max = None if is_exact else question.sample
    subjects = _persons(pages, question, count, subjects_max)
    if index is not None:
        names = saved.flag_set or unsaved.flag_set
        name = "" if names is None else names.group_types.get(index, "")
        subjects = _groups(pages, question, index, name, subjects_max)
    async for subjects_page in subjects:
        count.count_subjects(subjects_page)
        await asyncio.sleep(0)
    evaluated = count.evaluated
    return Result(evaluated if is_exact else total, evaluated, count.transitions())


async def _persons(
    pages: SubjectPages, question: Question, count: TransitionCount, persons_max: int | None
) -> AsyncGenerator[Sequence[Subject]]:
    async for page in pages.persons(question.project_id, count.reads, persons_max):
        yield [person.subject for person in page]


async def _groups(
    pages: SubjectPages, question: Question, index: int, name: str, groups_max: int | None
) -> AsyncGenerator[Sequence[Subject]]:
    project_id = question.project_id
    if groups_max is None:
        group_pages = pages.groups(project_id, index, name)
    else:
        keys = await pages.sample_groups(project_id, index, groups_max)
        group_pages = pages.groups_of(project_id, index, name, keys)
    async for page in group_pages:
        yield page


class _Process:
    def __init__(self) -> None:
        self._records: Records | None = None
        self._computing: asyncio.Task[Answer] | None = None
        self._ended = asyncio.Event()
        self._channel: Channel[Request] = Channel(
            socket_to_parent(), Request, self._receive, self._ended.set
        )

    async def run(self) -> None:
        """Answer questions until the server closes the channel."""
        await self._ended.wait()
        if self._computing is not None:
            self._computing.cancel()
            await asyncio.wait([self._computing])
        if self._records is not None:
            await self._records.close()

    def _receive(self, message: Request, _: int | None) -> None:
        match message:
            case Start():
                self._records = unopened_records(message.records_url, CONNECTIONS)
            case Compute():
                self._computing = asyncio.create_task(self._answer(message.question))
                self._computing.add_done_callback(self._send)
            case Abandon():
                if self._computing is not None:
                    self._computing.cancel()
            case _:
                assert_never(message)

    async def _answer(self, question: Question) -> Answer:
        assert self._records is not None
        try:
            return Computed(await compute(self._records, question))
        except RecordsUnavailable as error:
            return Failed("store", str(error))
        except Exception as error:
            return Failed("other", f"{type(error).__name__}: {error}")

    def _send(self, computing: "asyncio.Task[Answer]") -> None:
        """Send the answer, even to a question that was cancelled before it began."""
        is_abandoned = computing.cancelled()
        self._channel.send(Failed("abandoned") if is_abandoned else computing.result())


async def main() -> None:
    await _Process().run()


if __name__ == "__main__":
    os.nice(NICENESS)
    limit_memory(MEMORY_BYTES_MAX)
    uvloop.run(main())
