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
from fanion.flags.evaluation.cache import ANSWERED_ON_LOOP_MAX, run_offloaded
from fanion.flags.evaluation.request import FlagRequest
from fanion.flags.evaluation.service import Evaluated, Evaluator, PreparedEvaluation
from fanion.flags.sdk.local_evaluation import etagged
from fanion.flags.sdk.ofrep import ErrorCode, OfrepError, bulk_answer, read_context, single_answer
from fanion.projects.auth.keys import bearer_key
from fanion.projects.cache import Projects
from fanion.projects.model import Project
from fanion.server.forwarded import Headers
from fanion.server.head import RequestHead
from fanion.server.request import FastEndpoint, LaterResponse, Reply, Request
from fanion.server.response import Response, is_known_version, json_response
from fanion.wire.decoding import READ_ON_LOOP_BYTES_MAX, decode_body, decode_small, parse_json
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
        key = _key_in(request.path)
        try:
            return _single_response(await self._evaluated(request, (key,)), key)
        except OfrepError as error:
            return json_response(error.body(key), error.status)
        except AppError as error:
            return _error_response(error, key)

    async def bulk(self, request: Request) -> Response:
        """Answer with all flags.

        Client providers ask at the start, when the context changes, and periodically.
        """
        try:
            evaluated = await self._evaluated(request, None)
        except OfrepError as error:
            return json_response(error.body(None), error.status)
        except AppError as error:
            return _error_response(error, None)
        flags = len(evaluated[1].decisions)
        answer = partial(_bulk_response, evaluated, request.headers)
        return await run_offloaded(flags, ANSWERED_ON_LOOP_MAX, answer)

    def find_fast_single(self, head: RequestHead) -> FastEndpoint | None:
        """Return an endpoint for ordinary bodies of requests for one flag, if there is one."""
        key = _key_in(head.path)
        return self._find_fast(head, (key,), partial(_single_response, key=key))

    def find_fast_bulk(self, head: RequestHead) -> FastEndpoint | None:
        """Return an endpoint for ordinary bodies of requests for all flags, if there is one."""
        return self._find_fast(head, None, partial(_bulk_response, headers=head.headers))

    def _find_fast(
        self,
        head: RequestHead,
        keys: tuple[str, ...] | None,
        respond: Callable[[Evaluated], Response],
    ) -> FastEndpoint | None:
        token = _token_in(head.headers)
        if not token or head.headers.get("content-encoding"):
            return None
        return partial(self._answer_at_once, token, keys, respond)

    def _answer_at_once(
        self,
        token: str,
        keys: tuple[str, ...] | None,
        respond: Callable[[Evaluated], Response],
        body: bytes,
        _peer: str,
        _reply: Reply,
    ) -> Response | LaterResponse | bool:
        """Answer an ordinary request as a `FastEndpoint` does.

        Requests that are refused are left to `single` and `bulk`.
        """
        project = self.projects.known.get(token)
        is_small = len(body) <= min(self.body_bytes_max, READ_ON_LOOP_BYTES_MAX)
        if project is None or not is_small or body[:1] != b"{":
            return False
        try:
            flag_request = read_context(parse_json(body), keys)
        except (AppError, OfrepError):
            return False
        prepared = self.evaluator.prepare(project.id, flag_request)
        if prepared is None:
            return False
        if prepared.has_to_read:
            return self._answer_after_read(prepared, respond)
        return respond(self.evaluator.answer_prepared(prepared, with_inactive=True))

    async def _answer_after_read(
        self, prepared: PreparedEvaluation, respond: Callable[[Evaluated], Response]
    ) -> Response:
        return respond(await self.evaluator.answer_after_read(prepared, with_inactive=True))

    async def _project(self, request: Request) -> Project:
        token = _token_in(request.headers)
        if not token:
            raise MissingApiKey
        return await self.projects.by_token(token, request)

    async def _evaluated(self, request: Request, keys: tuple[str, ...] | None) -> Evaluated:
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


def _key_in(path: str) -> str:
    return unquote(path.rstrip("/").removeprefix(PREFIX + "/"))


def _token_in(headers: Headers) -> str | None:
    return bearer_key(headers.get("authorization")) or headers.get("x-api-key")


def _single_response(evaluated: Evaluated, key: str) -> Response:
    try:
        return Response(200, single_answer(*evaluated, key))
    except OfrepError as error:
        return json_response(error.body(key), error.status)


def _bulk_response(evaluated: Evaluated, headers: Headers) -> Response:
    document = etagged(bulk_answer(*evaluated))
    etag = (("etag", document.etag),)
    if is_known_version(headers.get("if-none-match"), document.etag):
        return Response(304, b"", etag)
    return Response(200, document.body, etag)


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
