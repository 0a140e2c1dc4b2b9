"""The cohorts that the conditions of a project on test accounts name."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select

from fanion.db.schema.cohorts import cohorts
from fanion.projects.account_filters import cohorts_of
from fanion.projects.model import Project
from fanion.properties.validation import no_such_cohort


def require_cohorts(
    connection: Connection, project: Project, conditions: Sequence[Mapping[str, Any]]
) -> None:
    """Raise Invalid if the conditions name a cohort that does not exist.

    Cohorts that the stored conditions name are not checked, though they may be deleted.
    """
    known = cohorts_of(project.test_account_filters)
    named = {
        cohort_id: at for cohort_id, at in cohorts_of(conditions).items() if cohort_id not in known
    }
    if not named:
        return
    present = select(cohorts.c.id).where(
        cohorts.c.project_id == project.id, cohorts.c.deleted.is_(False), cohorts.c.id.in_(named)
    )
    existing = set(connection.scalars(present))
    for cohort_id, at in named.items():
        if cohort_id not in existing:
            raise no_such_cohort(cohort_id, at)
