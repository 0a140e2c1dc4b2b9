"""Secret keys of projects in the records store."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import bindparam, delete, insert, select

from fanion.db.engine import Records
from fanion.db.flag_tables import project_secret_keys
from fanion.projects.changes import SecretKeyChange, TellSecretKey, nobody

_key = project_secret_keys.c
_OWNERS = select(_key.hash, _key.project_id).where(
    _key.hash.in_(bindparam("hashes", expanding=True))
)
_REMOVE = (
    delete(project_secret_keys)
    .where(_key.project_id == bindparam("project"))
    .returning(_key.hash, _key.mask_value)
)


class SecretKeyStore:
    """tell: is told of each change in its transaction"""

    def __init__(self, records: Records, tell: TellSecretKey = nobody) -> None:
        self._records = records
        self._tell = tell

    async def project_ids(self, hashes: Sequence[str]) -> Mapping[str, int]:
        """By the key's hash, without unknown ones."""
        rows = await self._records.fetch(_OWNERS, {"hashes": hashes})
        return {row.hash: row.project_id for row in rows}

    async def replace(
        self,
        project_id: int,
        hashed: str,
        mask_value: str,
        now: datetime,
        user_id: int | None = None,
    ) -> str | None:
        """The hash of the key that is gone, None when there was none. user_id: by whom"""
        async with self._records.write() as connection:
            former = (await connection.execute(_REMOVE, {"project": project_id})).one_or_none()
            before = None if former is None else former.mask_value
            await connection.execute(
                insert(project_secret_keys).values(
                    project_id=project_id, hash=hashed, mask_value=mask_value, created_at=now
                )
            )
            change = SecretKeyChange(project_id, before, mask_value, user_id, now)
            await connection.run_sync(self._tell, change)
            return None if former is None else former.hash

    async def remove(self, project_id: int, now: datetime, user_id: int | None) -> str | None:
        """The hash of the key that is gone, None when there was none. user_id: by whom"""
        async with self._records.write() as connection:
            former = (await connection.execute(_REMOVE, {"project": project_id})).one_or_none()
            if former is None:
                return None
            change = SecretKeyChange(project_id, former.mask_value, None, user_id, now)
            await connection.run_sync(self._tell, change)
            return str(former.hash)
