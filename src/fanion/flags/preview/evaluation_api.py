"""API that evaluates flags for the users who manage them.

It evaluates them for one person, or for all persons as a static cohort.

Source: flags.md sections 15 and 19, cohorts.md section 10.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from litestar import Controller, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, RequestBody
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.cohorts.criteria.definition import NAME_CHARS_MAX
from fanion.cohorts.model import ImportQuery, MembersImport
from fanion.cohorts.schemas import CohortBody, cohort_body
from fanion.cohorts.service import CohortService
from fanion.errors import Invalid, InvalidPayload
from fanion.flags.definitions.service import FlagService
from fanion.flags.definitions.store import FlagStore
from fanion.flags.engine.definition import grouped_filters
from fanion.flags.engine.model import Decision, Subject, disabled
from fanion.flags.evaluation.request import FlagRequest, id_text
from fanion.flags.evaluation.service import Evaluator
from fanion.flags.preview.schemas import ComparedProperty, UnsavedEvaluation, UnsavedReasons
from fanion.flags.preview.service import FlagPreviews
from fanion.flags.sdk.local_evaluation import FlagSummary, flag_summary
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId
from fanion.wire.decoding import parse_json
from fanion.wire.distinct_id import stored_distinct_id

_COHORT_NAME = "Users with feature flag {key} enabled at {now:%Y-%m-%d %H:%M:%S}"

GroupsText = Annotated[str, Meta(description="JSON object as text: group type → group key.")]


class EvaluationBody(Struct, kw_only=True, omit_defaults=True):
    reason: str
    condition_index: int | None
    compared: Annotated[
        list[ComparedProperty] | UnsetType,
        Meta(
            description="Only with `compared=true`: the comparisons of the condition that decided, "
            "or those that failed."
        ),
    ] = UNSET


class EvaluatedFlag(Struct, kw_only=True):
    value: bool | str
    evaluation: EvaluationBody


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

    @get("/evaluation_reasons", summary="Evaluate all flags for a distinct id, with reasons")
    async def reasons(
        self,
        request: ManagementRequest,
        evaluation: NamedDependency[FlagEvaluation],
        previews: NamedDependency[FlagPreviews],
        distinct_id: FromQuery[str | None] = None,
        groups: FromQuery[GroupsText] = "{}",
        device_id: FromQuery[str | None] = None,
        compared: FromQuery[bool] = False,
    ) -> dict[str, EvaluatedFlag]:
        """Returns a value and its reason by flag key, including disabled flags.

        Flags that cannot be computed now are omitted. `distinct_id` is the caller's own by default.
        `device_id` is for flags that bucket by device. With `compared=true`, each reason has the
        values that were compared; a scoped key then needs `person:read` too, and `group:read` for
        `groups`.
        """
        if distinct_id is None:
            distinct_id = request.principal.user.distinct_id
        if not distinct_id:
            raise Invalid("distinct_id is required", attr="distinct_id")
        subject = Subject(
            stored_distinct_id(distinct_id), groups=read_groups(groups), device_id=device_id or None
        )
        values = await previews.compared_values(request, subject) if compared else None
        _, result = await evaluation.evaluator.evaluate(
            request.project.id, FlagRequest(subject), with_inactive=True
        )
        return {key: _evaluated(decision, values) for key, decision in result.decisions.items()}

    @post(
        "/evaluation_reasons",
        status_code=200,
        summary="Evaluate an unsaved flag, with reasons",
        scope="feature_flag:read",
        reads=True,
    )
    async def unsaved_reasons(
        self,
        request: ManagementRequest,
        data: RequestBody[UnsavedEvaluation],
        previews: NamedDependency[FlagPreviews],
    ) -> UnsavedReasons:
        """Evaluates the flag as it is saved and as it would be saved, for one person.

        Each condition has its result, each property the value that was compared. Nothing is stored,
        and no evaluation is counted. The location of the address is not used. A scoped key needs
        `person:read` too, and `group:read` for `groups`.
        """
        return await previews.explain_unsaved(request, data)

    @get("/my_flags", summary="List flags with their values for the caller")
    async def mine(
        self,
        request: ManagementRequest,
        evaluation: NamedDependency[FlagEvaluation],
        groups: FromQuery[GroupsText] = "{}",
    ) -> list[MyFlag]:
        """Lists the newest flags first. The caller is the person with the user's distinct id."""
        project_id = request.project.id
        subject = Subject(request.principal.user.distinct_id, groups=read_groups(groups))
        built, result = await evaluation.evaluator.evaluate(
            project_id, FlagRequest(subject), with_inactive=True
        )
        rows = {row.key: row for row in built.definitions.flags}
        return [
            MyFlag(
                feature_flag=FlagSummary(
                    **flag_summary(project_id, rows[key], grouped_filters(rows[key]))
                ),
                value=result.decisions.get(key, disabled(key)).value,
            )
            for key in await evaluation.store.keys_newest_first(project_id)
            if key in rows
        ]


def read_groups(raw: str) -> Mapping[str, str]:
    """Parse the `groups` parameter.

    Raises:
        Invalid: It is not a JSON object.
    """
    try:
        groups = parse_json(raw.encode("utf-8", "replace")) if raw else {}
    except InvalidPayload:
        groups = None
    if groups == []:
        return {}
    if not isinstance(groups, dict):
        raise Invalid("groups must be a JSON object", attr="groups")
    return {name: id_text(key) for name, key in groups.items() if key is not None}


def _evaluated(
    decision: Decision, compared: Mapping[str, list[ComparedProperty]] | None
) -> EvaluatedFlag:
    reason = EvaluationBody(
        reason=decision.reason.value,
        condition_index=decision.condition_index,
        compared=UNSET if compared is None else compared.get(decision.key, []),
    )
    return EvaluatedFlag(value=decision.value, evaluation=reason)


@dataclass(frozen=True, slots=True)
class FlagCohorts:
    flags: FlagService
    cohorts: CohortService


class MadeCohort(Struct, kw_only=True):
    cohort: CohortBody


class FlagCohortsApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags/{flag_id:str}"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @post("/create_static_cohort_for_flag", summary="Create a static cohort from a flag")
    async def keep(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flag_cohorts: NamedDependency[FlagCohorts],
    ) -> MadeCohort:
        """Creates a static cohort of the persons for whom the flag is enabled.

        It is calculated in the background. It stays empty for a flag that is disabled, deleted or
        group-based.
        """
        flag = await flag_cohorts.flags.get_editable_flag(
            request.principal, request.project, flag_id
        )
        author, cohorts = request.author, flag_cohorts.cohorts
        name = _cohort_name(flag.definition.key, author.now)
        members = MembersImport(query=ImportQuery("flag", str(flag_id)))
        return MadeCohort(
            cohort=cohort_body(await cohorts.create_static_cohort(author, name, members))
        )


def _cohort_name(key: str, now: datetime) -> str:
    """Return a name for the cohort, cut to the length that a name may have."""
    room = NAME_CHARS_MAX - len(_COHORT_NAME.format(key="", now=now))
    return _COHORT_NAME.format(key=key[:room], now=now)
