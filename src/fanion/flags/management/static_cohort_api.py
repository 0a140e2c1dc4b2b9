"""A static cohort of the persons for whom a flag is on.

source: flags.md section 19, cohorts.md section 10
"""

from dataclasses import dataclass
from datetime import datetime

from litestar import Controller, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from msgspec import Struct

from fanion.cohorts.api import CohortService
from fanion.cohorts.criteria.definition import NAME_CHARS_MAX
from fanion.cohorts.model import ImportQuery, MembersImport
from fanion.cohorts.schemas import CohortBody, cohort_body
from fanion.cohorts.validation import created_values
from fanion.flags.management.api import Flags
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId

_NAME = "Users with feature flag {key} enabled at {now:%Y-%m-%d %H:%M:%S}"


@dataclass(frozen=True, slots=True)
class FlagCohorts:
    flags: Flags
    cohorts: CohortService


class MadeCohort(Struct, kw_only=True):
    cohort: CohortBody


class FlagCohortsApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags/{flag_id:str}"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @post("/create_static_cohort_for_flag", summary="Keep whom a flag is on for as a cohort")
    async def keep(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flag_cohorts: NamedDependency[FlagCohorts],
    ) -> MadeCohort:
        """Makes a static cohort; its members are found in the background, by the flag as it is
        then. A flag that is switched off or deleted, or goes by group, gives an empty one."""
        flag = await flag_cohorts.flags.editable(request, flag_id)
        author, cohorts = request.author, flag_cohorts.cohorts
        sent = {"name": _name(flag.definition.key, author.now), "is_static": True}
        values = created_values(sent, author.now, imports=True)
        members = MembersImport(query=ImportQuery("flag", str(flag_id)))
        created = await cohorts.store.create(author, values, members)
        cohorts.notify(request.project.id)
        return MadeCohort(cohort=cohort_body(created))


def _name(key: str, now: datetime) -> str:
    """No longer than a name may be."""
    room = NAME_CHARS_MAX - len(_NAME.format(key="", now=now))
    return _NAME.format(key=key[:room], now=now)
