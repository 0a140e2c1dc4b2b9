"""Counts of what a project holds, taken before the project is deleted."""

from typing import Annotated

from msgspec import Meta, Struct


class ProjectContents(Struct, frozen=True, kw_only=True):
    """Counts of what a project holds, without what is deleted but kept."""

    events: Annotated[
        int, Meta(description="Stored events; one that was sent twice may count twice for a while.")
    ]
    persons: int
    groups: int
    feature_flags: int
    cohorts: int
    insights: int
    dashboards: int
    experiments: int
    alerts: int
    annotations: int
    webhooks: int
    batch_exports: int
    event_definitions: int
    dead_letters: Annotated[int, Meta(description="Requests that could not be ingested.")]


class DeletedProject(Struct, frozen=True, kw_only=True):
    id: int
    name: str
    deleted: Annotated[ProjectContents, Meta(description="Counts of what the project held.")]
