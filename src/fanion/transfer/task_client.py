"""Runs project exports and imports, each in its own process."""

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO, Final, Literal

import structlog

from fanion.activity.model import ActivityRecord, Author
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.errors import Invalid, NotFound, Unavailable
from fanion.processes.channel import Channel
from fanion.processes.child import Child
from fanion.projects.model import Project
from fanion.transfer.task import Answer, Done, Failed, ImportReport, Refused, Task

# Concurrent tasks per server process; further ones wait.
AT_ONCE = 2
SECONDS_MAX = 600.0
PIECE_BYTES = 256 * 1024
FILE_FIELD: Final = "file"


@dataclass(frozen=True, slots=True)
class ProjectTransfers:
    """The exports and imports started by requests.

    Attributes:
        folder: Where documents are stored in the meantime, in unnamed files.
        imported: Called with the project after an import, because its flags, cohorts and settings
            may have changed.
    """

    records: Records
    records_url: str
    folder: str | None
    imported: Callable[[int], None]
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def open_export(self, author: Author, project: Project) -> AsyncGenerator[bytes]:
        """Export a project, record it in the activity log, and return the pieces of the document.

        Raises:
            NotFound: The project has been deleted in the meantime.
            Unavailable: The export failed.
        """
        with ExitStack() as unfinished:
            file = unfinished.enter_context(tempfile.TemporaryFile(dir=self.folder))
            await self._do(author, "export", file)
            async with self.records.write() as connection:
                await connection.run_sync(record_activity, _exported(author, project))
            unfinished.pop_all()  # closed with the pieces
        return _pieces(file)

    async def import_file(self, author: Author, file: IO[bytes], *, dry_run: bool) -> ImportReport:
        """Import a document into the author's project.

        Args:
            dry_run: Report the changes and roll them back.

        Raises:
            Invalid: The document cannot be imported; nothing was written.
            Unavailable: The import failed; nothing was written.
        """
        done = await self._do(author, "preview" if dry_run else "import", file)
        assert done.report is not None
        if not dry_run:
            self.imported(author.project_id)
        return done.report

    async def _do(
        self, author: Author, action: Literal["export", "preview", "import"], file: IO[bytes]
    ) -> Done:
        task = Task(
            records_url=self.records_url,
            action=action,
            project_id=author.project_id,
            organization_id=author.organization_id,
            user_id=author.user_id,
            now=author.now,
        )
        file.seek(0)
        async with self._turns:
            answer = await _answer(task, file.fileno())
        match answer:
            case Refused(detail, code):
                raise Invalid(detail, code=code, attr=None if action == "export" else FILE_FIELD)
            case Failed("missing"):
                raise NotFound
            case Failed(reason, detail):
                structlog.get_logger().error("transfer_failed", reason=reason, detail=detail)
                raise Unavailable
        return answer


async def _answer(task: Task, file: int) -> Answer:
    """Run the task in a new process. If cancelled, nothing is imported.

    Raises:
        Unavailable: The process cannot be started, or ended before it answered.
    """
    child = Child("fanion.transfer.task_main")
    answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def receive(message: Answer, _: int | None) -> None:
        if not answer.done():
            answer.set_result(message)

    def lost() -> None:
        receive(Failed("other", "the process has ended"), None)

    try:
        line = await child.start()
    except OSError as error:
        raise Unavailable(f"The process cannot be started: {error}.") from None
    channel: Channel[Answer] = Channel(line, Answer, receive, lost)
    try:
        channel.send(task, os.dup(file))
        async with asyncio.timeout(SECONDS_MAX):
            return await answer
    except TimeoutError:
        raise Unavailable(
            f"This was not done within {SECONDS_MAX:g} seconds, and was stopped.", code="timeout"
        ) from None
    finally:
        channel.close()
        await child.kill()


def _exported(author: Author, project: Project) -> ActivityRecord:
    return ActivityRecord(
        author=author,
        scope="Project",
        item_id=str(project.id),
        activity="exported_project",
        name=project.name,
    )


async def _pieces(file: IO[bytes]) -> AsyncGenerator[bytes]:
    with file:
        await asyncio.to_thread(file.seek, 0)
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece
