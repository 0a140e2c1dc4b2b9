"""The reason why the embedded event engine cannot open its folder, which it writes by itself."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from fanion.events.event import EventStoreUnavailable

DAMAGE_ADVICE: Final = "Restore the folder from a backup."
_STDERR: Final = 2
# The end of the engine's message, and the file that it names.
_NAME = re.compile(r"\(([A-Z][A-Z_0-9]+)\)\s*$", re.MULTILINE)
_FILE = re.compile(r"file (/[^\s)]+)")


class EngineFailed(Exception):
    """The engine cannot open its folder; the text is one line without its message."""


@contextmanager
def engine_failures(folder: Path) -> Iterator[None]:
    """Keep the lines that the engine writes to standard error out of the report.

    Raises:
        EngineFailed: It has written why it cannot open the folder.
    """
    saved = os.dup(_STDERR)
    with TemporaryFile() as written:
        os.dup2(written.fileno(), _STDERR)
        try:
            yield
        except EventStoreUnavailable:
            written.seek(0)
            if name := _NAME.search(text := written.read().decode(errors="replace")):
                raise EngineFailed(_failure_text(folder, name[1], text)) from None
            raise
        finally:
            os.dup2(saved, _STDERR)
            os.close(saved)


def _failure_text(folder: Path, name: str, text: str) -> str:
    file = _FILE.search(text)
    where = f" in {file[1]}" if file else ""
    return f"{folder} cannot be opened by the event engine, or is damaged: {name}{where}"
