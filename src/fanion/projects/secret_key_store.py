"""Secret keys of projects in the records store."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import bindparam, delete, insert, select

from fanion.db.engine import Records
from fanion.db.flag_tables import project_secret_keys

_key = project_secret_keys.c
_OWNERS = select(_key.hash, _key.project_id).where(
    _key.hash.in_(bindparam("hashes", expanding=True))
)
_REMOVE = (
    delete(project_secret_keys).where(_key.project_id == bindparam("project")).returning(_key.hash)
)


class SecretKeyStore:
    def __init__(self, records: Records) -> None:
        self._records = records

    async def project_ids(self, hashes: Sequence[str]) -> Mapping[str, int]:
        """By the key's hash, without unknown ones."""
        rows = await self._records.fetch(_OWNERS, {"hashes": hashes})
        return {row.hash: row.project_id for row in rows}

    async def replace(
        self, project_id: int, hashed: str, mask_value: str, now: datetime
    ) -> str | None:
        """The hash of the key that is gone, None when there was none."""
        async with self._records.write() as connection:
            former = await connection.execute(_REMOVE, {"project": project_id})
            hash_before = former.scalar_one_or_none()
            await connection.execute(
                insert(project_secret_keys).values(
                    project_id=project_id, hash=hashed, mask_value=mask_value, created_at=now
                )
            )
            return hash_before

    async def remove(self, project_id: int) -> str | None:
        """The hash of the key that is gone, None when there was none."""
        async with self._records.write() as connection:
            return (await connection.execute(_REMOVE, {"project": project_id})).scalar_one_or_none()
