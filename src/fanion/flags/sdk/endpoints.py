"""Flag definitions for SDKs that evaluate locally.

They are read with the project's secret key or with a member's personal key.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote

from fanion.db.engine import RecordsUnavailable
from fanion.errors import AppError, NotAuthenticated, NotFound, PermissionDenied, Unavailable
from fanion.flags.engine.definition import payload_of
from fanion.flags.evaluation.cache import ANSWERED_ON_LOOP_MAX, PROJECTS_MAX, run_offloaded
from fanion.flags.evaluation.compiled import CompiledFlags
from fanion.flags.evaluation.responses import payload_text
from fanion.flags.evaluation.service import Evaluator
from fanion.flags.sdk.local_evaluation import EtagDocument, definitions_document
from fanion.flags.sdk.sse_service import Broadcaster
from fanion.projects.auth.authentication_service import Authentication
from fanion.projects.auth.keys import bearer_key, hash_key, mask
from fanion.projects.auth.secret_keys_service import SecretKeys
from fanion.projects.cache import Projects
from fanion.projects.model import Project
from fanion.server.request import Request
from fanion.server.response import Response, is_known_version, json_response
from fanion.wire.decoding import parse_query
from fanion.wire.event_stream import MEDIA_TYPE

CURRENT = "@current"
SCOPE = "feature_flag:read"


@dataclass(frozen=True, slots=True)
class Grant:
    """Access of a key to a project's definitions; it can end.

    Attributes:
        hashed: The hash of the key.
    """

    project_id: int
    hashed: str
    is_secret: bool


@dataclass(frozen=True, slots=True, eq=False)
class CallerGrant:
    """Access of the caller of a management request; it can end.

    Attributes:
        may_read: Raises an `AppError` if it has ended.
    """

    may_read: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class DefinitionReaders:
    projects: Projects
    authentication: Authentication
    secret_keys: SecretKeys

    async def readable_project(
        self, request: Request, query: Mapping[str, str], named: str = CURRENT
    ) -> Project:
        """Return the project whose definitions the key may read.

        It is the project of the query's `token`, or else the one in the path, or else the key's
        own.

        Args:
            named: The project in the path: a number, or `@current`.

        Raises:
            NotAuthenticated: There is no key.
            InvalidPersonalApiKey: The key is not valid.
            InvalidApiKey: The `token` is not valid.
            PermissionDenied: The key may not read this project.
            NotFound: There is no such project.
            Unavailable: The records store does not answer.

        Source: flags.md section 15; sdk-wire.md sections 5.1 and 6.
        """
        project, _ = await self.granted_project(request, query, named)
        return project

    async def granted_project(
        self, request: Request, query: Mapping[str, str], named: str
    ) -> tuple[Project, Grant]:
        """Return the project with a grant, for a stream that outlives the check of its key."""
        key, key_source = _key_and_source(request, query)
        try:
            project = await self._project(request, query, named, key, key_source)
        except RecordsUnavailable:
            raise Unavailable from None
        is_secret = request.user_id is None
        return project, Grant(project.id, hash_key(key), is_secret)

    async def grant_holds(self, grant: Grant | CallerGrant) -> bool:
        """Return whether the key or the caller still has access.

        Raises:
            RecordsUnavailable: The records store does not answer.
        """
        if isinstance(grant, CallerGrant):
            return await _caller_may_read(grant)
        project = await self.projects.by_id(grant.project_id)
        if project is None:
            return False
        if grant.is_secret:
            return await self.secret_keys.opens(grant.hashed, project.id)
        principal = await self.authentication.principal(grant.hashed)
        if principal is None:
            return False
        try:
            principal.require_access(project, SCOPE)
        except PermissionDenied:
            return False
        return True

    async def _project(
        self, request: Request, query: Mapping[str, str], named: str, key: str, key_source: str
    ) -> Project:
        owner = await self.secret_keys.project_id(key, key_source, request)
        if owner is not None:
            request.key_id = mask(key)
            named = str(owner) if named == CURRENT else named
            project = await self._named_project(request, query, named)
            if project is None or project.id != owner:
                self.authentication.failures.denied_secret(request.key_id, request)
                raise PermissionDenied("This key reads the flags of another project.")
            return project
        principal = await self.authentication.authenticate(key, key_source, request)
        request.key_id, request.user_id = principal.credential, principal.user.id
        project = await self._named_project(request, query, named) or (
            await self.projects.current(principal) if named == CURRENT else None
        )
        if project is None:
            raise NotFound("Project not found.")
        try:
            principal.require_access(project, SCOPE)
        except PermissionDenied:
            self.authentication.failures.denied(principal, request)
            raise
        return project

    async def _named_project(
        self, request: Request, query: Mapping[str, str], named: str
    ) -> Project | None:
        token = query.get("token") or query.get("api_key")
        if token:
            return await self.projects.by_token(token, request)
        return await self.projects.by_id(int(named)) if _is_id(named) else None


async def _caller_may_read(grant: CallerGrant) -> bool:
    try:
        await grant.may_read()
    except Unavailable:
        return True  # access is unknown until the store answers
    except AppError:
        return False
    return True


def _key_and_source(request: Request, query: Mapping[str, str]) -> tuple[str, str]:
    """Return the key and where it was found; raise NotAuthenticated if there is none."""
    header = bearer_key(request.headers.get("authorization"))
    if header is not None:
        return header, "Authorization header"
    if query.get("personal_api_key"):
        return query["personal_api_key"], "query string"
    raise NotAuthenticated


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16


_EVENT_STREAM = (("cache-control", "no-cache"), ("x-accel-buffering", "no"))


# By whether cohorts are included, and whether the document has the newer form.
Documents = dict[tuple[bool, bool], EtagDocument]


class DocumentCache:
    """The documents of projects, as long as their flags do not change.

    Args:
        projects_max: Beyond that, the project whose documents were requested longest ago goes.
    """

    def __init__(self, projects_max: int = PROJECTS_MAX) -> None:
        self._projects_max = projects_max
        self._projects: OrderedDict[int, tuple[CompiledFlags, Documents]] = OrderedDict()

    def documents_of(self, project_id: int, built: CompiledFlags) -> Documents:
        """Return the documents of these flags. The caller adds those that are missing."""
        known, documents = self._projects.get(project_id, (None, Documents()))
        if known is not built:
            documents = Documents()
            self._projects[project_id] = built, documents
        self._projects.move_to_end(project_id)
        if len(self._projects) > self._projects_max:
            self._projects.popitem(last=False)
        return documents


class DefinitionEndpoints:
    def __init__(
        self, readers: DefinitionReaders, evaluator: Evaluator, broadcaster: Broadcaster
    ) -> None:
        self._readers = readers
        self._flag_sets = evaluator.flag_sets
        self._broadcaster = broadcaster
        self._documents = DocumentCache()

    async def definitions(self, request: Request) -> Response:
        """Answer GET /flags/definitions, in the newer form."""
        return await self._answer(request, newer=True)

    async def local_evaluation(self, request: Request) -> Response:
        """Answer GET /api/feature_flag/local_evaluation/."""
        return await self._answer(request, newer=False)

    async def local_evaluation_of(self, request: Request) -> Response:
        """Answer GET /api/projects/{project_id}/feature_flags/local_evaluation/."""
        return await self._answer(request, _path_segment(request, 3), newer=False)

    async def remote_config(self, request: Request) -> Response:
        """Answer GET /api/projects/{project_id}/feature_flags/{key}/remote_config/.

        The body is a JSON string that contains the payload for `true` as JSON text.

        Source: sdk-wire.md section 6.
        """
        query = parse_query(request.query)
        project = await self._readers.readable_project(request, query, _path_segment(request, 3))
        definitions = (await self._built(project)).definitions
        key = unquote(_path_segment(request, 5))
        row = next((row for row in definitions.flags if row.key == key and row.active), None)
        payload = None if row is None else payload_of(row.filters.get("payloads"), "true")
        if payload is None:
            raise NotFound("There is no payload for this flag.")
        return json_response(payload_text(payload))

    async def stream(self, request: Request) -> Response:
        """Answer GET /api/projects/{project_id}/feature_flags/stream/ with server-sent events.

        One event is sent at once and one for each change of the definitions. The stream ends when
        the key loses its access.
        """
        query = parse_query(request.query)
        project, grant = await self._readers.granted_project(
            request, query, _path_segment(request, 3)
        )
        await self._built(project)
        chunks = self._broadcaster.messages(project.id, grant)
        return Response(200, b"", _EVENT_STREAM, f"{MEDIA_TYPE}; charset=utf-8", chunks)

    async def _answer(self, request: Request, named: str = "@current", *, newer: bool) -> Response:
        query = parse_query(request.query)
        project = await self._readers.readable_project(request, query, named)
        document = await self._document(
            project.id, await self._built(project), "send_cohorts" in query, newer
        )
        etag = (("etag", document.etag),)
        if is_known_version(request.headers.get("if-none-match"), document.etag):
            return Response(304, b"", etag)
        return Response(200, document.body, etag)

    async def _built(self, project: Project) -> CompiledFlags:
        try:
            return await self._flag_sets.compiled_flags(project.id)
        except RecordsUnavailable:
            raise Unavailable("The flags of this project cannot be read.") from None

    async def _document(
        self, project_id: int, built: CompiledFlags, with_cohorts: bool, newer: bool
    ) -> EtagDocument:
        documents = self._documents.documents_of(project_id, built)
        document = documents.get((with_cohorts, newer))
        if document is None:
            make = partial(
                definitions_document,
                project_id,
                built.definitions,
                built.flag_set,
                with_cohorts=with_cohorts,
                newer=newer,
            )
            flags = len(built.definitions.flags)
            document = await run_offloaded(flags, ANSWERED_ON_LOOP_MAX, make)
            documents[with_cohorts, newer] = document
        return document


def _path_segment(request: Request, number: int) -> str:
    """Return a segment of the path: in `/api/projects/7`, segment 3 is `7`.

    Raises:
        NotFound: The path is shorter.
    """
    parts = request.path.split("/")
    if number >= len(parts):
        raise NotFound
    return parts[number]
