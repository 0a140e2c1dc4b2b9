"""The response bodies of each version of /decide and /flags.

Source: flags.md sections 10 and 19; sdk-wire.md section 4.2.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from fanion.flags.engine.flag_set import FlagSet
from fanion.flags.engine.model import Decision, DecisionReason, Evaluation

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


def with_configuration(answer: Mapping[str, Any]) -> bytes:
    """Return the configuration and the answer as one JSON object; the answer must not be empty."""
    return _CONFIGURATION_BEGUN + _encode(answer)[1:]


def without_configuration(answer: Mapping[str, Any]) -> bytes:
    """Return the answer as JSON, without the configuration."""
    return _encode(answer)


def decide_answer(version: int, flag_set: FlagSet, evaluation: Evaluation) -> dict[str, Any]:
    """Return what /decide adds to the configuration.

    Args:
        version: 1 to 4.
    """
    decisions = evaluation.decisions
    if version == 1:
        return {"featureFlags": [key for key, decision in decisions.items() if decision.enabled]}
    if version == 2:
        return {"featureFlags": {k: d.value for k, d in decisions.items() if d.enabled}}
    if version == 3:
        return values_and_payloads(evaluation)
    return flag_records(flag_set, evaluation)


def values_and_payloads(evaluation: Evaluation) -> dict[str, Any]:
    """Return every flag's value, and the payloads of flags that are on."""
    decisions = evaluation.decisions
    values = {key: decision.value for key, decision in decisions.items()}
    payloads = {
        k: decision.payload for k, decision in decisions.items() if decision.payload is not None
    }
    return {"featureFlags": values, "featureFlagPayloads": payloads, **_marker(evaluation)}


def flag_records(
    flag_set: FlagSet, evaluation: Evaluation, *, with_value: bool = False
) -> dict[str, Any]:
    """Return one record for each flag.

    Args:
        with_value: Include the value, as /flags does from version 4.
    """
    flags = {
        key: _record(flag_set, key, decision, with_value)
        for key, decision in evaluation.decisions.items()
    }
    return {"flags": flags, **_marker(evaluation)}


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


def _record(flag_set: FlagSet, key: str, decision: Decision, with_value: bool) -> dict[str, Any]:
    flag = flag_set.flags[key]
    record: dict[str, Any] = {
        "key": key,
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
            "has_experiment": False,
        },
    }
    if with_value:
        record["value"] = decision.value
    return record


def _marker(evaluation: Evaluation) -> dict[str, bool]:
    """Return the error marker in two spellings: api.md names the first, clients read the second."""
    errors = bool(evaluation.failed)
    return {"errorComputingFlags": errors, "errorsWhileComputingFlags": errors}
