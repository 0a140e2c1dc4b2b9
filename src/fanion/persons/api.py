"""Persons over HTTP.

source: capture.md section 8
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromQuery
from msgspec import Meta, Struct

from fanion.db.engine import Records
from fanion.errors import Invalid, NotFound
from fanion.events.api import PersonOfEvent
from fanion.persons.store import Person, PersonQuery, find_persons, get_person, persons_of
from fanion.projects.request import ManagementRequest, scoped
from fanion.rest.ids import object_id

# What a person is called by, the first that is set. source: capture.md section 8
_SHOWN = ("email", "name", "username")
_NAMES = ("email", "Email", "name", "Name", "username", "Username", "UserName")


class PersonBody(Struct, kw_only=True):
    type: str
    id: UUID
    uuid: UUID
    name: Annotated[str, Meta(description="E-mail address, name, or a distinct id.")]
    distinct_ids: list[str]
    properties: dict[str, Any]
    created_at: datetime
    is_identified: bool
    matched_recordings: list[Any]
    value_at_data_point: None


class PersonPage(Struct, kw_only=True):
    next: Annotated[str | None, Meta(description="Address of the next page.")]
    previous: Annotated[str | None, Meta(description="Address of the page before.")]
    results: list[PersonBody]


async def persons_of_events(
    records: Records, project_id: int, distinct_ids: Iterable[str]
) -> dict[str, PersonOfEvent]:
    """The little that a list of events says of each event's person, by distinct id."""
    found = await persons_of(records, project_id, distinct_ids)
    return {
        distinct_id: PersonOfEvent(
            is_identified=person.is_identified,
            distinct_ids=[distinct_id],
            properties={k: person.properties[k] for k in _SHOWN if k in person.properties},
        )
        for distinct_id, person in found.items()
    }


class PersonsApi(Controller):
    path = "/api/projects/{project_id:str}/persons"
    tags = ("Persons",)
    opt = scoped("person")

    @get("/", summary="List persons")
    async def persons(
        self,
        request: ManagementRequest,
        records: NamedDependency[Records],
        distinct_id: FromQuery[str | None] = None,
        email: FromQuery[str | None] = None,
        search: FromQuery[str | None] = None,
    ) -> PersonPage:
        """The newest first. `search` is part of the e-mail address, or a whole distinct id."""
        page = request.page
        query = PersonQuery(distinct_id, email, search, page.limit, page.offset)
        found, more = await find_persons(records, request.project.id, query)
        return PersonPage(
            next=_link(request, page.offset + page.limit) if more else None,
            previous=_link(request, page.offset - page.limit) if page.offset else None,
            results=[shown(person) for person in found],
        )

    @get("/{person_id:str}", summary="Retrieve a person")
    async def person(
        self, request: ManagementRequest, person_id: str, records: NamedDependency[Records]
    ) -> PersonBody:
        """By UUID or number. A person that was merged away is the one it became."""
        found = await get_person(records, request.project.id, _person_id(person_id))
        if found is None:
            raise NotFound
        return shown(found)


def shown(person: Person) -> PersonBody:
    return PersonBody(
        type="person",
        id=person.uuid,
        uuid=person.uuid,
        name=_name(person),
        distinct_ids=list(person.distinct_ids),
        properties=dict(person.properties),
        created_at=person.created_at,
        is_identified=person.is_identified,
        matched_recordings=[],
        value_at_data_point=None,
    )


def _name(person: Person) -> str:
    for key in _NAMES:
        value = person.properties.get(key)
        if isinstance(value, str) and value:
            return value
    readable = [one for one in person.distinct_ids if not _looks_anonymous(one)]
    return next(iter([*readable, *person.distinct_ids]), "")


def _looks_anonymous(distinct_id: str) -> bool:
    """Clients give visitors that they do not know a UUID, or something as long with dashes."""
    return len(distinct_id) > 16 and distinct_id.count("-") >= 4


def _person_id(text: str) -> UUID | int:
    number = object_id(text)
    if number is not None:
        return number
    try:
        return UUID(text)
    except ValueError:
        raise Invalid(
            "The ID provided does not look like a personID. "
            "If you are using a distinctId, please use /persons?distinct_id=… instead."
        ) from None


def _link(request: ManagementRequest, offset: int) -> str:
    """This request again at another offset; the first page needs none."""
    page = request.page
    kept = [(name, value) for name, value in page.query if name not in {"limit", "offset"}]
    kept.append(("limit", str(page.limit)))
    if offset > 0:
        kept.append(("offset", str(offset)))
    return f"{request.address}?{urlencode(sorted(kept))}"
