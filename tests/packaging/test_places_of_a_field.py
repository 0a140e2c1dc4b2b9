"""A plain field of a resource is written in few places, which CONTRIBUTING.md lists.

The places are the lines of code that name the field, in files and definitions that name the
resource, apart from its migration. The other forms of the resource inherit the field.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "fanion"
LINES_MAX, FILES_MAX = 12, 7
# The words of JSON Schema and OpenAPI are no fields, whatever they are called.
SKIPPED = {"migrations", "json_schema.py", "openapi"}
SCHEMA_CALLS = {"Meta", "Schema", "listed"}


def places_of_field(resource: str, field: str, home: str | None = None) -> list[str]:
    """Return the lines of code that name a field of a resource, each as file:line: text.

    Args:
        resource: A word in the name of a top-level definition.
        home: A part of the paths of files that are about nothing else; by default the resource.
    """
    return [
        f"{path.relative_to(SOURCE)}:{number}: {line}"
        for path in sorted(SOURCE.rglob("*.py"))
        if SKIPPED.isdisjoint(path.parts)
        for number, line in _lines_of(path, resource, field, home or resource)
    ]


def _lines_of(path: Path, resource: str, field: str, home: str) -> list[tuple[int, str]]:
    text = path.read_text()
    if field not in text:
        return []
    is_own = home in str(path.relative_to(SOURCE)).lower()
    numbers = {
        number
        for definition in ast.parse(text).body
        if is_own or resource in _name_of(definition).lower()
        for number in _numbers(definition, field)
    }
    lines = text.splitlines()
    return [(number, lines[number - 1].strip()) for number in sorted(numbers)]


def _name_of(definition: ast.stmt) -> str:
    if isinstance(definition, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return definition.name
    if isinstance(definition, ast.Assign):
        return " ".join(target.id for target in definition.targets if isinstance(target, ast.Name))
    return ""


def _numbers(node: ast.AST, field: str) -> Iterator[int]:
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in SCHEMA_CALLS:
            return
        case ast.Dict(keys=[ast.Constant(value="type"), *_]):
            return
        case (
            ast.Name(id=name)
            | ast.Attribute(attr=name)
            | ast.arg(arg=name)
            | ast.keyword(arg=name)
            | ast.Constant(value=name)
        ) if name == field:
            yield node.lineno
        case _:
            pass
    for inner in ast.iter_child_nodes(node):
        yield from _numbers(inner, field)


@pytest.mark.parametrize(
    ("resource", "field", "home"),
    [
        ("cohort", "description", None),
        ("flag", "ensure_experience_continuity", None),
        ("insight", "description", "insights/saved/"),
        ("dashboard", "pinned", None),
        ("definition", "post_to_chat", "events/definitions/"),
    ],
)
def test_a_plain_field_is_written_in_few_places(
    resource: str, field: str, home: str | None
) -> None:
    places = places_of_field(resource, field, home)
    files = {place.partition(":")[0] for place in places}

    listed = "\n".join(places)
    assert len(places) <= LINES_MAX, listed
    assert len(files) <= FILES_MAX, listed


def test_the_places_of_a_field_include_its_table_and_its_record() -> None:
    files = {place.partition(":")[0] for place in places_of_field("cohort", "description")}

    assert {"db/schema/cohorts.py", "cohorts/model.py"} <= files
