"""Answers to questions about flags that are not saved yet."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import replace as dataclass_replace
from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from fanion.errors import BodyTooLarge, Invalid, NotFound
from fanion.flags.blast_radius.store import BlastRadius
from fanion.flags.definitions import unsaved_store as storage
from fanion.flags.definitions.access_store import access_of
from fanion.flags.definitions.validation.parts import condition_sets, objects_of
from fanion.flags.engine.conditions import compile_cohort
from fanion.flags.engine.definition import FlagDefinitions, FlagRow, compile_flag, parse_rules
from fanion.flags.engine.evaluate import NOTHING, find_needs
from fanion.flags.engine.explain import explain
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.model import Subject
from fanion.flags.evaluation.cache import FlagSets
from fanion.flags.evaluation.request import id_text
from fanion.flags.evaluation.subject_store import SubjectStore
from fanion.flags.preview.change import Question, Version
from fanion.flags.preview.change_client import ChangePreviews
from fanion.flags.preview.schemas import (
    ComparedProperty,
    ExplainedFlag,
    UnsavedEvaluation,
    UnsavedFlag,
    UnsavedReasons,
    deciding_properties,
    explained_flag,
)
from fanion.flags.preview.unsaved_store import UnsavedFlagStore
from fanion.persons.timeline.current_client import CurrentClient
from fanion.persons.timeline.service import Timelines
from fanion.projects.request_api import ManagementRequest
from fanion.rest.unknown_fields import shortened
from fanion.wire.distinct_id import stored_distinct_id

# Limit of a request: larger filters would block the event loop for more than a few milliseconds.
BODY_BYTES_MAX = 256 * 1024
# Limits of a flag: each group is compiled on its own, and described in the answer.
GROUPS_MAX, PROPERTIES_MAX = 200, 1_000

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class FlagPreviews:
    store: UnsavedFlagStore
    subjects: SubjectStore
    blast_radius: BlastRadius
    changes: ChangePreviews
    flag_sets: FlagSets
    timelines: Timelines

    async def unsaved_flag(
        self, request: ManagementRequest, data: UnsavedFlag
    ) -> storage.UnsavedFlag:
        """Return the flag as it would be saved.

        Raises:
            AppError: The save would fail, or the body is too large.
        """
        if len(await request.body()) > BODY_BYTES_MAX:
            raise BodyTooLarge(BODY_BYTES_MAX)
        if (await request.values()).form:
            raise Invalid("Send the flag as JSON, not as a form.")
        _require_small(data.filters)
        access = await access_of(self.store.records, request.principal, request.project)
        now = request.app.state.now()
        flag = await self.store.read_unsaved(request.project.id, data, access, now)
        for version in (flag.saved, flag.unsaved):
            _require_small(None if version.row is None else version.row.filters)
        return flag

    async def explain_unsaved(
        self, request: ManagementRequest, data: UnsavedEvaluation
    ) -> UnsavedReasons:
        """Explain both versions of a flag for one person.

        The answer contains stored properties, so a scoped key needs their scopes too.

        Raises:
            AppError: The save would fail, the body is too large, or a scope is missing.
        """
        request.principal.require_scope("person:read")
        if data.groups:
            request.principal.require_scope("group:read")
        flag, subject = await self.unsaved_flag(request, data), await self._subject(request, data)
        project_id, now = request.project.id, request.app.state.now()
        return UnsavedReasons(
            distinct_id=subject.distinct_id,
            saved=await self._explained(project_id, flag.saved, subject, now),
            unsaved=await self._explained(project_id, flag.unsaved, subject, now),
        )

    async def compared_values(
        self, request: ManagementRequest, subject: Subject
    ) -> Mapping[str, list[ComparedProperty]]:
        """Return what decided each saved flag for a subject, by flag key.

        Raises:
            PermissionDenied: A scope is missing: the answer contains stored properties.
        """
        request.principal.require_scope("person:read")
        if subject.groups:
            request.principal.require_scope("group:read")
        project_id, now = request.project.id, request.app.state.now()
        flag_set = await self.flag_sets.flag_set_of(project_id)
        missing = find_needs(flag_set, subject)
        if missing is not NOTHING:
            read = await self.subjects.read_values(project_id, flag_set, subject, missing)
            subject = replace(subject, **read)
        return await asyncio.to_thread(_compared_values, flag_set, subject, now)

    async def _subject(self, request: ManagementRequest, data: UnsavedEvaluation) -> Subject:
        """Return the subject as a client would describe it."""
        client = await self._client(request, data)
        return Subject(
            client.distinct_id,
            sent=_object(data.person_properties),
            groups=_keys(_object(data.groups)),
            group_properties=_properties(_object(data.group_properties)),
            device_id=data.device_id or client.device_id,
        )

    async def _explained(
        self, project_id: int, version: storage.FlagVersion, subject: Subject, now: datetime
    ) -> ExplainedFlag | None:
        row = version.row
        if row is None:
            return None
        flag_set = await asyncio.to_thread(_switched_on, row, version.around)
        missing = find_needs(flag_set, subject, [row.key])
        if missing is not NOTHING:
            read = await self.subjects.read_values(project_id, flag_set, subject, missing)
            subject = replace(subject, **read)
        explanation = await asyncio.to_thread(explain, flag_set, row.key, subject, now)
        return explained_flag(row, explanation)

    async def _client(self, request: ManagementRequest, data: UnsavedEvaluation) -> CurrentClient:
        """Return the client of the person that the request names in one way, or of the caller.

        Raises:
            Invalid: There is no such person, or it is named in two ways.
        """
        named = [
            name
            for name in ("distinct_id", "email", "person_id")
            if getattr(data, name) not in (UNSET, None)
        ]
        if len(named) > 1:
            raise Invalid(f"Send either {named[0]} or {named[1]}, not both.", attr=named[1])
        project_id = request.project.id
        if isinstance(data.distinct_id, str):
            return CurrentClient(distinct_id=stored_distinct_id(data.distinct_id))
        person = data.person_id
        if isinstance(data.email, str):
            person = await self.store.person_of_email(project_id, data.email)
        if person is None or person is UNSET:
            return CurrentClient(distinct_id=request.principal.user.distinct_id)
        try:
            now = request.app.state.now()
            return await self.timelines.current_client(project_id, person, now)
        except NotFound:
            raise Invalid("No person has this id.", code="does_not_exist", attr=named[0]) from None


def _compared_values(
    flag_set: FlagSet, subject: Subject, now: datetime
) -> Mapping[str, list[ComparedProperty]]:
    return {
        key: deciding_properties(explain(flag_set, key, subject, now)) for key in flag_set.by_key
    }


def _switched_on(row: FlagRow, around: FlagDefinitions) -> FlagSet:
    """Compile the flag as if it were active; runs in a thread, as there may be many cohorts."""
    flags = [
        dataclass_replace(flag, active=True) if flag.id == row.id else flag for flag in around.flags
    ]
    cohorts = map(compile_cohort, around.cohorts)
    return build_flag_set(map(compile_flag, flags), around.group_types, cohorts)


def _require_small(filters: object) -> None:
    groups = list(condition_sets(filters)) if isinstance(filters, dict) else []
    leaves = sum(len(objects_of(group.get("properties"))) for group, _ in groups)
    for name, count, at_most in (
        ("groups", len(groups), GROUPS_MAX),
        ("properties", leaves, PROPERTIES_MAX),
    ):
        if count > at_most:
            detail = f"Ensure there are at most {at_most} {name}, not {count}."
            raise Invalid(detail, attr="filters")


def _object(value: Mapping[str, Any] | UnsetType | None) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _keys(groups: Mapping[str, Any]) -> Mapping[str, str]:
    for name, key in groups.items():
        if key is not None and (isinstance(key, bool) or not isinstance(key, str | int | float)):
            raise Invalid("Not a valid string.", attr=f"groups__{shortened(name)}")
    return {name: id_text(key) for name, key in groups.items() if key is not None}


def _properties(of_groups: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    for name, properties in of_groups.items():
        if not isinstance(properties, dict):
            attr = f"group_properties__{shortened(name)}"
            raise Invalid("The properties must be an object.", attr=attr)
    return of_groups


def question_of(project_id: int, flag: storage.UnsavedFlag, now: datetime) -> Question:
    """Return the question about both versions of a flag, for the counting process.

    Raises:
        Invalid: One version is evaluated for persons and the other for groups, or for groups of
            another type.
    """
    rows = [version.row for version in (flag.saved, flag.unsaved) if version.row is not None]
    # A flag that is off has the same value for persons and for groups.
    indexes = set(_group_types(row for row in rows if row.active)) or set(_group_types(iter(rows)))
    if len(indexes) > 1:
        raise Invalid(
            "Values for persons and values for groups, or for groups of another type, cannot be "
            "compared.",
            code="not_comparable",
            attr="filters",
        )
    index = indexes.pop() if indexes else None
    return Question(project_id, _version(flag.saved), _version(flag.unsaved), index, now)


def _group_types(rows: Iterator[FlagRow]) -> Iterator[int | None]:
    """Yield the group types of filters that can be read; flags with others have no value."""
    for row in rows:
        try:
            yield parse_rules(row.filters, row.rollout_percentage).group_type_index
        except ValueError:
            continue


def _version(version: storage.FlagVersion) -> Version:
    return Version("" if version.row is None else version.row.key, _encode(version.around))
