"""Request bodies of the saved metrics of experiments.

Source: experiments.md section 1d.
"""

from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.experiments.model import DESCRIPTION_CHARS_MAX, NAME_CHARS_MAX
from fanion.rest.posthog_fields import OF_SAVED_METRIC

Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
Description = Annotated[str, Meta(max_length=DESCRIPTION_CHARS_MAX)]
Query = Annotated[dict[str, Any], Meta(description="A metric, of kind `ExperimentMetric`.")]


class NewSavedMetric(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = OF_SAVED_METRIC

    name: Name
    query: Query
    description: Description | None = None
    tags: list[str] | None = None


class SavedMetricChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = OF_SAVED_METRIC

    name: Name | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    query: Query | UnsetType = UNSET
    tags: list[str] | UnsetType | None = UNSET
