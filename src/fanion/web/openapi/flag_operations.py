"""The OpenAPI operations with which SDKs evaluate and read flags. They ignore unknown fields.

Source: flags.md section 10; sdk-wire.md sections 3, 4 and 10.
"""

from fanion.rest.json_schema import one_of
from fanion.web.openapi.document import JSON, PROJECT_KEY, Json, post_operation

# The examples are responses of a project that has only this flag.
EXAMPLE_FLAG: Json = {
    "key": "new-checkout",
    "filters": {
        "groups": [
            {
                "properties": [
                    {"type": "person", "key": "plan", "operator": "exact", "value": "pro"}
                ],
                "variant": "blue",
            }
        ],
        "multivariate": {
            "variants": [
                {"key": "control", "rollout_percentage": 50},
                {"key": "blue", "rollout_percentage": 50},
            ]
        },
        "payloads": {"blue": {"color": "#00f"}},
    },
}
_TEXT = {"type": "string"}
_OBJECT = {"type": "object"}
_VALUE = {"type": ["boolean", "string"], "description": "true, false or a variant key."}
_KEY = {**_TEXT, "description": "The project API key, `phc_…`."}
_DECIDE_FIELDS: Json = {
    "api_key": _KEY,
    "distinct_id": {**_TEXT, "description": "The person to evaluate flags for."},
    "groups": {**_OBJECT, "description": "Group key by group type."},
    "person_properties": {
        **_OBJECT,
        "description": "Override stored properties.",
    },
    "group_properties": {
        **_OBJECT,
        "description": "By group type; override stored ones.",
    },
    "$anon_distinct_id": {**_TEXT, "description": "The distinct id before the login."},
    "flag_keys_to_evaluate": {
        "type": ["array", "null"],
        "items": _TEXT,
        "description": "Evaluates these flags only; all flags when absent or null.",
    },
    "geoip_disable": {
        "type": "boolean",
        "description": "Whether to ignore the IP address.",
    },
    "disable_flags": {"type": "boolean", "description": "Whether to leave flags out."},
}
# Of a response; clients in Java that openapi-generator makes refuse other names without it.
_MORE_NAMES: Json = {"additionalProperties": {}}
_ERRORS_MARKER: Json = {
    "type": "boolean",
    "description": "Whether flags are missing because they could not be computed.",
}
_VALUES: Json = {
    "type": "object",
    **_MORE_NAMES,
    "properties": {
        "config": {
            **_OBJECT,
            **_MORE_NAMES,
            "properties": {"enable_collect_everything": {"type": "boolean"}},
            "description": "Settings of SDKs.",
        },
        "editorParams": {**_OBJECT, "description": "Always empty."},
        "isAuthenticated": {"type": "boolean", "description": "Always false."},
        "supportedCompression": {
            "type": "array",
            "items": _TEXT,
            "description": "Of bodies of captures.",
        },
        "featureFlags": {
            "type": "object",
            "additionalProperties": _VALUE,
            "description": "Values by flag key.",
        },
        "featureFlagPayloads": {
            "type": "object",
            "description": "Of enabled flags, by key.",
        },
        "errorComputingFlags": _ERRORS_MARKER,
        "errorsWhileComputingFlags": _ERRORS_MARKER,
    },
}
_RECORD: Json = {
    "type": "object",
    "required": ["key", "enabled", "variant", "reason", "metadata"],
    "properties": {
        "key": _TEXT,
        "enabled": {"type": "boolean"},
        "variant": {"type": ["string", "null"]},
        "reason": _OBJECT,
        "metadata": _OBJECT,
    },
}
_RECORDS: Json = {
    "type": "object",
    **_MORE_NAMES,
    "properties": {
        "flags": {"type": "object", "additionalProperties": _RECORD},
        "errorsWhileComputingFlags": _ERRORS_MARKER,
        "requestId": _TEXT,
        "evaluatedAt": {"type": "integer", "description": "Milliseconds since 1970."},
    },
}
_DECIDED: Json = {
    "featureFlags": {"new-checkout": "blue"},
    "featureFlagPayloads": {"new-checkout": {"color": "#00f"}},
    "errorsWhileComputingFlags": False,
}
_UUID = "0192a5c6-6d5e-7c3a-9f61-3f1f2c0a9b11"
_RECORDED: Json = {
    "flags": {
        "new-checkout": {
            "key": "new-checkout",
            "enabled": True,
            "variant": "blue",
            "reason": {
                "code": "condition_match",
                "condition_index": 0,
                "description": "Matched condition set 1",
            },
            "metadata": {
                "id": 1,
                "version": 1,
                "description": None,
                "payload": '{"color":"#00f"}',
                "has_experiment": False,
            },
        }
    },
    "errorsWhileComputingFlags": False,
    "requestId": _UUID,
    "evaluatedAt": 1893456000000,
}
_CONTEXT: Json = {
    "type": "object",
    "required": ["context"],
    "properties": {
        "context": {
            "type": "object",
            "required": ["targetingKey"],
            "properties": {
                "targetingKey": {**_TEXT, "minLength": 1, "description": "The distinct id."},
                "groups": {**_OBJECT, "description": "Group key by group type."},
                "groupProperties": {
                    **_OBJECT,
                    "description": "By group type; override stored ones.",
                },
            },
            "description": "Any other name is a property of the person.",
        }
    },
}
_OFREP_REQUEST: Json = {"context": {"targetingKey": "user-1", "plan": "pro"}}
_OFREP_FLAG: Json = {
    "type": "object",
    "required": ["key"],
    "properties": {
        "key": _TEXT,
        "value": {**_VALUE, "description": "Absent when the application is to use its default."},
        "variant": _TEXT,
        "reason": one_of(("STATIC", "TARGETING_MATCH", "SPLIT", "DISABLED", "DEFAULT")),
        "metadata": _OBJECT,
    },
}
_METADATA: Json = {"id": 1, "version": 1, "reason": "condition_match", "conditionIndex": 0}
_OFREP_EXAMPLE: Json = {
    "key": "new-checkout",
    "value": "blue",
    "variant": "blue",
    "reason": "TARGETING_MATCH",
    "metadata": {**_METADATA, "payload": '{"color":"#00f"}'},
}
_ANY_OBJECT = {"type": "object", "additionalProperties": {}}
_DEFINITIONS = {
    "type": "object",
    "required": ["flags", "group_type_mapping", "cohorts"],
    "properties": {
        "flags": {"type": "array", "items": _ANY_OBJECT, "description": "Active flags."},
        "group_type_mapping": {**_ANY_OBJECT, "description": "Group type by its index, as text."},
        "cohorts": {**_ANY_OBJECT, "description": "Conditions of cohorts by id, as text."},
    },
}
_PROJECT_ID = {"name": "project_id", "in": "path", "required": True, "schema": _TEXT}
_SEND_COHORTS = {
    "name": "send_cohorts",
    "in": "query",
    "required": False,
    "description": "Includes cohorts when present, whatever its value.",
    "schema": _TEXT,
}
_FLAG_KEY = {
    "name": "key",
    "in": "path",
    "required": True,
    "description": "The flag's key.",
    "schema": _TEXT,
}


def _decide_operation(
    name: str, summary: str, description: str, version: Json, response: tuple[Json, Json]
) -> Json:
    return post_operation(
        summary,
        description,
        {
            "type": "object",
            "required": ["api_key", "distinct_id"],
            "properties": _DECIDE_FIELDS,
        },
        {
            "api_key": PROJECT_KEY,
            "distinct_id": "user-1",
            "person_properties": {"plan": "pro"},
        },
        response,
        tags=["Evaluation"],
        operationId=name,
        parameters=[
            {
                "name": "v",
                "in": "query",
                "description": "Version of the response.",
                **version,
            }
        ],
    )


def _ofrep_operation(
    name: str, summary: str, response: tuple[Json, Json], *parameters: Json
) -> Json:
    return post_operation(
        summary,
        "OFREP 0.3.0, for OpenFeature providers. The project API key is the Bearer token, or the "
        "header `X-API-Key`. Errors also have `errorCode` and `errorDetails`.",
        _CONTEXT,
        _OFREP_REQUEST,
        response,
        tags=["Evaluation"],
        operationId=name,
        security=[{"project": []}],
        parameters=list(parameters),
    )


def _get_operation(
    name: str, summary: str, description: str, media_type: str, schema: Json, *parameters: Json
) -> Json:
    """Return an operation of GET below a project, for a key."""
    return {
        "get": {
            "tags": ["Feature flags"],
            "operationId": name,
            "summary": summary,
            "description": description,
            "security": [{"bearer": []}],
            "parameters": [_PROJECT_ID, *parameters],
            "responses": {
                "200": {"description": "OK", "content": {media_type: {"schema": schema}}}
            },
        }
    }


FLAG_OPERATIONS: Json = {
    "/decide": _decide_operation(
        "decide",
        "Evaluate the flags of a person",
        "With the configuration of SDKs. `v=3`, which is described here, returns all active flags "
        "with their payloads. Without `v`, as with `v=1`, `featureFlags` is a list of the keys of "
        "enabled flags; `v=2` returns enabled flags, `v=4` a record for each flag, as `/flags/`.",
        {"required": True, "schema": {"type": "integer", "enum": [3]}, "example": 3},
        (_VALUES, _DECIDED),
    ),
    "/flags": _decide_operation(
        "flags",
        "Evaluate the flags of a person, with reasons",
        "`v=1` returns what `/decide/?v=3` does; `v=2` and above a record for each flag. "
        "`config=true` adds the configuration of SDKs.",
        {
            "required": False,
            "schema": {"type": "integer", "minimum": 1, "maximum": 4, "default": 1},
            "example": 2,
        },
        (_RECORDS, _RECORDED),
    ),
    "/ofrep/v1/evaluate/flags": _ofrep_operation(
        "ofrepBulk",
        "Evaluate all flags (OpenFeature)",
        (
            {
                "type": "object",
                "required": ["flags"],
                "properties": {"flags": {"type": "array", "items": _OFREP_FLAG}},
            },
            {"flags": [_OFREP_EXAMPLE]},
        ),
    ),
    "/ofrep/v1/evaluate/flags/{key}": _ofrep_operation(
        "ofrepSingle",
        "Evaluate one flag (OpenFeature)",
        (_OFREP_FLAG, _OFREP_EXAMPLE),
        {**_FLAG_KEY, "example": "new-checkout"},
    ),
    "/api/projects/{project_id}/feature_flags/local_evaluation": _get_operation(
        "getLocalEvaluation",
        "Read definitions for local evaluation",
        "Flags, group types and cohorts from which SDKs evaluate flags themselves. The project's "
        "secret key is accepted too. The `ETag` may be sent back as `If-None-Match`.",
        JSON,
        _DEFINITIONS,
        _SEND_COHORTS,
    ),
    "/api/projects/{project_id}/feature_flags/stream": _get_operation(
        "streamFlags",
        "Stream changes of flags",
        "Server-sent events: the current version at once, then one event for each change.",
        "text/event-stream",
        _TEXT,
    ),
    "/api/projects/{project_id}/feature_flags/{key}/remote_config": _get_operation(
        "getRemoteConfig",
        "Read the payload of a flag",
        "JSON text in a JSON string. The project's secret key is accepted too.",
        JSON,
        _TEXT,
        _FLAG_KEY,
    ),
}
