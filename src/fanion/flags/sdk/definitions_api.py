"""What server SDKs read beside evaluations: definitions, changes of them, payloads.

Hot routes, because a fleet of SDKs polls them: the bytes of a document are made once for each
state of a project's flags.
"""

from functools import partial
from urllib.parse import unquote

from fanion.db.engine import RecordsUnavailable
from fanion.errors import NotFound, Unavailable
from fanion.flags.evaluation.cache import PROJECTS_MAX
from fanion.flags.evaluation.compiled import Built
from fanion.flags.evaluation.offload import ANSWERED_ON_LOOP_MAX, beside
from fanion.flags.evaluation.responses import payload_text
from fanion.flags.evaluation.service import Evaluator
from fanion.flags.sdk.endpoints import DefinitionReaders
from fanion.flags.sdk.payload import Document, definitions_document
from fanion.flags.sdk.sse import Broadcaster
from fanion.projects.model import Project
from fanion.wire.decoding import parse_query
from fanion.wire.endpoint import Request, Response, is_known_version, json_response

_EVENT_STREAM = (("cache-control", "no-cache"), ("x-accel-buffering", "no"))


class DefinitionEndpoints:
    def __init__(
        self, readers: DefinitionReaders, evaluator: Evaluator, broadcaster: Broadcaster
    ) -> None:
        self._readers = readers
        self._flag_sets = evaluator.flag_sets
        self._broadcaster = broadcaster
        self._documents: dict[int, tuple[Built, dict[tuple[bool, bool], Document]]] = {}

    async def definitions(self, request: Request) -> Response:
        """GET /flags/definitions: the newer form."""
        return await self._answer(request, newer=True)

    async def local_evaluation(self, request: Request) -> Response:
        """GET /api/feature_flag/local_evaluation/"""
        return await self._answer(request, newer=False)

    async def local_evaluation_of(self, request: Request) -> Response:
        """GET /api/projects/{project_id}/feature_flags/local_evaluation/"""
        return await self._answer(request, _segment(request, 3), newer=False)

    async def remote_config(self, request: Request) -> Response:
        """GET /api/projects/{project_id}/feature_flags/{key}/remote_config/: the payload for
        `true`, as JSON text in a JSON string. source: sdk-wire.md section 6"""
        query = parse_query(request.query)
        project = await self._readers.project(request, query, _segment(request, 3))
        definitions = (await self._built(project)).definitions
        key = unquote(_segment(request, 5))
        row = next((row for row in definitions.flags if row.key == key and row.active), None)
        payload = None if row is None else (row.filters.get("payloads") or {}).get("true")
        if payload is None:
            raise NotFound("There is no payload for this flag.")
        return json_response(payload_text(payload))

    async def stream(self, request: Request) -> Response:
        """GET /api/projects/{project_id}/feature_flags/stream/: server-sent events, one at
        once and one for each change of the definitions. It ends when the key does."""
        query = parse_query(request.query)
        project, grant = await self._readers.granted(request, query, _segment(request, 3))
        await self._built(project)
        chunks = self._broadcaster.messages(project.id, grant)
        return Response(200, b"", _EVENT_STREAM, "text/event-stream; charset=utf-8", chunks)

    async def _answer(self, request: Request, named: str = "@current", *, newer: bool) -> Response:
        query = parse_query(request.query)
        project = await self._readers.project(request, query, named)
        found = await self._document(
            project.id, await self._built(project), "send_cohorts" in query, newer
        )
        etag = (("etag", found.etag),)
        if is_known_version(request.headers.get("if-none-match"), found.etag):
            return Response(304, b"", etag)
        return Response(200, found.body, etag)

    async def _built(self, project: Project) -> Built:
        try:
            return await self._flag_sets.built(project.id)
        except RecordsUnavailable:
            raise Unavailable("The flags of this project cannot be read.") from None

    async def _document(
        self, project_id: int, built: Built, with_cohorts: bool, newer: bool
    ) -> Document:
        known, documents = self._documents.get(project_id, (None, {}))
        if known is not built:
            if len(self._documents) >= PROJECTS_MAX:
                self._documents.pop(next(iter(self._documents)))
            documents = {}
            self._documents[project_id] = built, documents
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
            document = await beside(flags, ANSWERED_ON_LOOP_MAX, make)
            documents[with_cohorts, newer] = document
        return document


def _segment(request: Request, number: int) -> str:
    """raises: NotFound; of `/api/projects/7` the third is `7`"""
    parts = request.path.split("/")
    if number >= len(parts):
        raise NotFound
    return parts[number]
