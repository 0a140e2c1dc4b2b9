"""Tables as CSV, which people open in spreadsheets."""

import csv
from collections.abc import Iterable, Sequence

# A spreadsheet takes a cell that begins with one of these for a formula, and what strangers named
# themselves would run on the reader's computer. source: OWASP, "CSV Injection"
FORMULA_BEGINS = ("=", "+", "-", "@", "\t", "\r")


def text_cell(text: str) -> str:
    """A text as a cell: with a `'` before it where a formula could begin. Numbers are no texts,
    and stay as they are."""
    return f"'{text}" if text.startswith(FORMULA_BEGINS) else text


def table_lines(rows: Iterable[Sequence[str]]) -> str:
    """rows: of cells"""
    lines = _Lines()
    csv.writer(lines).writerows(rows)
    return "".join(lines)


class _Lines(list[str]):
    write = list.append
