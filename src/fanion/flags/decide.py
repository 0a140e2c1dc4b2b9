"""POST /decide and POST /flags: a person's or group's flags. Nothing is written but the
identities that flags keep over a login.

The answer is always 200 once the key and the body are right: what cannot be computed is left
out and marked.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from msgspec.structs import replace

from fanion.errors import AppError, InvalidPayload, NoData
from fanion.flags.answers import configured, decide_answer, plain, records, values_and_payloads
from fanion.flags.evaluator import Evaluator
from fanion.flags.large import ANSWERED_ON_LOOP_MAX, beside
from fanion.flags.limits import EvaluationLimit
from fanion.flags.request import (
    FlagRequest,
    flags_disabled,
    is_truthy,
    project_token,
    read_request,
    read_version,
)
from fanion.forwarded import TrustedProxies
from fanion.http import Request, Response
from fanion.projects.auth import Authentication
from fanion.projects.directory import Projects
from fanion.projects.keys import KEY_CHARS_MAX
from fanion.projects.model import Project
from fanion.projects.public_key import EVALUATION_SCOPE, project_of_key
from fanion.wire import DecodedForm, decode_body, loads, parse_query

# Reading a larger body takes more than a few milliseconds, which the event loop has not.
READ_ON_LOOP_BYTES_MAX = 128 * 1024


async def _response(flags: int, body: Callable[[], bytes]) -> Response:
    costly = flags > ANSWERED_ON_LOOP_MAX
    return Response(200, await beside(flags, ANSWERED_ON_LOOP_MAX, body), costly=costly)


def nowhere(address: str) -> Mapping[str, Any]:
    """Without a location database nothing is known of an address."""
    return {}


@dataclass(frozen=True, slots=True)
class Decide:
    """locate: `$geoip_…` properties of an address
    limit:  how often one key may ask
    steady: seconds of a clock that only goes forward
    """

    projects: Projects
    authentication: Authentication
    evaluator: Evaluator
    body_bytes_max: int
    proxies: TrustedProxies = field(default_factory=TrustedProxies)
    locate: Callable[[str], Mapping[str, Any]] = nowhere
    limit: EvaluationLimit = field(default_factory=EvaluationLimit)
    steady: Callable[[], float] = time.monotonic

    async def decide(self, request: Request) -> Response:
        """source: api.md, "Public flag evaluation endpoint"; flags.md section 10"""
        query = parse_query(request.query)
        values, project = await self._asked(request, query)
        if flags_disabled(values):
            return Response(200, configured({"featureFlags": {}}))
        asked = self._located(request, read_request(values))
        built, evaluation = await self.evaluator.answer(project.id, asked)
        version = read_version(query.get("v"))

        def body() -> bytes:
            answer = decide_answer(version, built.flag_set, evaluation)
            if version >= 4:
                answer["requestId"] = str(uuid4())
            return configured(answer)

        return await _response(len(evaluation.decisions), body)

    async def flags(self, request: Request) -> Response:
        """source: sdk-wire.md section 4.2"""
        query = parse_query(request.query)
        values, project = await self._asked(request, query)
        written = configured if is_truthy(query.get("config")) else plain
        if flags_disabled(values):
            return Response(200, written({"flags": {}, "featureFlags": {}}))
        asked = self._located(request, read_request(values))
        built, evaluation = await self.evaluator.answer(project.id, asked)
        version = read_version(query.get("v"))

        def body() -> bytes:
            if version == 1:
                answer = values_and_payloads(evaluation)
            else:
                answer = records(built.flag_set, evaluation, with_value=version >= 4)
            answer["requestId"] = str(uuid4())
            answer["evaluatedAt"] = int(self.evaluator.now().timestamp() * 1000)
            return written(answer)

        return await _response(len(evaluation.decisions), body)

    async def _asked(
        self, request: Request, query: Mapping[str, str]
    ) -> tuple[dict[str, Any], Project]:
        """The decoded body and its project. raises: InvalidPayload, errors of the key"""
        try:
            if len(request.body) <= READ_ON_LOOP_BYTES_MAX:
                form, values = self._read(request, query)
            else:
                form, values = await asyncio.to_thread(self._read, request, query)
            token = project_token(values, form.fields)
        except AppError:  # all that name no key count together
            self._limit("")
            raise
        self._limit(token)
        known = self.projects.known(token)
        if known is not None:
            return values, known
        project = await project_of_key(
            self.projects,
            self.authentication,
            request,
            token,
            values.get("project_id"),
            EVALUATION_SCOPE,
        )
        return values, project

    def _limit(self, token: str) -> None:
        """raises: TooManyEvaluations"""
        if self.limit.per_s:
            # Cut: what is remembered of a key must not grow with the body that it came in.
            self.limit.take(token[:KEY_CHARS_MAX], self.steady())

    def _read(
        self, request: Request, query: Mapping[str, str]
    ) -> tuple[DecodedForm, dict[str, Any]]:
        headers = request.headers
        try:
            form = decode_body(
                request.body,
                headers.get("content-type") or "",
                headers.get("content-encoding") or "",
                query,
                self.body_bytes_max,
            )
        except NoData:
            raise InvalidPayload("Malformed request data: the body is empty.") from None
        values = loads(form.json)
        if not isinstance(values, dict):
            raise InvalidPayload("Malformed request data: an object was expected.")
        return form, values

    def _located(self, request: Request, asked: FlagRequest) -> FlagRequest:
        if self.locate is nowhere or asked.geoip_disable:
            return asked
        geoip = self.locate(self.proxies.client_address(request.peer, request.headers))
        return replace(asked, subject=replace(asked.subject, geoip=geoip)) if geoip else asked
