"""The page docs/filters.md: its requests are sent, its tables are compared with the code."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fanion.cohorts.criteria.behaviour import BEHAVIOURS
from fanion.properties.filters import Property
from fanion.properties.json_schema import VALUE_WORDS
from fanion.properties.match import property_test
from fanion.properties.operators import COMPARISONS, DEPENDENCY, MEMBERSHIP
from tests.support.application import Json, Tenant
from tests.support.documented import holds

# A time before anything that the examples schedule.
NOW = datetime(2029, 1, 1, 12, tzinfo=UTC)
PAGE = (Path(__file__).parents[2] / "docs" / "filters.md").read_text()
_PART = re.compile(
    r"```http\n(?P<request>.*?)```|```json\n(?P<answer>.*?)```|(?P<table>(?:^\|[^\n]*\n)+)",
    re.DOTALL | re.MULTILINE,
)
_ROW = re.compile(r"^\| `(.*?)` \| (?:`(.*?)`|(.*?)) \|(.*)$", re.MULTILINE)
# A value for conditions of each kind.
VALUES: dict[str, Any] = {
    "any": "a", "text": "a", "texts": ["a"], "pattern": "a", "range": [1, 2], "date": "-7d",
    "none": None, "order": 1, "version": "1.2.3", "wildcard": "1.*",
}  # fmt: skip


@dataclass
class Moment:
    now: datetime


@dataclass
class Example:
    """A request, the expected response, and the flag's value by properties of the person."""

    method: str
    path: str
    body: Json
    answer: Json | None = None
    values: list[tuple[Json, Any]] = field(default_factory=list)


def read_examples() -> Iterator[Example]:
    example: Example | None = None
    for part in _PART.finditer(PAGE):
        if request := part["request"]:
            if example:
                yield example
            head, _, body = request.partition("\n\n")
            method, _, path = head.partition(" ")
            example = Example(method, path, json.loads(body))
        elif part["answer"] and example:
            example.answer = json.loads(part["answer"])
        elif part["table"] and part["table"].startswith("| Properties of the person |"):
            assert example
            example.values = [
                (json.loads(row[1]), json.loads(row[2])) for row in _ROW.finditer(part["table"])
            ]
    assert example
    yield example


EXAMPLES = list(read_examples())


def rows(header: str) -> list[re.Match[str]]:
    tables = [table_text["table"] or "" for table_text in _PART.finditer(PAGE)]
    [table] = [table_text for table_text in tables if table_text.startswith(header)]
    return list(_ROW.finditer(table))


async def test_every_request_is_answered_as_the_page_says(tenant: Tenant) -> None:
    tenant.server.clock.time = NOW
    flag: Json = {}
    ids: dict[int, int] = {}
    for example in EXAMPLES:
        refused = example.answer is not None and "attr" in example.answer
        path = example.path.replace("{the last flag}", str(flag.get("id")))
        body = filled(example.body, ids)

        answer = await tenant.api.request(example.method, path, json=body)

        assert answer.is_success is not refused, f"{path}\n{answer.text}"
        reported = answer.json()
        expected = dict(example.answer or {})
        if "id" in expected:
            ids[expected.pop("id")] = reported["id"]
        assert holds(reported, expected), reported
        if path == "/feature_flags/" and not refused:
            flag = reported
        for number, (properties, value) in enumerate(example.values):
            decided = await tenant.decide(f"person {number}", person_properties=properties)
            assert decided["featureFlags"][flag["key"]] == value, properties


def test_the_page_has_examples_of_everything() -> None:
    paths = {example.path for example in EXAMPLES}

    assert paths >= {"/feature_flags/", "/cohorts/", "/insights/trend/"}
    assert sum(len(example.values) for example in EXAMPLES) >= 8
    assert sum(example.answer is not None for example in EXAMPLES) == 2


def test_the_table_of_operators_is_that_of_the_code() -> None:
    table = {row[1]: row[2] or row[3] for row in rows("| Operator |")}

    assert table == {name: VALUE_WORDS[kind] for name, kind in COMPARISONS.items()}
    for name in (*MEMBERSHIP, *DEPENDENCY):
        assert f"`{name}`" in PAGE


def test_the_table_says_what_counts_without_the_property() -> None:
    reported = {row[1]: row[4].split("|")[1].strip() for row in rows("| Operator |")}

    counting = {}
    for name, kind in COMPARISONS.items():
        test = property_test(Property("plan", VALUES[kind], name, "person"))
        counting[name] = str(test({}, Moment(NOW))).lower()
    assert reported == counting


def test_the_page_names_every_kind_of_behaviour() -> None:
    assert {row[1] for row in rows("| `value` of")} == set(BEHAVIOURS)


def filled(node: Any, ids: dict[int, int]) -> Any:
    """Replace each cohort that the page creates by its real id."""
    if isinstance(node, dict):
        node = {name: filled(value, ids) for name, value in node.items()}
        if node.get("type") == "cohort":
            node["value"] = ids[node["value"]]
        return node
    return [filled(member, ids) for member in node] if isinstance(node, list) else node
