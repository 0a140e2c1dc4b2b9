"""A change recompiles only the flags it touched, and rows are unpacked as they were packed."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from fanion.flags.engine.definition import CohortRow, Flag, FlagDefinitions, FlagRow
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.kept_memory import KeptMemory
from fanion.flags.engine.model import Decision, Subject, disabled
from fanion.flags.evaluation.compiled import (
    CompiledFlags,
    Fragments,
    PackedRows,
    build_compiled_flags,
    encode_packed_rows,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
PRO = {"key": "plan", "type": "person", "value": "pro"}


def flag(number: int, *properties: dict[str, Any], **fields: Any) -> FlagRow:
    filters = {"groups": [{"properties": list(properties)}]}
    return FlagRow(number, f"flag-{number}", filters, **fields)


def on_flag(number: int) -> dict[str, Any]:
    return {"type": "flag", "key": str(number), "value": True, "operator": "flag_evaluates_to"}


def on(built: CompiledFlags, **sent: Any) -> set[str]:
    answer = evaluate(built.flag_set, Subject("u", sent=sent), NOW)
    return {key for key, decision in answer.decisions.items() if decision.enabled}


def compiled_anew(former: CompiledFlags, built: CompiledFlags) -> set[str]:
    known = former.flag_set.by_key
    return {key for key, entry in built.flag_set.by_key.items() if known.get(key) is not entry}


def test_only_the_flag_that_changed_is_compiled_anew() -> None:
    former = build_compiled_flags(FlagDefinitions([flag(1), flag(2, PRO), flag(3)]))

    built = build_compiled_flags(FlagDefinitions([flag(1), flag(2, version=2), flag(3)]), former)

    assert compiled_anew(former, built) == {"flag-2"}
    assert (on(former), on(built)) == ({"flag-1", "flag-3"}, {"flag-1", "flag-2", "flag-3"})


def test_flags_come_and_go_while_others_stay() -> None:
    former = build_compiled_flags(FlagDefinitions([flag(1), flag(2), flag(4, active=False)]))

    built = build_compiled_flags(FlagDefinitions([flag(2), flag(3), flag(4)]), former)

    assert list(built.flag_set.flags) == ["flag-2", "flag-3", "flag-4"]
    assert compiled_anew(former, built) == {"flag-3", "flag-4"}


def test_a_flag_follows_the_one_that_it_depends_on() -> None:
    rows = [flag(1, PRO), flag(2, on_flag(1)), flag(3)]
    former = build_compiled_flags(FlagDefinitions(rows))

    built = build_compiled_flags(FlagDefinitions([flag(1), *rows[1:]]), former)
    switched_off = build_compiled_flags(
        FlagDefinitions([replace(rows[0], active=False), *rows[1:]]), former
    )
    without = build_compiled_flags(FlagDefinitions(rows[1:]), former)

    assert compiled_anew(former, built) == {"flag-1", "flag-2"}
    assert on(built) == {"flag-1", "flag-2", "flag-3"}
    assert on(switched_off, plan="pro") == {"flag-3"}
    assert list(without.flag_set.problems) == ["flag-2"]


COHORT = {"type": "cohort", "key": "id", "value": 1}


@pytest.mark.parametrize(
    ("former", "later"),
    [([True], [1]), ([PRO["value"]], ["free"]), ([], [True])],
    ids=["values that Python calls equal", "other values", "a new cohort"],
)
def test_a_change_of_a_cohort_compiles_all(former: list[Any], later: list[Any]) -> None:
    def definitions(values: Sequence[Any]) -> FlagDefinitions:
        cohorts = [CohortRow(1, [PRO | {"value": value}]) for value in values]
        return FlagDefinitions([flag(1, COHORT), flag(2)], cohorts=cohorts)

    before = build_compiled_flags(definitions(former))
    built = build_compiled_flags(definitions(later), before)

    assert compiled_anew(before, built) == {"flag-1", "flag-2"}
    assert on(built, plan=later[0]) == {"flag-1", "flag-2"}


def test_a_change_of_the_group_types_compiles_all() -> None:
    former = build_compiled_flags(FlagDefinitions([flag(1)], {0: "company"}))

    assert compiled_anew(
        former, build_compiled_flags(FlagDefinitions([flag(1)], {0: "team"}), former)
    ) == {"flag-1"}
    assert (
        compiled_anew(
            former, build_compiled_flags(FlagDefinitions([flag(1)], {0: "company"}), former)
        )
        == set()
    )


ODD: dict[str, Any] = {
    "a number beyond 64 bits": {"groups": [], "n": 2**70},
    "half a surrogate pair": {"groups": [], "text": "\ud800"},
    "no object": [1],
    "nothing": None,
}


@pytest.mark.parametrize("name", ODD)
def test_odd_rows_come_back_as_they_went_in(name: str) -> None:
    row = FlagRow(7, "odd", ODD[name], evaluation_contexts=["web"])

    rows = PackedRows([flag(1), row])

    assert list(rows) == [flag(1), row]
    assert (rows[1], rows[-2:], len(rows)) == (row, [flag(1), row], 2)
    assert (
        "odd"
        in build_compiled_flags(
            FlagDefinitions([row]), build_compiled_flags(FlagDefinitions([row]))
        ).flag_set.flags
    )


def test_packed_rows_are_written_as_rows_are() -> None:
    rows = [flag(1, PRO), flag(2)]

    packed = msgspec.msgpack.Encoder(enc_hook=encode_packed_rows).encode(PackedRows(rows))

    assert packed == msgspec.msgpack.encode(rows)


def kept(memory: KeptMemory, *keys: str) -> Fragments:
    """Return fragments of one form, each of 1,000 bytes, of which some were used."""
    flags = build_compiled_flags(FlagDefinitions([flag(n) for n in range(9)])).flag_set.flags

    def encode(flag: Flag, decision: Decision) -> bytes:
        return b"x" * 850

    fragments = Fragments(encode, flags, memory)
    for key in keys:
        fragments.join([disabled(key)])
    return fragments


def test_fragments_beyond_the_limit_replace_the_oldest() -> None:
    memory = KeptMemory(4_000)
    oldest, newer = kept(memory, "flag-0", "flag-1"), kept(memory, "flag-2", "flag-3")

    assert (len(oldest), len(newer)) == (2, 2)
    assert newer.join([disabled("flag-4")]) == b"x" * 850

    assert (len(oldest), len(newer)) == (0, 3)


def test_fragments_that_were_forgotten_are_encoded_again() -> None:
    memory = KeptMemory(4_000)
    fragments = kept(memory)
    decisions = [disabled(f"flag-{number}") for number in range(9)]

    for _ in range(3):
        assert fragments.join(decisions) == b",".join([b"x" * 850] * 9)
        assert fragments.size <= 4_000


def test_fragments_of_flags_that_are_gone_count_no_more() -> None:
    memory = KeptMemory(4_000)
    for _ in range(9):
        kept(memory, "flag-0", "flag-1")
    left = kept(memory, "flag-0", "flag-1", "flag-2", "flag-3")

    assert len(left) == 4
