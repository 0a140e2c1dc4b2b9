"""Files of members, tables of members, and what changes between two lists of them."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanion.cohorts.differences import Differences
from fanion.cohorts.table import members_table
from fanion.cohorts.upload import LINE_CHARS_MAX, read_csv
from fanion.errors import Invalid

UUIDS = st.sets(st.integers(0, 30).map(lambda n: n.to_bytes(16)), max_size=20)


@given(UUIDS, UUIDS, st.integers(1, 7))
def test_differences_lead_from_one_list_to_the_other(
    held: set[bytes], wanted: set[bytes], size: int
) -> None:
    numbered = [(member, number) for number, member in enumerate(sorted(held))]
    differences = Differences(sorted(wanted))

    gone: list[int] = []
    for start in range(0, len(numbered), size):
        gone += differences.walk(numbered[start : start + size])
    differences.rest()

    assert differences.added == sorted(wanted - held)
    assert [numbered[number][0] for number in gone] == sorted(held - wanted)


@pytest.mark.parametrize(
    ("text", "kind", "ids"),
    [
        ("", "distinct_id", []),
        ("a\nb\n", "distinct_id", ["a", "b"]),
        ('"a,b",x\r\n\r\n c ,y', "distinct_id", ["a,b", "c"]),
        ("whatever\na\n", "distinct_id", ["whatever", "a"]),
        ("name,other\na,b\n", "distinct_id", ["name", "a"]),
        ("distinct_id\na\n", "distinct_id", ["a"]),
        ("Person .id\na\n", "person_id", ["a"]),
        ("email\na@b\n", "email", ["a@b"]),
        ("x,E-mail\n1,a@b\n2\n", "email", ["a@b"]),
        ("email,person-id\na@b,1\n", "person_id", ["1"]),
        ("\ufeffdistinct-id\n\ufeffa\n", "distinct_id", ["\ufeffa"]),
    ],
)
def test_a_file_tells_what_it_holds(text: str, kind: str, ids: list[str]) -> None:
    members = read_csv(io.BytesIO(text.encode()))

    assert (members.kind, list(members.ids)) == (kind, ids)


NOT_TEXT = "The file must be encoded in UTF-8."
TOO_LONG = "The file cannot be read as CSV: a line is longer than 1048576 characters."


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (b"\xff\n", NOT_TEXT),
        (b"a\n" * 100_000 + b"\xff\n", NOT_TEXT),
        (b"a\n\xe2\x82", NOT_TEXT),
        ("a\n".encode("utf-16"), NOT_TEXT),
        (b'"' + b"x" * 200_000, "The file cannot be read as CSV: field larger than field limit"),
        (b'a\n"' + b"x\n" * 200_000, "The file cannot be read as CSV: field larger than"),
        (b"a," * LINE_CHARS_MAX, TOO_LONG),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(raw: bytes, detail: str) -> None:
    with pytest.raises(Invalid) as raised:
        list(read_csv(io.BytesIO(raw)).ids)

    assert raised.value.attr == "csv"
    assert raised.value.detail.startswith(detail)


def test_ids_are_taken_some_at_a_time_and_each_once() -> None:
    members = read_csv(io.BytesIO(b"a\nb\na\nc\na\n"))

    assert [members.take(2) for _ in range(4)] == [["a", "b"], ["a", "c"], ["a"], []]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_quotes_and_letters_may_lie_across_the_pieces_of_a_file(ending: str) -> None:
    """Text is decoded 8 KiB at a time."""
    ids = [f'n{number} "é€𝄞",{ending}x' for number in range(3_000)]
    quoted = ['"' + one.replace('"', '""') + '",more' for one in ids]

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

    head, ann, bob = members_table([first, second]).strip().split("\r\n")

    assert head.split(",") == sorted(head.split(","))
    assert "distinct_ids.9" in head and "distinct_ids.10" not in head
    assert "properties.deep.a.1.b" in head and "uuid" not in head
    assert dict(zip(head.split(","), ann.split(","), strict=True))["email"] == "ann@b"
    assert bob.endswith(',"say ""hi"", bob"')
    assert members_table([]) == ""
