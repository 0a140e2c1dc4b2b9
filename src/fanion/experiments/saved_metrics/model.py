"""Metrics that several experiments share.

Source: experiments.md section 1d.
"""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct

from fanion.projects.model import UserSummary


class SavedMetricRecord(Struct, frozen=True, kw_only=True):
    """A saved metric as it is stored and returned."""

    id: int
    name: str
    description: str | None
    query: Annotated[dict[str, Any], Meta(description="The metric, as it was sent.")]
    tags: list[str]
    created_by: UserSummary | None
    created_at: datetime
    updated_at: datetime
