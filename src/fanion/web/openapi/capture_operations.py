"""The OpenAPI operations that capture events. They ignore unknown fields.

Source: capture.md section 1.
"""

from fanion.rest.json_schema import one_of
from fanion.web.openapi.document import PROJECT_KEY, Json, post_operation

_TEXT = {"type": "string"}
_OBJECT = {"type": "object"}
_KEY = {**_TEXT, "description": "The project API key, `phc_…`."}
_TIME = {
    **_TEXT,
    "description": "ISO 8601, or Unix time in seconds or milliseconds; now when absent.",
}
_EVENT_FIELDS: Json = {
    "event": {
        **_TEXT,
        "description": "The name. Some, as `$identify`, have an effect.",
    },
    "distinct_id": {**_TEXT, "description": "The person."},
    "properties": {
        **_OBJECT,
        "description": "Any JSON. `$groups`, `$set`, `$set_once` and `$ip` have an effect.",
    },
    "timestamp": _TIME,
    "uuid": {**_TEXT, "format": "uuid", "description": "Two events with one uuid count once."},
}
_ID_IN_BATCH = {**_TEXT, "description": "The person; it may be in `properties` instead."}
_SIGNED_UP: Json = {
    "event": "signed up",
    "distinct_id": "user-1",
    "properties": {"plan": "pro", "$set": {"email": "ann@example.com"}},
}
_ACCEPTED: Json = {
    "type": "object",
    "required": ["status"],
    "properties": {
        "status": {
            "type": "integer",
            "enum": [1],
            "description": "All events are stored durably.",
        }
    },
}
_UUID = "0192a5c6-6d5e-7c3a-9f61-3f1f2c0a9b11"


def _capture_operation(name: str, summary: str, schema: Json, example: Json) -> Json:
    description = (
        "The body has the project API key as `api_key` or `token`. It is one event, "
        "an object with a `batch`, or a list of events, on each of these paths; it may be "
        "compressed (gzip, lz64), or the field `data` of a form."
    )
    accepted = (_ACCEPTED, {"status": 1})
    return post_operation(
        summary, description, schema, example, accepted, tags=["Capture"], operationId=name
    )


CAPTURE_OPERATIONS: Json = {
    "/capture": _capture_operation(
        "capture",
        "Send an event",
        {
            "type": "object",
            "required": ["api_key", "event", "distinct_id"],
            "properties": {"api_key": _KEY, **_EVENT_FIELDS},
        },
        {"api_key": PROJECT_KEY, **_SIGNED_UP},
    ),
    "/batch": _capture_operation(
        "captureBatch",
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
                        "required": ["event"],
                        "properties": {**_EVENT_FIELDS, "distinct_id": _ID_IN_BATCH},
                    },
                },
                "sent_at": {**_TEXT, "description": "Clock of the sender, to correct timestamps."},
                "historical_migration": {
                    "type": "boolean",
                    "description": "An import: ingested after current events.",
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
    "/engage": _capture_operation(
        "engage",
        "Set properties of a person",
        {
            "type": "object",
            "required": ["api_key", "distinct_id"],
            "properties": {
                "api_key": _KEY,
                "distinct_id": {**_TEXT, "description": "The person."},
                "$set": {**_OBJECT, "description": "Replace stored properties."},
                "$set_once": {**_OBJECT, "description": "Set where no value is stored yet."},
            },
        },
        {"api_key": PROJECT_KEY, "distinct_id": "user-1", "$set": {"plan": "pro"}},
    ),
    "/i/v1/analytics/events": post_operation(
        "Send many events, with a result for each",
        "The latest protocol of SDKs. The project API key is the Bearer token. `results` has one "
        "entry for each uuid; a dropped event does not affect the others.",
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
                        "description": "Results by uuid.",
                        "additionalProperties": {
                            "type": "object",
                            "required": ["result"],
                            "properties": {"result": one_of(("ok", "drop")), "details": _TEXT},
                        },
                    }
                },
            },
            {"results": {_UUID: {"result": "ok"}}},
        ),
        tags=["Capture"],
        operationId="captureV1",
        security=[{"project": []}],
    ),
}
