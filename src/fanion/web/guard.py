"""The authentication and authorization of management requests: key or session, project, scope.

The guard also rejects unknown names in queries and bodies.

Source: capture.md section 9.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

from litestar import Response
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.params import QueryParameter

from fanion.accounts.sessions.cookies import read_cookie
from fanion.accounts.sessions.service import SessionService
from fanion.errors import (
    Invalid,
    MethodNotAllowed,
    NotAuthenticated,
    NotFound,
    PermissionDenied,
    SessionEnded,
)
from fanion.events.turns.asker_service import Asker, set_asker
from fanion.projects.auth.authentication_service import Authentication
from fanion.projects.auth.keys import bearer_key
from fanion.projects.auth.model import Principal
from fanion.projects.cache import Projects
from fanion.projects.model import Level, Project
from fanion.projects.request_api import KEY_BODY_BYTES_MAX, ManagementRequest
from fanion.rest.body_reader import EMPTY_BODY
from fanion.rest.pagination import paging_names
from fanion.rest.unknown_fields import require_known_query, require_only
from fanion.rest.validation import object_id
from fanion.server.forwarded import Caller
from fanion.web.forged_requests import (
    SAFE_METHODS,
    names_console,
    require_no_other_page,
    require_own_page,
)
from fanion.web.management_responses import methods_of_path

BODY_KEY = "personal_api_key"
_KEY_NOT_SOUGHT = (
    f"{NotAuthenticated.default_detail} Send the key in the Authorization header: a body of more "
    f"than {KEY_BODY_BYTES_MAX} bytes is not searched for one."
)
CURRENT = "@current"
# The name in a handler's `opt` under which its query parameters are cached.
_PARAMETERS = "known_query_parameters"


async def check_access(
    connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler
) -> None:
    """Authenticate a request and check its rights, with the services of the application's state.

    In a handler's `opt` it reads `public` (neither key nor session is needed), with it
    `session_if_any` (a session is accepted), `scope`, `any_scope` (every key may call it, for what
    is about that key alone), `session` (a key is refused), `reads` and
    `own` (viewers may call it), `fresh_sign_in`, `without_second_factor` (open to users who still
    have to set one up), `project`, `body_names` and `query_names`.
    """
    authentication: Authentication = connection.app.state.authentication
    projects: Projects = connection.app.state.projects
    sessions: SessionService = connection.app.state.sessions
    assert isinstance(connection, ManagementRequest)
    if connection.is_head and handler.opt.get("reads") is False:
        raise MethodNotAllowed("HEAD", tuple(sorted(methods_of_path(connection.scope))))
    if handler.opt.get("public"):
        await _admit_public(connection, handler, sessions)
        return
    sent_query = parse_qsl(
        connection.scope["query_string"].decode("latin-1"), keep_blank_values=True
    )
    query = {name: value for name, value in sent_query if value}
    caller = connection.caller
    principal = await _authenticate_request(connection, query, authentication, sessions, caller)
    connection.principal = connection.scope["state"]["principal"] = principal
    set_asker(Asker(principal.user.id, connection.client_left))
    _reject_nul(connection.scope["path"], query)
    project = await _project_of(connection, handler, query, projects)
    try:
        await _require_rights(connection, handler, project, projects)
    except PermissionDenied:
        authentication.failures.denied(principal, caller)
        raise
    if not handler.opt.get("without_second_factor"):
        principal.require_second_factor()
    if handler.opt.get("fresh_sign_in"):
        principal.require_fresh_sign_in(connection.app.state.now())
    if project is not None:
        connection.project = project
    if sent_query:
        require_known_query(sent_query, _parameters_of(handler))
    if connection.method not in SAFE_METHODS and not _reads_body(handler):
        require_only((await connection.values()).values, handler.opt.get("body_names", ()))


async def _admit_public(
    request: ManagementRequest, handler: BaseRouteHandler, sessions: SessionService
) -> None:
    """Admit a request to a public handler, with the caller's session if the handler accepts one.

    A GET may use the session whatever site linked to it, because other origins cannot read the
    response. A form cannot send our header, so its session is ignored.

    Raises:
        ForgedRequest: Another site may have caused the request.
        Throttled: The client has made too many failed attempts.
        RecordsUnavailable: The records store does not answer.
    """
    reads = request.method in SAFE_METHODS
    if not reads:
        require_own_page(request.headers, _own_origins(request), has_session=False)
    if not handler.opt.get("session_if_any"):
        return
    cookie = read_cookie(request.headers.get("cookie"), request.origin)
    if cookie is not None and (reads or names_console(request.headers)):
        with suppress(SessionEnded):
            if reads:
                principal = await sessions.find_owner(cookie, request.caller)
            else:
                principal = await _authenticate_session(request, cookie, sessions, request.caller)
            request.principal = request.scope["state"]["principal"] = principal


async def _authenticate_request(
    request: ManagementRequest,
    query: Mapping[str, str],
    authentication: Authentication,
    sessions: SessionService,
    caller: Caller,
) -> Principal:
    """Authenticate by the first that is found: key in the header, body or query, or session."""
    key = bearer_key(request.headers.get("authorization"))
    if key is not None:
        return await authentication.authenticate(key, "Authorization header", caller)
    cookie = read_cookie(request.headers.get("cookie"), request.origin)
    if cookie is not None and names_console(request.headers):
        # The console's bodies hold no key. They are read once the caller is known, because a file
        # may be large.
        return await _authenticate_session(request, cookie, sessions, caller)
    body = await request.small_values() if _may_hold_key(request) else EMPTY_BODY
    key = None if body is None else body.text(BODY_KEY)
    if key is not None:
        return await authentication.authenticate(key, "body", caller)
    key = query.get(BODY_KEY)
    if key is not None:
        return await authentication.authenticate(key, "query string", caller)
    if cookie is not None:
        return await _authenticate_session(request, cookie, sessions, caller)
    raise NotAuthenticated if body is not None else NotAuthenticated(_KEY_NOT_SOUGHT)


def _may_hold_key(request: ManagementRequest) -> bool:
    """Return whether the body may hold a key and must be read before the caller is known."""
    return request.method not in SAFE_METHODS and not request.route_handler.opt.get("session")


async def _authenticate_session(
    request: ManagementRequest, cookie: str, sessions: SessionService, caller: Caller
) -> Principal:
    """Return the user of a session.

    Raises:
        ForgedRequest: Another site may have caused the request.
        SessionEnded: The session does not exist any more.
        Throttled: The client has made too many failed attempts.
        RecordsUnavailable: The records store does not answer.
    """
    own = _own_origins(request)
    if request.method in SAFE_METHODS:
        changes = not _is_read(request.route_handler, request.method)
        require_no_other_page(request.headers, own, changes=changes)
    else:
        require_own_page(request.headers, own, has_session=True)
    return await sessions.find_owner(cookie, caller)


def _own_origins(request: ManagementRequest) -> tuple[str, ...]:
    """Return the server's origin as clients see it, and the one that this request addressed.

    A browser does not let a page choose the latter. A page of the same host without TLS may be
    replaced on the way.
    """
    scheme = request.origin.partition("://")[0]
    return request.origin, f"{scheme}://{request.headers.get('host', '')}"


async def _project_of(
    request: ManagementRequest,
    handler: BaseRouteHandler,
    query: Mapping[str, str],
    projects: Projects,
) -> Project | None:
    """Return the project that the path or the project key names, or None if the request has none.

    Raises:
        NotFound: There is no such project.
    """
    named = request.scope["path_params"].get("project_id")
    if named is None and not handler.opt.get("project"):
        return None
    token = _query_token(query) if request.method == "GET" else None
    if token is not None:
        return await projects.by_token(token, request.caller)
    return await _find_project(named or CURRENT, request.principal, projects)


async def _require_rights(
    request: ManagementRequest,
    handler: BaseRouteHandler,
    project: Project | None,
    projects: Projects,
) -> None:
    """Check that the caller may make this request.

    Raises:
        PermissionDenied: The key, the session or the user's level does not allow it.
    """
    if handler.opt.get("any_scope"):
        return
    principal, reads = request.principal, _is_read(handler, request.method)
    changes = not (reads or handler.opt.get("own"))
    organization_id = None
    if changes and Level.VIEWER in principal.levels.values():
        path_params = request.scope["path_params"]
        organization_id = await _organization_id(path_params, principal, projects)
    scope = _required_scope(handler.opt.get("scope"), reads=reads)
    principal.require_access(project, scope, changes=changes, organization_id=organization_id)
    if handler.opt.get("session"):
        principal.require_session()


async def _find_project(named: str, principal: Principal, projects: Projects) -> Project:
    """Return a project.

    Args:
        named: An id, or `@current`.

    Raises:
        NotFound: There is no such project.
    """
    if named == CURRENT:
        project = await projects.current(principal)
    else:
        number = object_id(named)
        project = None if number is None else await projects.by_id(number)
    if project is None:
        raise NotFound("Project not found.")
    return project


async def _organization_id(
    path_params: Mapping[str, Any], principal: Principal, projects: Projects
) -> UUID | None:
    """Return the organization in the path, or None if it is not one of the caller's.

    Raises:
        NotFound: The path says `@current`, and the caller is in no organization.
    """
    named = path_params.get("organization")
    if named == CURRENT:
        return (await projects.organization(principal)).id
    return next(
        (
            organization_id
            for organization_id in principal.levels
            if str(organization_id) == str(named).lower()
        ),
        None,
    )


def _parameters_of(handler: BaseRouteHandler) -> frozenset[str]:
    """Return the query parameters that a handler declares, reads by itself, or pages by."""
    known: frozenset[str] | None = handler.opt.get(_PARAMETERS)
    if known is None:
        known = handler.opt[_PARAMETERS] = _read_parameters(handler)
    return known


def _read_parameters(handler: BaseRouteHandler) -> frozenset[str]:
    signature = handler.parsed_fn_signature
    named = {
        field.kwarg_definition.name or name
        for name, field in signature.parameters.items()
        if isinstance(field.kwarg_definition, QueryParameter)
    }
    answer = signature.return_type
    while answer.inner_types and answer.is_subclass_of(Response):
        answer = answer.inner_types[0]
    kind = answer.origin or answer.annotation
    fields = getattr(kind, "__struct_fields__", ())
    return frozenset(named) | paging_names(fields) | frozenset(handler.opt.get("query_names", ()))


def _reads_body(handler: BaseRouteHandler) -> bool:
    return handler.parsed_data_field is not None or bool(handler.opt.get("reads_body"))


def _query_token(query: Mapping[str, str]) -> str | None:
    return query.get("token") or query.get("api_key")


def _reject_nul(path: str, query: Mapping[str, str]) -> None:
    """Refuse NUL in a path or query, because PostgreSQL does not accept it in text."""
    if "\0" in path:
        raise NotFound
    for name, value in query.items():
        if "\0" in name or "\0" in value:
            raise Invalid("Null characters are not allowed.", code="null_characters_not_allowed")


def _is_read(handler: BaseRouteHandler, method: str) -> bool:
    """Return whether the request changes nothing, by the handler's declaration or by its method.

    `reads=False` says that a GET changes something. HEAD is then refused, since no client means a
    change by it.
    """
    reads: bool | None = handler.opt.get("reads")
    if reads is not None:
        return reads
    declared: str | None = handler.opt.get("scope")
    return method in SAFE_METHODS or (declared is not None and declared.endswith(":read"))


def _required_scope(declared: str | None, *, reads: bool) -> str | None:
    """Return `<object>:read` or `<object>:write` for the scope `<object>`."""
    if declared is None or ":" in declared:
        return declared
    return f"{declared}:{'read' if reads else 'write'}"
