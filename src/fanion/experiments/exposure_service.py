"""The cohort of the persons exposed to an experiment, and the check whether events carry flags.

Source: experiments.md sections 1d and 2a.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.cohorts.model import StoredCohort
from fanion.cohorts.store import create_cohort
from fanion.cohorts.validation import check_created, created_values
from fanion.errors import Invalid, NotFound
from fanion.events.storage.store import EventStore
from fanion.experiments.metrics.exposure import DEFAULT_EVENT, read_criteria
from fanion.experiments.model import Experiment
from fanion.experiments.service import lock_with_flag, write_experiment
from fanion.experiments.store import ExperimentStore
from fanion.flags.definitions.model import variant_shares
from fanion.insights.entities import Entity
from fanion.insights.parsing.conditions import sent_conditions
from fanion.insights.parsing.fields import Fields
from fanion.properties.filters import ConditionGroup, Node

LOOKBACK = timedelta(days=7)
SECONDS_MAX = 20  # a request waits for it
EVENTS_MAX = 100  # in one request

_CARRYING = """
  SELECT count()
    FROM (SELECT 1
            FROM events
           WHERE project_id = {project_id:UInt64}
             AND event IN {names:Array(String)}
             AND timestamp >= fromUnixTimestamp64Micro({since:Int64})
             AND arrayExists(path -> startsWith(path, '$feature/'), JSONAllPaths(attributes))
           LIMIT 1)
"""


@dataclass(frozen=True, slots=True)
class ExposureService:
    """Questions about the exposures of experiments.

    Attributes:
        cohorts_changed: Called with a project whose cohorts have changed.
    """

    store: ExperimentStore
    events: EventStore
    cohorts_changed: Callable[[int], None]

    async def create_cohort(self, author: Author, experiment_id: int) -> StoredCohort:
        """Create the cohort of the persons who are exposed to an experiment.

        Raises:
            NotFound: There is no such experiment.
            Invalid: It has a cohort already, or was not launched.
        """
        async with self.store.records.write() as connection:
            cohort = await connection.run_sync(_create_cohort, author, experiment_id)
        self.cohorts_changed(author.project_id)
        return cohort

    async def requires_implementation(
        self, project_id: int, names: Sequence[str], now: datetime
    ) -> bool:
        """Return whether no event of the last days with these names carries a value of a flag.

        Raises:
            EventStoreUnavailable: The event store failed.
        """
        parameters = {
            "project_id": project_id,
            "names": list(names),
            "since": int((now - LOOKBACK).timestamp()) * 1_000_000,
        }
        async with self.events.turn(project_id):
            result = await self.events.ask(_CARRYING, parameters, SECONDS_MAX, estimated=False)
        [[number]] = result.columns
        return int(number) == 0


def _create_cohort(connection: Connection, author: Author, experiment_id: int) -> StoredCohort:
    experiment, _ = lock_with_flag(connection, author.project_id, experiment_id)
    if experiment.deleted:
        raise NotFound
    if experiment.exposure_cohort_id is not None:
        raise Invalid("Experiment already has an exposure cohort")
    if experiment.is_draft:
        raise Invalid("Experiment does not have a start date")
    sent = {
        "name": f"Users exposed to experiment: {experiment.name}"[:400],
        "filters": exposure_criteria(experiment),
    }
    check_created(sent, with_file=False)
    cohort = create_cohort(connection, author, created_values(sent, author.now, imports=False))
    write_experiment(connection, author, experiment, {"exposure_cohort_id": cohort.id})
    return cohort


def exposure_criteria(experiment: Experiment) -> dict[str, Any]:
    """Return the criteria of the cohort of the persons exposed to an experiment.

    The event is that of the exposure criteria, which need not be the one that SDKs send.

    Raises:
        Invalid: The exposure criteria cannot be those of a cohort.
    """
    assert experiment.start_date is not None
    criteria = read_criteria(experiment.exposure_criteria)
    if _has_alternatives(criteria.conditions):
        detail = "A cohort cannot have exposure criteria with alternatives (OR)."
        raise Invalid(detail, attr="exposure_criteria")
    variants = list(variant_shares({} if experiment.flag is None else _filters(experiment)))
    if criteria.entity is None:
        conditions = [
            _condition("$feature_flag", [experiment.feature_flag_key]),
            _condition("$feature_flag_response", variants),
        ]
    else:
        conditions = [_condition(f"$feature/{experiment.feature_flag_key}", variants)]
    exposing = criteria.entity or Entity(DEFAULT_EVENT)
    performed = {
        "type": "behavioral",
        "value": "performed_event",
        "key": exposing.id,
        "event_type": exposing.type_name,
        "explicit_datetime": experiment.start_date.isoformat(),
        "event_filters": [*conditions, *_own_conditions(experiment)],
    }
    return {"properties": {"type": "OR", "values": [{"type": "OR", "values": [performed]}]}}


def _has_alternatives(node: Node | None) -> bool:
    if not isinstance(node, ConditionGroup):
        return False
    is_choice = node.type == "OR" and len(node.children) > 1
    return is_choice or any(map(_has_alternatives, node.children))


def _own_conditions(experiment: Experiment) -> Iterator[Mapping[str, Any]]:
    """Yield the conditions of the exposure criteria on the event."""
    config = Fields(experiment.exposure_criteria or {}).inner("exposure_config")
    if config is not None and (sent := config.raw("properties")):
        yield from sent_conditions(sent)


def _filters(experiment: Experiment) -> Mapping[str, Any]:
    assert experiment.flag is not None
    return experiment.flag.definition.filters


def _condition(key: str, values: Sequence[str]) -> dict[str, Any]:
    return {"type": "event", "key": key, "operator": "exact", "value": list(values)}
