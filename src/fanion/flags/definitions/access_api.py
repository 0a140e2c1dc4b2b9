"""The caller's access to flags, as a dependency of handlers."""

from collections.abc import Awaitable, Callable

from litestar.di import NamedDependency, Provide

from fanion.db.engine import Records
from fanion.flags.definitions.access_store import access_of
from fanion.flags.definitions.model import FlagAccess
from fanion.projects.request_api import ManagementRequest


def with_flag_access(**providers: Callable[..., Awaitable[object]]) -> dict[str, Provide]:
    """Return a controller's `dependencies`: `access`, the caller's access to the project's flags.

    Args:
        providers: Further dependencies by name, which may depend on `access`.
    """
    provided = {"access": _flag_access, **providers}
    return {name: Provide(provider) for name, provider in provided.items()}


async def _flag_access(request: ManagementRequest, records: NamedDependency[Records]) -> FlagAccess:
    return await access_of(records, request.principal, request.project)
