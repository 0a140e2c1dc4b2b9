"""The usage dashboard of a flag: created on demand, and extended by feature usage.

Source: flags.md section 15.
"""

from dataclasses import dataclass

from fanion.activity.model import Author
from fanion.flags.definitions.model import FlagAccess
from fanion.flags.definitions.service import FlagService
from fanion.flags.definitions.store import StoredFlag
from fanion.flags.usage.store import enrich_dashboard, ensure_dashboard
from fanion.insights.saved.store import Creator


@dataclass(frozen=True, slots=True)
class UsageDashboards:
    """The usage dashboards of flags. The caller has to be allowed to edit the flag."""

    flags: FlagService

    async def ensure_dashboard(
        self, author: Author, access: FlagAccess, flag_id: int
    ) -> StoredFlag:
        """Create the flag's dashboard, unless it has one, and return the flag.

        Raises:
            NotFound: There is no such flag.
            PermissionDenied: The caller may not edit it.
        """
        flag = await self.flags.get_flag(author.project_id, flag_id)
        access.require_edit(flag_id, flag.creator_id)
        async with self.flags.store.records.write() as connection:
            await connection.run_sync(ensure_dashboard, _creator(author), flag_id)
        return await self.flags.get_flag(author.project_id, flag_id)

    async def enrich_dashboard(
        self, author: Author, access: FlagAccess, flag_id: int
    ) -> StoredFlag:
        """Add feature usage to the flag's dashboard, and return the flag.

        Raises:
            NotFound: There is no such flag.
            PermissionDenied: The caller may not edit it.
        """
        async with self.flags.locked_flag(author, flag_id) as locked:
            access.require_edit(flag_id, locked.flag.creator_id)
            await locked.change_columns({"has_enriched_analytics": True})
            for work in (ensure_dashboard, enrich_dashboard):
                await locked.connection.run_sync(work, _creator(author), flag_id)
        return await self.flags.get_flag(author.project_id, flag_id)


def _creator(author: Author) -> Creator:
    return Creator(author.project_id, author.user_id, author.now)
