"""Reads for questions about an unsaved flag: the flag in both versions, and the person."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from msgspec import UNSET
from sqlalchemy import select

from fanion.db.engine import Records
from fanion.db.schema.tables import persons
from fanion.errors import Invalid, NotFound
from fanion.flags.definitions.model import FlagAccess
from fanion.flags.definitions.schemas import StaleFlag, changed_columns, created_columns, flag_body
from fanion.flags.definitions.store import StoredFlag, get_flag
from fanion.flags.definitions.unsaved_store import UnsavedFlag, check_unsaved
from fanion.flags.preview.schemas import UnsavedFlag as UnsavedFields
from fanion.flags.preview.schemas import flag_changes, new_flag

_person = persons.c


@dataclass(frozen=True, slots=True)
class UnsavedFlagStore:
    records: Records

    async def read_unsaved(
        self, project_id: int, data: UnsavedFields, access: FlagAccess, now: datetime
    ) -> UnsavedFlag:
        """Return the saved flag together with the validated change.

        Args:
            access: The caller's access, for the flag in an error.

        Raises:
            Invalid: The save would fail.
            NotFound: There is no such flag.
            StaleFlag: The flag has another version than the request.
        """
        flag = None
        if isinstance(data.id, int):
            flag = await self._stored(project_id, data.id, data, access)
        requested = await asyncio.to_thread(partial(_columns, data, flag, now))
        async with self.records.read() as connection:
            return await connection.run_sync(check_unsaved, project_id, flag, requested)

    async def _stored(
        self, project_id: int, flag_id: int, data: UnsavedFields, access: FlagAccess
    ) -> StoredFlag:
        async with self.records.read() as connection:
            flag = await connection.run_sync(get_flag, project_id, flag_id)
        if flag is None:
            raise NotFound
        if data.version not in {UNSET, None, flag.definition.version}:
            raise StaleFlag(flag_body(flag, access), flag.definition.version)
        return flag

    async def person_of_email(self, project_id: int, email: str) -> UUID:
        """Return the person with this e-mail address.

        Raises:
            Invalid: No person, or more than one, has the address.
        """
        has_email = (_person.project_id == project_id, _person.email == email.lower())
        rows = await self.records.fetch(select(_person.uuid).where(*has_email).limit(2))
        if len(rows) > 1:
            raise Invalid(
                "Several persons have this e-mail address. Give a person_id or a distinct_id.",
                code="not_unique",
                attr="email",
            )
        if not rows:
            raise Invalid("No person has this e-mail address.", code="does_not_exist", attr="email")
        person: UUID = rows[0].uuid
        return person


def _columns(data: UnsavedFields, flag: StoredFlag | None, now: datetime) -> Mapping[str, Any]:
    """Validate the change; runs in a thread, because large filters take milliseconds."""
    if flag is None:
        return created_columns(new_flag(data), now)
    return changed_columns(flag_changes(data), flag)
