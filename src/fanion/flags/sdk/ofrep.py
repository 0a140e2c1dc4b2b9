"""The OpenFeature Remote Evaluation Protocol: parsing requests and building responses.

Source: OFREP OpenAPI 0.3.0; sdk-wire.md section 10.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from fanion.flags.engine.definition import Condition, Flag
from fanion.flags.engine.model import Decision, DecisionReason, Evaluation, Subject
from fanion.flags.evaluation.compiled import CompiledFlags
from fanion.flags.evaluation.request import FlagRequest, id_text, with_stored_id
from fanion.flags.evaluation.responses import payload_text
from fanion.wire.distinct_id import stored_distinct_id

TARGETING_KEY = "targetingKey"
_GROUPS = "groups"
_GROUP_PROPERTIES = ("group_properties", "groupProperties")
# The protocol requires the name of a variant with every value.
ON, OFF = "on", "off"

_encode = msgspec.json.Encoder().encode


class ErrorCode(StrEnum):
    FLAG_NOT_FOUND = "FLAG_NOT_FOUND"
    PARSE_ERROR = "PARSE_ERROR"
    TARGETING_KEY_MISSING = "TARGETING_KEY_MISSING"
    INVALID_CONTEXT = "INVALID_CONTEXT"
    GENERAL = "GENERAL"


_TYPES = {400: "validation_error", 404: "invalid_request", 500: "server_error"}


class OfrepError(Exception):
    """An error in the fields of the protocol, together with the common ones."""

    def __init__(self, status: int, code: ErrorCode, details: str) -> None:
        self.status = status
        self.code = code
        self.details = details
        super().__init__(details)

    def body(self, key: str | None) -> dict[str, str | None]:
        """Return the body of the error.

        Args:
            key: The key of the requested flag.
        """
        common = {
            "type": _TYPES[self.status],
            "code": self.code.value.lower(),
            "detail": self.details,
            "attr": None,
        }
        return {**common, **failure_answer(self.code, self.details, key)}


def failure_answer(code: ErrorCode, details: str, key: str | None = None) -> dict[str, str]:
    named = {} if key is None else {"key": key}
    return {**named, "errorCode": code.value, "errorDetails": details}


def read_context(body: object, keys: tuple[str, ...] | None) -> FlagRequest:
    """Read the request body.

    `targetingKey` becomes the distinct id. Groups and their properties are as in /decide; every
    other attribute is a person property.

    Raises:
        OfrepError: The body or its context is not valid.
    """
    if not isinstance(body, dict):
        raise OfrepError(400, ErrorCode.PARSE_ERROR, "The body must be a JSON object.")
    context = body.get("context")
    context = {} if context is None else context
    if not isinstance(context, dict):
        raise OfrepError(400, ErrorCode.INVALID_CONTEXT, "The context must be an object.")
    identity = context.get(TARGETING_KEY)
    if identity is None or identity == "" or isinstance(identity, dict | list):
        raise OfrepError(400, ErrorCode.TARGETING_KEY_MISSING, "The context has no targetingKey.")
    group_properties: dict[str, Any] = {}
    for name in _GROUP_PROPERTIES:
        group_properties |= _object(context, name)
    special = {TARGETING_KEY, _GROUPS, *_GROUP_PROPERTIES}
    return FlagRequest(
        Subject(
            stored_distinct_id(identity),
            sent=with_stored_id({k: v for k, v in context.items() if k not in special}),
            groups={k: id_text(v) for k, v in _object(context, _GROUPS).items() if v is not None},
            group_properties={k: v for k, v in group_properties.items() if isinstance(v, dict)},
        ),
        keys=keys,
    )


def single_answer(built: CompiledFlags, evaluation: Evaluation, key: str) -> bytes:
    """Return the body for one flag.

    Raises:
        OfrepError: There is no such flag, or it cannot be computed now.
    """
    decision = evaluation.decisions.get(key)
    if decision is not None:
        return built.fragments(_success)[decision]
    if key in evaluation.failed:
        raise OfrepError(500, ErrorCode.GENERAL, "The flag cannot be computed now.")
    raise OfrepError(404, ErrorCode.FLAG_NOT_FOUND, f"There is no flag {key}.")


def bulk_answer(built: CompiledFlags, evaluation: Evaluation) -> bytes:
    """Return the body for all flags; flags that cannot be computed are individual failures."""
    flags = built.fragments(_success).join(evaluation.decisions.values())
    failed = b",".join(
        _encode(failure_answer(ErrorCode.GENERAL, "The flag cannot be computed now.", key))
        for key in sorted(evaluation.failed)
    )
    return b'{"flags":[%b%b%b]}' % (flags, b"," if flags and failed else b"", failed)


def _success(flag: Flag, decision: Decision) -> bytes:
    return _encode(success_answer(flag, decision))


def success_answer(flag: Flag, decision: Decision) -> dict[str, Any]:
    """Return the answer for one flag.

    A multivariate flag that is off has no value, so the application uses its default.
    """
    answer: dict[str, Any] = {
        "key": flag.key,
        "reason": openfeature_reason(flag, decision),
        "variant": decision.variant or (ON if decision.enabled else OFF),
        "metadata": _metadata(flag, decision),
    }
    multivariate = flag.rules is not None and bool(flag.rules.variants)
    if decision.enabled or not multivariate:
        answer["value"] = decision.value
    return answer


def openfeature_reason(flag: Flag, decision: Decision) -> str:
    """Return the closest OpenFeature reason."""
    match decision.reason:
        case DecisionReason.DISABLED:
            return "DISABLED"
        case DecisionReason.HOLDOUT_CONDITION_VALUE:
            return "SPLIT"
        case DecisionReason.SUPER_CONDITION_VALUE:
            return "TARGETING_MATCH"
        case DecisionReason.CONDITION_MATCH if flag.rules is not None:
            condition = flag.rules.conditions[decision.condition_index or 0]
            return _match_reason(condition, splits=decision.variant is not None)
    return "DEFAULT"


def _match_reason(condition: Condition, *, splits: bool) -> str:
    share = condition.rollout_percentage
    if (share is not None and share < 100) or (splits and condition.variant is None):
        return "SPLIT"
    return "TARGETING_MATCH" if condition.leaves else "STATIC"


def _metadata(flag: Flag, decision: Decision) -> dict[str, Any]:
    """Return the metadata, which the protocol limits to booleans, strings and numbers."""
    metadata: dict[str, Any] = {
        "id": flag.id,
        "version": flag.version,
        "reason": decision.reason.value,
    }
    if decision.condition_index is not None:
        metadata["conditionIndex"] = decision.condition_index
    if decision.payload is not None:
        metadata["payload"] = payload_text(decision.payload)
    return metadata


def _object(context: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = context.get(name)
    if value is None or value == []:  # PHP clients encode an empty object as a list
        return {}
    if not isinstance(value, dict):
        raise OfrepError(400, ErrorCode.INVALID_CONTEXT, f"{name} must be an object.")
    return value
