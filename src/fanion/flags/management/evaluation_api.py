"""Evaluates flags for the users who manage them.

source: flags.md section 15
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromQuery
from msgspec import Meta, Struct

from fanion.errors import Invalid, InvalidPayload
from fanion.flags.engine.definition import grouped_filters
from fanion.flags.engine.model import DISABLED, Decision, Subject
from fanion.flags.evaluation.request import FlagRequest, text
from fanion.flags.evaluation.service import Evaluator
from fanion.flags.sdk.local_evaluation import flag_summary
from fanion.flags.storage.store import FlagStore
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.wire.decoding import loads

GroupsText = Annotated[str, Meta(description="Group type → group key, a JSON object as text.")]


class EvaluationBody(Struct, kw_only=True):
    reason: str
    condition_index: int | None


class EvaluatedFlag(Struct, kw_only=True):
    value: bool | str
    evaluation: EvaluationBody


class FlagSummary(Struct, kw_only=True):
    id: int
    team_id: Annotated[int, Meta(description="The project.")]
    name: str
    key: str
    filters: dict[str, Any]
    deleted: bool
    active: bool
    ensure_experience_continuity: bool | None


class MyFlag(Struct, kw_only=True):
    feature_flag: FlagSummary
    value: bool | str


@dataclass(frozen=True, slots=True)
class FlagEvaluation:
    evaluator: Evaluator
    store: FlagStore


class FlagEvaluationApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @get("/evaluation_reasons", summary="Say what each flag answers for a distinct id, and why")
    async def reasons(
        self,
        request: ManagementRequest,
        evaluation: NamedDependency[FlagEvaluation],
        distinct_id: FromQuery[str | None] = None,
        groups: FromQuery[GroupsText] = "{}",
    ) -> dict[str, EvaluatedFlag]:
        """By flag key, flags that are switched off included. What cannot be computed now is
        left out. Without a `distinct_id` it is the caller's own."""
        if distinct_id is None:
            distinct_id = request.principal.user.distinct_id
        if not distinct_id:
            raise Invalid("distinct_id is required", attr="distinct_id")
        asked = FlagRequest(Subject(distinct_id, groups=read_groups(groups)))
        _, found = await evaluation.evaluator.evaluate(
            request.project.id, asked, with_inactive=True
        )
        return {key: _evaluated(decision) for key, decision in found.decisions.items()}

    @get("/my_flags", summary="List the flags with what they answer for the caller")
    async def mine(
        self,
        request: ManagementRequest,
        evaluation: NamedDependency[FlagEvaluation],
        groups: FromQuery[GroupsText] = "{}",
    ) -> list[MyFlag]:
        """The newest first. The caller counts as the person with the user's own distinct id."""
        project_id = request.project.id
        subject = Subject(request.principal.user.distinct_id, groups=read_groups(groups))
        built, found = await evaluation.evaluator.evaluate(
            project_id, FlagRequest(subject), with_inactive=True
        )
        rows = {row.key: row for row in built.definitions.flags}
        return [
            MyFlag(
                feature_flag=FlagSummary(
                    **flag_summary(project_id, rows[key], grouped_filters(rows[key]))
                ),
                value=found.decisions.get(key, DISABLED).value,
            )
            for key in await evaluation.store.newest_first(project_id)
            if key in rows
        ]


def read_groups(raw: str) -> Mapping[str, str]:
    """raises: Invalid"""
    try:
        groups = loads(raw.encode("utf-8", "replace")) if raw else {}
    except InvalidPayload:
        groups = None
    if not isinstance(groups, dict):
        raise Invalid("groups must be a JSON object", attr="groups")
    return {name: text(key) for name, key in groups.items() if key is not None}


def _evaluated(decision: Decision) -> EvaluatedFlag:
    reason = EvaluationBody(reason=decision.reason.value, condition_index=decision.condition_index)
    return EvaluatedFlag(value=decision.value, evaluation=reason)
