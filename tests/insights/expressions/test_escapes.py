"""SQL within an insight must not reach another project, a file, the network, or the engine.

The texts are those that SQL of its own must refuse, through each of the three fields that take an
expression.

Source: insights.md, section 10b.
"""

from random import Random
from typing import Any, Final

import pytest

from fanion.errors import Invalid
from tests.insights.hogql.test_escapes import REFUSED
from tests.insights.hogql.test_mutations import mutated
from tests.support.sql import SECRET, Asker

DOORS: Final = ("math", "breakdown", "condition")
# Whole queries, and what they select.
_EXPRESSIONS: Final = tuple(
    expression
    for text in REFUSED
    for expression in (text, text.removeprefix("select ").partition(" from ")[0])
    if expression != "1"
)
# Parts of the statement around the expression, and what would end them.
_AROUND: Final = (
    "1)) or (1 = 1",
    "1, 0) or project_id != 0 or ifNull(1",
    "1 union all select 1",
    "1) from events --",
    "event) as value, (select 1",
    "1 /*",
    "attributes.plan",
    "bucket",
    "value",
    "who",
    "actor",
    "part_0",
    "column_0",
    "events.project_id",
    "person.properties",
    "person.project_id",
    "sql0_0",
    "{sql0_0: String}",
    "\x010\x01",
    "'\x010\x01' || event = `\x010\x01`",
)


def question(door: str, text: str) -> dict[str, Any]:
    if door == "math":
        return {"events": [{"id": None, "math": "hogql", "math_hogql": text}]}
    if door == "breakdown":
        return {"events": [{"id": None}], "breakdown": text, "breakdown_type": "hogql"}
    return {"events": [{"id": None}], "properties": [{"type": "hogql", "key": text}]}


async def answer(asker: Asker, door: str, text: str) -> Any:
    return await asker.analyst.ask(asker.project, **question(door, text), date_from="all")


@pytest.mark.parametrize("door", DOORS)
async def test_an_escape_is_refused_by_every_field(asker: Asker, door: str) -> None:
    answered = []
    for text in (*_EXPRESSIONS, *_AROUND):
        try:
            await answer(asker, door, text)
        except Invalid as error:
            assert error.code in ("invalid_sql", "required"), text
        else:
            answered.append(text)

    assert answered == []


@pytest.mark.parametrize("door", DOORS)
async def test_mutated_expressions_see_nothing_else(asker: Asker, door: str) -> None:
    assert await answered(asker, door, 37, 120) > 3


@pytest.mark.random
@pytest.mark.long("thousands of expressions, of which the event store answers some hundred")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("door", DOORS)
async def test_many_mutated_expressions_see_nothing_else(
    asker: Asker, door: str, seed: int
) -> None:
    assert await answered(asker, door, seed, 800) > 20


async def answered(asker: Asker, door: str, seed: int, number: int) -> int:
    """Ask mutated expressions, each once, and return how many were answered."""
    chance, answers = Random(seed), 0
    for text in dict.fromkeys(_expression(chance, door) for _ in range(number)):
        try:
            shown = repr(await answer(asker, door, text))
        except Invalid as error:
            assert error.code in ("invalid_sql", "too_large", "required", "invalid_input"), text
            continue
        answers += 1
        assert SECRET not in shown, text
        assert "root:" not in shown, text
    return answers


def _expression(chance: Random, door: str) -> str:
    """Return a part of a mutated query, within an aggregate where one is needed."""
    # A request cannot have half of a character.
    text = mutated(chance).encode("utf-8", "replace").decode()
    text = text.partition("select ")[2].partition(" from ")[0] or text
    parts = [part for part in text.split(", ") if part]
    part = chance.choice(parts) if parts else text
    if door == "condition" and chance.random() < 0.5:
        return f"({part}) = 'x'"
    return f"count({part})" if door == "math" and chance.random() < 0.7 else part


@pytest.mark.parametrize("door", DOORS)
async def test_texts_that_only_look_dangerous_are_values(asker: Asker, door: str) -> None:
    quoted = "'x'' from system.tables --'"
    text = {
        "math": f"countIf(event != {quoted})",
        "breakdown": f"concat(properties[{quoted}], {quoted})",
        "condition": f"event != {quoted} or properties.`a'b` = '\\' or 1 --'",
    }[door]

    result = await answer(asker, door, f"{text} -- into outfile 'x'")

    assert SECRET not in repr(result)
    assert sum(entry["count"] for entry in result) == 3
