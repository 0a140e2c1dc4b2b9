"""Rows of JSON lines and CSV, and the places and reasons of those that cannot be read."""

import pytest

from fanion.transfer.event_files.files.rows import QUOTED_LINES_MAX, CsvRows, json_rows
from fanion.transfer.event_files.model import FileProblem, Line, Row


def lines_of(text: bytes) -> list[Line]:
    end, lines = 0, []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        end += len(line)
        lines.append(Line(line.rstrip(b"\r\n"), number, end))
    return lines


def csv_rows(text: bytes) -> list[Row]:
    return list(CsvRows("a.csv", iter(lines_of(text))).rows())


def outcomes(rows: list[Row]) -> list[tuple[int, object]]:
    return [(row.line, row.reason if row.fields is None else row.fields) for row in rows]


def test_json_lines_without_text_are_skipped_and_wrong_ones_say_why() -> None:
    text = b'{"a": 1}\n\n{"a": \n[1]\n{"a": NaN}\n{"a": "\\ud800"}\n{"a": "\xe9"}\n{"b": 2}'

    rows = list(json_rows(iter(lines_of(text))))

    first, cut, array, nan, surrogate, latin, last = outcomes(rows)
    assert first == (1, {"a": 1})
    assert cut == (3, "not JSON: Input data was truncated")
    assert array == (4, "not a JSON object")
    assert nan == (5, {"a": None})
    assert surrogate == (6, {"a": "\ufffd"})
    assert latin == (7, "not UTF-8: byte 0xe9 at position 8")
    assert last == (8, {"b": 2})
    assert rows[-1].end == len(text)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_most_frequent_of_the_header(delimiter: str) -> None:
    text = "a,b,c\n1,2,3".replace(",", delimiter).encode()

    assert outcomes(csv_rows(text)) == [(2, {"a": "1", "b": "2", "c": "3"})]


def test_quoted_values_may_have_delimiters_quotes_and_lines() -> None:
    text = b'a,b\r\n"x,y","say ""hi"""\r\n"two\r\nlines",5" pipe\r\nz,w\r\n'

    rows = csv_rows(text)

    assert outcomes(rows) == [
        (2, {"a": "x,y", "b": 'say "hi"'}),
        (3, {"a": "two\nlines", "b": '5" pipe'}),
        (5, {"a": "z", "b": "w"}),
    ]
    assert rows[1].last_line == 4
    assert rows[-1].end == len(text)


def test_rows_with_other_numbers_of_values_say_so() -> None:
    assert outcomes(csv_rows(b"a,b\n1\n1,2,3\n\n1,2")) == [
        (2, "1 values, but the header has 2 columns"),
        (3, "3 values, but the header has 2 columns"),
        (5, {"a": "1", "b": "2"}),
    ]


def test_a_quote_that_is_not_closed_costs_its_own_row_only() -> None:
    rest = b"".join(b"%d,x\n" % number for number in range(QUOTED_LINES_MAX + 5))

    rows = csv_rows(b'a,b\n"open,1\n' + rest)

    assert rows[0].reason == "not CSV: a quote is opened and not closed"
    assert [row.line for row in rows] == list(range(2, QUOTED_LINES_MAX + 8))
    assert all(row.fields is not None for row in rows[1:])


def test_wrong_bytes_are_named_with_their_place() -> None:
    [row] = csv_rows(b"a,b\nna\xefve,1")

    assert row.reason == "not UTF-8: byte 0xef at position 3"


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"a,b,a", "a.csv, line 1: the column 'a' is there twice."),
        (b'{"a": 1}', "a.csv, line 1: JSON instead of a header of CSV."),
        (b"a,\xff", "a.csv, line 1: not UTF-8: byte 0xff at position 3"),
    ],
)
def test_a_wrong_header_ends_the_import(header: bytes, reason: str) -> None:
    with pytest.raises(FileProblem) as raised:
        csv_rows(header)

    assert str(raised.value) == reason
