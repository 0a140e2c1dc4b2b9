"""API of merging persons, and of previews of a merge."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, RequestBody
from msgspec import Meta, Struct

from fanion.errors import Invalid, NotFound
from fanion.persons.api import PersonBody, name_of, person_body, read_person_id
from fanion.persons.merge_requests.preview import PropertyOutcome
from fanion.persons.merge_requests.service import DISTINCT_IDS_LISTED_MAX, PersonMerges, Preview
from fanion.persons.merge_requests.store import (
    DISTINCT_IDS_MAX,
    PERSONS_MAX,
    PersonId,
    StoredCohort,
)
from fanion.persons.shown_values import CUT, ShownValues
from fanion.persons.store import get_person
from fanion.projects.request_api import ManagementRequest, scoped

PROPERTIES_LISTED_MAX = 1_000


class MergeBody(Struct, kw_only=True, forbid_unknown_fields=True):
    ids: Annotated[
        list[str],
        Meta(
            description=f"Persons to merge into this one, by UUID or numeric id; at most "
            f"{PERSONS_MAX}, with {DISTINCT_IDS_MAX} distinct ids together."
        ),
    ]


class PreviewedPerson(Struct, kw_only=True):
    id: UUID
    name: str
    distinct_ids_count: int
    events: Annotated[
        int | None, Meta(description="Number of its events; null if counting takes too long.")
    ]
    is_identified: bool
    created_at: datetime


class PreviewedValue(Struct, kw_only=True):
    person: UUID
    value: Any
    is_cut: Annotated[bool, Meta(description=f"True where {CUT}")]


class PreviewedProperty(Struct, kw_only=True):
    name: str
    remaining: Annotated[
        PreviewedValue | None,
        Meta(description="The value of the merged person; null if no value fits."),
    ]
    lost: Annotated[list[PreviewedValue], Meta(description="Other values, which are lost.")]


class PreviewedCohort(Struct, kw_only=True):
    id: int
    name: str
    is_static: bool
    is_new: Annotated[
        bool,
        Meta(
            description="Whether the remaining person is not a member yet, but another person is."
        ),
    ]


class PreviewedIdentity(Struct, kw_only=True):
    """The distinct id that decides a flag with experience continuity."""

    flag_key: str
    hash_key: str
    person: Annotated[UUID, Meta(description="The person whose identity remains.")]
    lost: Annotated[
        list[str], Meta(description="The identities of the other persons, where they differ.")
    ]


class Irreversible(Struct, kw_only=True):
    code: str
    detail: str


class MergePreview(Struct, kw_only=True):
    id: Annotated[UUID, Meta(description="The id of the person that remains.")]
    name: str
    is_identified: bool
    created_at: datetime
    persons: Annotated[
        list[PreviewedPerson],
        Meta(description="The remaining person, then those merged into it, in their order. "
        "Persons that were merged before are left out."),
    ]  # fmt: skip
    events: Annotated[int | None, Meta(description="The number of events of all persons together.")]
    distinct_ids: Annotated[
        list[str], Meta(description=f"The first {DISTINCT_IDS_LISTED_MAX} of all persons together.")
    ]
    distinct_ids_count: int
    properties: Annotated[
        list[PreviewedProperty],
        Meta(
            description=f"At most {PROPERTIES_LISTED_MAX}; properties that lose a value come first."
        ),
    ]
    properties_count: int
    cohorts: Annotated[
        list[PreviewedCohort],
        Meta(description="The cohorts that have the merged person as a member; those with "
        "criteria only until their next calculation."),
    ]  # fmt: skip
    flag_identities: list[PreviewedIdentity]
    irreversible: Annotated[list[Irreversible], Meta(description="What cannot be undone.")]


class PersonMergesApi(Controller):
    path = "/api/projects/{project_id:str}/persons"
    tags = ("Persons",)
    opt = scoped("person")

    @post(
        "/{person_id:str}/merge",
        status_code=201,
        summary="Merge persons into a person",
        responses={
            202: ResponseSpec(
                PersonBody, generate_examples=False, description="Accepted; the merge follows"
            )
        },
    )
    async def merge(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        data: RequestBody[MergeBody],
        merges: NamedDependency[PersonMerges],
    ) -> Response[PersonBody]:
        """Merge persons into this one, as one `$merge_dangerously` event for each of `ids` does.

        Identified persons are merged too. The values of this person win over those of the others,
        and earlier ones of `ids` over later ones. All are merged or none. A split can
        give distinct ids and events back, but no properties; see the preview.

        The response is 201, with the merged person, when the merge is done. Persons that were
        merged before are not an error. It is 202, with the person as it is, when events that were
        accepted earlier are still being ingested. The merge follows them, also after a restart.
        """
        author, removed = request.author, request.project.ingestion.removed_properties
        person = read_person_id(person_id)
        done = await merges.merge(author, tuple(removed), person, _read_ids(data.ids))
        survivor = await get_person(merges.records, author.project_id, person)
        if survivor is None:
            raise NotFound
        return Response(person_body(survivor), status_code=201 if done else 202)

    @post(
        "/{person_id:str}/merge/preview",
        status_code=200,
        summary="Preview a merge of persons",
        scope="person:read",
        reads=True,
    )
    async def preview(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        data: RequestBody[MergeBody],
        merges: NamedDependency[PersonMerges],
    ) -> MergePreview:
        """Return the result of the merge if it were made now, and what would be lost.

        Nothing is changed.
        """
        person = read_person_id(person_id)
        foreseen = await merges.preview(request.author, person, _read_ids(data.ids))
        return await asyncio.to_thread(_preview_body, foreseen)


def _read_ids(texts: Sequence[str]) -> list[PersonId]:
    if not texts:
        raise Invalid("This list may not be empty.", code="empty", attr="ids")
    if len(texts) > PERSONS_MAX:
        raise Invalid(
            f"Ensure this field has no more than {PERSONS_MAX} elements.",
            code="max_length",
            attr="ids",
        )
    ids: list[PersonId] = []
    for index, text in enumerate(texts):
        try:
            ids.append(read_person_id(text))
        except Invalid as error:
            raise Invalid(error.detail, attr=f"ids__{index}") from None
    return ids


def _preview_body(preview: Preview) -> MergePreview:
    stored, outcome = preview.stored, preview.outcome
    survivor = outcome.survivor
    shown = ShownValues()
    persons = _previewed_persons(preview)
    identities = list(_previewed_identities(preview))
    listed = outcome.properties[:PROPERTIES_LISTED_MAX]
    return MergePreview(
        id=survivor.uuid,
        name=name_of(survivor.properties, stored.distinct_ids),
        is_identified=survivor.is_identified,
        created_at=survivor.created_at,
        persons=persons,
        events=None if preview.events is None else sum(person.events or 0 for person in persons),
        distinct_ids=list(stored.distinct_ids),
        distinct_ids_count=sum(stored.counts.values()),
        properties=[_previewed_property(property_outcome, shown) for property_outcome in listed],
        properties_count=len(outcome.properties),
        cohorts=[
            _previewed_cohort(cohort, stored.request.survivor.id) for cohort in stored.cohorts
        ],
        flag_identities=identities,
        irreversible=_irreversible(preview, sum(len(identity.lost) for identity in identities)),
    )


def _previewed_persons(preview: Preview) -> list[PreviewedPerson]:
    """Return the persons as they are before the merge."""
    stored, previewed = preview.stored, []
    for row, before in zip(stored.states, preview.outcome.before, strict=True):
        events = None if preview.events is None else preview.events.get(row.uuid, 0)
        distinct_id = next(
            person.distinct_id for person in stored.request.persons if person.id == row.id
        )
        previewed.append(
            PreviewedPerson(
                id=row.uuid,
                name=name_of(before, [distinct_id]),
                distinct_ids_count=stored.counts.get(row.id, 0),
                events=events,
                is_identified=row.is_identified,
                created_at=row.created_at,
            )
        )
    return previewed


def _previewed_property(outcome: PropertyOutcome, shown: ShownValues) -> PreviewedProperty:
    def of(person: UUID, value: Any) -> PreviewedValue:
        kept, is_cut = shown.show(value)
        return PreviewedValue(person=person, value=kept, is_cut=is_cut)

    winner = outcome.person
    return PreviewedProperty(
        name=outcome.name,
        remaining=None if winner is None else of(winner, outcome.value),
        lost=[of(person, value) for person, value in outcome.lost],
    )


def _previewed_cohort(cohort: StoredCohort, survivor: int) -> PreviewedCohort:
    return PreviewedCohort(
        id=cohort.id,
        name=cohort.name,
        is_static=cohort.is_static,
        is_new=survivor not in cohort.persons,
    )


def _previewed_identities(preview: Preview) -> Sequence[PreviewedIdentity]:
    """Return the flag identities, of which the first in the order of the request remains.

    `merge_store` moves them in the same way.
    """
    previewed, persons = [], preview.stored.request.persons
    for flag_key, of_persons in preview.stored.identities.items():
        having = [person for person in persons if person.id in of_persons]
        hash_key = of_persons[having[0].id]
        others = [of_persons[person.id] for person in having[1:]]
        previewed.append(
            PreviewedIdentity(
                flag_key=flag_key,
                hash_key=hash_key,
                person=having[0].uuid,
                lost=[other for other in others if other != hash_key],
            )
        )
    return previewed


def _irreversible(preview: Preview, identities_lost: int) -> list[Irreversible]:
    others, survivor = preview.stored.request.others, preview.stored.states[0]
    if not others:
        return []
    details = {
        "persons_joined": "Events and distinct ids of the merged persons belong to the remaining "
        "one. A split gives them to new persons again, but without properties and cohorts."
    }
    if lost := preview.outcome.lost:
        details["property_values_lost"] = f"Values of properties that are lost: {lost}."
    if identities_lost:
        details["flag_identities_lost"] = (
            f"Stored identities of flags that are lost: {identities_lost}. These flags may return "
            "another value for the merged persons."
        )
    if not survivor.is_identified:
        details["person_identified"] = (
            "The remaining person is identified from then on: an $identify or $create_alias event "
            "no longer merges it into another one."
        )
    return [Irreversible(code=code, detail=detail) for code, detail in details.items()]
