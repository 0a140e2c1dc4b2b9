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
from uuid import uuid4

from msgspec.structs import replace

from fanion.errors import AppError, InvalidPayload, NoData
from fanion.flags.engine.model import Evaluation
from fanion.flags.evaluation.cache import ANSWERED_ON_LOOP_MAX, CompiledFlags
from fanion.flags.evaluation.request import (
    KEYS_OF_PROJECT,
    FlagRequest,
    is_truthy,
    project_token,
    read_flag_request,
    read_version,
)
from fanion.flags.evaluation.responses import (
    decide_answer,
    flag_records,
    values_and_payloads,
    with_configuration,
    without_configuration,
)
from fanion.flags.evaluation.service import Evaluator
from fanion.projects.auth.authentication_service import (
    EVALUATION_SCOPE,
    Authentication,
    project_of_key,
)
from fanion.projects.auth.keys import KEY_CHARS_MAX
from fanion.projects.cache import Projects
from fanion.projects.model import Project
from fanion.runtime.token_bucket import TokenBuckets
from fanion.server.forwarded import TrustedProxies
from fanion.server.request import Request
from fanion.server.response import Response
from fanion.wire.decoding import (
    DecodedForm,
    decode_request,
    decode_small_request,
    parse_json,
    parse_query,
)
from fanion.wire.incremental_json import parse_large_json
from fanion.wire.json_outline import Outline, outline_of
from fanion.wire.offload import Decoding

# Keys whose rates are remembered, including unknown ones.
KEYS_MAX = 10_000
_EMPTY = "Malformed request data: the body is empty."


class TooManyEvaluations(AppError):
    status, type, default_code = 429, "validation_error", "rate_limit_exceeded"
    default_detail = "Rate limit exceeded "

    def headers(self) -> tuple[tuple[str, str], ...]:
        return (("retry-after", "1"),)


@dataclass(slots=True)
class EvaluationLimit:
    """A token bucket for each key.

    Attributes:
        per_s: Sustained requests per second of one key; 0 for no limit.
        burst: Requests allowed at once after a quiet time.

    Source: flags.md sections 10 and 18.
    """

    per_s: float = 0.0
    burst: float = 1.0
    buckets: TokenBuckets[str] = field(default_factory=partial(TokenBuckets, KEYS_MAX))

    def take_token(self, key: str, now: float) -> None:
        """Take a token from the key's bucket.

        Args:
            key: Empty for requests without a key.
            now: Seconds of a steady clock.

        Raises:
            TooManyEvaluations: The bucket is empty.
        """
        bucket = self.buckets.bucket_of(key)
        if bucket.wait_s(self.per_s, self.burst, now):
            raise TooManyEvaluations
        bucket.level -= 1


async def _response(flags: int, body: Callable[[], bytes]) -> Response:
    """Encode the answer, in a thread if it is large."""
    if flags <= ANSWERED_ON_LOOP_MAX:
        return Response(200, body())
    return Response(200, await asyncio.to_thread(body), costly=True)


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
        evaluated = await self._evaluated(request, query)
        if evaluated is None:
            return Response(200, with_configuration({"featureFlags": {}}))
        built, evaluation = evaluated
        version = read_version(query.get("v"))

        def body() -> bytes:
            answer = decide_answer(version, built.flag_set, evaluation)
            if version >= 4:
                answer["requestId"] = str(uuid4())
            return with_configuration(answer)

        return await _response(len(evaluation.decisions), body)

    async def flags(self, request: Request) -> Response:
        """Answer POST /flags.

        Source: sdk-wire.md section 4.2.
        """
        query = parse_query(request.query)
        evaluated = await self._evaluated(request, query)
        written = with_configuration if is_truthy(query.get("config")) else without_configuration
        if evaluated is None:
            return Response(200, written({"flags": {}, "featureFlags": {}}))
        built, evaluation = evaluated
        version = read_version(query.get("v"))

        def body() -> bytes:
            if version == 1:
                answer = values_and_payloads(evaluation)
            else:
                answer = flag_records(built.flag_set, evaluation, with_value=version >= 4)
            answer["requestId"] = str(uuid4())
            answer["evaluatedAt"] = int(evaluation.evaluated_at.timestamp() * 1000)
            return written(answer)

        return await _response(len(evaluation.decisions), body)

    async def _evaluated(
        self, request: Request, query: Mapping[str, str]
    ) -> tuple[CompiledFlags, Evaluation] | None:
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
        return await self.evaluator.answer(project.id, self._located(request, flag_request))

    async def _evaluated_large(
        self, request: Request, query: Mapping[str, str]
    ) -> tuple[CompiledFlags, Evaluation] | None:
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
            return await self.evaluator.answer(project.id, self._located(request, flag_request))

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

    def _located(self, request: Request, flag_request: FlagRequest) -> FlagRequest:
        if self.locate is no_location or flag_request.geoip_disable:
            return flag_request
        geoip = self.locate(self.proxies.client_address(request.peer, request.headers))
        return (
            replace(flag_request, subject=replace(flag_request.subject, geoip=geoip))
            if geoip
            else flag_request
        )


def _object_of(values: Any) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise InvalidPayload("Malformed request data: an object was expected.")
    return values


def _read_large(raw: bytes) -> FlagRequest | None:
    flag_request = read_flag_request(_object_of(parse_large_json(raw)))
    return None if flag_request is None else replace(flag_request, is_large=True)
