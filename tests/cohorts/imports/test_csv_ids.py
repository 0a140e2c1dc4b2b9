"""Uploaded files of members, CSV tables of members, and the difference of two lists of them."""

import csv
import io
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanion.cohorts.calculation.worker import MemberDiff
from fanion.cohorts.imports.csv_ids import CELL_CHARS_MAX, LINE_CHARS_MAX, ids_of_rows, read_csv
from fanion.cohorts.members.csv_export import COLUMNS_MAX, CsvColumns, header_line, table_rows
from fanion.errors import Invalid

UUIDS = st.sets(st.integers(0, 30).map(lambda n: n.to_bytes(16)), max_size=20)


@given(UUIDS, UUIDS, st.integers(1, 7))
def test_applying_a_difference_gives_the_new_list(
    held: set[bytes], after: set[bytes], size: int
) -> None:
    numbered = [(member, number) for number, member in enumerate(sorted(held))]
    differences = MemberDiff(sorted(after))

    gone: list[int] = []
    for start in range(0, len(numbered), size):
        gone += differences.walk(numbered[start : start + size])
    differences.finish()

    assert differences.added == sorted(after - held)
    assert [numbered[number][0] for number in gone] == sorted(held - after)


@pytest.mark.parametrize(
    ("text", "kind", "ids"),
    [
        ("a\nb\n", "distinct_id", ["a", "b"]),
        ('"a,b"\r\n\r\n c ,y\n,z', "distinct_id", ["a,b", "c"]),
        ("whatever\na\na", "distinct_id", ["whatever", "a", "a"]),
        (" ,a,\nb,c\n", "distinct_id", ["a", "c"]),
        ("distinct_id\na\n", "distinct_id", ["a"]),
        ("name,Distinct-ID,\nx,a\n", "distinct_id", ["a"]),
        ("distinct_id,email\na,a@b\n", "distinct_id", ["a"]),
        ("Person .id\na\n", "person_id", ["a"]),
        ("email\na@b\n", "email", ["a@b"]),
        ("x,E-mail\n1,a@b\n2\n", "email", ["a@b"]),
        ("email,person-id\na@b,1\n", "person_id", ["1"]),
        ("\ufeffdistinct-id\n\ufeffa\n", "distinct_id", ["\ufeffa"]),
        ("DISTINCT_ID\na\n", "distinct_id", ["a"]),
        ("Distinct ID;E-Mail\r\na;a@b\r\n", "distinct_id", ["a"]),
        ("distinctId\temail\na\ta@b\n", "distinct_id", ["a"]),
        ("name|EMAIL\nx|a@b\n", "email", ["a@b"]),
        ('"name";"distinct_id"\n"x;y";"a;b"\n"x";"c ""d"""\n', "distinct_id", ["a;b", 'c "d"']),
        ("name;distinct_id\n1,5;a\n", "distinct_id", ["a"]),
        ("name,distinct_id\nx;y,a;b\n", "distinct_id", ["a;b"]),
        ("distinct_id;email,plan\na;b,c\n", "distinct_id", ["a"]),
        ("distinct_id;;\na;;\nb\n", "distinct_id", ["a", "b"]),
        (";\n\n;distinct_id\n;a\n", "distinct_id", ["a"]),
        ("sep=;\r\ndistinct_id;email\r\na;a@b\r\n", "distinct_id", ["a"]),
        ("SEP=\t\nemail\tperson_id\na@b\t1\n", "person_id", ["1"]),
        ("sep=|\ndistinct_id,x|email\na,b|c\n", "email", ["c"]),
        ("sep=;\na,b\nc\n", "distinct_id", ["a,b", "c"]),
        ("auth0|1\nauth0|2\n", "distinct_id", ["auth0|1", "auth0|2"]),
        ("distinct_id\nauth0|1\n", "distinct_id", ["auth0|1"]),
        ("distinct_id;plan\nauth0|1;pro\n", "distinct_id", ["auth0|1"]),
        ("distinct_id|plan\n", "distinct_id", []),
    ],
)
def test_the_kind_of_ids_in_a_file_is_detected(text: str, kind: str, ids: list[str]) -> None:
    members = read_csv(io.BytesIO(text.encode()))

    assert (members.kind, list(members.ids)) == (kind, ids)


@pytest.mark.parametrize(
    ("raw", "ids"),
    [
        ("distinct_id;name\r\nänn;Ä\r\n".encode("utf-8-sig"), ["änn"]),
        ("distinct_id\tname\r\nänn\tÄ\r\n".encode("utf-16"), ["änn"]),
        ("distinct_id\tname\r\nänn\tÄ\r\n".encode("utf-16-le"), ["änn"]),
        ("distinct_id\tname\r\nänn\tÄ\r\n".encode("utf-16-be"), ["änn"]),
        (b"\xfe\xff" + "distinct_id\nänn\n".encode("utf-16-be"), ["änn"]),
        ("distinct_id;name\r\nann;Bj\u00f6rn \u20ac\r\n".encode("cp1252"), ["ann"]),
        ("distinct_id;имя\r\nann;Анна\r\n".encode("cp1251"), ["ann"]),
    ],
)
def test_only_ids_must_be_text_that_can_be_read(raw: bytes, ids: list[str]) -> None:
    """Spreadsheets write the encoding of the computer's language by default."""
    assert list(read_csv(io.BytesIO(raw)).ids) == ids


def test_a_cell_too_long_for_an_id_matches_no_person() -> None:
    text = f"a\0b\n{'x' * (CELL_CHARS_MAX + 500)}\n"

    members = read_csv(io.BytesIO(text.encode()))

    assert list(members.ids) == ["a\ufffdb", "x" * (CELL_CHARS_MAX + 1)]


COLUMNS = (
    'The CSV file has several columns, and none is headed "person_id", "distinct_id" or "email". '
    "Found columns: {}."
)
SEPARATED = COLUMNS.replace("columns:", "columns (separated by {}):")


def test_rows_that_are_separated_otherwise_than_the_first_one_are_refused() -> None:
    members = read_csv(io.BytesIO(b"distinct_id;email\na;a@b\nc,c@d\n"))

    with pytest.raises(Invalid) as raised:
        list(members.ids)

    assert raised.value.detail == (
        "Line 3 of the CSV file is separated by commas, but the first row by semicolons."
    )


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("", "The CSV file is empty."),
        ("\n , \n\n", "The CSV file is empty."),
        ("\ufeff", "The CSV file is empty."),
        ("name, other\na,b\n", COLUMNS.format("name, other")),
        ("ann,x\nbob,y\n", COLUMNS.format("ann, x")),
        ("name;city\nann;Ulm\n", SEPARATED.format("semicolons", "name, city")),
        ("ann\tann@b\n", SEPARATED.format("tabs", "ann, ann@b")),
        ("sep=|\nname|city\n", SEPARATED.format("pipes", "name, city")),
        (
            "distinct_id;a,email\n",
            'The CSV file can be read in several ways: in its first row, "distinct_id;a,email", a '
            "column of ids is separated by commas and one by semicolons.",
        ),
        (
            "distinct_id\nu1;u1@b\n",
            'The first row of the CSV file, "distinct_id", names one column, but the next row, '
            '"u1;u1@b", has several, separated by semicolons. Name all columns in the first row.',
        ),
        (
            "sep=x\ndistinct_id\n",
            'The first line of the CSV file says "sep=x". Columns can be separated by commas, '
            "semicolons, tabs and pipes.",
        ),
        ("sep=;\n\n", "The CSV file is empty."),
        ("\n" * 2_000 + "a\n", "The CSV file is empty."),
        (
            ",".join(f"c{n}" for n in range(23)),
            COLUMNS.format(", ".join(f"c{n}" for n in range(20)) + " and 3 more"),
        ),
    ],
)
def test_a_file_without_a_column_of_ids_is_refused(text: str, detail: str) -> None:
    with pytest.raises(Invalid) as raised:
        read_csv(io.BytesIO(text.encode()))

    assert (raised.value.attr, raised.value.detail) == ("csv", detail)


NOT_TEXT = "The file must be encoded in UTF-8, or in UTF-16 with a byte order mark."
TOO_LONG = "The file cannot be read as CSV: a line is longer than 1048576 characters."


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (b"\xff\n", NOT_TEXT),
        (b"a\n" * 100_000 + b"\xff\n", NOT_TEXT),
        (b"a\n\xe2\x82", NOT_TEXT),
        ("a\n".encode("utf-16") + b"b", NOT_TEXT),
        ("distinct_id;name\nä;ä\n".encode("cp1252"), NOT_TEXT),
        (b'"' + b"x" * 200_000, "The file cannot be read as CSV: field larger than field limit"),
        (b'a\n"' + b"x\n" * 200_000, "The file cannot be read as CSV: field larger than"),
        (b"a," * LINE_CHARS_MAX, TOO_LONG),
        (b"x" * 100_000 + b"\n" + b"a," * LINE_CHARS_MAX, TOO_LONG),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(raw: bytes, detail: str) -> None:
    with pytest.raises(Invalid) as raised:
        list(read_csv(io.BytesIO(raw)).ids)

    assert raised.value.attr == "csv"
    assert raised.value.detail.startswith(detail)


ANN = "018F3C2E-0000-7000-8000-000000000001"


@pytest.mark.parametrize(
    ("kind", "ids"),
    [
        ("distinct_id", {ANN: ANN, "Ann@b": "Ann@b"}),
        ("email", {ANN: ANN.lower(), "Ann@b": "ann@b"}),
        ("person_id", {ANN: UUID(ANN)}),
    ],
)
def test_a_row_stands_for_an_id_of_the_kind_of_its_file(
    kind: str, ids: dict[str, str | UUID]
) -> None:
    assert ids_of_rows(kind, [ANN, "Ann@b", ANN]) == ids


def test_ids_are_read_in_batches() -> None:
    members = read_csv(io.BytesIO(b"a\nb\na\nc\na\n"))

    assert [members.take_ids(2) for _ in range(4)] == [["a", "b"], ["a", "c"], ["a"], []]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_quotes_and_characters_may_span_chunks_of_a_file(ending: str) -> None:
    """Text is decoded 8 KiB at a time."""
    ids = [f'n{number} "é€𝄞",{ending}x' for number in range(3_000)]
    quoted = ["distinct_id,more", *('"' + text.replace('"', '""') + '",more' for text in ids)]

    members = read_csv(io.BytesIO(ending.join(quoted).encode()))

    assert list(members.ids) == ids


def test_a_table_has_the_columns_of_all_rows() -> None:
    first = {
        "id": "1",
        "uuid": "1",
        "type": "person",
        "created_at": "2024-03-01",
        "name": "Ann",
        "is_identified": True,
        "distinct_ids": [f"d{n}" for n in range(12)],
        "properties": {"email": "ann@b", "deep": {"a": [1, {"b": None}]}, "on": True},
        "matched_recordings": [],
        "value_at_data_point": None,
    }
    second = {"id": "2", "distinct_ids": [], "properties": {"email": "", "x": 'say "hi", bob'}}

    head, ann, bob = table([first, second]).strip().split("\r\n")

    assert head.split(",") == sorted(head.split(","))
    assert "distinct_ids.9" in head and "distinct_ids.10" not in head
    assert "properties.deep.a.1.b" in head and "uuid" not in head
    assert dict(zip(head.split(","), ann.split(","), strict=True))["email"] == "ann@b"
    assert bob.endswith(',"say ""hi"", bob"')


def table(persons: list[dict[str, Any]], columns_max: int = COLUMNS_MAX) -> str:
    columns = CsvColumns(columns_max)
    for person in persons:
        columns.add_row(person)
    return header_line(columns.names()) + table_rows(persons, columns.names())


def person(number: int, **properties: Any) -> dict[str, Any]:
    return {"id": str(number), "name": f"n{number}", "distinct_ids": [], "properties": properties}


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_table_over_its_limit_of_columns_counts_what_each_row_lacks() -> None:
    persons = [person(1, a=1, c=3, d=4, name="x"), person(2, b=2), person(3, d="y", e=[1, 2])]

    cut, whole = read(table(persons, columns_max=4)), read(table(persons, columns_max=9))

    assert [list(row) for row in cut[:1]] == [
        ["id", "name", "properties.a", "properties.b", "columns_left_out"]
    ]
    assert [row["columns_left_out"] for row in cut] == ["3", "0", "3"]
    assert (cut[0]["properties.a"], cut[1]["properties.b"], cut[2]["id"]) == ("1", "2", "3")
    assert len(whole[0]) == 9
    assert "columns_left_out" not in whole[0]


def test_the_columns_of_a_table_do_not_depend_on_the_order_of_rows() -> None:
    persons = [person(n, **{f"p{n * 37 % 100:02}": n}) for n in range(100)]

    forwards, backwards = (
        table(rows, columns_max=7).split("\r\n")[0] for rows in (persons, persons[::-1])
    )

    assert (
        forwards
        == backwards
        == (
            "id,name,properties.p00,properties.p01,properties.p02,properties.p03,properties.p04,"
            "columns_left_out"
        )
    )


def test_client_chosen_columns_do_not_displace_the_standard_ones() -> None:
    flood = {f"a{n}": n for n in range(5_000)}
    persons = [person(1, email=flood, **flood), person(2, email="bob@b")]

    head = table(persons).split("\r\n")[0].split(",")

    assert len(head) == COLUMNS_MAX + 1
    assert {"id", "name", "email", "columns_left_out"} <= set(head)


@pytest.mark.parametrize("kind", [lambda inner: {"n" * 50: inner}, lambda inner: [inner]])
def test_a_deeply_nested_value_is_left_out_as_one(kind: Callable[[Any], Any]) -> None:
    deep: Any = 1
    for _ in range(20_000):
        deep = kind(deep)

    [row] = read(table([person(1, deep=deep, flat="x")]))

    assert row == {"id": "1", "name": "n1", "properties.flat": "x", "columns_left_out": "1"}


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+49 30 1234", "'+49 30 1234"),
        ("-1", "'-1"),
        ("@sum", "'@sum"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("\n=1", "'\n=1"),
        ("\0=1", "'\0=1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("\uff20sum", "'\uff20sum"),
        ("'=1", "'=1"),
        (" =1", " =1"),
        ("a=1", "a=1"),
        ("", ""),
        (-1, "-1"),
        (-1.5, "-1.5"),
        (1e22, "1e22"),
        (True, "true"),
        (None, ""),
    ],
)
def test_no_cell_is_read_as_a_formula(value: Any, cell: str) -> None:
    [row] = read(table([person(1, x=value)]))

    assert row["properties.x"] == cell


def test_texts_outside_the_properties_are_not_read_as_formulas_either() -> None:
    ann = person(1, email="=cmd|' /C calc'!A0") | {"name": "-2+3", "distinct_ids": ["@a", "+1"]}

    [row] = read(table([ann]))

    assert row == {
        "id": "1",
        "name": "'-2+3",
        "email": "'=cmd|' /C calc'!A0",
        "distinct_ids.0": "'@a",
        "distinct_ids.1": "'+1",
    }
