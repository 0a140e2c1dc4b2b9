"""A flag as people define it.

Source: flags.md section 11.
"""

from typing import Any

from msgspec import Struct

from fanion.flags.engine.definition import BucketingIdentifier, EvaluationRuntime


class PlainFlag(Struct, frozen=True, kw_only=True):
    """The fields of a flag that mean the same in every project.

    `filters` and `rollback_conditions` may name other objects: by id in a project, by key or name
    in a document.

    Attributes:
        filters: With `groups`.
    """

    key: str
    name: str = ""
    filters: dict[str, Any] = {}
    active: bool = True
    ensure_experience_continuity: bool | None = False
    rollback_conditions: Any = None
    performed_rollback: bool | None = None
    tags: list[str] = []
    has_enriched_analytics: bool = False
    bucketing_identifier: BucketingIdentifier | None = None
    evaluation_runtime: EvaluationRuntime | None = None
    evaluation_contexts: list[str] | None = None
