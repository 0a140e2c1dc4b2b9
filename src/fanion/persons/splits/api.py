"""API of splitting distinct ids off persons, and of previews of a split.

Source: PostHog's `persons/split`, with its two ways to name the distinct ids.
"""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, RequestBody
from msgspec import Meta, Struct

from fanion.persons.api import read_person_id
from fanion.persons.splits.model import IDS_MAX, EventsOfId, SplitChoice
from fanion.persons.splits.service import PersonSplits
from fanion.projects.request_api import ManagementRequest, scoped


class PersonSplitRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    distinct_ids_to_split: Annotated[
        list[str] | None,
        Meta(description=f"The distinct ids that leave the person; at most {IDS_MAX}."),
    ] = None
    main_distinct_id: Annotated[
        str | None,
        Meta(
            description="The distinct id that stays, while all others leave; the first one if "
            "neither field is given."
        ),
    ] = None


class SplitOffPerson(Struct, kw_only=True):
    id: UUID
    distinct_id: str


class PersonSplit(Struct, kw_only=True):
    success: bool
    id: Annotated[UUID, Meta(description="The person that the distinct ids left.")]
    persons: Annotated[list[SplitOffPerson], Meta(description="One for each distinct id.")]


class LeavingDistinctId(Struct, kw_only=True):
    distinct_id: str
    events: Annotated[
        int | None, Meta(description="Number of its events; null if counting takes too long.")
    ]
    first_event_at: datetime | None


class PersonSplitPreview(Struct, kw_only=True):
    id: UUID
    distinct_ids: Annotated[list[LeavingDistinctId], Meta(description="Those that would leave.")]
    events: Annotated[int | None, Meta(description="The number of their events together.")]
    remaining_distinct_ids_count: int


class PersonSplitsApi(Controller):
    path = "/api/projects/{project_id:str}/persons"
    tags = ("Persons",)
    opt = scoped("person")

    @post(
        "/{person_id:str}/split",
        status_code=201,
        summary="Split distinct ids off a person",
        responses={
            202: ResponseSpec(
                PersonSplit, generate_examples=False, description="Done; the events follow"
            )
        },
    )
    async def split(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        data: RequestBody[PersonSplitRequest],
        splits: NamedDependency[PersonSplits],
    ) -> Response[PersonSplit]:
        """Give distinct ids of a person to new persons, each to its own, with all their events.

        The person keeps its properties and memberships in static cohorts; new persons have no
        properties. Flags with experience continuity go on answering all of them as before. A later
        event may merge them again.

        The response is 201 when past events belong to the new persons too. It is 202 when only
        later ones do, and the past ones follow in the background, also after a restart.
        """
        choice = SplitChoice(data.distinct_ids_to_split, data.main_distinct_id)
        person = read_person_id(person_id)
        state, made, done = await splits.split(request.author, person, choice)
        body = PersonSplit(
            success=True,
            id=state.uuid,
            persons=[SplitOffPerson(id=new.uuid, distinct_id=new.distinct_id) for new in made],
        )
        return Response(body, status_code=201 if done else 202)

    @post(
        "/{person_id:str}/split/preview",
        status_code=200,
        summary="Preview a split of a person",
        scope="person:read",
        reads=True,
    )
    async def preview(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        data: RequestBody[PersonSplitRequest],
        splits: NamedDependency[PersonSplits],
    ) -> PersonSplitPreview:
        """Return which distinct ids the split would move now, and how many events they have.

        Nothing is changed.
        """
        choice = SplitChoice(data.distinct_ids_to_split, data.main_distinct_id)
        foreseen = await splits.preview(request.project.id, read_person_id(person_id), choice)
        leaving = [_leaving(name, foreseen.events.get(name)) for name in foreseen.leaving]
        counts = [each.events for each in leaving if each.events is not None]
        return PersonSplitPreview(
            id=foreseen.person.uuid,
            distinct_ids=leaving,
            events=sum(counts) if len(counts) == len(leaving) else None,
            remaining_distinct_ids_count=foreseen.remaining,
        )


def _leaving(distinct_id: str, events: EventsOfId | None) -> LeavingDistinctId:
    known = events or EventsOfId()
    return LeavingDistinctId(
        distinct_id=distinct_id, events=known.count, first_event_at=known.first
    )
