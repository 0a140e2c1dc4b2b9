"""Formulas of series: their results, and refusals."""

import pytest

from fanion.insights.trends.formula import (
    CHARS_MAX,
    DEPTH_MAX,
    FormulaError,
    evaluate_formula,
    parse_formula,
)

CALCULATED = [
    ("A", 6.0),
    ("a + b", 9.0),
    ("A - B - 1", 2.0),
    ("A + B * 2", 12.0),
    ("(A + B) * 2", 18.0),
    ("A / B / 2", 1.0),
    ("A * B / A", 3.0),
    ("-A + B", -3.0),
    ("2 * -B", -6.0),
    (" .5*A+1. ", 4.0),
    ("A / 0", 0.0),
    ("1 + A / (B - 3)", 1.0),
]


@pytest.mark.parametrize(("text", "expected"), CALCULATED)
def test_a_formula_is_calculated_by_the_rules_of_arithmetic(text: str, expected: float) -> None:
    assert evaluate_formula(parse_formula(text, 2), (6.0, 3.0)) == expected


def test_what_is_too_large_is_zero() -> None:
    large = "9" * 200

    assert evaluate_formula(parse_formula(f"{large}", 0), ()) == float(large)
    assert evaluate_formula(parse_formula(f"A * {large}", 1), (1e200,)) == 0.0
    assert evaluate_formula(parse_formula(f"A * {large} - A * {large}", 1), (1e200,)) == 0.0


REFUSED = [
    ("", "not complete"),
    ("A +", "not complete"),
    ("(A", "not complete"),
    ("(A B", 'A ")" is missing.'),
    ("A B", '"B" is not expected here.'),
    ("A)", '")" is not expected here.'),
    ("* A", '"*" is not expected here.'),
    ("C", 'There is no series "C".'),
    ("AB", 'There is no series "AB".'),
    ("sum(A)", 'There is no series "sum".'),
    ("A ** B", '"*" is not expected here.'),
    ("A % B", 'cannot contain "%"'),
    ("__import__('os')", 'cannot contain "_"'),
    ("A; B", 'cannot contain ";"'),
    ("é", 'cannot contain "é"'),
    ("1e5", '"e" is not expected here.'),
    ("(" * (DEPTH_MAX + 1) + "A" + ")" * (DEPTH_MAX + 1), "levels deep"),
    ("-" * (DEPTH_MAX + 1) + "A", "levels deep"),
    ("A" + "+A" * CHARS_MAX, f"at most {CHARS_MAX} characters"),
]


@pytest.mark.parametrize(("text", "detail"), REFUSED)
def test_what_is_no_formula_is_refused(text: str, detail: str) -> None:
    with pytest.raises(FormulaError) as refused:
        parse_formula(text, 2)

    assert detail in str(refused.value)
