"""The arguments of tools, as the types that their JSON Schemas are made of."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

# Programs in JavaScript know integers up to here.
_MOST = 2**53 - 1
_Id = Annotated[int, Meta(ge=1, le=_MOST)]
_Limit = Annotated[int, Meta(ge=1, le=500, description="Results of this page.")]
_Offset = Annotated[int, Meta(ge=0, le=_MOST, description="Results before this page.")]
_Text = Annotated[str, Meta(max_length=1_000)]
_Key = Annotated[str, Meta(min_length=1, max_length=400)]
_Time = Annotated[
    Annotated[str, Meta(max_length=100)] | UnsetType,
    Meta(description="A date, an ISO 8601 time, or a relative one: `-7d`, `-4h`."),
]
_Conditions = Annotated[
    list[dict[str, Any]] | UnsetType,
    Meta(
        description='Conditions that must all hold: [{"key": "plan", "operator": "exact", "value": '
        '["pro"], "type": "person"}]. Other operators: is_not, icontains, not_icontains, regex, '
        "gt, lt, is_set, is_not_set."
    ),
]
_FlagFilters = Annotated[
    dict[str, Any],
    Meta(
        description='Who gets the flag: {"groups": [{"properties": [{"key": "plan", "type": '
        '"person", "operator": "exact", "value": ["pro"]}], "rollout_percentage": 20}]}. A person '
        "in any of the groups has it; a group without properties is everybody. A condition on a "
        'cohort is {"key": "id", "type": "cohort", "value": 3}. With variants also "multivariate": '
        '{"variants": [{"key": "control", "rollout_percentage": 50}, …]} and "payloads": {"true" '
        "or a variant's key: JSON as text}."
    ),
]


class InProject(Struct, kw_only=True, forbid_unknown_fields=True):
    project_id: Annotated[
        _Id | UnsetType,
        Meta(description="The project's id, if it is not the one of this connection."),
    ] = UNSET


class ProjectsArguments(Struct, kw_only=True, forbid_unknown_fields=True):
    limit: _Limit = 50
    offset: _Offset = 0


class PageArguments(InProject, kw_only=True):
    limit: _Limit = 50
    offset: _Offset = 0


class SearchArguments(PageArguments, kw_only=True):
    search: Annotated[_Text | UnsetType, Meta(description="A part of the name.")] = UNSET


class FlagsArguments(SearchArguments, kw_only=True):
    active: Annotated[
        str | UnsetType,
        Meta(description="`true`, `false`, or `STALE`: old, with the same value for everybody."),
    ] = UNSET


class FlagArguments(InProject, kw_only=True):
    flag_id: Annotated[_Id, Meta(description="The flag's `id`, not its key.")]


class NewFlagArguments(InProject, kw_only=True):
    key: Annotated[_Key, Meta(description="What code asks for.")]
    name: Annotated[_Text | UnsetType, Meta(description="What the flag is for.")] = UNSET
    filters: _FlagFilters | UnsetType = UNSET
    active: Annotated[bool, Meta(description="False: nobody has it yet.")] = False
    tags: list[str] | UnsetType = UNSET


class FlagChangeArguments(FlagArguments, kw_only=True):
    version: Annotated[
        int,
        Meta(
            ge=0,
            le=_MOST,
            description="The `version` that get_flag answered. If the flag has changed since, "
            "nothing is written, and the answer is 409 with the flag as it is now.",
        ),
    ]
    key: _Key | UnsetType = UNSET
    name: _Text | UnsetType = UNSET
    filters: _FlagFilters | UnsetType = UNSET
    active: Annotated[bool | UnsetType, Meta(description="Whether it is enabled.")] = UNSET
    deleted: Annotated[
        bool | UnsetType, Meta(description="`true` deletes the flag, `false` restores it.")
    ] = UNSET
    tags: list[str] | UnsetType = UNSET


class EvaluationArguments(InProject, kw_only=True):
    distinct_id: Annotated[_Text, Meta(min_length=1, description="One of the person's ids.")]
    groups: Annotated[dict[str, str] | UnsetType, Meta(description="Group type → group key.")] = (
        UNSET
    )


class PropertiesArguments(SearchArguments, kw_only=True):
    event_names: Annotated[
        list[str] | UnsetType, Meta(description="Only properties that these events have had.")
    ] = UNSET


class ValuesArguments(InProject, kw_only=True):
    key: Annotated[_Text, Meta(description="The property's name.")]
    value: Annotated[_Text | UnsetType, Meta(description="A part of the value.")] = UNSET


class QueryArguments(InProject, kw_only=True):
    query: Annotated[
        dict[str, Any],
        Meta(description="The question, an object whose `kind` says which."),
    ]


class SqlArguments(InProject, kw_only=True):
    sql: Annotated[str, Meta(min_length=1, max_length=100_000, description="One SELECT.")]


class InsightArguments(InProject, kw_only=True):
    insight_id: Annotated[_Id, Meta(description="The insight's numeric `id`.")]
    refresh: Annotated[bool, Meta(description="Calculate it now.")] = False


class DashboardArguments(InProject, kw_only=True):
    dashboard_id: _Id


class PersonsArguments(PageArguments, kw_only=True):
    search: Annotated[
        _Text | UnsetType,
        Meta(description="A part of the name or e-mail address, a whole distinct id, or the UUID."),
    ] = UNSET
    properties: _Conditions = UNSET


class EventsArguments(InProject, kw_only=True):
    event: Annotated[_Text | UnsetType, Meta(description="The event's name.")] = UNSET
    distinct_id: _Text | UnsetType = UNSET
    person_id: Annotated[_Text | UnsetType, Meta(description="The person's UUID.")] = UNSET
    after: _Time = UNSET
    before: _Time = UNSET
    properties: _Conditions = UNSET
    limit: _Limit = 50


class ExperimentsArguments(SearchArguments, kw_only=True):
    status: Annotated[
        str | UnsetType, Meta(description="`draft`, `running`, `paused`, `stopped` or `all`.")
    ] = UNSET


class ExperimentArguments(InProject, kw_only=True):
    experiment_id: _Id
