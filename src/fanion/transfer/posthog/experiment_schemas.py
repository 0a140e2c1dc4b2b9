"""Experiments of another server, and their conversion into stored definitions.

Fields that are absent or of another type count as not set: versions of servers differ.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, get_args

from msgspec import Struct

from fanion.experiments.model import CONCLUSIONS, Phase
from fanion.transfer.snapshot import SnapshotExperiment, SnapshotHoldout, SnapshotSavedMetric


class PosthogHoldout(Struct):
    id: int
    name: str
    description: str | None = None
    filters: list[dict[str, Any]] | None = None


class PosthogSavedMetric(Struct):
    id: int
    name: str
    description: str | None = None
    query: dict[str, Any] | None = None
    tags: list[str] | None = None


class PosthogMetricLink(Struct):
    saved_metric: int
    metadata: dict[str, Any] | None = None


class PosthogExperiment(Struct):
    id: int
    name: str
    feature_flag_key: str
    description: str | None = None
    start_date: datetime | None = None
    end_date: datetime | None = None
    parameters: dict[str, Any] | None = None
    metrics: list[dict[str, Any]] | None = None
    metrics_secondary: list[dict[str, Any]] | None = None
    saved_metrics: list[PosthogMetricLink] | None = None
    primary_metrics_ordered_uuids: list[str] | None = None
    secondary_metrics_ordered_uuids: list[str] | None = None
    exposure_criteria: dict[str, Any] | None = None
    holdout_id: int | None = None
    holdout: PosthogHoldout | None = None
    stats_config: dict[str, Any] | None = None
    type: str | None = None
    conclusion: str | None = None
    conclusion_comment: str | None = None
    archived: bool | None = None
    deleted: bool | None = None
    only_count_matured_users: bool | None = None
    filters: dict[str, Any] | None = None
    secondary_metrics: list[Any] | None = None


def stored_holdout(body: PosthogHoldout) -> SnapshotHoldout:
    return SnapshotHoldout(
        id=body.id, name=body.name, description=body.description, filters=body.filters or []
    )


def stored_saved_metric(body: PosthogSavedMetric) -> SnapshotSavedMetric:
    return SnapshotSavedMetric(
        id=body.id,
        name=body.name,
        description=body.description,
        query=body.query or {},
        tags=body.tags or [],
    )


def stored_experiment(body: PosthogExperiment) -> SnapshotExperiment:
    """Convert an experiment; one that was launched has one phase, since its start."""
    holdout_id = body.holdout_id
    if holdout_id is None and body.holdout is not None:
        holdout_id = body.holdout.id
    return SnapshotExperiment(
        id=body.id,
        name=body.name,
        feature_flag_key=body.feature_flag_key,
        description=body.description,
        start_date=body.start_date,
        end_date=body.end_date if body.start_date else None,
        parameters=_parameters(body.parameters),
        metrics=body.metrics or [],
        metrics_secondary=body.metrics_secondary or [],
        primary_metrics_ordered_uuids=body.primary_metrics_ordered_uuids,
        secondary_metrics_ordered_uuids=body.secondary_metrics_ordered_uuids,
        exposure_criteria=body.exposure_criteria,
        stats_config=body.stats_config,
        type="web" if body.type == "web" else "product",
        conclusion=_conclusion(body.conclusion),
        conclusion_comment=body.conclusion_comment,
        archived=bool(body.archived),
        only_count_matured_users=bool(body.only_count_matured_users),
        filters=body.filters or {},
        secondary_metrics=body.secondary_metrics or [],
        phases=_phases(body),
        holdout_id=holdout_id,
        links=[
            (link.saved_metric, link.metadata or {"type": "primary"})
            for link in body.saved_metrics or ()
        ],
    )


def _conclusion(text: str | None) -> CONCLUSIONS | None:
    known: tuple[CONCLUSIONS, ...] = get_args(CONCLUSIONS)
    return next((conclusion for conclusion in known if conclusion == text), None)


def _parameters(sent: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return parameters whose variants have percentages, under their older name."""
    if sent is None:
        return None
    variants = [
        {**variant, "rollout_percentage": share}
        for variant in sent.get("feature_flag_variants") or ()
        if isinstance(variant, dict)
        and (share := variant.get("split_percent", variant.get("rollout_percentage"))) is not None
    ]
    kept = {name: value for name, value in sent.items() if name != "feature_flag_variants"}
    return {**kept, "feature_flag_variants": variants} if variants else kept


def _phases(body: PosthogExperiment) -> list[Phase]:
    variants = (_parameters(body.parameters) or {}).get("feature_flag_variants") or []
    if body.start_date is None or not variants:
        return []
    shares = {str(variant.get("key")): variant["rollout_percentage"] for variant in variants}
    return [Phase(started_at=body.start_date, variants=shares)]
