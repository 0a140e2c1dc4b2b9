"""The files of an hour or a day, and the manifest that names them.

The files have the same names each time. The manifest is written last, so that an interval is there
whole or not at all.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from hashlib import sha256
from typing import Protocol

import msgspec

from fanion.events.storage.export_query import ExportFormat
from fanion.exports.intervals.model import MANIFEST, Interval, IntervalFile, Manifest


class Objects(Protocol):
    """A store of named objects, each of which is there whole or not at all."""

    async def write(self, name: str, content: bytes) -> None: ...
    async def delete(self, names: Sequence[str]) -> None: ...
    async def flush(self) -> None:
        """Make what was written survive a crash."""


async def write_interval(
    objects: Objects,
    path: str,
    interval: Interval,
    file_format: ExportFormat,
    pages: AsyncIterator[tuple[int, bytes]],
    names: Collection[str],
) -> Manifest:
    """Write the pages of an interval as files, and then its manifest.

    Args:
        path: What the names of its objects begin with.
        pages: The rows of each file with its content; those without rows are left out.
        names: The objects that are there. Those that an earlier try has left are deleted.
    """
    files: list[IntervalFile] = []
    async for rows, content in pages:
        if rows:
            name = f"{len(files) + 1:06}.{file_format}"
            await objects.write(path + name, content)
            digest = await asyncio.to_thread(lambda text: sha256(text).hexdigest(), content)
            files.append(IntervalFile(name=name, rows=rows, bytes=len(content), sha256=digest))
    manifest = Manifest(
        start=interval.start,
        end=interval.end,
        format=file_format,
        rows=sum(file.rows for file in files),
        files=files,
    )
    kept = {path + file.name for file in files}
    await objects.delete([name for name in names if name.startswith(path) and name not in kept])
    await objects.flush()
    await objects.write(path + MANIFEST, msgspec.json.encode(manifest))
    await objects.flush()
    return manifest
