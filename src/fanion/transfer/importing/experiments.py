"""The import of the experiments of a document, with their holdouts and saved metrics.

Flags are imported before, and experiments change nothing of them.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from fanion.experiments.holdouts.schemas import with_variant
from fanion.experiments.holdouts.store import create_holdout, get_holdout, write_holdout
from fanion.experiments.model import PlainExperiment
from fanion.experiments.saved_metrics.store import create_metric, get_metric, write_metric
from fanion.experiments.store import (
    get_experiment,
    insert_experiment,
    lock_experiment,
    record_change,
    replace_links,
    update_experiment,
)
from fanion.projects.store import move_flag_version
from fanion.rest.validation import shared_fields
from fanion.transfer.document import ExperimentEntry
from fanion.transfer.importing.target import ImportTarget, differing
from fanion.transfer.references import replace_names
from fanion.transfer.snapshot import (
    FIELDS_WITH_CONDITIONS,
    SnapshotExperiment,
    experiment_entry,
    holdout_entries,
    saved_metric_entries,
)

_PLAIN = tuple(
    name for name in PlainExperiment.__struct_fields__ if name not in ("name", "feature_flag_key")
)


class _Named(Protocol):
    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


def import_experiments(target: ImportTarget) -> None:
    """Import holdouts, saved metrics and experiments, after the flags.

    Raises:
        Invalid: The project would have too many holdouts or saved metrics.
    """
    _import_holdouts(target)
    _import_saved_metrics(target)
    known: dict[tuple[str, str], list[SnapshotExperiment]] = defaultdict(list)
    for experiment in target.stored.experiments:
        known[experiment.feature_flag_key, experiment.name].append(experiment)
    for entry in target.document.experiments:
        stored = known[entry.feature_flag_key, entry.name]
        if stored:
            fields = _change_experiment(stored.pop(0), entry, target)
            target.report.compared("experiment", entry.key, fields)
        else:
            _create_experiment(entry, target)
            target.report.created("experiment", entry.key)


def _import_holdouts(target: ImportTarget) -> None:
    known, before = _by_name(target.stored.holdouts), holdout_entries(target.stored)
    for entry in target.document.experiment_holdouts:
        if not known[entry.name]:
            values = {name: getattr(entry, name) for name in ("name", "description", "filters")}
            created = create_holdout(target.connection, target.author, values)
            target.holdouts[entry.key] = created.id
            target.report.created("holdout", entry.key)
            continue
        holdout_id = target.holdouts[entry.key] = known[entry.name].pop(0).id
        fields = differing(before[holdout_id], entry, ("description", "filters"))
        target.report.compared("holdout", entry.key, list(fields))
        if "filters" in fields:
            fields["filters"] = with_variant(fields["filters"], holdout_id)
        stored = get_holdout(target.connection, target.project_id, holdout_id, for_update=True)
        write_holdout(target.connection, target.author, stored, fields)


def _import_saved_metrics(target: ImportTarget) -> None:
    known = _by_name(target.stored.saved_metrics)
    before = saved_metric_entries(target.stored, target.names)
    for entry in target.document.experiment_saved_metrics:
        if not known[entry.name]:
            names = ("name", "description", "query", "tags")
            values = {name: getattr(entry, name) for name in names}
            values["query"] = replace_names(entry.query, target.ids)
            created = create_metric(target.connection, target.author, values)
            target.saved_metrics[entry.key] = created.id
            target.report.created("saved metric", entry.key)
            continue
        metric_id = target.saved_metrics[entry.key] = known[entry.name].pop(0).id
        fields = differing(before[metric_id], entry, ("description", "query", "tags"))
        target.report.compared("saved metric", entry.key, list(fields))
        stored = get_metric(target.connection, target.project_id, metric_id, for_update=True)
        write_metric(target.connection, target.author, stored, replace_names(fields, target.ids))


def _create_experiment(entry: ExperimentEntry, target: ImportTarget) -> None:
    values = _columns(target, shared_fields(entry, PlainExperiment))
    values["feature_flag_id"] = int(target.flags[entry.feature_flag_key])
    values["holdout_id"] = None if entry.holdout is None else target.holdouts[entry.holdout]
    experiment_id = insert_experiment(target.connection, target.author, values)
    replace_links(target.connection, target.author, experiment_id, _links(target, entry))
    move_flag_version(target.connection, target.project_id)
    created = get_experiment(target.connection, target.project_id, experiment_id)
    record_change(target.connection, target.author, None, created)


def _change_experiment(
    stored: SnapshotExperiment, entry: ExperimentEntry, target: ImportTarget
) -> list[str]:
    """Set the fields that differ, and return their names."""
    holdouts = holdout_entries(target.stored)
    metrics = saved_metric_entries(target.stored, target.names)
    former = experiment_entry(stored, entry.key, holdouts, metrics, target.names)
    fields = differing(former, entry, (*_PLAIN, "holdout", "saved_metrics"))
    if not fields:
        return []
    changed = list(fields)
    before = lock_experiment(target.connection, target.project_id, stored.id)
    if fields.pop("saved_metrics", None) is not None:
        replace_links(target.connection, target.author, stored.id, _links(target, entry))
    if "holdout" in fields:
        holdout = fields.pop("holdout")
        fields["holdout_id"] = None if holdout is None else target.holdouts[holdout]
    update_experiment(target.connection, target.author, before, _columns(target, fields))
    after = get_experiment(target.connection, target.project_id, stored.id)
    record_change(target.connection, target.author, before, after)
    return changed


def _columns(target: ImportTarget, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: replace_names(value, target.ids) if name in FIELDS_WITH_CONDITIONS else value
        for name, value in fields.items()
    }


def _links(target: ImportTarget, entry: ExperimentEntry) -> list[dict[str, Any]]:
    return [
        {
            "saved_metric_id": target.saved_metrics[link.saved_metric],
            "metadata": link.metadata,
        }
        for link in entry.saved_metrics
    ]


def _by_name(stored: Iterable[N]) -> dict[str, list[N]]:
    grouped: dict[str, list[N]] = defaultdict(list)
    for each in stored:
        grouped[each.name].append(each)
    return grouped
