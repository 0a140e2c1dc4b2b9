"""The addresses of a server: one for all, or one for the public and one for those who manage."""

from dataclasses import replace

from fanion.server.server import HttpServer
from fanion.web.application import Application
from fanion.web.public_routes import LANDING_PATH

# Counts and times of everything are no business of the public, which has no use for the links of
# the landing page either.
_MANAGERS_ONLY = frozenset({"/metrics", LANDING_PATH})
_OF_MANAGEMENT = ("/api/", "/_")


class Listeners:
    """public: also answers what management does, unless there is a listener for that

    Each has connections and buffers of its own: who fills the public one locks no operator out.
    """

    def __init__(self, public: HttpServer, management: HttpServer | None = None) -> None:
        self.public = public
        self._management = management

    async def show(self, application: Application) -> None:
        """Have this answer from now on. raises: OSError when it cannot listen"""
        if self._management is None:
            await self.public.show(application)
            return
        await self.public.show(for_the_public(application))
        await self._management.show(for_managers(application))

    async def ended(self) -> None:
        await self.public.ended()
        if self._management is not None:
            await self._management.ended()


def for_the_public(application: Application) -> Application:
    """Capture, flags and what else SDKs ask, and the probes of load balancers."""
    routes = application.routes.only(lambda path, _: not _is_managers_only(path))
    return replace(application, routes=routes, management=None)


def for_managers(application: Application) -> Application:
    """Everything below /api/, the landing page, probes and metrics."""
    routes = application.routes.only(
        lambda path, _: path.startswith(_OF_MANAGEMENT) or _is_managers_only(path)
    )
    return replace(application, routes=routes)


def _is_managers_only(path: str) -> bool:
    return (path.rstrip("/") or "/") in _MANAGERS_ONLY
