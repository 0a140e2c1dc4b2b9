"""Program of the client that openapi-generator generates for Python."""

import json
import os
from typing import Any

from openapi_client import (
    ApiClient,
    CaptureApi,
    CaptureBatchRequest,
    CaptureBatchRequestBatchInner,
    CohortCondition,
    CohortConditionAnyOf,
    CohortFilters,
    CohortFiltersProperties,
    CohortGroupOfConditions,
    CohortsApi,
    Configuration,
    DecideRequest,
    EvaluationApi,
    EventSeries,
    FeatureFlagsApi,
    FlagChanges,
    FlagFilters,
    FlagVariant,
    FunnelsFilters,
    InsightFilters,
    InsightsApi,
    NewCohort,
    NewFlag,
    NewRoleAccess,
    PersonCondition,
    PersonConditionAnyOf,
    PersonConditionAnyOfValue,
    PersonConditionSet,
    PersonFlagFilters,
    PersonFlagFiltersMultivariate,
    TrendsFilters,
)

TASK = json.loads(os.environ["TASK"])
NAME, PROJECT = TASK["name"], TASK["project_id"]
CLIENT = ApiClient(Configuration(host=TASK["host"], access_token=TASK["personal_key"]))
FLAGS, COHORTS = FeatureFlagsApi(CLIENT), CohortsApi(CLIENT)
PRO = {
    "type": "person",
    "key": "plan",
    "operator": "exact",
    "value": PersonConditionAnyOfValue("pro"),
}


def filters(rollout: int) -> Any:
    condition = PersonCondition(PersonConditionAnyOf(**PRO))
    return FlagFilters(
        PersonFlagFilters(
            groups=[PersonConditionSet(properties=[condition], rollout_percentage=rollout)],
            multivariate=PersonFlagFiltersMultivariate(
                variants=[FlagVariant(key="blue", rollout_percentage=100)]
            ),
            payloads={"blue": {"hex": "#00f"}},
        )
    )


def flags() -> dict[str, Any]:
    kept, deleted = (
        FLAGS.create_feature_flag(PROJECT, NewFlag(key=f"{NAME}-{key}", filters=filters(50)))
        for key in ("kept", "deleted")
    )
    changes = FlagChanges(filters=filters(100), active=False)
    patched = FLAGS.update_feature_flag(kept.id, PROJECT, changes)
    assert FLAGS.update_feature_flag(deleted.id, PROJECT, FlagChanges(deleted=True)).deleted
    return {
        "created": kept.filters,
        "kept": kept.id,
        "active": patched.active,
        "deleted": deleted.id,
    }


def cohorts() -> dict[str, Any]:
    condition = CohortCondition(CohortConditionAnyOf(**PRO))
    group = CohortGroupOfConditions(type="AND", values=[condition])
    criteria = CohortFilters(properties=CohortFiltersProperties(group))
    made = COHORTS.create_cohort(
        PROJECT, new_cohort=NewCohort(name=f"{NAME} payers", filters=criteria)
    )
    return {"criteria_cohort": made.id, "file_cohort": upload()}


def upload() -> int:
    """Return the id of a cohort of a file.

    The generated method takes only the first media type of a body, which is JSON.
    """
    request = CLIENT.param_serialize(
        "POST",
        "/api/projects/{project_id}/cohorts/",
        path_params={"project_id": PROJECT},
        header_params={"Content-Type": "multipart/form-data"},
        post_params=[("name", f"{NAME} readers"), ("is_static", "true")],
        files={"csv": ("readers.csv", b"reader-1\nreader-2\nreader-3\n")},
        auth_settings=["bearer"],
    )
    answer = CLIENT.call_api(*request)
    answer.read()
    made = CLIENT.response_deserialize(answer, {"201": "CohortBody"}).data
    return int(made.id)


def persons() -> dict[str, Any]:
    page = COHORTS.list_cohort_persons(TASK["cohort_id"], PROJECT)
    table = COHORTS.list_cohort_persons_without_preload_content(
        TASK["cohort_id"], PROJECT, format="csv"
    )
    return {
        "persons": [person.distinct_ids for person in page.results],
        "csv": table.data.decode(),
    }


def pages() -> list[dict[str, Any]]:
    seen = []
    for offset in (0, 2):
        page = FLAGS.list_feature_flags(
            PROJECT, search="paged-", order="key", limit=2, offset=offset
        )
        keys = [flag.key for flag in page.results]
        seen.append({"count": page.count, "keys": keys, "has_next": page.next is not None})
    return seen


def batch() -> int:
    items = [
        CaptureBatchRequestBatchInner(
            event="sent",
            properties={"distinct_id": f"{NAME}-user", "number": number},
            timestamp=timestamp,
        )
        for number, timestamp in ((1, "2026-01-15T09:00:00Z"), (2, None))
    ]
    body = CaptureBatchRequest(api_key=TASK["project_key"], batch=items)
    return int(CaptureApi(CLIENT).capture_batch(body).status)


def decided() -> dict[str, Any]:
    body = DecideRequest(
        api_key=TASK["project_key"],
        distinct_id=f"{NAME}-user",
        person_properties={"plan": "pro"},
    )
    answer = EvaluationApi(CLIENT).decide(3, body)
    return {
        "config": {"enable_collect_everything": answer.config.enable_collect_everything},
        "editorParams": answer.editor_params,
        "errorComputingFlags": answer.error_computing_flags,
        "isAuthenticated": answer.is_authenticated,
        "supportedCompression": answer.supported_compression,
        "featureFlags": {key: value.actual_instance for key, value in answer.feature_flags.items()},
        "featureFlagPayloads": answer.feature_flag_payloads,
    }


def insights() -> dict[str, Any]:
    api = InsightsApi(CLIENT)
    viewed, paid = EventSeries(id="viewed"), EventSeries(id="paid")
    trend = api.calculate_trend(PROJECT, TrendsFilters(events=[viewed], date_from="-7d"))
    question = FunnelsFilters(insight="FUNNELS", events=[viewed, paid], date_from="-7d")
    funnel = api.calculate_funnel(PROJECT, InsightFilters(question))
    return {
        "trend": [series["count"] for series in trend.result],
        "funnel": [step["count"] for step in funnel.result],
    }


def grant(flag_id: int) -> dict[str, Any]:
    body = NewRoleAccess(role_id=TASK["role_id"])
    access = FLAGS.create_feature_flag_role_access(flag_id, PROJECT, body)
    return {"role": access.role.name, "flag": access.feature_flag.key}


def main() -> None:
    made = flags()
    seen = {
        **made,
        **cohorts(),
        **persons(),
        "pages": pages(),
        "batch": batch(),
        "decided": decided(),
        **insights(),
        "access": grant(made["kept"]),
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
