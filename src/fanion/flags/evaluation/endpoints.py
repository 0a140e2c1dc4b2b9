"""Endpoints POST /decide and POST /flags: the flags of a person or group.

Nothing is written except the identities that flags keep hashing across a login. Once the key and
the body are valid the status is always 200: flags that cannot be computed are left out, and a
marker says so.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from msgspec.structs import replace

from fanion.errors import AppError, InvalidPayload, NoData
from fanion.flags.evaluation.cache import ANSWERED_ON_LOOP_MAX
from fanion.flags.evaluation.rate_limit import EvaluationLimit
from fanion.flags.evaluation.request import (
    KEYS_OF_PROJECT,
    FlagRequest,
    is_truthy,
    project_token,
    read_flag_request,
    read_version,
)
from fanion.flags.evaluation.responses import (
    AnswerForm,
    decide_form,
    flags_form,
)
from fanion.flags.evaluation.service import Evaluated, Evaluator, PreparedEvaluation
from fanion.projects.auth.authentication_service import (
    EVALUATION_SCOPE,
    Authentication,
    project_of_key,
)
from fanion.projects.auth.keys import KEY_CHARS_MAX
from fanion.projects.cache import Projects
from fanion.projects.model import Project
from fanion.server.forwarded import Headers, TrustedProxies
from fanion.server.head import RequestHead
from fanion.server.request import FastEndpoint, LaterResponse, Reply, Request
from fanion.server.response import Response
from fanion.wire.decoding import (
    READ_ON_LOOP_BYTES_MAX,
    DecodedForm,
    decode_request,
    decode_small_request,
    parse_json,
    parse_query,
)
from fanion.wire.incremental_json import parse_large_json
from fanion.wire.json_outline import Outline, outline_of
from fanion.wire.offload import Decoding

_NO_FIELDS: Mapping[str, str] = {}
_EMPTY = "Malformed request data: the body is empty."


def no_location(address: str) -> Mapping[str, Any]:
    """Return no location, for a server without a location database."""
    return {}


@dataclass(frozen=True, slots=True)
class DecideEndpoints:
    """The endpoints of flag evaluation.

    Attributes:
        locate: Returns the `$geoip_…` properties of an address.
        limit: How often one key may ask.
        steady: Seconds of a clock that only moves forward.
    """

    projects: Projects
    authentication: Authentication
    evaluator: Evaluator
    body_bytes_max: int
    proxies: TrustedProxies = field(default_factory=TrustedProxies)
    locate: Callable[[str], Mapping[str, Any]] = no_location
    limit: EvaluationLimit = field(default_factory=EvaluationLimit)
    steady: Callable[[], float] = time.monotonic
    decoding: Decoding = field(default_factory=Decoding)

    async def decide(self, request: Request) -> Response:
        """Answer POST /decide.

        Source: api.md, "Public flag evaluation endpoint"; flags.md section 10.
        """
        query = parse_query(request.query)
        return await self._answer(request, query, _decide_form(query))

    async def flags(self, request: Request) -> Response:
        """Answer POST /flags.

        Source: sdk-wire.md section 4.2.
        """
        query = parse_query(request.query)
        return await self._answer(request, query, _flags_form(query))

    def find_fast_decide(self, head: RequestHead) -> FastEndpoint | None:
        """Return an endpoint for ordinary bodies of POST /decide, if this head allows one."""
        return self._find_fast(head, _decide_form)

    def find_fast_flags(self, head: RequestHead) -> FastEndpoint | None:
        """Return an endpoint for ordinary bodies of POST /flags, if this head allows one."""
        return self._find_fast(head, _flags_form)

    def _find_fast(
        self, head: RequestHead, find_form: Callable[[Mapping[str, str]], AnswerForm]
    ) -> FastEndpoint | None:
        try:
            query = parse_query(head.query)
        except InvalidPayload:
            return None
        if query.get("compression") or head.headers.get("content-encoding"):
            return None
        return partial(self._answer_at_once, head.headers, find_form(query))

    def _answer_at_once(
        self, headers: Headers, form: AnswerForm, body: bytes, peer: str, _: Reply
    ) -> Response | LaterResponse | bool:
        """Answer an ordinary request as a `FastEndpoint` does.

        Requests that are refused before they are evaluated are left to `decide` and `flags`.

        Raises:
            TooManyEvaluations: The key asks too often.
        """
        if len(body) > min(self.body_bytes_max, READ_ON_LOOP_BYTES_MAX) or body[:1] != b"{":
            return False
        try:
            values = _object_of(parse_json(body))
            token = project_token(values, _NO_FIELDS)
            flag_request = read_flag_request(values)
        except AppError:
            return False
        project = self.projects.known.get(token)
        if project is None:
            return False
        if flag_request is None:
            self._limit(token)
            return Response(200, form.body_without_flags())
        located = self._located(flag_request, peer, headers)
        prepared = self.evaluator.prepare(project.id, located)
        if prepared is None:
            return False
        self._limit(token)
        if prepared.has_to_read:
            return self._answer_after_read(prepared, form)
        return Response(200, form.body(*self.evaluator.answer_prepared(prepared)))

    async def _answer_after_read(self, prepared: PreparedEvaluation, form: AnswerForm) -> Response:
        return Response(200, form.body(*await self.evaluator.answer_after_read(prepared)))

    async def _answer(
        self, request: Request, query: Mapping[str, str], form: AnswerForm
    ) -> Response:
        evaluated = await self._evaluated(request, query)
        if evaluated is None:
            return Response(200, form.body_without_flags())
        body = partial(form.body, *evaluated)
        if len(evaluated[1].decisions) <= ANSWERED_ON_LOOP_MAX:
            return Response(200, body())
        return Response(200, await asyncio.to_thread(body), costly=True)

    async def _evaluated(self, request: Request, query: Mapping[str, str]) -> Evaluated | None:
        """Read and evaluate a request.

        Returns:
            None for a client that wants no flags.

        Raises:
            AppError: The body or the key is invalid.
        """
        try:
            form = self._decode_small(request, query)
            if form is not None:
                values = _object_of(parse_json(form.json))
                token = project_token(values, form.fields)
        except AppError:  # requests without a key share one bucket
            self._limit("")
            raise
        if form is None:
            return await self._evaluated_large(request, query)
        project = await self._project(request, token, values.get("project_id"))
        flag_request = read_flag_request(values)
        if flag_request is None:
            return None
        located = self._located(flag_request, request.peer, request.headers)
        return await self.evaluator.answer(project.id, located)

    async def _evaluated_large(
        self, request: Request, query: Mapping[str, str]
    ) -> Evaluated | None:
        """Read and evaluate a large request.

        The key is checked against an outline of the body before the whole body is decoded.
        """
        async with self.decoding.room(len(request.body), self.body_bytes_max) as room:
            try:
                form, outline = await room.run(partial(self._outline, request, query))
                token = project_token(_object_of(outline.value), form.fields)
            except AppError:
                self._limit("")
                raise
            project = await self._project(request, token, outline.value.get("project_id"))
            room.shrink(len(form.json))
            await room.grow(outline.bytes)
            flag_request = await room.run(partial(_read_large, form.json))
            if flag_request is None:
                return None
            located = self._located(flag_request, request.peer, request.headers)
            return await self.evaluator.answer(project.id, located)

    async def _project(self, request: Request, token: str, project_id: Any) -> Project:
        self._limit(token)
        known = self.projects.known.get(token)
        if known is not None:
            return known
        return await project_of_key(
            self.projects, self.authentication, request, token, project_id, EVALUATION_SCOPE
        )

    def _limit(self, token: str) -> None:
        if self.limit.per_s:
            # Cut, so that the memory for a key does not grow with the body that contains it.
            self.limit.take_token(token[:KEY_CHARS_MAX], self.steady())

    def _decode_small(self, request: Request, query: Mapping[str, str]) -> DecodedForm | None:
        try:
            return decode_small_request(request, query, self.body_bytes_max)
        except NoData:
            raise InvalidPayload(_EMPTY) from None

    def _outline(self, request: Request, query: Mapping[str, str]) -> tuple[DecodedForm, Outline]:
        try:
            form = decode_request(request, query, self.body_bytes_max)
        except NoData:
            raise InvalidPayload(_EMPTY) from None
        return form, outline_of(form.json, KEYS_OF_PROJECT)

    def _located(self, flag_request: FlagRequest, peer: str, headers: Headers) -> FlagRequest:
        if self.locate is no_location or flag_request.geoip_disable:
            return flag_request
        geoip = self.locate(self.proxies.client_address(peer, headers))
        return (
            replace(flag_request, subject=replace(flag_request.subject, geoip=geoip))
            if geoip
            else flag_request
        )


def _decide_form(query: Mapping[str, str]) -> AnswerForm:
    return decide_form(read_version(query.get("v")))


def _flags_form(query: Mapping[str, str]) -> AnswerForm:
    version = read_version(query.get("v"))
    return flags_form(version, with_configuration=is_truthy(query.get("config")))


def _object_of(values: Any) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise InvalidPayload("Malformed request data: an object was expected.")
    return values


def _read_large(raw: bytes) -> FlagRequest | None:
    flag_request = read_flag_request(_object_of(parse_large_json(raw)))
    return None if flag_request is None else replace(flag_request, is_large=True)
