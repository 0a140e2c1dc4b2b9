"""The search for damage in the files of embedded stores, without writing to them."""

import sqlite3
from contextlib import closing
from pathlib import Path

# The largest file that a start checks page by page, which takes half a second. Of a larger file it
# only compares the length with what the file says, and reads the schema; `fanion doctor` reads all
# of it.
CHECKED_AT_START_BYTES_MAX = 256 * 1024**2

_HEAD_BYTES = 100
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

ADVICE = "Restore the file from a backup, with the files beside it that begin with its name."


def find_damage(path: Path) -> str:
    """Return what is wrong with a SQLite file and its indexes, in one line; "" if nothing is."""
    return _find_damage(path, "PRAGMA integrity_check(1)")


def find_damage_at_start(path: Path, checked_bytes_max: int = CHECKED_AT_START_BYTES_MAX) -> str:
    """Return what is wrong with a SQLite file, in one line, as far as a quick check can tell."""
    if path.exists() and path.stat().st_size > checked_bytes_max:
        return _shortened_file(path) or _find_damage(path, "SELECT MIN('ok') FROM sqlite_master")
    return _find_damage(path, "PRAGMA quick_check(1)")


def damage_text(path: Path, damage: str) -> str:
    return f"{path} is damaged: {damage}"


def _find_damage(path: Path, check: str) -> str:
    """Run a check on a SQLite file and return its complaint, or "".

    Args:
        check: A statement whose only value is `ok`, or says what is wrong.
    """
    if not path.exists():
        return ""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
            [text] = db.execute(check).fetchone()
    except sqlite3.Error as error:
        is_damaged = getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED
        return str(error) if is_damaged else ""  # other errors: it cannot be opened or read
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
