"""The caller's own sessions, over HTTP."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from litestar import Controller, delete, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from msgspec import Meta, Struct

from fanion.accounts.model import ListedSession
from fanion.accounts.sign_in.api import record_own_activity
from fanion.accounts.sign_in.service import SignIn
from fanion.errors import NotFound
from fanion.projects.request_api import ManagementRequest
from fanion.rest.pagination import Paged


class SessionBody(Struct, kw_only=True):
    id: UUID
    method: Annotated[str, Meta(description="How it began: `password`, `oidc` or `link`.")]
    address: Annotated[str, Meta(description="The client's, at sign-in.")]
    user_agent: Annotated[str, Meta(description="The client's, at sign-in.")]
    created_at: datetime
    last_used_at: Annotated[datetime, Meta(description="Updated once a minute at most.")]
    expires_at: Annotated[datetime, Meta(description="Its end, however much it is used.")]
    is_current: Annotated[bool, Meta(description="Whether this request uses it.")]


class SessionsApi(Controller):
    """Session endpoints, for sessions and for unrestricted keys.

    A user whose cookie was stolen can end that session with a key.
    """

    path = "/api/sessions"
    tags = ("Sign-in",)

    @get("/", summary="List sessions")
    async def sessions(
        self, request: ManagementRequest, sign_in: NamedDependency[SignIn]
    ) -> Paged[SessionBody]:
        """Return the caller's sessions, most recently used first."""
        page, principal = request.page, request.principal
        rows, count = await sign_in.sessions.store.page(
            principal.user.id, request.app.state.now(), page.limit, page.offset
        )
        return page.with_results(
            [_session_body(session, principal.session_id) for session in rows], count
        )

    @delete("/", summary="Sign out everywhere else", own=True)
    async def end_others(
        self, request: ManagementRequest, sign_in: NamedDependency[SignIn]
    ) -> None:
        """End all sessions of the caller except the one of this request."""
        principal = request.principal
        user_id = principal.user.id
        number = await sign_in.sessions.end_all_of_user(user_id, principal.session_id)
        if number:
            await record_own_activity(request, sign_in, "session_ended", user_id, sessions=number)

    @delete("/{session_id:str}", summary="End a session", own=True)
    async def end(
        self,
        request: ManagementRequest,
        session_id: FromPath[UUID],
        sign_in: NamedDependency[SignIn],
    ) -> None:
        """End a session, at once on this server and within two seconds on others."""
        user_id = request.principal.user.id
        if not await sign_in.sessions.end_session(user_id, session_id):
            raise NotFound
        await record_own_activity(request, sign_in, "session_ended", user_id, sessions=1)


def _session_body(session: ListedSession, current: UUID | None) -> SessionBody:
    return SessionBody(
        id=session.id,
        method=session.method,
        address=session.address,
        user_agent=session.user_agent,
        created_at=session.created_at,
        last_used_at=session.last_used_at,
        expires_at=session.expires_at,
        is_current=session.id == current,
    )
