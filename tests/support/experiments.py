"""Experiments for tests of the whole application."""

from typing import Any

from tests.support.application import Json, Tenant, error

PURCHASES: Json = {
    "kind": "ExperimentMetric",
    "metric_type": "mean",
    "goal": "increase",
    "source": {"kind": "EventsNode", "event": "purchase"},
}


def split(**shares: float) -> list[Json]:
    """Return variants with these percentages."""
    return [{"key": key, "rollout_percentage": share} for key, share in shares.items()]


async def create(tenant: Tenant, *, key: str = "button", **fields: Any) -> Json:
    """Create an experiment, and a flag with this key."""
    body = {"name": "Button", "feature_flag_key": key, **fields}
    answer = await tenant.api.post("/experiments/", json=body)
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def take(tenant: Tenant, experiment: Json, step: str, **fields: Any) -> Json:
    """Take a step, such as `launch`, and return the experiment."""
    answer = await tenant.api.post(f"/experiments/{experiment['id']}/{step}/", json=fields)
    assert answer.status_code == 200, answer.text
    after: Json = answer.json()
    return after


def invalid(detail: str, attr: str | None, code: str = "invalid_input") -> tuple[int, Json]:
    return 400, error("validation_error", code, detail, attr)
