"""The management API: one Litestar application made of the domains' controllers."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, cast

from litestar import Controller, Litestar, Response, get
from litestar.di import Provide
from litestar.enums import MediaType
from litestar.openapi import OpenAPIConfig
from litestar.plugins import PluginProtocol
from litestar.plugins.core import MsgspecDIPlugin
from msgspec import Struct

from fanion.accounts.sessions.service import SessionService
from fanion.events.turns.asker_service import reset_asker, set_asker
from fanion.projects.api import ProjectsApi
from fanion.projects.auth.authentication_service import Authentication
from fanion.projects.auth.keys_api import PersonalKeysApi
from fanion.projects.cache import Projects
from fanion.projects.deletion.service import ProjectDeletions
from fanion.projects.request_api import ManagementRequest
from fanion.projects.retention.service import EventRetention
from fanion.rest.body_reader import Body
from fanion.server.asgi_bridge import AsgiApp
from fanion.server.forwarded import BaseUrl, TrustedProxies
from fanion.server.response import is_known_version
from fanion.web.guard import check_access
from fanion.web.management_responses import encode_response, exception_handler, send_with_allow
from fanion.web.openapi.capture_operations import CAPTURE_OPERATIONS
from fanion.web.openapi.docs_page import CONTENT_SECURITY_POLICY, documentation_page
from fanion.web.openapi.document import openapi_config, openapi_document
from fanion.web.openapi.flag_operations import FLAG_OPERATIONS
from fanion.web.pages import BASE_URL, StaticPage, html_page, json_page
from fanion.wire.decoding import BODY_BYTES_MAX
from fanion.wire.offload import Decoding

UPLOAD_BYTES_MAX = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Management:
    """The settings and services of the management API.

    Attributes:
        controllers: Those of the other domains; `fanion.rest` says how they are written.
        dependencies: Injected into handlers by name.
        deletions: Deletes projects; None in an application that answers no such request.
        retention: Counts old events; None in an application that answers no such request.
        base_url: The address at which clients reach this server.
        upload_folder: Where large fields of forms are kept.
    """

    authentication: Authentication
    projects: Projects
    sessions: SessionService
    now: Callable[[], datetime]
    controllers: Sequence[type[Controller]] = ()
    dependencies: Mapping[str, object] = field(default_factory=dict)
    deletions: ProjectDeletions | None = None
    retention: EventRetention | None = None
    body_bytes_max: int = BODY_BYTES_MAX
    upload_bytes_max: int = UPLOAD_BYTES_MAX
    upload_folder: str | None = None
    decoding: Decoding = field(default_factory=Decoding)
    base_url: BaseUrl = field(default_factory=lambda: BaseUrl(TrustedProxies()))


def management_app(config: Management) -> AsgiApp:
    """Return the application for all paths below /api/ without a public route, and /_preflight/.

    It needs no lifespan events. Paths are served with and without a trailing slash.
    """
    app = build_application(config, None)
    # A second application, only for the document: with an `openapi_config` the framework would add
    # routes, and pages that load scripts from elsewhere.
    app.state.documents = ApiDocuments(
        lambda: openapi_document(
            build_application(config, openapi_config()), {**FLAG_OPERATIONS, **CAPTURE_OPERATIONS}
        )
    )
    # The framework types its messages more narrowly than servers and clients of ASGI do.
    return _with_middleware(cast(AsgiApp, app))


def _with_middleware(app: AsgiApp) -> AsgiApp:
    """Wrap the application with what each request needs before and after.

    Responses to OPTIONS name the methods. At the end of a request the files of its form are
    closed, and nothing waits for its client any more.
    """

    async def middleware(scope: Any, receive: Any, send: Any) -> None:
        state = scope.setdefault("state", {})
        if scope["method"] == "OPTIONS":
            send = partial(send_with_allow, scope, send)
        nobody = set_asker(None)
        try:
            await app(scope, receive, send)
        finally:
            reset_asker(nobody)
            leaving: asyncio.Future[None] | None = state.get("client_left")
            if leaving is not None:
                leaving.cancel()
            body: Body | None = state.get("body")
            if body is not None:
                body.close()

    return middleware


class ApiPages(Struct, frozen=True):
    schema: StaticPage
    documentation: StaticPage


class ApiDocuments:
    """The OpenAPI document and its HTML page.

    They are built in a thread on the first request for either, because that takes most of a
    second.
    """

    def __init__(self, build: Callable[[], dict[str, Any]]) -> None:
        """Prepare the pages.

        Args:
            build: Returns the document.
        """
        self._build = build
        self._task: asyncio.Task[ApiPages] | None = None

    async def pages(self) -> ApiPages:
        """Return the pages, and build them first if necessary.

        Concurrent calls share one build, which goes on when one of them is cancelled. The next
        call after a failure builds again.
        """
        if self._task is None or self._has_failed():
            self._task = asyncio.create_task(asyncio.to_thread(self._build_pages))
        return await asyncio.shield(self._task)

    def _has_failed(self) -> bool:
        task = self._task
        if task is None or not task.done():
            return False
        return task.cancelled() or task.exception() is not None

    def _build_pages(self) -> ApiPages:
        schema = {**self._build(), "servers": [{"url": BASE_URL}]}
        return ApiPages(json_page(schema), html_page(documentation_page(schema)))


@get("/api/schema", public=True, include_in_schema=False)
async def _get_schema(request: ManagementRequest) -> Response[bytes]:
    pages: ApiPages = await request.app.state.documents.pages()
    return _page_response(request, pages.schema, MediaType.JSON)


@get("/api/docs", public=True, include_in_schema=False)
async def _get_documentation(request: ManagementRequest) -> Response[bytes]:
    pages: ApiPages = await request.app.state.documents.pages()
    response = _page_response(request, pages.documentation, MediaType.HTML)
    response.headers["content-security-policy"] = CONTENT_SECURITY_POLICY
    return response


def _page_response(
    request: ManagementRequest, page: StaticPage, kind: MediaType
) -> Response[bytes]:
    page = page.at(request.origin)
    headers = {"etag": page.etag, "cache-control": "no-cache"}
    if is_known_version(request.headers.get("if-none-match"), page.etag):
        return Response(b"", status_code=304, headers=headers)
    return Response(page.body, media_type=kind, headers=headers)


class ManagementApplication(Litestar):
    """An application without the plugins for pydantic and attrs, whose models the API does not use.

    Loading pydantic takes 9 MB and 0.1 s.
    """

    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:
        return [*plugins, MsgspecDIPlugin()]


def build_application(config: Management, openapi: OpenAPIConfig | None) -> Litestar:
    app = ManagementApplication(
        [ProjectsApi, PersonalKeysApi, *config.controllers, _get_schema, _get_documentation],
        dependencies={name: _Provided() for name in provided(config)},
        guards=[check_access],
        after_request=encode_response,
        exception_handlers={Exception: exception_handler(config.body_bytes_max)},
        request_class=ManagementRequest,
        request_max_body_size=config.body_bytes_max,
        openapi_config=openapi,
        logging_config=None,
    )
    provide_services(app, config)
    return app


def provide_services(app: Litestar, config: Management) -> None:
    """Have an application answer with the services of a configuration, in place of any before.

    Args:
        config: It has the controllers, the names of values, and the limit of bodies with which the
            application was built, which takes thousands of times as long.
    """
    values = provided(config)
    for name, provider in app.dependencies.items():
        cast(_Provided, provider).given = values[name]
    app.state.authentication = config.authentication
    app.state.projects = config.projects
    app.state.sessions = config.sessions
    app.state.now = config.now
    app.state.body_bytes_max = config.body_bytes_max
    app.state.upload_bytes_max = config.upload_bytes_max
    app.state.upload_folder = config.upload_folder
    app.state.decoding = config.decoding
    app.state.base_url = config.base_url


def provided(config: Management) -> Mapping[str, object]:
    """Return the values that handlers may take by name."""
    return {
        "projects": config.projects,
        "authentication": config.authentication,
        "deletions": config.deletions,
        "retention": config.retention,
        **config.dependencies,
    }


class _Provided(Provide):
    """A value for handlers, which is equal to no other.

    For each handler the framework compares each value with all before it. Comparing their
    attributes took a third of building the application.
    """

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(self) -> None:
        self.given: object = None
        super().__init__(lambda: self.given, sync_to_thread=False)
