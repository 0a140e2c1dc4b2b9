"""More projects than the one of a tenant."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from uuid import uuid4

from sqlalchemy import insert

from fanion.db.schema.tables import projects
from tests.support.application import Tenant
from tests.support.management import NOW

_others = count(1)


@asynccontextmanager
async def another_project(tenant: Tenant) -> AsyncIterator[Tenant]:
    """Create another project in the tenant's organization."""
    project_id = tenant.project_id + 2 * 10**9 + next(_others)
    token = f"phc_{project_id:x}"
    async with tenant.server.records.write() as connection:
        await connection.execute(
            insert(projects).values(
                id=project_id,
                uuid=uuid4(),
                organization_id=tenant.organization_id,
                name="Shop",
                api_token=token,
                timezone="UTC",
                created_at=NOW,
            )
        )
    api = tenant.server.client(tenant.key, f"/api/projects/{project_id}")
    async with api, tenant.server.client() as public:
        yield Tenant(
            tenant.server,
            tenant.organization_id,
            tenant.user_id,
            project_id,
            token,
            tenant.key,
            api,
            public,
            owner=tenant.owner,
        )
