"""API of the log of merges."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from msgspec import Meta, Struct

from fanion.persons.api import read_person_id
from fanion.persons.merge_log.model import IDS_LISTED_MAX, LoggedMerge, MergeEvent
from fanion.persons.merge_log.store import MergeLog
from fanion.projects.model import UserSummary
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.pagination import Paged


class PersonMerge(Struct, kw_only=True):
    id: int
    type: Annotated[
        Literal["merge", "split"],
        Meta(description="`split` if the distinct ids left `person` for `other_person`."),
    ]
    created_at: Annotated[datetime, Meta(description="When it was made.")]
    person: Annotated[
        UUID,
        Meta(
            description="The person that the distinct ids came to, or left, as it was named then."
        ),
    ]
    other_person: Annotated[
        UUID | None,
        Meta(
            description="The person that was merged, or split off; null if the distinct id had "
            "none."
        ),
    ]
    distinct_ids: Annotated[
        list[str],
        Meta(description=f"The distinct ids that came or left; the first {IDS_LISTED_MAX}."),
    ]
    distinct_ids_count: int
    event: Annotated[
        MergeEvent | None, Meta(description="The event that merged; null for a split.")
    ]
    user: Annotated[
        UserSummary | None, Meta(description="Who asked for it; null for an event of a client.")
    ]


class MergeLogApi(Controller):
    path = "/api/projects/{project_id:str}/persons"
    tags = ("Persons",)
    opt = scoped("person")

    @get("/{person_id:str}/merges", summary="List the merges and splits of a person")
    async def list_merges(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        merge_log: NamedDependency[MergeLog],
    ) -> Paged[PersonMerge]:
        """Return which distinct ids came to a person or left it, the newest first.

        Merges into persons that were merged into this one are included. The log has a year, and the
        last two million entries of an installation.
        """
        page = request.page
        entries, count = await merge_log.of_person(
            request.project.id, read_person_id(person_id), page.limit, page.offset
        )
        return page.with_results([_body(entry) for entry in entries], count)


def _body(entry: LoggedMerge) -> PersonMerge:
    return PersonMerge(
        id=entry.id,
        type="split" if entry.event is None else "merge",
        created_at=entry.created_at,
        person=entry.person,
        other_person=entry.other_person,
        distinct_ids=entry.distinct_ids,
        distinct_ids_count=entry.distinct_ids_count,
        event=entry.event,
        user=entry.user,
    )
