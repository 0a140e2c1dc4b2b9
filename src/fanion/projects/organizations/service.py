"""The organizations of a caller, and changes of their settings, each in one transaction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import IntegrityError

from fanion.activity.model import OrganizationAuthor
from fanion.errors import Invalid, NotFound
from fanion.projects.auth.model import Principal
from fanion.projects.cache import Projects
from fanion.projects.model import Level, Organization
from fanion.projects.organizations.model import ResourceAccess
from fanion.projects.organizations.store import (
    OrganizationStore,
    add_setting,
    change_organization,
    delete_setting,
    set_setting,
)

CURRENT = "@current"


@dataclass(frozen=True, slots=True)
class OrganizationService:
    """The organizations and their settings.

    Attributes:
        rights_changed: Called with the id of a user whose rights this process has changed.
    """

    projects: Projects
    store: OrganizationStore
    rights_changed: Callable[[int], None]

    async def find_organization(self, principal: Principal, named: str) -> Organization:
        """Return an organization of the caller.

        Args:
            named: An id, or `@current` for the organization of the caller's current project.

        Raises:
            NotFound: There is no such organization, or the caller is not in it.
        """
        if named == CURRENT:
            return await self.projects.organization(principal)
        for organization_id in principal.levels:
            if str(organization_id) == named.lower():
                organization = await self.projects.store.organization(organization_id)
                if organization is not None:
                    return organization
        raise NotFound

    async def find_administered(self, principal: Principal, named: str) -> Organization:
        """Return an organization that the caller administers.

        Raises:
            NotFound: There is no such organization, or the caller is not in it.
            PermissionDenied: The caller is not an administrator of it.
        """
        organization = await self.find_organization(principal, named)
        principal.require_level(organization.id, Level.ADMIN)
        return organization

    async def change_organization(
        self, by: OrganizationAuthor, changes: Mapping[str, Any]
    ) -> Organization:
        """Change an organization, as `change_organization` of the store does."""
        async with self.store.records.write() as connection:
            return await connection.run_sync(change_organization, by, changes)

    async def create_setting(self, by: OrganizationAuthor, level: int) -> ResourceAccess:
        """Create a setting, or raise Invalid with code `unique` if there is one already."""
        try:
            async with self.store.records.write() as connection:
                return await connection.run_sync(add_setting, by, level)
        except IntegrityError:
            raise Invalid(
                "This resource access already exists.", code="unique", attr="resource"
            ) from None

    async def change_setting(
        self, by: OrganizationAuthor, setting_id: int, level: int
    ) -> ResourceAccess:
        """Change the level of a setting, or raise NotFound."""
        async with self.store.records.write() as connection:
            return await connection.run_sync(set_setting, by, setting_id, level)

    async def remove_setting(self, by: OrganizationAuthor, setting_id: int) -> None:
        """Delete a setting, or raise NotFound."""
        async with self.store.records.write() as connection:
            await connection.run_sync(delete_setting, by, setting_id)
