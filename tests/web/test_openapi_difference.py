"""The differences between two OpenAPI documents that count, and those that do not."""

import json
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.support.openapi_difference import differences, main

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1", "description": "Sells."},
    "servers": [{"url": "http://127.0.0.1:8000"}],
    "security": [{"bearer": []}],
    "paths": {
        "/trees/{id}/": {
            "get": {
                "operationId": "GetTree",
                "summary": "A tree",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
                    {"name": "depth", "in": "query", "schema": {"type": "integer", "default": 1}},
                ],
                "responses": {
                    "200": {
                        "description": "Found",
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}
                        },
                    },
                    "default": {"$ref": "#/components/responses/Error"},
                },
            }
        }
    },
    "components": {
        "schemas": {
            "Tree": {
                "title": "Tree",
                "type": "object",
                "required": ["title", "branches"],
                "properties": {
                    "title": {"type": ["string", "null"], "description": "As planted."},
                    "branches": {
                        "type": "array",
                        "items": {
                            "oneOf": [
                                {"$ref": "#/components/schemas/Tree"},
                                {"$ref": "#/components/schemas/Leaf"},
                            ]
                        },
                    },
                },
            },
            "Leaf": {"type": "string", "enum": ["green", "red"], "examples": ["red"]},
        },
        "responses": {
            "Error": {"content": {"application/json": {"schema": {"type": "object"}}}},
        },
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "description": "A key"}},
    },
}
TREE = "paths/~1trees~1{id}~1/get/responses/200/content/application~1json/schema"


def differences_after(change: Callable[[dict[str, Any]], object]) -> list[str]:
    """Return the differences after a change to a copy."""
    after = deepcopy(DOCUMENT)
    change(after)
    return differences(DOCUMENT, after)


def with_renamed_components(text: str) -> dict[str, Any]:
    """Return the document with other names for all components."""
    for old, new in (("Tree", "Plant"), ("Leaf", "End"), ("Error", "Failed"), ("bearer", "key")):
        text = text.replace(f'"{old}": ', f'"{new}": ').replace(f'/{old}"', f'/{new}"')
    document: dict[str, Any] = json.loads(text)
    return document


def operation(document: dict[str, Any]) -> dict[str, Any]:
    get: dict[str, Any] = document["paths"]["/trees/{id}/"]["get"]
    return get


def schema(document: dict[str, Any], name: str) -> dict[str, Any]:
    definition: dict[str, Any] = document["components"]["schemas"][name]
    return definition


def test_a_document_is_equal_to_its_copy() -> None:
    assert differences(DOCUMENT, deepcopy(DOCUMENT)) == []


def test_names_of_components_are_set_aside() -> None:
    after = with_renamed_components(json.dumps(DOCUMENT))

    assert set(after["components"]["schemas"]) == {"Plant", "End"}
    assert after["security"] == [{"key": []}]
    assert differences(DOCUMENT, after) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda spec: spec["info"].update(version="2", description="Sells more."),
        lambda spec: spec["servers"].append({"url": "http://127.0.0.1:9000"}),
        lambda spec: operation(spec).update(operationId="Tree", summary="One", description="Tall."),
        lambda spec: operation(spec)["responses"]["200"].update(description="There it is"),
        lambda spec: operation(spec)["parameters"].reverse(),
        lambda spec: schema(spec, "Tree").update(title="Plant", description="Grows."),
        lambda spec: schema(spec, "Tree")["properties"]["title"].update(description="Or not."),
        lambda spec: schema(spec, "Tree")["required"].reverse(),
        lambda spec: schema(spec, "Tree")["properties"]["title"]["type"].reverse(),
        lambda spec: schema(spec, "Tree")["properties"]["branches"]["items"]["oneOf"].reverse(),
        lambda spec: schema(spec, "Leaf")["enum"].reverse(),
        lambda spec: spec["components"]["schemas"].update(Unused={"type": "null"}),
        lambda spec: spec["components"]["securitySchemes"]["bearer"].update(description="Another"),
    ],
)
def test_what_no_client_sees_is_set_aside(change: Callable[[dict[str, Any]], object]) -> None:
    assert differences_after(change) == []


def test_a_component_may_be_written_in_place() -> None:
    def write_in_place(document: dict[str, Any]) -> None:
        content = operation(document)["responses"]["200"]["content"]["application/json"]
        content["schema"] = deepcopy(schema(document, "Tree"))
        items = content["schema"]["properties"]["branches"]["items"]
        items["oneOf"][1] = document["components"]["schemas"].pop("Leaf")
        schema(document, "Tree")["properties"]["branches"]["items"] = items

    assert differences_after(write_in_place) == []


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (
            lambda spec: spec["paths"].pop("/trees/{id}/"),
            ['paths/~1trees~1{id}~1: {"get": {"operationId": "GetTree", '],
        ),
        (
            lambda spec: spec["paths"]["/trees/{id}/"].update(delete={}),
            ["paths/~1trees~1{id}~1/delete: (absent) -> {}"],
        ),
        (
            lambda spec: operation(spec)["parameters"][1]["schema"].update(default=2),
            ["paths/~1trees~1{id}~1/get/parameters/query:depth/schema/default: 1 -> 2"],
        ),
        (
            lambda spec: operation(spec)["parameters"][0].update(required=False),
            ["paths/~1trees~1{id}~1/get/parameters/path:id/required: true -> false"],
        ),
        (
            lambda spec: operation(spec)["parameters"][1].update(name="levels"),
            [
                'paths/~1trees~1{id}~1/get/parameters/query:depth: {"in": "query"',
                "paths/~1trees~1{id}~1/get/parameters/query:levels: (absent) -> ",
            ],
        ),
        (
            lambda spec: schema(spec, "Tree")["properties"].pop("title"),
            [f'{TREE}/properties/title: {{"description": "As planted.", '],
        ),
        (
            lambda spec: schema(spec, "Tree")["required"].remove("title"),
            [f'{TREE}/required/-: "title" -> (absent)'],
        ),
        (
            lambda spec: schema(spec, "Tree")["properties"]["title"].update(type="string"),
            [f'{TREE}/properties/title/type: ["string", "null"] -> "string"'],
        ),
        (
            lambda spec: schema(spec, "Leaf")["enum"].append("brown"),
            [f'{TREE}/properties/branches/items/oneOf/1/enum/-: (absent) -> "brown"'],
        ),
        (
            lambda spec: schema(spec, "Leaf").update(examples=["green"]),
            [f'{TREE}/properties/branches/items/oneOf/1/examples: ["red"] -> ["green"]'],
        ),
        (
            lambda spec: schema(spec, "Tree")["properties"]["branches"]["items"]["oneOf"].pop(),
            [f"{TREE}/properties/branches/items/oneOf/-: "],
        ),
        (
            lambda spec: spec["components"]["responses"]["Error"].update(headers={}),
            ["paths/~1trees~1{id}~1/get/responses/default/headers: (absent) -> {}"],
        ),
        (
            lambda spec: spec["components"]["securitySchemes"]["bearer"].update(scheme="basic"),
            ["security/-: ", "security/-: "],
        ),
        (lambda spec: spec["info"].update(contact={}), ["info/contact: (absent) -> {}"]),
    ],
)
def test_what_a_client_sees_is_reported(
    change: Callable[[dict[str, Any]], object], lines: list[str]
) -> None:
    differences = differences_after(change)

    assert len(differences) == len(lines)
    assert all(
        difference.startswith(line) for difference, line in zip(differences, lines, strict=True)
    ), differences


def test_a_difference_in_a_shared_component_is_reported_once() -> None:
    before = deepcopy(DOCUMENT)
    before["paths"]["/other/"] = deepcopy(before["paths"]["/trees/{id}/"])
    after = deepcopy(before)
    schema(after, "Tree")["properties"]["title"]["maxLength"] = 5

    assert differences(before, after) == [f"{TREE}/properties/title/maxLength: (absent) -> 5"]


def test_a_reference_to_nothing_is_an_error() -> None:
    with pytest.raises(LookupError, match="schemas/Leaf points to nothing"):
        differences_after(lambda spec: spec["components"]["schemas"].pop("Leaf"))


@pytest.mark.parametrize(
    ("after", "code", "said"),
    [
        (json.dumps(DOCUMENT), 0, "no difference\n"),
        (json.dumps(DOCUMENT | {"openapi": "3.2.0"}), 1, 'openapi: "3.1.0" -> "3.2.0"\n'),
        ("{", 2, ""),
    ],
)
def test_the_exit_code_is_1_for_differences(
    after: str,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = tmp_path / "before.json", tmp_path / "after.json"
    files[0].write_text(json.dumps(DOCUMENT))
    files[1].write_text(after)
    monkeypatch.setattr(sys, "argv", ["openapi_difference", *map(str, files)])

    assert main() == code
    assert capsys.readouterr().out.startswith(said)
