"""Management paths that hot routes answer, as the OpenAPI document tells them."""

from collections.abc import Mapping
from typing import Any

_OBJECT = {"type": "object", "additionalProperties": {}}
_DEFINITIONS = {
    "type": "object",
    "required": ["flags", "group_type_mapping", "cohorts"],
    "properties": {
        "flags": {"type": "array", "items": _OBJECT, "description": "Active flags."},
        "group_type_mapping": {**_OBJECT, "description": "Index as text → group type."},
        "cohorts": {**_OBJECT, "description": "Cohort id as text → its tree of conditions."},
    },
}
_PROJECT = {
    "name": "project_id",
    "in": "path",
    "required": True,
    "schema": {"type": "string"},
}
_SEND_COHORTS = {
    "name": "send_cohorts",
    "in": "query",
    "required": False,
    "description": "Its presence asks for the cohorts; the value does not matter.",
    "schema": {"type": "string"},
}
_KEY = {
    "name": "key",
    "in": "path",
    "required": True,
    "description": "The flag's key.",
    "schema": {"type": "string"},
}


def _reading(
    name: str, summary: str, description: str, kind: str, schema: Any, *parameters: Any
) -> Mapping[str, Any]:
    return {
        "get": {
            "tags": ["Feature flags"],
            "operationId": name,
            "summary": summary,
            "description": description,
            "parameters": [_PROJECT, *parameters],
            "responses": {"200": {"description": "OK", "content": {kind: {"schema": schema}}}},
        }
    }


HOT_OPERATIONS: Mapping[str, Any] = {
    "/api/projects/{project_id}/feature_flags/local_evaluation": _reading(
        "LocalEvaluation",
        "Read what SDKs evaluate flags from",
        "Also with the project's secret key. Carries an `ETag`, for `If-None-Match`.",
        "application/json",
        _DEFINITIONS,
        _SEND_COHORTS,
    ),
    "/api/projects/{project_id}/feature_flags/stream": _reading(
        "FlagStream",
        "Be told when flags change",
        "Server-sent events: the present version at once, then one event for each change.",
        "text/event-stream",
        {"type": "string"},
    ),
    "/api/projects/{project_id}/feature_flags/{key}/remote_config": _reading(
        "RemoteConfig",
        "Read the payload of a flag",
        "As JSON text in a JSON string. Also with the project's secret key.",
        "application/json",
        {"type": "string"},
        _KEY,
    ),
}
