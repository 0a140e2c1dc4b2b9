"""Every operator has words, in the sentences about cohorts and in the console."""

import re
from pathlib import Path

from fanion.cohorts.criteria.definition import Criteria
from fanion.cohorts.criteria.describe import describe_criteria
from fanion.cohorts.criteria.resolve import resolve
from fanion.properties.operators import COMPARISONS, OPERATORS

CONSOLE = Path(__file__).parents[2] / "console" / "src"


def sentence(operator: str) -> str:
    leaf = {"type": "person", "key": "plan", "operator": operator, "value": "1.0.0"}
    filters = {"properties": {"type": "AND", "values": [leaf]}}
    return describe_criteria(resolve(Criteria(1, "c", False, filters, ()), {}), {})


def test_the_sentence_about_a_cohort_has_words_for_every_operator() -> None:
    assert [name for name in COMPARISONS if f"“{name}”" in sentence(name)] == []


def test_the_console_offers_every_operator_with_words_for_it() -> None:
    """The order of its list is the order in which a person is offered them, so it is its own."""
    offered = re.findall(
        r'^ +\["(\w+)", "\w+"\]', (CONSOLE / "filters/operators.ts").read_text(), re.M
    )
    words, _, _ = (CONSOLE / "words/filters.ts").read_text().partition("} as const")
    every = {name for operators in OPERATORS.values() for name in operators}

    assert {*offered, "flag_evaluates_to"} == every
    assert set(re.findall(r"^  (\w+): ", words, re.M)) == every
