"""Creation and changes of experiments, each in one transaction with what it does to the flag.

Source: experiments.md sections 1a, 1b and 1d.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Concatenate, ParamSpec

from msgspec import UNSET
from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.errors import Invalid, NotFound
from fanion.experiments.holdouts.store import require_holdout
from fanion.experiments.model import NAME_CHARS_MAX, Experiment, Phase, phases_from
from fanion.experiments.parameters import (
    VARIANTS,
    continuity_of,
    new_filters,
    require_unchanged_shares,
    require_unchanged_variants,
    require_usable,
    same_parameters,
    variants_of,
    with_holdout,
    with_parameters,
)
from fanion.experiments.schemas import (
    ExperimentChanges,
    ExperimentCopy,
    NewExperiment,
    StaleExperiment,
)
from fanion.experiments.store import (
    ExperimentStore,
    flag_by_key,
    flag_id_of,
    get_experiment,
    insert_experiment,
    known_saved_metrics,
    lock_experiment,
    record_change,
    replace_links,
    update_experiment,
)
from fanion.experiments.validation import copied_fields, read_fields, read_links, require_saved
from fanion.flags.definitions.changes_store import change_flag, create_flag, unique_key
from fanion.flags.definitions.model import FlagAccess, variant_shares
from fanion.flags.definitions.schemas import FlagChanges, NewFlag, changed_columns, created_columns
from fanion.flags.definitions.store import StoredFlag, lock_flag
from fanion.flags.engine.definition import grouped_filters
from fanion.insights.calculation.named_store import require_named
from fanion.projects.store import move_flag_version
from fanion.rest.validation import given_fields
from fanion.runtime.change_bus import ChangeBus, Topic

COPY = " (Copy)"
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class ExperimentService:
    """The experiments of a project; every change is published, as it may change a flag."""

    store: ExperimentStore
    bus: ChangeBus

    async def create_experiment(
        self, author: Author, access: FlagAccess, data: NewExperiment
    ) -> Experiment:
        """Create an experiment, and its flag unless there is one with the key.

        Raises:
            Invalid: The experiment or its flag would not be valid.
            PermissionDenied: The flag would change, and the caller may not edit it.
        """
        return await self._write(_create, author, access, given_fields(data))

    async def change_experiment(
        self, author: Author, access: FlagAccess, experiment_id: int, data: ExperimentChanges
    ) -> Experiment:
        """Change an experiment; a deleted one accepts only `deleted: false`.

        Raises:
            NotFound: There is no such experiment.
            StaleExperiment: It no longer has the version that the change is based on.
            Invalid: The experiment or its flag would not be valid.
            PermissionDenied: The flag would change, and the caller may not edit it.
        """
        return await self._write(_change, author, access, experiment_id, given_fields(data))

    async def copy_experiment(
        self, author: Author, access: FlagAccess, experiment_id: int, data: ExperimentCopy
    ) -> Experiment:
        """Create a draft with the metrics and the parameters of another experiment.

        Raises:
            NotFound: There is no such experiment.
            Invalid: The flag is that of the other experiment, or cannot be used.
        """
        return await self._write(_copy, author, access, experiment_id, data)

    async def _write(
        self,
        work: Callable[Concatenate[Connection, Author, P], Experiment],
        author: Author,
        *values: P.args,
        **named: P.kwargs,
    ) -> Experiment:
        with unique_key():
            async with self.store.records.write() as connection:
                experiment = await connection.run_sync(work, author, *values, **named)
        self.bus.publish(Topic.FLAGS, author.project_id)
        return experiment


def lock_with_flag(
    connection: Connection, project_id: int, experiment_id: int
) -> tuple[Experiment, StoredFlag | None]:
    """Lock an experiment and its flag for the rest of the transaction.

    Raises:
        NotFound: There is no such experiment.
    """
    flag_id = flag_id_of(connection, project_id, experiment_id)
    flag = None if flag_id is None else lock_flag(connection, project_id, flag_id)
    return lock_experiment(connection, project_id, experiment_id), flag


def require_flag(flag: StoredFlag | None) -> StoredFlag:
    """Return a flag that an experiment can run with, or raise Invalid."""
    if flag is None or flag.definition.deleted:
        raise Invalid("The feature flag of this experiment was deleted.", attr="feature_flag_key")
    return flag


def edit_flag(
    connection: Connection,
    author: Author,
    access: FlagAccess,
    flag: StoredFlag,
    changes: FlagChanges,
) -> StoredFlag:
    """Change the flag of an experiment as its own API would.

    Raises:
        PermissionDenied: The caller may not edit the flag.
        Invalid: The flag would not be valid.
    """
    access.require_edit(flag.definition.id, flag.creator_id)
    return change_flag(connection, author, flag, changed_columns(changes, flag))


def first_phase(start: datetime, flag: StoredFlag) -> list[Phase]:
    return [Phase(started_at=start, variants=variant_shares(flag.definition.filters))]


def _create(
    connection: Connection, author: Author, access: FlagAccess, sent: Mapping[str, Any]
) -> Experiment:
    if sent.get("deleted"):
        raise Invalid("This field can only be set after creation.", attr="deleted")
    values = read_fields(sent, None, partial(require_named, connection, author.project_id))
    links = read_links(sent.get("saved_metrics_ids"))
    _require_archivable(values, None)
    key = sent["feature_flag_key"]
    flag = _new_flag(connection, author, access, key, values)
    start = values.get("start_date")
    phases = [] if start is None else first_phase(start, flag)
    return _insert(connection, author, flag, {**values, "phases": phases}, links)


def _new_flag(
    connection: Connection, author: Author, access: FlagAccess, key: str, values: dict[str, Any]
) -> StoredFlag:
    """Return the flag of a new experiment with its holdout, created if none has the key.

    Args:
        values: The columns of the experiment. Their parameters become those of a flag that exists.
    """
    flag = flag_by_key(connection, author.project_id, key)
    if flag is None:
        flag = _create_flag(connection, author, key, values)
    else:
        values["parameters"] = _parameters_of_flag(values.get("parameters"), flag)
    return _with_new_holdout(connection, author, access, flag, values)


def _insert(
    connection: Connection,
    author: Author,
    flag: StoredFlag,
    values: Mapping[str, Any],
    links: Sequence[Mapping[str, Any]],
) -> Experiment:
    of_flag = {"feature_flag_id": flag.definition.id, "feature_flag_key": flag.definition.key}
    experiment_id = insert_experiment(connection, author, {**values, **of_flag})
    _write_links(connection, author, experiment_id, links)
    move_flag_version(connection, author.project_id)  # SDKs are told that the flag has one
    experiment = get_experiment(connection, author.project_id, experiment_id)
    record_change(connection, author, None, experiment)
    return experiment


def _create_flag(
    connection: Connection, author: Author, key: str, values: Mapping[str, Any]
) -> StoredFlag:
    parameters = values.get("parameters") or {}
    flag = NewFlag(
        key=key,
        name=f"Feature Flag for Experiment {values['name']}",
        filters=new_filters(parameters),
        active=values.get("start_date") is not None,
        **continuity_of(parameters),
    )
    return create_flag(connection, author, created_columns(flag, author.now))


def _parameters_of_flag(sent: Mapping[str, Any] | None, flag: StoredFlag) -> dict[str, Any]:
    """Return the parameters of an experiment with a flag that exists: its variants win."""
    filters = grouped_filters(flag.definition)
    variants = variants_of(filters)
    require_usable([variant.get("key") for variant in variants])
    if sent is not None:
        require_unchanged_variants(None, sent, filters)
    parameters = {**(sent or {}), VARIANTS: variants}
    if "rollout_percentage" in parameters:
        first = (filters["groups"] or [{}])[0]
        parameters["rollout_percentage"] = first.get("rollout_percentage")
    return parameters


def _with_new_holdout(
    connection: Connection,
    author: Author,
    access: FlagAccess,
    flag: StoredFlag,
    values: Mapping[str, Any],
) -> StoredFlag:
    if values.get("holdout_id") is None:
        return flag
    holdout = require_holdout(connection, author.project_id, values["holdout_id"])
    filters = with_holdout(grouped_filters(flag.definition), holdout.filters)
    return edit_flag(connection, author, access, flag, FlagChanges(filters=filters))


def _change(
    connection: Connection,
    author: Author,
    access: FlagAccess,
    experiment_id: int,
    sent: Mapping[str, Any],
) -> Experiment:
    before, flag = lock_with_flag(connection, author.project_id, experiment_id)
    if before.deleted and sent.get("deleted") is not False:
        raise NotFound
    if sent.get("version", UNSET) not in {UNSET, None, before.version}:
        raise StaleExperiment(before)
    _require_same_key(before, sent)
    values = read_fields(sent, before, partial(require_named, connection, author.project_id))
    _require_archivable(values, before)
    changes = _flag_changes(connection, before, flag, values, sent)
    if _ends(before, values) and flag is not None:
        access.require_edit(flag.definition.id, flag.creator_id)
    if changes is not None:
        flag = edit_flag(connection, author, access, require_flag(flag), changes)
        before = lock_experiment(connection, author.project_id, experiment_id)  # with a new phase
    values |= _moved_phases(before, flag, values)
    if "saved_metrics_ids" in sent:
        links = read_links(sent["saved_metrics_ids"])
        if links != _stored_links(before):
            _write_links(connection, author, before.id, links)
    return write_experiment(connection, author, before, values)


def write_experiment(
    connection: Connection, author: Author, before: Experiment, values: Mapping[str, Any]
) -> Experiment:
    """Set columns of a locked experiment and record what differs."""
    differing = {name: value for name, value in values.items() if getattr(before, name) != value}
    if "deleted" in differing:
        move_flag_version(connection, author.project_id)
    if differing:
        update_experiment(connection, author, before, differing)
    after = get_experiment(connection, author.project_id, before.id)
    recorded = record_change(connection, author, before, after)
    if recorded and not differing:  # only its saved metrics differ
        update_experiment(connection, author, before, {})
        after = get_experiment(connection, author.project_id, before.id)
    return after


def _require_same_key(before: Experiment, sent: Mapping[str, Any]) -> None:
    if sent.get("feature_flag_key", before.feature_flag_key) != before.feature_flag_key:
        raise Invalid(
            "Can't update keys: get_feature_flag_key on Experiment", attr="feature_flag_key"
        )


def _require_archivable(values: Mapping[str, Any], before: Experiment | None) -> None:
    end = values.get("end_date", None if before is None else before.end_date)
    was_archived = before is not None and before.archived
    if values.get("archived") and not was_archived and end is None:
        raise Invalid("Experiment must be ended before it can be archived.", attr="archived")


def _ends(before: Experiment, values: Mapping[str, Any]) -> bool:
    return before.end_date is None and values.get("end_date") is not None


def _moved_phases(
    before: Experiment, flag: StoredFlag | None, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the phases of an experiment whose start was set, moved or cleared."""
    if "start_date" not in values or values["start_date"] == before.start_date:
        return {}
    start = values["start_date"]
    if start is not None and before.is_draft:
        return {"phases": first_phase(start, require_flag(flag))}
    return {"phases": phases_from(start, before.phases)}


def _flag_changes(
    connection: Connection,
    before: Experiment,
    flag: StoredFlag | None,
    values: Mapping[str, Any],
    sent: Mapping[str, Any],
) -> FlagChanges | None:
    """Return what a request changes in the flag; None if that is nothing.

    Raises:
        Invalid: An experiment that was launched does not change like this.
    """
    stored = {"groups": []} if flag is None else grouped_filters(flag.definition)
    filters = dict(stored)
    changes: dict[str, Any] = {}
    parameters = values.get("parameters")
    if parameters is not None and not same_parameters(before.parameters, parameters):
        if not before.is_draft:
            require_unchanged_variants(before.parameters, parameters, stored)
        if before.is_draft or sent.get("update_feature_flag_params") is True:
            filters = with_parameters(stored, parameters)
            changes |= continuity_of(parameters) if before.is_draft else {}
        else:
            require_unchanged_shares(before.parameters, parameters, stored)
    if values.get("holdout_id", before.holdout_id) != before.holdout_id:
        filters = with_holdout(filters, _new_groups(connection, before, values["holdout_id"]))
    if filters != stored:
        changes["filters"] = filters
    if before.is_draft and values.get("start_date") is not None:
        require_usable(list(variant_shares(filters)))
        changes["active"] = True
    return FlagChanges(**changes) if changes else None


def _new_groups(
    connection: Connection, before: Experiment, holdout_id: int | None
) -> list[dict[str, Any]] | None:
    """Return the condition sets of another holdout, None for none."""
    if not before.is_draft:
        raise Invalid("Can't update holdout on running Experiment", attr="holdout_id")
    if holdout_id is None:
        return None
    return require_holdout(connection, before.project_id, holdout_id).filters


def _write_links(
    connection: Connection, author: Author, experiment_id: int, links: Sequence[Mapping[str, Any]]
) -> None:
    """Replace the saved metrics of an experiment, or raise Invalid if one does not exist."""
    ids = (link["saved_metric_id"] for link in links)
    require_saved(links, known_saved_metrics(connection, author.project_id, ids))
    replace_links(connection, author, experiment_id, links)


def _stored_links(experiment: Experiment) -> list[dict[str, Any]]:
    return [
        {"saved_metric_id": link.saved_metric, "metadata": link.metadata}
        for link in experiment.links
    ]


def _copy(
    connection: Connection,
    author: Author,
    access: FlagAccess,
    experiment_id: int,
    data: ExperimentCopy,
) -> Experiment:
    original = get_experiment(connection, author.project_id, experiment_id)
    if original.deleted:
        raise NotFound
    if data.feature_flag_key == original.feature_flag_key:
        raise Invalid(
            "The copy needs a feature flag of its own: two experiments with one flag would end "
            "each other.",
            attr="feature_flag_key",
        )
    name = data.name or f"{original.name[: NAME_CHARS_MAX - len(COPY)]}{COPY}"
    values = {**copied_fields(original), "holdout_id": original.holdout_id, "name": name}
    flag = _new_flag(connection, author, access, data.feature_flag_key, values)
    return _insert(connection, author, flag, values, _stored_links(original))
