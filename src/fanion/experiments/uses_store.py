"""The experiments, saved metrics and guarded releases that use an action or a segment."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, select

from fanion.actions.references import named_actions
from fanion.db.schema.experiments import experiment_saved_metrics, experiments, guarded_releases
from fanion.db.schema.tables import feature_flags
from fanion.flags.definitions.releases_store import ACTIVE
from fanion.insights.segments.conditions import named_segments

_experiment = experiments.c
_saved = experiment_saved_metrics.c
_release = guarded_releases.c
_NAMING = (
    *(_experiment.metrics, _experiment.metrics_secondary, _experiment.guardrail_metrics),
    _experiment.exposure_criteria,
)


def experiments_with_action(
    connection: Connection, project_id: int, action_id: int
) -> Sequence[str]:
    """Return what measures events of an action, as `experiment "Checkout"`."""
    return list(_naming(connection, project_id, action_id, named_actions))


def experiments_with_segment(
    connection: Connection, project_id: int, segment_id: int
) -> Sequence[str]:
    """Return what measures events in a segment, as `experiment "Checkout"`."""
    return list(_naming(connection, project_id, segment_id, named_segments))


def _naming(
    connection: Connection,
    project_id: int,
    named_id: int,
    ids_in: Callable[[Any], Iterable[int]],
) -> Iterator[str]:
    own = select(_experiment.name, *_NAMING).order_by(_experiment.id)
    live = (_experiment.project_id == project_id) & _experiment.deleted.is_(False)
    for name, *parts in connection.execute(own.where(live)):
        if named_id in ids_in(parts):
            yield f'experiment "{name}"'
    saved = select(_saved.name, _saved.query).order_by(_saved.id)
    for name, query in connection.execute(saved.where(_saved.project_id == project_id)):
        if named_id in ids_in(query):
            yield f'saved metric "{name}"'
    released = select(feature_flags.c.key, _release.metrics).join(
        feature_flags, feature_flags.c.id == _release.flag_id
    )
    is_active = (_release.project_id == project_id) & _release.state.in_(ACTIVE)
    for key, metrics in connection.execute(released.where(is_active).order_by(_release.id)):
        if named_id in ids_in(metrics):
            yield f'guarded release of flag "{key}"'
