"""POST /decide and POST /flags: a person's or group's flags. Nothing is written.

The answer is always 200 once the key and the body are right: what cannot be computed is left
out and marked.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from time import perf_counter
from typing import Any
from uuid import uuid4

from prometheus_client import Histogram

from fanion.db.engine import RecordsUnavailable
from fanion.errors import InvalidPayload, Unavailable
from fanion.flags.answers import CONFIGURATION, decide_answer, records, values_and_payloads
from fanion.flags.decision import Evaluation
from fanion.flags.evaluate import evaluate
from fanion.flags.flag_set import FlagSet
from fanion.flags.needs import NOTHING, needs
from fanion.flags.readings import Readings
from fanion.flags.request import (
    FlagRequest,
    flags_disabled,
    is_truthy,
    project_token,
    read_request,
    read_version,
)
from fanion.flags.snapshot import FlagSets
from fanion.http import Request, Response, json_response
from fanion.projects.directory import Projects
from fanion.projects.model import Project
from fanion.wire import decode_body, loads, parse_query


@dataclass(frozen=True, slots=True)
class Decide:
    """evaluation_seconds: observed once for each request"""

    projects: Projects
    flag_sets: FlagSets
    readings: Readings
    now: Callable[[], datetime]
    evaluation_seconds: Histogram

    async def decide(self, request: Request) -> Response:
        """source: api.md, "Public flag evaluation endpoint" """
        query = parse_query(request.query)
        values, project = await self._asked(request, query)
        if flags_disabled(values):
            return json_response({**CONFIGURATION, "featureFlags": {}})
        flag_set, evaluation = await self._evaluate(project, read_request(values))
        answer = decide_answer(read_version(query.get("v")), flag_set, evaluation)
        return json_response({**CONFIGURATION, **answer})

    async def flags(self, request: Request) -> Response:
        """source: sdk-wire.md section 4.2"""
        query = parse_query(request.query)
        values, project = await self._asked(request, query)
        configuration = CONFIGURATION if is_truthy(query.get("config")) else {}
        if flags_disabled(values):
            return json_response({**configuration, "flags": {}, "featureFlags": {}})
        flag_set, evaluation = await self._evaluate(project, read_request(values))
        version = read_version(query.get("v"))
        if version == 1:
            answer = values_and_payloads(evaluation)
        else:
            answer = records(flag_set, evaluation, with_value=version >= 4)
        evaluated_at = int(self.now().timestamp() * 1000)
        return json_response(
            {**configuration, **answer, "requestId": str(uuid4()), "evaluatedAt": evaluated_at}
        )

    async def _asked(
        self, request: Request, query: dict[str, str]
    ) -> tuple[dict[str, Any], Project]:
        """The decoded body and its project. raises: InvalidPayload, errors of the key"""
        headers = request.headers
        form = decode_body(
            request.body,
            headers.get("content-type") or "",
            headers.get("content-encoding") or "",
            query,
        )
        values = loads(form.json)
        if not isinstance(values, dict):
            raise InvalidPayload("Malformed request data: an object was expected.")
        return values, await self.projects.by_token(project_token(values, form.fields))

    async def _evaluate(self, project: Project, asked: FlagRequest) -> tuple[FlagSet, Evaluation]:
        try:
            flag_set = await self.flag_sets.of(project.id)
        except RecordsUnavailable:
            raise Unavailable("The flags of this project cannot be read.") from None
        subject = asked.subject
        missing = needs(flag_set, subject, asked.keys)
        if missing is not NOTHING:
            subject = replace(
                subject, **await self.readings.read(project.id, flag_set, subject, missing)
            )
        started = perf_counter()
        evaluation = evaluate(flag_set, subject, self.now(), asked.keys)
        self.evaluation_seconds.observe(perf_counter() - started)
        return flag_set, evaluation
