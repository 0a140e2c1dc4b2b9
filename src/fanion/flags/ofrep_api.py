"""POST /ofrep/v1/evaluate/flags and /ofrep/v1/evaluate/flags/{key}: flags for OpenFeature.

A provider is configured with the project's public key, as Bearer token or X-API-Key.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import msgspec

from fanion.errors import AppError, InvalidPayload, NoData
from fanion.flags.definitions_document import Document, etagged
from fanion.flags.evaluator import Evaluator
from fanion.flags.large import ANSWERED_ON_LOOP_MAX, beside
from fanion.flags.ofrep import ErrorCode, OfrepError, bulk_answer, read_context, single_answer
from fanion.flags.request import NoApiKey
from fanion.http import Request, Response, is_known_version, json_response
from fanion.projects.directory import Projects
from fanion.projects.keys import bearer_key
from fanion.projects.model import Project
from fanion.wire import decode_body, loads

PREFIX = "/ofrep/v1/evaluate/flags"

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Ofrep:
    projects: Projects
    evaluator: Evaluator
    body_bytes_max: int

    async def single(self, request: Request) -> Response:
        """What server providers ask at every read."""
        key = unquote(request.path.rstrip("/").removeprefix(PREFIX + "/"))
        try:
            project = await self._project(request)
            asked = read_context(self._body(request), (key,))
            built, evaluation = await self.evaluator.answer(project.id, asked, with_inactive=True)
            return json_response(single_answer(built.flag_set, evaluation, key))
        except OfrepError as error:
            return json_response(error.body(key), error.status)
        except AppError as error:
            return _told(error, key)

    async def bulk(self, request: Request) -> Response:
        """What client providers ask at the start, when the context changes, and now and then."""
        try:
            project = await self._project(request)
            asked = read_context(self._body(request), None)
            built, evaluation = await self.evaluator.answer(project.id, asked, with_inactive=True)
        except OfrepError as error:
            return json_response(error.body(None), error.status)
        except AppError as error:
            return _told(error, None)

        def body() -> Document:
            return etagged(_encode(bulk_answer(built.flag_set, evaluation)))

        found = await beside(len(evaluation.decisions), ANSWERED_ON_LOOP_MAX, body)
        etag = (("etag", found.etag),)
        if is_known_version(request.headers.get("if-none-match"), found.etag):
            return Response(304, b"", etag)
        return Response(200, found.body, etag)

    async def _project(self, request: Request) -> Project:
        """raises: NoApiKey, InvalidApiKey, Unavailable"""
        headers = request.headers
        token = bearer_key(headers.get("authorization")) or headers.get("x-api-key")
        if not token:
            raise NoApiKey
        return await self.projects.by_token(token, request)

    def _body(self, request: Request) -> Any:
        """raises: OfrepError"""
        headers = request.headers
        encoding = headers.get("content-encoding") or ""
        try:
            form = decode_body(
                request.body, "application/json", encoding, None, self.body_bytes_max
            )
            return loads(form.json)
        except (InvalidPayload, NoData) as error:
            raise OfrepError(400, ErrorCode.PARSE_ERROR, error.detail) from None


def _told(error: AppError, key: str | None) -> Response:
    """Errors that the protocol leaves to the service: ours, with what providers read beside."""
    named = {} if key is None else {"key": key}
    body = {
        **msgspec.json.decode(error.body()),
        **named,
        "errorCode": ErrorCode.GENERAL.value,
        "errorDetails": error.detail,
    }
    return Response(error.status, _encode(body), error.headers())
