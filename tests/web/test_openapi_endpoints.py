"""The OpenAPI document of endpoints with special requests or responses."""

import re
from typing import Any

import pytest

from tests.support.application import Json, Tenant

FLAGS = "/api/projects/{project_id}/feature_flags/"
FLAG_CHANGES = {"$ref": "#/components/schemas/FlagChanges"}
COHORTS = "/api/projects/{project_id}/cohorts/"
KEPT = ("feature_flags/{id}", "cohorts/{id}", "dashboards/{id}")


@pytest.fixture
async def schema(tenant: Tenant) -> Json:
    document: Json = (await tenant.public.get("/api/schema/")).json()
    return document


@pytest.fixture
async def paths(schema: Json) -> Json:
    documented: Json = schema["paths"]
    return documented


def body_fields(schema: Json, name: str) -> set[str]:
    return set(schema["components"]["schemas"][name]["properties"])


def query(operation: Json) -> dict[str, Any]:
    """Return the schemas of the query parameters."""
    return {
        parameter["name"]: parameter["schema"]
        for parameter in operation["parameters"]
        if parameter["in"] == "query"
    }


async def test_a_body_is_required_where_one_of_its_fields_is(paths: Json) -> None:
    assert paths[FLAGS]["post"]["requestBody"]["required"] is True
    assert paths[FLAGS + "{id}/"]["patch"]["requestBody"]["required"] is False
    assert paths[COHORTS]["post"]["requestBody"]["required"] is False


async def test_ids_have_bounds_that_are_integers(paths: Json) -> None:
    parameters = paths[FLAGS + "{id}/"]["get"]["parameters"]

    [schema] = [parameter["schema"] for parameter in parameters if parameter["name"] == "id"]
    assert schema == {"type": "integer", "format": "int64", "minimum": 1, "maximum": 2**63 - 1}


async def test_a_parameter_is_never_null(paths: Json) -> None:
    listed = query(paths[FLAGS]["get"])
    definitions = query(paths["/api/projects/{project_id}/event_definitions/"]["get"])
    insight = query(paths["/api/projects/{project_id}/insights/{id}/"]["get"])

    assert listed["search"] == {"type": "string"}
    assert definitions["ordering"] == {"type": "array", "items": {"type": "string"}}
    assert insight["from_dashboard"] == {
        "type": "integer",
        "format": "int64",
        "minimum": 1,
        "maximum": 2**63 - 1,
    }


async def test_lists_document_their_paging_parameters(paths: Json) -> None:
    listed = query(paths[FLAGS]["get"])
    members = query(paths[COHORTS + "{id}/persons/"]["get"])
    activity = query(paths[FLAGS + "{id}/activity/"]["get"])

    limit = {"type": "integer", "format": "int64", "minimum": 1, "maximum": 10_000, "default": 100}
    offset = {"type": "integer", "format": "int64", "minimum": 0, "default": 0}
    for parameters in (listed, members):
        assert (parameters["limit"], parameters["offset"]) == (limit, offset)
    assert activity == {
        "page": {"type": "integer", "format": "int64", "minimum": 1, "default": 1},
        "limit": {
            "type": "integer",
            "format": "int64",
            "minimum": 1,
            "maximum": 1000,
            "default": 10,
        },
    }


@pytest.mark.parametrize("kind", KEPT)
async def test_a_rejected_deletion_has_no_body(paths: Json, kind: str) -> None:
    responses = paths[f"/api/projects/{{project_id}}/{kind}/"]["delete"]["responses"]

    assert responses.keys() == {"405", "default"}
    assert "content" not in responses["405"]


async def test_deletion_of_a_person_is_documented_as_immediate_or_pending(paths: Json) -> None:
    responses = paths["/api/projects/{project_id}/persons/{id}/"]["delete"]["responses"]

    assert responses.keys() == {"202", "204", "default"}
    assert not [response for response in responses.values() if "content" in response]


async def test_members_are_documented_as_json_and_csv(paths: Json) -> None:
    content = paths[COHORTS + "{id}/persons/"]["get"]["responses"]["200"]["content"]

    assert content == {
        "application/json": {"schema": {"$ref": "#/components/schemas/MemberPage"}},
        "text/csv": {"schema": {"type": "string"}},
    }


async def test_a_stream_of_events_is_documented_as_one(paths: Json) -> None:
    operation = paths["/api/projects/{project_id}/events/stream/"]["get"]

    assert operation["responses"]["200"]["content"] == {
        "text/event-stream": {"schema": {"type": "string"}}
    }
    assert query(operation).keys() == {"event", "distinct_id", "person_id", "action_id"}
    assert {
        parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "header"
    } == {"Last-Event-ID"}


async def test_values_of_properties_are_documented_as_a_list(paths: Json) -> None:
    for path in ("events/values", "persons/values", "groups/property_values"):
        operation = paths[f"/api/projects/{{project_id}}/{path}/"]["get"]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]

        assert schema == {"type": "array", "items": {"$ref": "#/components/schemas/PropertyValue"}}


async def test_a_cohort_is_sent_as_json_or_with_a_file(schema: Json, paths: Json) -> None:
    address = COHORTS + "{id}/"
    form = schema["components"]["schemas"]["CohortForm"]
    for method, path, body in (("post", COHORTS, "NewCohort"), ("patch", address, "CohortFields")):
        content = paths[path][method]["requestBody"]["content"]

        assert content["application/json"]["schema"] == {"$ref": f"#/components/schemas/{body}"}
        of_form = content["multipart/form-data"]["schema"]
        assert of_form == {"$ref": "#/components/schemas/CohortForm"}
        assert form["properties"].keys() - {"csv"} == body_fields(schema, body)
    assert form["required"] == ["csv"]
    assert form["properties"]["csv"]["format"] == "binary"


async def test_a_blast_radius_is_requested_with_a_condition_or_filters(paths: Json) -> None:
    body = paths[FLAGS + "user_blast_radius/"]["post"]["requestBody"]

    schema = body["content"]["application/json"]["schema"]
    assert body["required"] is True
    of_condition, of_flag = schema["anyOf"]
    assert of_condition["required"] == ["condition"]
    assert of_condition["properties"].keys() == {"condition", "group_type_index"}
    assert of_flag["required"] == ["filters"]
    assert of_flag["properties"].keys() >= {"filters", "name", "key", "active", "tags"}


@pytest.mark.parametrize("path", ["dashboard", "enrich_usage_dashboard"])
async def test_a_usage_dashboard_is_requested_with_the_fields_of_a_flag(
    paths: Json, path: str
) -> None:
    body = paths[f"{FLAGS}{{id}}/{path}/"]["post"]["requestBody"]

    assert body["required"] is False
    assert body["content"]["application/json"]["schema"] == FLAG_CHANGES


async def test_the_id_of_a_flag_above_other_objects_has_its_documented_name(paths: Json) -> None:
    above = f"{FLAGS}{{parent_lookup_feature_flag_id}}/"

    for path in (f"{above}role_access/", f"{above}scheduled_changes/{{id}}/"):
        parameters = paths[path]["get"]["parameters"]
        names = {parameter["name"] for parameter in parameters if parameter["in"] == "path"}
        assert names == set(re.findall(r"\{(\w+)\}", path))


async def test_all_documented_fields_of_decide_are_described(paths: Json) -> None:
    response = paths["/decide/"]["post"]["responses"]["200"]

    fields = response["content"]["application/json"]["schema"]["properties"]
    assert fields.keys() >= {
        "config",
        "editorParams",
        "errorComputingFlags",
        "isAuthenticated",
        "supportedCompression",
        "featureFlags",
        "featureFlagPayloads",
    }


async def test_the_filters_of_each_kind_describe_the_events_and_the_breakdown_they_take(
    schema: Json,
) -> None:
    described = {
        kind: schema["components"]["schemas"][f"{kind}Filters"]["properties"]
        for kind in ("Funnels", "Retention", "Stickiness", "Lifecycle", "Paths")
    }

    events = {kind for kind, fields in described.items() if "events" in fields}
    assert events == {"Funnels", "Stickiness", "Lifecycle"}
    for kind in events:
        event = described[kind]["events"]["items"]
        assert event == {"$ref": "#/components/schemas/EventSeries"}
    broken_down = {kind for kind, fields in described.items() if "breakdowns" in fields}
    assert broken_down == {"Funnels", "Retention"}
    assert all("aggregation_group_type_index" in fields for fields in described.values())
