"""The process that exports a project to a file, or imports one from a file.

It runs one task, like the commands `fanion export` and `fanion import`, and exits. It accesses the
records store directly. It has a memory limit and a lower priority than the server, because a
document may be large, and parsing it can take seconds of processor time.
"""

import asyncio
import os
from typing import IO

import uvloop

from fanion.db.engine import Records, RecordsUnavailable, unopened_records
from fanion.errors import AppError
from fanion.processes.channel import Channel, socket_to_parent
from fanion.processes.limits import limit_memory
from fanion.projects.store import ProjectStore
from fanion.transfer.document import (
    DOCUMENT_BYTES_MAX,
    DocumentError,
    read_document,
    write_document,
)
from fanion.transfer.export_store import export_project
from fanion.transfer.importing.importer import import_document
from fanion.transfer.task import Answer, Done, Failed, Refused, Task, import_report

# Limit of the address space; the largest allowed document takes a little more than half of it.
MEMORY_BYTES_MAX = 2 * 1024**3
NICENESS = 10
CONNECTIONS = 2  # to PostgreSQL


async def do_task(task: Task, file: IO[bytes]) -> Answer:
    records = unopened_records(task.records_url, CONNECTIONS)
    try:
        return await (_export if task.action == "export" else _import)(records, task, file)
    except DocumentError as error:
        return Refused(str(error), "invalid_document")
    except AppError as error:
        return Refused(error.detail, error.code)
    except RecordsUnavailable as error:
        return Failed("store", str(error))
    except MemoryError:
        return Refused("The project is too large to be held in memory.", "too_large")
    except Exception as error:
        return Failed("other", f"{type(error).__name__}: {error}")
    finally:
        await records.close()


async def _export(records: Records, task: Task, file: IO[bytes]) -> Answer:
    project = (await ProjectStore(records).by_ids([task.project_id])).get(task.project_id)
    if project is None:
        return Failed("missing", "")
    file.write(write_document(await export_project(records, project)))
    file.flush()
    return Done()


async def _import(records: Records, task: Task, file: IO[bytes]) -> Answer:
    raw = file.read(DOCUMENT_BYTES_MAX + 1)
    if len(raw) > DOCUMENT_BYTES_MAX:
        return Refused(
            f"The file is larger than the maximum of {DOCUMENT_BYTES_MAX} bytes.", "too_large"
        )
    document = read_document(raw)
    report = await import_document(records, task.author, document, dry_run=task.action == "preview")
    return Done(import_report(report))


class _Process:
    def __init__(self) -> None:
        self._ended = asyncio.Event()
        self._doing: asyncio.Task[None] | None = None
        self._channel: Channel[Task] = Channel(
            socket_to_parent(), Task, self._receive, self._ended.set
        )

    async def run(self) -> None:
        """Run the task, and exit when the channel to the server closes."""
        await self._ended.wait()
        if self._doing is not None:
            self._doing.cancel()
            await asyncio.wait([self._doing])

    def _receive(self, task: Task, descriptor: int | None) -> None:
        assert descriptor is not None
        file = os.fdopen(descriptor, "w+b" if task.action == "export" else "rb")
        self._doing = asyncio.create_task(self._answer(task, file))

    async def _answer(self, task: Task, file: IO[bytes]) -> None:
        with file:
            self._channel.send(await do_task(task, file))


async def main() -> None:
    await _Process().run()


if __name__ == "__main__":
    os.nice(NICENESS)
    limit_memory(MEMORY_BYTES_MAX)
    uvloop.run(main())
