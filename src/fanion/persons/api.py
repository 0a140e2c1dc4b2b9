"""API of persons.

Source: capture.md section 8.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from litestar import Controller, delete, get, patch, post, put
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, FromQuery, RequestBody
from litestar.response.base import ASGIResponse
from msgspec import Meta, Struct, field

from fanion.db.engine import Records
from fanion.errors import Invalid, NotFound
from fanion.events.event_body import PersonOfEvent
from fanion.persons.count_store import count_persons, count_with_properties
from fanion.persons.edits_store import PersonChanges, PersonTooLarge
from fanion.persons.list_store import (
    NEWEST_FIRST,
    PERSON_ORDERS,
    PersonOrder,
    PersonQuery,
    find_persons,
    having_properties,
)
from fanion.persons.merge import PersonUpdate
from fanion.persons.property_order_store import (
    PREFIX,
    PropertyOrder,
    persons_by_property,
    property_order,
)
from fanion.persons.search_store import NAMES
from fanion.persons.store import Person, get_person, persons_of
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.properties.validation import read_conditions
from fanion.rest.endpoints import empty_response
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_PERSON,
)
from fanion.rest.unknown_fields import no_choice
from fanion.rest.validation import object_id

# Properties of which the first that is set names the person. Source: capture.md section 8.
_SHOWN = ("email", "name", "username")
_PLACES = frozenset({"limit", "offset", "after"})


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
    previous: Annotated[str | None, Meta(description="Address of the previous page.")]
    results: list[PersonBody]


class PersonsCountBody(Struct, kw_only=True):
    count: int
    is_exact: Annotated[bool, Meta(description="False if there are more than `count`.")]


class PersonProperties(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_PERSON

    properties: Annotated[
        dict[str, Any], Meta(description="Properties to set; others stay unchanged.")
    ]


class OneProperty(Struct, kw_only=True, forbid_unknown_fields=True):
    key: Annotated[str, Meta(min_length=1)]
    value: Any


class UnsetProperty(Struct, kw_only=True, forbid_unknown_fields=True):
    unset: Annotated[str, Meta(min_length=1, description="The name of the property.")] = field(
        name="$unset"
    )


class Unset(Struct, kw_only=True):
    success: bool


async def persons_of_events(
    records: Records, project_id: int, distinct_ids: Iterable[str]
) -> dict[str, PersonOfEvent]:
    """Return the few facts that a list of events includes about each person, by distinct id."""
    persons = await persons_of(records, project_id, distinct_ids, _SHOWN)
    return {
        distinct_id: PersonOfEvent(
            is_identified=person.is_identified,
            distinct_ids=[distinct_id],
            properties=dict(person.properties),
        )
        for distinct_id, person in persons.items()
    }


def _order(text: str) -> PersonOrder | PropertyOrder:
    by_property = property_order(text)
    if by_property is not None:
        return by_property
    for order in PERSON_ORDERS:
        if order == text:
            return order
    raise no_choice(text, (*PERSON_ORDERS, f"{PREFIX}<name>"), "order")


class PersonsApi(Controller):
    path = "/api/projects/{project_id:str}/persons"
    tags = ("Persons",)
    opt = scoped("person")

    @get("/", summary="List persons")
    async def list_persons(
        self,
        request: ManagementRequest,
        persons: NamedDependency[PersonChanges],
        distinct_id: FromQuery[str | None] = None,
        email: FromQuery[str | None] = None,
        search: FromQuery[str | None] = None,
        properties: FromQuery[str | None] = None,
        after: FromQuery[UUID | None] = None,
        order: FromQuery[str | None] = None,
    ) -> PersonPage:
        """Return the project's persons, newest first.

        `order` is `-created_at`, `created_at`, `email`, `-email`, or a property, such as
        `properties.plan` or `-properties.plan`: numbers by size, then texts in any case. Persons
        without a value come last. The event store sorts by properties: of the persons that a search
        finds at most 10,000, and without changes of the last seconds.

        `search` is a part of the name or the e-mail address, a whole distinct id, or the UUID;
        `properties` is a JSON list of conditions, compared as everywhere. `after` is a part of
        `next`, so that rows are not counted up to the offset.
        """
        page, project_id = request.page, request.project.id
        conditions, now = read_conditions(properties, "persons"), request.app.state.now()
        records, events = persons.records, persons.events
        ordered = _order(order or NEWEST_FIRST)
        chosen = having_properties(conditions, events, project_id, now) if conditions else None
        query = PersonQuery(distinct_id, email, search, page.limit, page.offset, chosen, after)
        async with events.turn(project_id):
            if isinstance(ordered, PropertyOrder):
                listed = await persons_by_property(
                    records, events, project_id, query, ordered, conditions, now
                )
            else:
                listed = await find_persons(records, project_id, replace(query, order=ordered))
        last = listed.last if chosen is not None and ordered == NEWEST_FIRST else None
        return PersonPage(
            next=_page_url(request, page.offset + listed.seen, last) if listed.is_cut else None,
            previous=_page_url(request, page.offset - page.limit) if page.offset else None,
            results=[person_body(person) for person in listed.persons],
        )

    @get("/count", summary="Count persons")
    async def count_matching(
        self,
        request: ManagementRequest,
        persons: NamedDependency[PersonChanges],
        search: FromQuery[str | None] = None,
        properties: FromQuery[str | None] = None,
    ) -> PersonsCountBody:
        """Return how many persons a list with the same `search` and `properties` has.

        The count ends at 100,000 persons, and at 10,000 whose properties have to be compared after
        a search.
        """
        records, events, project_id = persons.records, persons.events, request.project.id
        conditions, now = read_conditions(properties, "persons"), request.app.state.now()
        async with events.turn(project_id):
            if conditions and not search:
                counted = await count_with_properties(conditions, events, project_id, now)
            else:
                chosen = having_properties(conditions, events, project_id, now)
                query = PersonQuery(search=search, chosen=chosen if conditions else None)
                counted = await count_persons(records, project_id, query)
        return PersonsCountBody(count=counted.count, is_exact=counted.is_exact)

    @get("/{person_id:str}", summary="Retrieve a person")
    async def retrieve_person(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        persons: NamedDependency[PersonChanges],
    ) -> PersonBody:
        """Return a person by UUID or numeric id.

        A merged person resolves to the one it was merged into.
        """
        return person_body(await _find_person(request, persons, person_id))

    @patch("/{person_id:str}", summary="Set properties of a person")
    async def set_properties(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        data: RequestBody[PersonProperties],
        persons: NamedDependency[PersonChanges],
    ) -> PersonBody:
        """Set properties of a person, as a `$set` of an event does.

        `delete_property` removes a property. The properties of a person may have 512 KB; a change
        that makes larger properties smaller is accepted.
        """
        return await _set_properties(request, persons, person_id, data.properties)

    @put("/{person_id:str}", summary="Set properties of a person (same as PATCH)")
    async def replace_properties(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        data: RequestBody[PersonProperties],
        persons: NamedDependency[PersonChanges],
    ) -> PersonBody:
        return await _set_properties(request, persons, person_id, data.properties)

    @post("/{person_id:str}/update_property", status_code=202, summary="Set a property of a person")
    async def update_property(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        data: RequestBody[OneProperty],
        persons: NamedDependency[PersonChanges],
    ) -> ASGIResponse:
        try:
            await _set_properties(request, persons, person_id, {data.key: data.value})
        except PersonTooLarge as error:
            raise PersonTooLarge(error.properties_bytes, "value") from None
        return empty_response(202)

    @post("/{person_id:str}/delete_property", summary="Delete a property of a person")
    async def delete_property(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        data: RequestBody[UnsetProperty],
        persons: NamedDependency[PersonChanges],
    ) -> Unset:
        """Delete a property of a person, as an `$unset` of an event does.

        A property that the person does not have is not an error.
        """
        update = PersonUpdate({}, {}, (data.unset,))
        await persons.update_person(request.author, read_person_id(person_id), update)
        return Unset(success=True)

    @delete(
        "/{person_id:str}",
        status_code=202,
        summary="Delete a person",
        responses={
            204: ResponseSpec(None, generate_examples=False, description="Everything is deleted")
        },
    )
    async def delete_person(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        persons: NamedDependency[PersonChanges],
        delete_events: FromQuery[bool] = False,
    ) -> ASGIResponse:
        """Delete a person permanently, with its distinct ids.

        `delete_events=true` also deletes its events, including those accepted but not ingested yet.

        The response is 204 when everything is deleted. It is 202 when the person is deleted and
        the rest follows in the background, also after a restart. A later event with one of the
        distinct ids creates a new person.
        """
        author, person = request.author, read_person_id(person_id)
        done = await persons.erase_person(author, person, with_events=delete_events)
        return empty_response(204 if done else 202)

    @get("/activity", summary="List the activity of all persons", scope="activity_log:read")
    async def all_activity(
        self, request: ManagementRequest, persons: NamedDependency[PersonChanges]
    ) -> ActivityPage:
        """Return the activity of all persons, including deleted ones.

        Changed values are not recorded.
        """
        return await activity_page(request, persons.records, "Person")

    @get("/{person_id:str}/activity", summary="List a person's activity", scope="activity_log:read")
    async def person_activity(
        self,
        request: ManagementRequest,
        person_id: FromPath[str],
        persons: NamedDependency[PersonChanges],
    ) -> ActivityPage:
        person = await _find_person(request, persons, person_id)
        return await activity_page(request, persons.records, "Person", str(person.uuid))


async def _find_person(
    request: ManagementRequest, persons: PersonChanges, person_id: str
) -> Person:
    person = await get_person(persons.records, request.project.id, read_person_id(person_id))
    if person is None:
        raise NotFound
    return person


async def _set_properties(
    request: ManagementRequest, persons: PersonChanges, person_id: str, values: dict[str, Any]
) -> PersonBody:
    update = PersonUpdate(values, {})
    return person_body(
        await persons.update_person(request.author, read_person_id(person_id), update)
    )


def person_body(person: Person) -> PersonBody:
    return PersonBody(
        type="person",
        id=person.uuid,
        uuid=person.uuid,
        name=name_of(person.properties, person.distinct_ids),
        distinct_ids=list(person.distinct_ids),
        properties=dict(person.properties),
        created_at=person.created_at,
        is_identified=person.is_identified,
        matched_recordings=[],
        value_at_data_point=None,
    )


def name_of(properties: Mapping[str, Any], distinct_ids: Sequence[str]) -> str:
    for key in NAMES:
        value = properties.get(key)
        if isinstance(value, str) and value:
            return value
    readable = [distinct_id for distinct_id in distinct_ids if not _looks_anonymous(distinct_id)]
    return next(iter([*readable, *distinct_ids]), "")


def _looks_anonymous(distinct_id: str) -> bool:
    """Return whether a distinct id looks like those that clients give to unknown visitors.

    These are UUIDs, or texts as long, with dashes.
    """
    return len(distinct_id) > 16 and distinct_id.count("-") >= 4


def read_person_id(text: str) -> UUID | int:
    """Parse the UUID or the numeric id of a person.

    Raises:
        Invalid: The text is neither.
    """
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


def _page_url(request: ManagementRequest, offset: int, after: UUID | None = None) -> str:
    """Return the URL of this request at another offset; the first page needs none."""
    page = request.page
    parameters = [(name, value) for name, value in page.query if name not in _PLACES]
    parameters.append(("limit", str(page.limit)))
    if offset > 0:
        parameters.append(("offset", str(offset)))
    if after is not None:
        parameters.append(("after", str(after)))
    return f"{request.address}?{urlencode(sorted(parameters))}"
