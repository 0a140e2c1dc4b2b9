"""Public endpoints, as the OpenAPI document tells them: what applications and SDKs send.

They are tolerant: fields that are not told here are taken too.
source: capture.md section 1; flags.md section 10; sdk-wire.md sections 3, 4 and 10
"""

from collections.abc import Mapping
from typing import Any

from fanion.web.openapi_examples import PROJECT_KEY

Json = Mapping[str, Any]

_TEXT = {"type": "string"}
_OBJECT = {"type": "object"}
_VALUE = {"type": ["boolean", "string"], "description": "true, false or a variant."}
_KEY = {**_TEXT, "description": "The project API key, `phc_…`."}
_TIME = {
    **_TEXT,
    "description": "ISO 8601, or a number of seconds or milliseconds; now when it is left out.",
}
_EVENT_FIELDS: Json = {
    "event": {**_TEXT, "description": "Its name; `$identify`, `$create_alias`, … have a meaning."},
    "distinct_id": {**_TEXT, "description": "Who did it."},
    "properties": {
        **_OBJECT,
        "description": "Anything; `$groups`, `$set`, `$set_once` and `$ip` have a meaning.",
    },
    "timestamp": _TIME,
    "uuid": {**_TEXT, "format": "uuid", "description": "An event that is sent twice counts once."},
}
_SIGNED_UP: Json = {
    "event": "signed up",
    "distinct_id": "user-1",
    "properties": {"plan": "pro", "$set": {"email": "ann@example.com"}},
}
_UUID = "0192a5c6-6d5e-7c3a-9f61-3f1f2c0a9b11"
_ACCEPTED: Json = {
    "type": "object",
    "required": ["status"],
    "properties": {"status": {"const": 1, "description": "All of it is safe on disk."}},
}
_DECIDE_FIELDS: Json = {
    "api_key": _KEY,
    "distinct_id": {**_TEXT, "description": "Whose flags are asked for."},
    "groups": {**_OBJECT, "description": "Group type → key of the group."},
    "person_properties": {**_OBJECT, "description": "Known of the person; they win over stored."},
    "group_properties": {**_OBJECT, "description": "Group type → properties."},
    "$anon_distinct_id": {**_TEXT, "description": "The id before the login."},
    "flag_keys_to_evaluate": {
        "type": "array",
        "items": _TEXT,
        "description": "These alone; all when it is left out.",
    },
    "geoip_disable": {"type": "boolean", "description": "No properties from the address."},
    "disable_flags": {"type": "boolean", "description": "The configuration alone."},
}
_ERRORS_MARKER: Json = {
    "type": "boolean",
    "description": "Whether flags are left out that could not be computed.",
}
_VALUES: Json = {
    "type": "object",
    "properties": {
        "featureFlags": {
            "type": ["object", "array"],
            "additionalProperties": _VALUE,
            "description": "By key; `v=1` lists the keys of those that are on.",
        },
        "featureFlagPayloads": {"type": "object", "description": "Of the flags that are on."},
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
    "properties": {
        "flags": {"type": "object", "additionalProperties": _RECORD},
        "errorsWhileComputingFlags": _ERRORS_MARKER,
        "requestId": _TEXT,
        "evaluatedAt": {"type": "integer", "description": "Milliseconds since 1970."},
    },
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
                "groups": {**_OBJECT, "description": "Group type → key of the group."},
                "groupProperties": {**_OBJECT, "description": "Group type → properties."},
            },
            "description": "Every other name is a property of the person.",
        }
    },
}
_ASKED: Json = {"context": {"targetingKey": "user-1", "plan": "pro"}}
_EVALUATED: Json = {
    "type": "object",
    "required": ["key"],
    "properties": {
        "key": _TEXT,
        "value": {**_VALUE, "description": "Absent: use the default of the application."},
        "variant": _TEXT,
        "reason": {"enum": ["STATIC", "TARGETING_MATCH", "SPLIT", "DISABLED", "DEFAULT"]},
        "metadata": _OBJECT,
    },
}
_METADATA: Json = {"id": 1, "version": 1, "reason": "condition_match", "conditionIndex": 0}
_FOUND: Json = {
    "key": "new-checkout",
    "value": "blue",
    "variant": "blue",
    "reason": "TARGETING_MATCH",
    "metadata": {**_METADATA, "payload": '{"color":"#00f"}'},
}


def _posting(
    summary: str,
    description: str,
    schema: Json,
    sent: Json,
    answer: tuple[Json, Json],
    **more: Any,
) -> Json:
    """sent, answer: with examples; more: further parts of the operation"""
    kind = "application/json"
    operation = {
        "summary": summary,
        "description": description,
        "security": [],
        "requestBody": {"content": {kind: {"schema": schema, "example": sent}}},
        "responses": {
            "200": {
                "description": "OK",
                "content": {kind: {"schema": answer[0], "example": answer[1]}},
            }
        },
    }
    return {"post": {**operation, **more}}


def _capture(name: str, summary: str, schema: Json, sent: Json) -> Json:
    description = (
        "The project API key stands in the body, as `api_key` or `token`. The body is one event, "
        "an object with a `batch`, or a list of events, whatever the path; it may be compressed "
        "(gzip, lz64) or a form whose field `data` holds it."
    )
    accepted = (_ACCEPTED, {"status": 1})
    return _posting(
        summary, description, schema, sent, accepted, tags=["Capture"], operationId=name
    )


def _deciding(path: str, summary: str, description: str, answer: tuple[Json, Json]) -> Json:
    """path: also the operation's name; the versions differ in it"""
    return _posting(
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
        answer,
        tags=["Evaluation"],
        operationId=path,
        parameters=[
            {
                "name": "v",
                "in": "query",
                "required": False,
                "description": "Version of the answer.",
                "schema": {"type": "integer", "minimum": 1, "maximum": 4, "default": 1},
                "example": 3 if path == "Decide" else 2,
            }
        ],
    )


def _open_feature(name: str, summary: str, answer: tuple[Json, Json], *parameters: Json) -> Json:
    return _posting(
        summary,
        "OFREP 0.3.0, for OpenFeature providers. The project API key is the Bearer token, or the "
        "header `X-API-Key`. Failures have `errorCode` and `errorDetails` beside the common shape.",
        _CONTEXT,
        _ASKED,
        answer,
        tags=["Evaluation"],
        operationId=name,
        security=[{"project": []}],
        parameters=list(parameters),
    )


_DECIDED: Json = {
    "featureFlags": {"new-checkout": "blue"},
    "featureFlagPayloads": {"new-checkout": {"color": "#00f"}},
    "errorsWhileComputingFlags": False,
}
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
# The answers of examples are those of a project with one flag, which is EXAMPLE_FLAG.
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
PUBLIC_OPERATIONS: Mapping[str, Json] = {
    "/capture": _capture(
        "Capture",
        "Send an event",
        {
            "type": "object",
            "required": ["api_key", "event", "distinct_id"],
            "properties": {"api_key": _KEY, **_EVENT_FIELDS},
        },
        {"api_key": PROJECT_KEY, **_SIGNED_UP},
    ),
    "/batch": _capture(
        "CaptureBatch",
        "Send many events",
        {
            "type": "object",
            "required": ["api_key", "batch"],
            "properties": {
                "api_key": _KEY,
                "batch": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["event", "distinct_id"],
                        "properties": _EVENT_FIELDS,
                    },
                },
                "sent_at": {**_TEXT, "description": "The sender's clock, by which it is set."},
                "historical_migration": {
                    "type": "boolean",
                    "description": "An import: it waits behind what happens now.",
                },
            },
        },
        {
            "api_key": PROJECT_KEY,
            "batch": [
                _SIGNED_UP,
                {
                    "event": "invited",
                    "distinct_id": "user-1",
                    "timestamp": "2026-01-15T09:00:00Z",
                    "properties": {"$groups": {"company": "acme"}},
                },
            ],
        },
    ),
    "/engage": _capture(
        "Engage",
        "Set properties of a person",
        {
            "type": "object",
            "required": ["api_key", "distinct_id"],
            "properties": {
                "api_key": _KEY,
                "distinct_id": {**_TEXT, "description": "Whose properties are set."},
                "$set": {**_OBJECT, "description": "They replace what is stored."},
                "$set_once": {**_OBJECT, "description": "Where nothing is stored yet."},
            },
        },
        {"api_key": PROJECT_KEY, "distinct_id": "user-1", "$set": {"plan": "pro"}},
    ),
    "/i/v1/analytics/events": _posting(
        "Send many events, and be told of each",
        "The newest protocol of SDKs. The project API key is the Bearer token. An event that is "
        "not accepted is told under its uuid; the others are stored.",
        {
            "type": "object",
            "required": ["batch"],
            "properties": {
                "batch": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["uuid", "event", "distinct_id"],
                        "properties": _EVENT_FIELDS,
                    },
                }
            },
        },
        {"batch": [{"uuid": _UUID, **_SIGNED_UP}]},
        (
            {
                "type": "object",
                "required": ["results"],
                "properties": {
                    "results": {
                        "type": "object",
                        "description": "By uuid.",
                        "additionalProperties": {
                            "type": "object",
                            "required": ["result"],
                            "properties": {"result": {"enum": ["ok", "drop"]}, "details": _TEXT},
                        },
                    }
                },
            },
            {"results": {_UUID: {"result": "ok"}}},
        ),
        tags=["Capture"],
        operationId="CaptureV1",
        security=[{"project": []}],
    ),
    "/decide": _deciding(
        "Decide",
        "Evaluate the flags of a person",
        "With the configuration of clients beside. `v=2` tells the flags that are on, `v=3` all "
        "active ones with their payloads, `v=4` a record for each, as `/flags/`.",
        (_VALUES, _DECIDED),
    ),
    "/flags": _deciding(
        "Flags",
        "Evaluate the flags of a person, with reasons",
        "`v=1` answers as `/decide/?v=3`; `v=2` and above with a record for each flag. "
        "`config=true` adds the configuration of clients.",
        (_RECORDS, _RECORDED),
    ),
    "/ofrep/v1/evaluate/flags": _open_feature(
        "OfrepBulk",
        "Evaluate all flags (OpenFeature)",
        (
            {
                "type": "object",
                "required": ["flags"],
                "properties": {"flags": {"type": "array", "items": _EVALUATED}},
            },
            {"flags": [_FOUND]},
        ),
    ),
    "/ofrep/v1/evaluate/flags/{key}": _open_feature(
        "OfrepSingle",
        "Evaluate one flag (OpenFeature)",
        (_EVALUATED, _FOUND),
        {
            "name": "key",
            "in": "path",
            "required": True,
            "description": "The flag's key.",
            "schema": _TEXT,
            "example": "new-checkout",
        },
    ),
}
