"""The units behind the numbers of experiments, also as static cohorts.

Source: experiments.md sections 2 and 3; cohorts.md section 10, "Other ways".
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from fanion.cohorts.criteria.definition import CriteriaError
from fanion.cohorts.members.store import MEMBERS_MAX
from fanion.cohorts.model import ImportQuery
from fanion.errors import Invalid, NotFound
from fanion.experiments.people.behind import Behind, read_behind
from fanion.experiments.results.reading import measured_experiment
from fanion.experiments.store import ExperimentStore
from fanion.insights.actors.service import ActorFinder, ActorsQuery
from fanion.projects.cache import Projects
from fanion.projects.model import Project


class _PendingQuery(msgspec.Struct):
    """A stored question for the persons behind a number.

    Attributes:
        now: The time when it was sent, up to which exposures and events count.
    """

    experiment_id: int
    behind: Behind
    now: datetime


@dataclass(frozen=True, slots=True)
class ExperimentPeople:
    store: ExperimentStore
    actors: ActorFinder
    projects: Projects

    async def query(self, project: Project, experiment_id: int, behind: Behind) -> ActorsQuery:
        """Return the query for the units behind a number of an experiment.

        Raises:
            NotFound: There is no such experiment.
            Invalid: Its results have no such number.
        """
        experiment = await self.store.get_experiment(project.id, experiment_id)
        return read_behind(measured_experiment(experiment, project), behind)

    async def import_query(
        self, project: Project, experiment_id: int, behind: Behind, now: datetime
    ) -> ImportQuery:
        """Return the query by which a static cohort gets the persons behind a number.

        Raises:
            NotFound: There is no such experiment.
            Invalid: Its results have no such number, or it counts groups.
        """
        query = await self.query(project, experiment_id, behind)
        if query.group_type_index is not None:
            raise Invalid("A cohort has persons, and this experiment counts groups.")
        pending = _PendingQuery(experiment_id, query.place, now)
        return ImportQuery("experiment", msgspec.json.encode(pending).decode())

    async def person_uuids(self, project_id: int, text: str) -> AsyncGenerator[Sequence[UUID]]:
        """Yield the UUIDs of the persons in batches.

        Among them are UUIDs of events without a person, which match no person. Errors of the stores
        are passed on.

        Raises:
            CriteriaError: The question cannot be calculated any more.
        """
        pending = msgspec.json.decode(text, type=_PendingQuery)
        try:
            project = await self.projects.by_id(project_id)
            if project is None:
                raise NotFound
            query = await self.query(project, pending.experiment_id, pending.behind)
            async for some in self.actors.find_uuids(project, query, pending.now, MEMBERS_MAX):
                yield some
        except NotFound:
            raise CriteriaError("The experiment was deleted.") from None
        except Invalid as error:
            raise CriteriaError(error.detail) from None
