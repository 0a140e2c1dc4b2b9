"""The OpenAPI document of the whole application can be read by validators and generators."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from fanion.web.openapi.operation_ids import operation_id
from tests.support.application import Json, Tenant

# YAML needs another notation for keys of more than 1,024 characters; the longest path has 81.
KEY_CHARS_MAX = 100
ID_CHARS_MAX = 40


@pytest.fixture
async def document(tenant: Tenant) -> Json:
    schema: Json = (await tenant.public.get("/api/schema/")).json()
    return schema


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of the document."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from nodes(member)


async def test_a_validator_finds_no_error(document: Json) -> None:
    # Three seconds: it checks each of 140 paths and 220 components against the specification.
    errors = OpenAPIV31SpecValidator(document).iter_errors()

    assert [f"{list(error.absolute_path)}: {error.message}" for error in errors] == []


async def test_no_key_is_too_long_for_yaml(document: Json) -> None:
    too_long = {name for node in nodes(document) for name in node if len(name) > KEY_CHARS_MAX}

    assert too_long == set()


async def test_operation_ids_are_unique_short_and_identifiers(document: Json) -> None:
    ids = [
        operation["operationId"]
        for item in document["paths"].values()
        for operation in item.values()
    ]

    assert len(ids) > 150
    assert len(set(ids)) == len(ids)
    assert [name for name in ids if not re.fullmatch(r"[a-z][A-Za-z0-9]*", name)] == []
    assert [name for name in ids if len(name) > ID_CHARS_MAX] == []


@pytest.mark.parametrize(
    ("method", "path", "is_list", "name"),
    [
        ("get", "/api/projects/", True, "listProjects"),
        ("post", "/api/projects/", False, "createProject"),
        ("patch", "/api/projects/{project_id}/", False, "updateProject"),
        ("get", "/api/projects/{project_id}/cohorts/", True, "listCohorts"),
        ("put", "/api/projects/{project_id}/cohorts/{id}/", False, "replaceCohort"),
        ("get", "/api/projects/{project_id}/cohorts/{id}/activity/", True, "listCohortActivity"),
        ("post", "/api/projects/{project_id}/insights/trend/", False, "calculateTrend"),
        ("post", "/api/projects/{project_id}/insights/path/", False, "calculatePaths"),
        ("get", "/api/organizations/{o}/resource_access/{id}/", False, "getResourceAccess"),
        (
            "post",
            "/api/organizations/{o}/roles/{r}/role_memberships/",
            False,
            "createRoleMembership",
        ),
        ("delete", "/api/sessions/", False, "deleteOtherSessions"),
        ("delete", "/api/sessions/{session_id}/", False, "deleteSession"),
    ],
)
def test_an_operation_id_follows_from_method_and_path(
    method: str, path: str, is_list: bool, name: str
) -> None:
    assert operation_id(method, path, is_list=is_list) == name


async def test_an_enum_has_one_type_and_one_spelling_of_each_word(document: Json) -> None:
    enums = [node for node in nodes(document) if isinstance(node.get("enum"), list)]
    kinds = {"string": str, "integer": int}

    assert len(enums) > 100
    for node in enums:
        assert {type(word) for word in node["enum"]} == {kinds[node["type"]]}, node
        assert len({str(word).lower() for word in node["enum"]}) == len(node["enum"]), node


@pytest.mark.parametrize(
    ("path", "formats"),
    [
        ("cohorts/{id}/persons", ["csv", "json"]),
        ("events/export", ["csv", "jsonl", "parquet"]),
        ("persons/export", ["csv", "jsonl", "parquet"]),
    ],
)
async def test_a_format_is_one_of_those_of_its_endpoint(
    document: Json, path: str, formats: list[str]
) -> None:
    operation = document["paths"][f"/api/projects/{{project_id}}/{path}/"]["get"]
    schemas = {parameter["name"]: parameter["schema"] for parameter in operation["parameters"]}

    assert schemas["format"] == {"type": "string", "enum": formats}


async def test_integers_are_of_64_bits(document: Json) -> None:
    kinds = ("integer", ["integer", "null"], ["null", "integer"])
    integers = [node for node in nodes(document) if node.get("type") in kinds]

    assert len(integers) > 300
    assert [node for node in integers if node.get("format") != "int64"] == []


async def test_no_response_without_content_has_a_type(document: Json) -> None:
    empty = [
        operation["responses"]["204"]
        for item in document["paths"].values()
        for operation in item.values()
        if "204" in operation["responses"]
    ]

    assert len(empty) > 10
    assert [response for response in empty if "content" in response] == []


async def test_no_field_has_null_as_its_only_type(document: Json) -> None:
    only_null = [
        (name, field)
        for name, body in document["components"]["schemas"].items()
        for field, schema in body.get("properties", {}).items()
        if schema.get("type") == "null"
    ]

    assert only_null == []


async def test_a_fixed_value_is_an_enum(document: Json) -> None:
    # Generators of clients take a `const` without a type for any value, and one of a boolean for a
    # text.
    assert [node for node in nodes(document) if "const" in node] == []


async def test_no_component_is_called_like_the_constructor_of_another(document: Json) -> None:
    # Clients in Go have a function `NewRole` if there is a component `Role`.
    schemas = document["components"]["schemas"]

    assert [name for name in schemas if f"New{name}" in schemas] == []


async def test_an_object_says_which_names_it_may_have(document: Json) -> None:
    # openapi-typescript takes an object without any of these for an empty one.
    names = {"properties", "additionalProperties", "propertyNames", "maxProperties"}

    assert [
        node
        for node in nodes(document)
        if node.get("type") in ("object", ["object", "null"]) and not names & node.keys()
    ] == []


async def test_no_field_of_a_request_has_a_default(document: Json) -> None:
    # openapi-typescript requires fields with a default.
    schemas = document["components"]["schemas"]
    flag, trends = schemas["NewFlag"]["properties"], schemas["TrendsFilters"]["properties"]

    assert "default" not in flag["deleted"]
    assert flag["deleted"]["description"] == "By default `false`."
    assert [name for name, field in trends.items() if "default" in field] == []
    assert trends["interval"]["description"] == 'By default `"day"`.'


async def test_a_pattern_is_of_a_text(document: Json) -> None:
    # Generators of clients have no pattern for other types.
    patterns = [node for node in nodes(document) if isinstance(node.get("pattern"), str)]

    assert len(patterns) > 20
    assert [node for node in patterns if node.get("type") != "string"] == []


async def test_a_list_has_no_other_list_as_its_alternative(document: Json) -> None:
    # Clients in Java that openapi-generator makes know only the first.
    alternatives = [
        [form for form in node[choice] if form.get("type") == "array"]
        for node in nodes(document)
        for choice in ("anyOf", "oneOf")
        if choice in node
    ]

    assert [lists for lists in alternatives if len(lists) > 1] == []


async def test_a_map_has_no_alternative_but_null(document: Json) -> None:
    # Clients in Go and Java that openapi-generator makes do not compile with another.
    alternatives = [
        [form for form in node[choice] if form != {"type": "null"}]
        for node in nodes(document)
        for choice in ("anyOf", "oneOf")
        if choice in node
    ]

    assert len(alternatives) > 100
    for forms in alternatives:
        maps = [form for form in forms if form.get("additionalProperties") not in (None, False)]
        assert len(forms) == 1 or maps == []


async def test_a_json_body_refers_to_the_form_that_it_is_not(document: Json) -> None:
    # openapi-generator leaves out a component that only forms have, and imports it all the same.
    # A component with a file that is a JSON body too cannot be sent by its clients in Java.
    bodies = [
        operation["requestBody"]["content"]
        for item in document["paths"].values()
        for operation in item.values()
        if {"multipart/form-data", "application/json"}
        <= operation.get("requestBody", {}).get("content", {}).keys()
    ]

    assert len(bodies) == 3
    for content in bodies:
        name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
        body = document["components"]["schemas"][name]
        assert body["not"] == content["multipart/form-data"]["schema"]


async def test_the_fields_of_a_decision_allow_for_more(document: Json) -> None:
    # Clients in Java refuse other names, and send an empty list where null is not allowed.
    decide = document["paths"]["/decide/"]["post"]
    (sent,) = decide["requestBody"]["content"].values()
    (answered,) = decide["responses"]["200"]["content"].values()

    assert answered["schema"]["additionalProperties"] == {}
    assert sent["schema"]["properties"]["flag_keys_to_evaluate"]["type"] == ["array", "null"]


async def test_the_forms_of_filters_are_components(document: Json) -> None:
    # Generators lose an object within alternatives that has no name of its own.
    schemas = document["components"]["schemas"]

    assert all("$ref" in form for form in schemas["InsightFilters"]["anyOf"])
    assert "$ref" in schemas["CohortGroups"]["items"]
