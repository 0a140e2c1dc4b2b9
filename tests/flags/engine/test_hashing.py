"""The hash behind every percentage, compared with the published numbers."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanion.flags.engine.definition import FlagRow, compile_flag
from fanion.flags.engine.evaluate import evaluate
from fanion.flags.engine.flag_set import build_flag_set
from fanion.flags.engine.hashing import SCALE, at_most, below, bucket, fraction, sha1
from fanion.flags.engine.model import Subject

CASES: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "cases" / "hashes.json").read_text()
)
NOW = datetime(2024, 4, 2, 8, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "case", CASES["hashes"], ids=lambda c: f"{c['key']}/{c['identifier']}/{c['salt']}"
)
def test_an_identifier_has_the_published_place_in_a_flag(case: dict[str, Any]) -> None:
    position = bucket(case["key"], case["identifier"], case["salt"])

    assert position == case["hash"]
    assert position == int(case["digits"], 16) / SCALE


@pytest.mark.parametrize("case", CASES["holdout_hashes"], ids=lambda c: c["text"])
def test_a_holdout_does_not_depend_on_the_flag(case: dict[str, Any]) -> None:
    position = fraction(sha1(case["text"].encode()).digest())

    assert position == case["hash"]


@pytest.mark.parametrize("case", CASES["users"], ids=lambda c: c["key"])
def test_forty_users_get_the_values_that_sdks_expect(case: dict[str, Any]) -> None:
    variants = [{"key": key, "rollout_percentage": share} for key, share in case["variants"]]
    filters = {
        "groups": [{"rollout_percentage": case["rollout_percentage"]}],
        "multivariate": {"variants": variants} if variants else None,
    }
    flag_set = build_flag_set([compile_flag(FlagRow(1, case["key"], filters))], {})

    values = [
        evaluate(flag_set, Subject(f"distinct_id_{index}"), NOW).decisions[case["key"]].value
        for index in range(40)
    ]

    letters = {True: "T", False: "-" if variants else "F"}
    assert "".join(v if isinstance(v, str) else letters[v] for v in values) == case["values"]


@pytest.mark.parametrize("share", [-0.1, 0.0, 1e-18, 0.3, 0.5, 0.55, 1 / 3, 1.0, 1.5])
def test_a_bound_splits_digests_where_the_fraction_crosses_the_share(share: float) -> None:
    around = int(max(0.0, min(share, 1.0)) * SCALE)
    numbers = {n for n in range(around - 200, around + 200) if 0 <= n < 1 << 60}

    for number in numbers | {0, (1 << 60) - 1}:
        for rest in (0, (1 << 100) - 1):
            digest = (number << 100 | rest).to_bytes(20, "big")

            assert (digest < at_most(share)) == (fraction(digest) <= share)
            assert (digest < below(share)) == (fraction(digest) < share)


@given(st.text(st.characters(codec=None)), st.floats(0, 1))
def test_any_text_has_a_place_and_a_side_of_every_share(text: str, share: float) -> None:
    digest = sha1(text.encode("utf-8", "replace")).digest()

    assert 0 <= bucket("flag", text) <= 1
    assert (digest < at_most(share)) == (fraction(digest) <= share)
