"""The columns that a request to create or change an experiment sets.

Source: experiments.md sections 1a and 4b.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, get_args

from fanion.errors import Invalid
from fanion.experiments.metric_documents import RequireNamed, read_metrics
from fanion.experiments.metrics.exposure import read_criteria
from fanion.experiments.metrics.stats_config import read_stats_config
from fanion.experiments.model import (
    NEW_EXPOSURE_CRITERIA,
    NEW_STATS_CONFIG,
    Experiment,
    PlainExperiment,
    Role,
    require_end_after_start,
)
from fanion.experiments.parameters import read_parameters, same_parameters, with_calculator
from fanion.flags.definitions.validation.parts import same_json
from fanion.rest.unknown_fields import no_choice

METRIC_LISTS: Final = ("metrics", "metrics_secondary", "guardrail_metrics")
# What null stands for.
_EMPTY: Final[Mapping[str, Any]] = {
    **dict.fromkeys((*METRIC_LISTS, "secondary_metrics"), ()),
    "filters": {},
    "type": "product",
}
_PLAIN: Final = frozenset(
    {
        *("name", "description", "start_date", "end_date", "conclusion", "conclusion_comment"),
        *("primary_metrics_ordered_uuids", "secondary_metrics_ordered_uuids", "archived"),
        *("deleted", "only_count_matured_users", "holdout_id", "secondary_metrics", "type"),
    }
)


def read_fields(
    sent: Mapping[str, Any], before: Experiment | None, require: RequireNamed
) -> dict[str, Any]:
    """Return the columns that a request sets, without those of its flag.

    Args:
        sent: The fields of the request that were sent.
        before: The stored experiment, whose parts are accepted unchecked; None for a new one.
        require: Checks the actions and segments of what is not accepted unchecked.

    Raises:
        Invalid: A field cannot be used.
    """
    given = {
        name: _EMPTY[name] if value is None and name in _EMPTY else value
        for name, value in sent.items()
    }
    values = {name: value for name, value in given.items() if name in _PLAIN}
    for name in METRIC_LISTS:
        if name in given:
            stored = [] if before is None else _stored_metrics(before)
            are_guardrails = name == "guardrail_metrics"
            values[name] = read_metrics(
                given[name], stored, name, require, are_guardrails=are_guardrails
            )
    values |= _parameters(given, before)
    values |= _checked("filters", given, before, _require_no_properties)
    values |= _checked(
        "exposure_criteria", given, before, lambda raw: require(read_criteria(raw).exposing)
    )
    values |= _checked("stats_config", given, before, read_stats_config)
    _require_dates(values, before)
    return values if before is not None else {**_new_fields(), **values}


def _new_fields() -> dict[str, Any]:
    return {
        "exposure_criteria": dict(NEW_EXPOSURE_CRITERIA),
        "stats_config": dict(NEW_STATS_CONFIG),
    }


def _stored_metrics(before: Experiment) -> list[dict[str, Any]]:
    return [metric for name in METRIC_LISTS for metric in getattr(before, name)]


def _parameters(given: Mapping[str, Any], before: Experiment | None) -> dict[str, Any]:
    if "parameters" not in given and "running_time_calculation" not in given:
        return {}
    stored = None if before is None else before.parameters
    parameters = given.get("parameters", stored)
    if not same_parameters(stored, parameters):
        parameters = None if parameters is None else read_parameters(parameters)
    else:
        parameters = stored
    changed = with_calculator(parameters, given.get("running_time_calculation"))
    if changed != parameters:
        changed = read_parameters(changed or {})
    return {"parameters": changed}


def _checked(
    name: str,
    given: Mapping[str, Any],
    before: Experiment | None,
    check: Callable[[Mapping[str, Any]], object],
) -> dict[str, Any]:
    if name not in given:
        return {}
    if before is None or not same_json(getattr(before, name), given[name]):
        check(given[name])
    return {name: given[name]}


def _require_no_properties(filters: Mapping[str, Any]) -> None:
    if filters.get("properties"):
        raise Invalid("Experiments do not support global filter properties", attr="filters")


def _require_dates(values: Mapping[str, Any], before: Experiment | None) -> None:
    """Raise Invalid unless the experiment ends after it began."""
    if values.keys() & {"start_date", "end_date"}:
        known = {
            name: values[name] if name in values else getattr(before, name, None)
            for name in ("start_date", "end_date")
        }
        require_end_after_start(known["start_date"], known["end_date"])


def read_links(sent: object) -> list[dict[str, Any]]:
    """Return the saved metrics of a request, each with its id and metadata.

    Raises:
        Invalid: The list cannot be used.
    """
    if sent is None:
        return []
    if not isinstance(sent, list):
        raise _bad_link("Saved metrics must be a list")
    links = [_read_link(item) for item in sent]
    ids = [link["saved_metric_id"] for link in links]
    for metric_id in ids:
        if ids.count(metric_id) > 1:
            raise _bad_link(f"Saved metric {metric_id} is listed twice")
    return links


def _read_link(item: object) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise _bad_link("Saved metric must be an object")
    metric_id, metadata = item.get("id"), item.get("metadata", {"type": "primary"})
    if not isinstance(metric_id, int) or isinstance(metric_id, bool):
        raise _bad_link("Saved metric must have an id")
    if not isinstance(metadata, dict):
        raise _bad_link("Metadata must be an object")
    if "type" not in metadata:
        raise _bad_link("Metadata must have a type key")
    if metadata["type"] not in get_args(Role):
        raise no_choice(metadata["type"], get_args(Role), "saved_metrics_ids")
    return {"saved_metric_id": metric_id, "metadata": metadata}


def require_saved(links: Sequence[Mapping[str, Any]], known: frozenset[int]) -> None:
    """Raise Invalid for a saved metric that does not exist."""
    if not known.issuperset(link["saved_metric_id"] for link in links):
        raise _bad_link("Saved metric does not exist or does not belong to this project")


def _bad_link(detail: str) -> Invalid:
    return Invalid(detail, attr="saved_metrics_ids")


def copied_fields(original: Experiment) -> dict[str, Any]:
    """Return the columns that a copy of an experiment takes over: a draft with its metrics."""
    own = {
        *("name", "feature_flag_key", "start_date", "end_date", "conclusion", "phases"),
        *("conclusion_comment", "archived"),
    }
    names = [name for name in PlainExperiment.__struct_fields__ if name not in own]
    return {name: getattr(original, name) for name in names}
