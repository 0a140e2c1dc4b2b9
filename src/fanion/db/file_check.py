"""The search for damage in the files of embedded stores, without writing to them."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

# The largest file that a start checks page by page, which takes half a second. Of a larger file it
# only compares the length with what the file says, and reads the schema; `fanion doctor` reads all
# of it.
CHECKED_AT_START_BYTES_MAX = 256 * 1024**2

# How long `fanion doctor` compares the tables of one file with their indexes: a gigabyte takes half
# a minute.
COMPARED_S_MAX = 60.0

_STEPS_BETWEEN_LOOKS = 10_000  # of SQLite's machine, at the clock; a millisecond or less
_HEAD_BYTES = 100
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

ADVICE = "Restore the file from a backup, with the files beside it that begin with its name."


@dataclass(frozen=True, slots=True)
class FileReport:
    """The result of an examination of a SQLite file.

    Attributes:
        damage: In one line; "" if none was found.
        checked: What was checked, to follow the file's state in a sentence.
    """

    damage: str
    checked: str = "file sound, indexes included"


def examine_file(path: Path, compared_s_max: float = COMPARED_S_MAX) -> FileReport:
    """Read a SQLite file completely, then compare its tables with their indexes.

    Args:
        compared_s_max: How long the comparison may take; SQLite before 3.42 first reads all pages
            again, which takes as long as the reading before.
    """
    if damage := _find_damage(path, "PRAGMA quick_check(1)"):
        return FileReport(damage)
    try:
        return FileReport(_find_damage(path, "PRAGMA integrity_check(1)", compared_s_max))
    except TimeoutError:
        size = path.stat().st_size / 1024**3
        return FileReport(
            "",
            f"file of {size:.1f} GiB read completely, its indexes only as far as "
            f"{compared_s_max:g} s allow",
        )


def find_damage_at_start(path: Path, checked_bytes_max: int = CHECKED_AT_START_BYTES_MAX) -> str:
    """Return what is wrong with a SQLite file, in one line, as far as a quick check can tell."""
    if path.exists() and path.stat().st_size > checked_bytes_max:
        return _shortened_file(path) or _find_damage(path, "SELECT MIN('ok') FROM sqlite_master")
    return _find_damage(path, "PRAGMA quick_check(1)")


def damage_text(path: Path, damage: str) -> str:
    return f"{path} is damaged: {damage}"


def _find_damage(path: Path, check: str, seconds_max: float | None = None) -> str:
    """Run a check on a SQLite file and return its complaint, or "".

    Args:
        check: A statement whose only value is `ok`, or says what is wrong.

    Raises:
        TimeoutError: The check takes longer than `seconds_max`.
    """
    if not path.exists():
        return ""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            if seconds_max is not None:
                until = monotonic() + seconds_max
                db.set_progress_handler(lambda: monotonic() > until, _STEPS_BETWEEN_LOOKS)
            [text] = db.execute(check).fetchone()
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0)
        if code == sqlite3.SQLITE_INTERRUPT:
            raise TimeoutError from None
        # Other errors: it cannot be opened or read.
        return str(error) if code & 0xFF in _DAMAGED else ""
    return "" if text in ("ok", None) else _first_complaint(text)


def _shortened_file(path: Path) -> str:
    """Return a complaint if the file is shorter than its header says.

    Source: https://www.sqlite.org/fileformat.html, "The Database Header".
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    page_bytes = int.from_bytes(head[16:18], "big")
    page_bytes = 65_536 if page_bytes == 1 else page_bytes
    expected, actual = int.from_bytes(head[28:32], "big") * page_bytes, path.stat().st_size
    return "" if actual >= expected else f"it has {actual} bytes and should have {expected}"


def _first_complaint(text: str) -> str:
    """Return the first complaint; `*** in database main ***` may precede it."""
    lines = [line for line in text.splitlines() if not line.startswith("***")]
    return lines[0] if lines else text
