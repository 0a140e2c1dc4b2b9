"""Endpoints of the OpenFeature protocol: POST /ofrep/v1/evaluate/flags and …/flags/{key}.

A provider is configured with the project's public key, sent as a Bearer token or X-API-Key.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from fanion.errors import AppError, InvalidPayload, MissingApiKey, NoData
from fanion.flags.engine.model import Evaluation
from fanion.flags.evaluation.cache import ANSWERED_ON_LOOP_MAX, CompiledFlags, run_offloaded
from fanion.flags.evaluation.request import FlagRequest
from fanion.flags.evaluation.service import Evaluator
from fanion.flags.sdk.local_evaluation import EtagDocument, etagged
from fanion.flags.sdk.ofrep import ErrorCode, OfrepError, bulk_answer, read_context, single_answer
from fanion.projects.auth.keys import bearer_key
from fanion.projects.cache import Projects
from fanion.projects.model import Project
from fanion.server.request import Request
from fanion.server.response import Response, is_known_version, json_response
from fanion.wire.decoding import decode_body, decode_small, parse_json
from fanion.wire.incremental_json import DECODED_BYTES_MAX, parse_large_json
from fanion.wire.offload import Decoding

PREFIX = "/ofrep/v1/evaluate/flags"

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class OfrepEndpoints:
    projects: Projects
    evaluator: Evaluator
    body_bytes_max: int
    decoding: Decoding = field(default_factory=Decoding)

    async def single(self, request: Request) -> Response:
        """Answer with one flag; server providers ask at every read."""
        key = unquote(request.path.rstrip("/").removeprefix(PREFIX + "/"))
        try:
            built, evaluation = await self._evaluated(request, (key,))
            return json_response(single_answer(built.flag_set, evaluation, key))
        except OfrepError as error:
            return json_response(error.body(key), error.status)
        except AppError as error:
            return _error_response(error, key)

    async def bulk(self, request: Request) -> Response:
        """Answer with all flags.

        Client providers ask at the start, when the context changes, and periodically.
        """
        try:
            built, evaluation = await self._evaluated(request, None)
        except OfrepError as error:
            return json_response(error.body(None), error.status)
        except AppError as error:
            return _error_response(error, None)

        def body() -> EtagDocument:
            return etagged(_encode(bulk_answer(built.flag_set, evaluation)))

        document = await run_offloaded(len(evaluation.decisions), ANSWERED_ON_LOOP_MAX, body)
        etag = (("etag", document.etag),)
        if is_known_version(request.headers.get("if-none-match"), document.etag):
            return Response(304, b"", etag)
        return Response(200, document.body, etag)

    async def _project(self, request: Request) -> Project:
        headers = request.headers
        token = bearer_key(headers.get("authorization")) or headers.get("x-api-key")
        if not token:
            raise MissingApiKey
        return await self.projects.by_token(token, request)

    async def _evaluated(
        self, request: Request, keys: tuple[str, ...] | None
    ) -> tuple[CompiledFlags, Evaluation]:
        """Check the key, read the request and evaluate it.

        Raises:
            OfrepError: The body or its context is not valid.
            AppError: The key is not valid.
        """
        project = await self._project(request)
        await request.read(self.body_bytes_max)
        form = _or_parse_error(partial(self._decode, decode_small, request))
        if form is not None:
            flag_request = read_context(_or_parse_error(partial(parse_json, form.json)), keys)
            return await self.evaluator.answer(project.id, flag_request, with_inactive=True)
        async with self.decoding.room(len(request.body), self.body_bytes_max) as room:
            await room.grow(DECODED_BYTES_MAX)
            flag_request = await room.run(partial(self._read_large, request, keys))
            return await self.evaluator.answer(project.id, flag_request, with_inactive=True)

    def _read_large(self, request: Request, keys: tuple[str, ...] | None) -> FlagRequest:
        form = _or_parse_error(partial(self._decode, decode_body, request))
        return replace(
            read_context(_or_parse_error(partial(parse_large_json, form.json)), keys), is_large=True
        )

    def _decode(self, decode: Callable[..., T], request: Request) -> T:
        encoding = request.headers.get("content-encoding") or ""
        return decode(request.body, "application/json", encoding, None, self.body_bytes_max)


def _or_parse_error(read: Callable[[], T]) -> T:
    """Return what `read` returns, with errors of the body as OfrepError."""
    try:
        return read()
    except (InvalidPayload, NoData) as error:
        raise OfrepError(400, ErrorCode.PARSE_ERROR, error.detail) from None


def _error_response(error: AppError, key: str | None) -> Response:
    """Return an error that the protocol does not define, with the fields that providers read."""
    named = {} if key is None else {"key": key}
    body = {
        **error.fields(),
        **named,
        "errorCode": ErrorCode.GENERAL.value,
        "errorDetails": error.detail,
    }
    return Response(error.status, _encode(body), error.headers())
