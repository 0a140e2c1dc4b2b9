"""The experiments of a flag, as far as the flag's own changes and answers concern them.

Experiments are managed in `fanion.experiments`, which is built on flags. An edit of a flag must not
leave a running experiment behind that knows nothing of it, so that is done here, in the transaction
of the edit.

Source: experiments.md sections 1b and 2e.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Text, cast, func, select, type_coerce, update

from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.columns import IdList
from fanion.db.schema.experiments import experiments
from fanion.db.schema.tables import feature_flags
from fanion.errors import Invalid
from fanion.flags.definitions.model import variant_shares
from fanion.flags.engine.definition import FlagRow, grouped_filters

_experiment = experiments.c
_of_flag = (_experiment.feature_flag_id == feature_flags.c.id) & _experiment.deleted.is_(False)

# Columns of a statement that selects flags.
HAS_EXPERIMENT: ColumnElement[bool] = (
    select(_experiment.id).where(_of_flag).correlate(feature_flags).exists()
)
EXPERIMENT_SET: ColumnElement[list[int]] = type_coerce(
    select(func.aggregate_strings(cast(_experiment.id, Text), ","))
    .where(_of_flag)
    .correlate(feature_flags)
    .scalar_subquery(),
    IdList,
)


def require_no_running_experiment(connection: Connection, flag_id: int) -> None:
    """Raise Invalid if the flag cannot be deleted because an experiment runs with it."""
    running = _running_experiments(connection, flag_id)
    if running:
        raise Invalid(
            f'The experiment "{running[0].name}" is running with this feature flag. End it first.',
            attr="deleted",
        )


def follow_flag(
    connection: Connection, author: Author, before: Mapping[str, Any], after: Mapping[str, Any]
) -> None:
    """Let running experiments begin a new phase if an edit of their flag moves people.

    Args:
        before: The flag by column.
        after: The flag after the edit, whose lock the caller holds.
    """
    if not before["experiment_set"]:
        return  # the case for most flags
    renamed = before["key"] != after["key"]
    if not renamed and _split(before) == _split(after):
        return
    flag_id, key = before["id"], after["key"]
    shares = variant_shares(after["filters"])
    for row in _running_experiments(connection, flag_id):
        phase = {"started_at": author.now.isoformat(), "variants": shares}
        _write_phases(connection, author, row, [*row.phases, phase])
    if renamed:
        of_flag = update(experiments).where(_experiment.feature_flag_id == flag_id)
        connection.execute(of_flag.values(feature_flag_key=key))


def _running_experiments(connection: Connection, flag_id: int) -> Sequence[Row[Any]]:
    """Return the experiments that run with a flag, locked until the transaction ends."""
    statement = (
        select(_experiment.id, _experiment.name, _experiment.phases)
        .where(_experiment.feature_flag_id == flag_id, _experiment.deleted.is_(False))
        .where(_experiment.start_date.is_not(None), _experiment.end_date.is_(None))
        .order_by(_experiment.id)
    )
    rows: Sequence[Any] = connection.execute(statement.with_for_update()).all()
    return rows


def _write_phases(
    connection: Connection, author: Author, row: Row[Any], phases: Sequence[Mapping[str, Any]]
) -> None:
    this = update(experiments).where(_experiment.id == row.id)
    connection.execute(this.values(phases=phases, version=_experiment.version + 1))
    before, after = (
        ItemState(str(row.id), row.name, {"phases": list(value)}) for value in (row.phases, phases)
    )
    record_activity(connection, item_record(author, "Experiment", before, after))


def _split(flag: Mapping[str, Any]) -> Any:
    """Return what decides who gets which variant, without the percentages of the rollout.

    These use another hash than the variants, so that changing them moves nobody between variants.
    """
    row = FlagRow(flag["id"], flag["key"], flag["filters"], flag["rollout_percentage"])
    filters = grouped_filters(row)
    conditions = [
        (group.get("properties") or [], group.get("variant") or None) for group in filters["groups"]
    ]
    group_type = filters.get("aggregation_group_type_index")
    return list(variant_shares(filters).items()), conditions, group_type
