"""The management API: one Litestar application made of the domains' controllers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from litestar import Controller, Litestar, Response, get
from litestar.datastructures import MutableScopeHeaders
from litestar.di import Provide
from litestar.enums import MediaType
from litestar.openapi import OpenAPIConfig
from litestar.routes import HTTPRoute
from litestar.types import Message, Scope

from fanion.errors import with_head
from fanion.projects.api import ProjectsApi, UsersApi
from fanion.projects.auth.authentication_service import Authentication
from fanion.projects.auth.keys_api import PersonalKeysApi
from fanion.projects.cache import Projects
from fanion.projects.request_api import ManagementRequest
from fanion.rest.body import Body
from fanion.server.asgi_bridge import AsgiApp
from fanion.server.endpoint import is_known_version
from fanion.server.forwarded import BaseUrl, TrustedProxies
from fanion.web.docs_page import CONTENT_SECURITY_POLICY, DescribedApi, Page
from fanion.web.error_handler import error_renderer
from fanion.web.guard import gate
from fanion.web.json_response import encode_answer
from fanion.web.openapi import document, openapi_config
from fanion.wire.offload import Decoding

_REFUSED = 405


async def tell_methods(message: Message, scope: Scope) -> None:
    """Called before each message is sent."""
    if message["type"] == "http.response.start" and scope.get("method") == "OPTIONS":
        allowed = ", ".join(sorted(with_head(_methods(scope))))
        if allowed:
            MutableScopeHeaders.from_message(message)["allow"] = allowed


def _methods(scope: Scope) -> set[str]:
    """Without those whose handler does nothing but refuse."""
    template = scope.get("path_template")
    return {
        str(method)
        for route in scope["litestar_app"].routes
        if isinstance(route, HTTPRoute) and route.path_format == template
        for handler in route.route_handlers
        if handler.status_code != _REFUSED
        for method in handler.http_methods
    }


BODY_BYTES_MAX = 20 * 1024 * 1024  # api.md, Limits
UPLOAD_BYTES_MAX = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Management:
    """What the management API is made of.

    controllers:     of the other domains; `fanion.rest` says how they are written
    dependencies:    by the name under which handlers ask for them, typed by their class
    base_url:        where clients reach this server
    answered_elsewhere: paths of the API that hot routes answer, for the document
    """

    authentication: Authentication
    projects: Projects
    now: Callable[[], datetime]
    controllers: Sequence[type[Controller]] = ()
    dependencies: Mapping[str, object] = field(default_factory=dict)
    body_bytes_max: int = BODY_BYTES_MAX
    upload_bytes_max: int = UPLOAD_BYTES_MAX
    decoding: Decoding = field(default_factory=Decoding)
    base_url: BaseUrl = field(default_factory=lambda: BaseUrl(TrustedProxies()))
    answered_elsewhere: Mapping[str, Any] = field(default_factory=dict)


def management_app(parts: Management) -> AsgiApp:
    """Everything under /api/ that no hot route answers. An ASGI application; it needs no
    lifespan. Paths are served with and without their last slash."""
    app = _application(parts, None)
    # A twin that never serves: with a configuration of its own the framework adds routes, and
    # pages that load scripts from elsewhere.
    app.state.described = DescribedApi(
        lambda: document(_application(parts, openapi_config()), parts.answered_elsewhere)
    )
    # The framework types its messages more narrowly than servers and clients of ASGI do.
    return _closing_bodies(cast(AsgiApp, app))


def _closing_bodies(app: AsgiApp) -> AsgiApp:
    """Files that came with a request end with it."""

    async def run(scope: Any, receive: Any, send: Any) -> None:
        state = scope.setdefault("state", {})
        try:
            await app(scope, receive, send)
        finally:
            body: Body | None = state.get("body")
            if body is not None:
                body.close()

    return run


@get("/api/schema", public=True, include_in_schema=False)
async def _schema(request: ManagementRequest) -> Response[bytes]:
    return _served(request, (await request.app.state.described.pages()).schema, MediaType.JSON)


@get("/api/docs", public=True, include_in_schema=False)
async def _documentation(request: ManagementRequest) -> Response[bytes]:
    pages = await request.app.state.described.pages()
    shown = _served(request, pages.documentation, MediaType.HTML)
    shown.headers["content-security-policy"] = CONTENT_SECURITY_POLICY
    return shown


def _served(request: ManagementRequest, page: Page, kind: MediaType) -> Response[bytes]:
    page = page.at(request.origin)
    headers = {"etag": page.etag, "cache-control": "no-cache"}
    if is_known_version(request.headers.get("if-none-match"), page.etag):
        return Response(b"", status_code=304, headers=headers)
    return Response(page.body, media_type=kind, headers=headers)


def _application(parts: Management, openapi: OpenAPIConfig | None) -> Litestar:
    given = {
        "projects": parts.projects,
        "authentication": parts.authentication,
        **parts.dependencies,
    }
    app = Litestar(
        [ProjectsApi, PersonalKeysApi, UsersApi, *parts.controllers, _schema, _documentation],
        dependencies={name: _provide(value) for name, value in given.items()},
        guards=[gate(parts.authentication, parts.projects)],
        after_request=encode_answer,
        before_send=[tell_methods],
        exception_handlers={Exception: error_renderer(parts.body_bytes_max)},
        request_class=ManagementRequest,
        request_max_body_size=parts.body_bytes_max,
        openapi_config=openapi,
        logging_config=None,
    )
    app.state.now = parts.now
    app.state.body_bytes_max = parts.body_bytes_max
    app.state.upload_bytes_max = parts.upload_bytes_max
    app.state.decoding = parts.decoding
    app.state.base_url = parts.base_url
    return app


def _provide(value: object) -> Provide:
    def given() -> object:
        return value

    return Provide(given, sync_to_thread=False)
