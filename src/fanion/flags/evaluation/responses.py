"""The response bodies of each version of /decide and /flags.

Source: flags.md sections 10 and 19; sdk-wire.md section 4.2.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import msgspec

from fanion.flags.engine.definition import Flag
from fanion.flags.engine.model import Decision, DecisionReason, Evaluation
from fanion.flags.evaluation.compiled import CompiledFlags, Fragments

# Products other than feature flags are switched off. Old browser clients read this.
CONFIGURATION: Mapping[str, Any] = {
    "config": {"enable_collect_everything": True},
    "editorParams": {},
    "toolbarParams": {},
    "isAuthenticated": False,
    "supportedCompression": ["gzip", "gzip-js", "lz64"],
    "analytics": {"endpoint": "/i/v0/e/"},
    "elementsChainAsString": True,
    "sessionRecording": False,
    "capturePerformance": False,
    "autocapture_opt_out": False,
    "autocaptureExceptions": False,
    "surveys": False,
    "heatmaps": False,
    "hasFeatureFlags": True,
    "defaultIdentifiedOnly": True,
    "siteApps": [],
}

_DESCRIPTIONS: Mapping[DecisionReason, str] = {
    DecisionReason.NO_CONDITION_MATCH: "No matching condition set",
    DecisionReason.OUT_OF_ROLLOUT_BOUND: "Out of rollout bound",
    DecisionReason.NO_GROUP_TYPE: "No group type",
    DecisionReason.SUPER_CONDITION_VALUE: "Super condition value",
    DecisionReason.HOLDOUT_CONDITION_VALUE: "Holdout condition value",
    DecisionReason.DISABLED: "Flag is disabled",
}

_encode = msgspec.json.Encoder().encode
# Encoded once, because it is the same for every client. The object is left open.
_CONFIGURATION_BEGUN = _encode(CONFIGURATION)[:-1] + b","

# Returns the members of an answer's object, without braces.
Members = Callable[[CompiledFlags, Evaluation], bytes]


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The form of an answer, by path, version and query.

    Attributes:
        begun: The beginning of the object.
        no_flags: The members for a client that wants no flags.
        has_id: Whether the answer has an id of its own.
        has_time: Whether the answer has the time of the evaluation.
    """

    begun: bytes
    members: Members
    no_flags: bytes
    has_id: bool = False
    has_time: bool = False

    def body(self, built: CompiledFlags, evaluation: Evaluation) -> bytes:
        """Return the answer with the decisions of an evaluation."""
        members = self.begun + self.members(built, evaluation)
        if self.has_id:
            members += b',"requestId":"%b"' % str(uuid4()).encode()
        if self.has_time:
            millis = int(evaluation.evaluated_at.timestamp() * 1000)
            members += b',"evaluatedAt":%d' % millis
        return members + b"}"

    def body_without_flags(self) -> bytes:
        return self.begun + self.no_flags + b"}"


def decide_form(version: int) -> AnswerForm:
    """Return the form of the answers of /decide.

    Args:
        version: 1 to 4.
    """
    members = (_keys_on, _values_on, _values_and_payloads, _records)[version - 1]
    return AnswerForm(_CONFIGURATION_BEGUN, members, b'"featureFlags":{}', has_id=version >= 4)


def flags_form(version: int, *, with_configuration: bool) -> AnswerForm:
    """Return the form of the answers of /flags.

    Args:
        version: 1 to 4.
    """
    members = (_values_and_payloads, _records, _records, _records_with_value)[version - 1]
    begun = _CONFIGURATION_BEGUN if with_configuration else b"{"
    return AnswerForm(begun, members, b'"flags":{},"featureFlags":{}', has_id=True, has_time=True)


def _keys_on(built: CompiledFlags, evaluation: Evaluation) -> bytes:
    on = [decision.key for decision in evaluation.decisions.values() if decision.enabled]
    return b'"featureFlags":' + _encode(on)


def _values_on(built: CompiledFlags, evaluation: Evaluation) -> bytes:
    on = [decision for decision in evaluation.decisions.values() if decision.enabled]
    return b'"featureFlags":{%b}' % built.fragments(_value).join(on)


def _values_and_payloads(built: CompiledFlags, evaluation: Evaluation) -> bytes:
    """Return every flag's value, and the payloads of flags that are on."""
    decisions = evaluation.decisions.values()
    with_payload = [decision for decision in decisions if decision.payload is not None]
    return b'"featureFlags":{%b},"featureFlagPayloads":{%b},%b' % (
        built.fragments(_value).join(decisions),
        built.fragments(_payload).join(with_payload) if with_payload else b"",
        _MARKERS[bool(evaluation.failed)],
    )


def _records(built: CompiledFlags, evaluation: Evaluation) -> bytes:
    """Return one record for each flag."""
    return _records_of(built.fragments(_record), evaluation)


def _records_with_value(built: CompiledFlags, evaluation: Evaluation) -> bytes:
    """Return one record for each flag, with the value, as /flags does from version 4."""
    return _records_of(built.fragments(_record_with_value), evaluation)


def _records_of(records: Fragments, evaluation: Evaluation) -> bytes:
    marker = _MARKERS[bool(evaluation.failed)]
    return b'"flags":{%b},%b' % (records.join(evaluation.decisions.values()), marker)


def _marker(errors: bool) -> bytes:
    """Return the error marker in two spellings: api.md names the first, clients read the second."""
    return _encode({"errorComputingFlags": errors, "errorsWhileComputingFlags": errors})[1:-1]


# By whether flags could not be computed.
_MARKERS = (_marker(False), _marker(True))


def payload_text(payload: Any) -> str | None:
    """Return a payload as JSON text, which newer clients expect however it was stored."""
    if payload is None or isinstance(payload, str):
        return payload
    return _encode(payload).decode()


def reason_description(decision: Decision) -> str:
    """Return the reason of a decision in words.

    Source: flags.md section 19.
    """
    if decision.reason is DecisionReason.CONDITION_MATCH:
        return f"Matched condition set {(decision.condition_index or 0) + 1}"
    return _DESCRIPTIONS[decision.reason]


def _value(flag: Flag, decision: Decision) -> bytes:
    return _member(flag.key, decision.value)


def _payload(flag: Flag, decision: Decision) -> bytes:
    return _member(flag.key, decision.payload)


def _record(flag: Flag, decision: Decision) -> bytes:
    return _member(flag.key, _record_fields(flag, decision))


def _record_with_value(flag: Flag, decision: Decision) -> bytes:
    return _member(flag.key, {**_record_fields(flag, decision), "value": decision.value})


def _member(key: str, value: Any) -> bytes:
    return _encode({key: value})[1:-1]


def _record_fields(flag: Flag, decision: Decision) -> dict[str, Any]:
    return {
        "key": flag.key,
        "enabled": decision.enabled,
        "variant": decision.variant,
        "reason": {
            "code": decision.reason.value,
            "condition_index": decision.condition_index,
            "description": reason_description(decision),
        },
        "metadata": {
            "id": flag.id,
            "version": flag.version,
            "description": flag.name or None,
            "payload": payload_text(decision.payload),
            "has_experiment": flag.has_experiment,
        },
    }
