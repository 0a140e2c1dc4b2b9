"""Program of the client that openapi-python-client generates."""

import io
import json
import os
from http import HTTPStatus
from typing import Any

from fanion_client import AuthenticatedClient
from fanion_client.api.capture import capture_batch
from fanion_client.api.cohorts import create_cohort, list_cohort_persons
from fanion_client.api.evaluation import decide
from fanion_client.api.feature_flags import (
    create_feature_flag,
    create_feature_flag_role_access,
    list_feature_flags,
    update_feature_flag,
)
from fanion_client.api.insights import calculate_funnel, calculate_trend
from fanion_client.models import (
    CaptureBatchBody,
    CaptureBatchBodyBatchItem,
    CaptureBatchBodyBatchItemProperties,
    CohortConditionType0,
    CohortConditionType0OperatorType0,
    CohortConditionType0Type,
    CohortFilters,
    CohortForm,
    CohortGroupOfConditions,
    CohortGroupOfConditionsType,
    DecideBody,
    DecideBodyPersonProperties,
    DecideV,
    EventSeries,
    FlagChanges,
    FlagPayloads,
    FlagVariant,
    FunnelsFilters,
    FunnelsFiltersInsight,
    ListCohortPersonsFormat,
    NewCohort,
    NewFlag,
    NewRoleAccess,
    PersonConditionSet,
    PersonConditionType0,
    PersonConditionType0OperatorType0,
    PersonConditionType0Type,
    PersonFlagFilters,
    PersonFlagFiltersMultivariateType0,
    TrendsFilters,
)
from fanion_client.types import UNSET, File

TASK = json.loads(os.environ["TASK"])
NAME, PROJECT = TASK["name"], TASK["project_id"]
CLIENT = AuthenticatedClient(base_url=TASK["host"], token=TASK["personal_key"])


def filters(rollout: int) -> Any:
    condition = PersonConditionType0(
        type_=PersonConditionType0Type.PERSON,
        key="plan",
        operator=PersonConditionType0OperatorType0.EXACT,
        value="pro",
    )
    payloads = FlagPayloads()
    payloads["blue"] = {"hex": "#00f"}
    return PersonFlagFilters(
        groups=[PersonConditionSet(properties=[condition], rollout_percentage=rollout)],
        multivariate=PersonFlagFiltersMultivariateType0(
            variants=[FlagVariant(key="blue", rollout_percentage=100)]
        ),
        payloads=payloads,
    )


def parsed(answer: Any, status: int = 200) -> Any:
    assert answer.status_code == status, answer.content
    return answer.parsed


def flags() -> dict[str, Any]:
    def create(key: str) -> Any:
        body = NewFlag(key=f"{NAME}-{key}", filters=filters(50))
        return parsed(create_feature_flag.sync_detailed(PROJECT, client=CLIENT, body=body), 201)

    def update(flag_id: int, changes: Any) -> Any:
        return parsed(
            update_feature_flag.sync_detailed(PROJECT, flag_id, client=CLIENT, body=changes)
        )

    kept, deleted = create("kept"), create("deleted")
    patched = update(kept.id, FlagChanges(filters=filters(100), active=False))
    assert update(deleted.id, FlagChanges(deleted=True)).deleted
    return {
        "created": kept.filters.to_dict(),
        "kept": kept.id,
        "active": patched.active,
        "deleted": deleted.id,
    }


def cohorts() -> dict[str, Any]:
    condition = CohortConditionType0(
        type_=CohortConditionType0Type.PERSON,
        key="plan",
        operator=CohortConditionType0OperatorType0.EXACT,
        value="pro",
    )
    group = CohortGroupOfConditions(type_=CohortGroupOfConditionsType.AND, values=[condition])
    criteria = NewCohort(name=f"{NAME} payers", filters=CohortFilters(properties=group))
    file = CohortForm(
        name=f"{NAME} readers",
        is_static="true",
        csv=File(io.BytesIO(b"reader-1\nreader-2\nreader-3\n"), "readers.csv", "text/csv"),
    )
    return {
        name: parsed(create_cohort.sync_detailed(PROJECT, client=CLIENT, body=body), 201).id
        for name, body in (("criteria_cohort", criteria), ("file_cohort", file))
    }


def persons() -> dict[str, Any]:
    page = parsed(list_cohort_persons.sync_detailed(PROJECT, TASK["cohort_id"], client=CLIENT))
    # The client parses each answer as its first media type, which is JSON.
    request = list_cohort_persons._get_kwargs(
        PROJECT, TASK["cohort_id"], format_=ListCohortPersonsFormat.CSV
    )
    table = CLIENT.get_httpx_client().request(**request)
    assert table.status_code == HTTPStatus.OK
    return {"persons": [person.distinct_ids for person in page.results], "csv": table.text}


def pages() -> list[dict[str, Any]]:
    seen = []
    for offset in (0, 2):
        page = parsed(
            list_feature_flags.sync_detailed(
                PROJECT, client=CLIENT, search="paged-", order="key", limit=2, offset=offset
            )
        )
        keys = [flag.key for flag in page.results]
        seen.append({"count": page.count, "keys": keys, "has_next": page.next_ is not None})
    return seen


def batch() -> int:
    items = []
    for number in (1, 2):
        properties = CaptureBatchBodyBatchItemProperties()
        properties["distinct_id"] = f"{NAME}-user"
        properties["number"] = number
        timestamp = "2026-01-15T09:00:00Z" if number == 1 else UNSET
        items.append(
            CaptureBatchBodyBatchItem(event="sent", properties=properties, timestamp=timestamp)
        )
    body = CaptureBatchBody(api_key=TASK["project_key"], batch=items)
    answer = parsed(capture_batch.sync_detailed(client=CLIENT, body=body))
    return int(answer.status)


def decided() -> dict[str, Any]:
    own = DecideBodyPersonProperties()
    own["plan"] = "pro"
    body = DecideBody(
        api_key=TASK["project_key"], distinct_id=f"{NAME}-user", person_properties=own
    )
    answer = parsed(decide.sync_detailed(client=CLIENT, body=body, v=DecideV.VALUE_3))
    return {
        "config": {"enable_collect_everything": answer.config.enable_collect_everything},
        "editorParams": answer.editor_params.to_dict(),
        "errorComputingFlags": answer.error_computing_flags,
        "isAuthenticated": answer.is_authenticated,
        "supportedCompression": answer.supported_compression,
        "featureFlags": answer.feature_flags.to_dict(),
        "featureFlagPayloads": answer.feature_flag_payloads.to_dict(),
    }


def insights() -> dict[str, Any]:
    viewed, paid = EventSeries(id="viewed"), EventSeries(id="paid")
    trend = parsed(
        calculate_trend.sync_detailed(
            PROJECT, client=CLIENT, body=TrendsFilters(events=[viewed], date_from="-7d")
        )
    )
    question = FunnelsFilters(
        insight=FunnelsFiltersInsight.FUNNELS, events=[viewed, paid], date_from="-7d"
    )
    funnel = parsed(calculate_funnel.sync_detailed(PROJECT, client=CLIENT, body=question))
    return {
        "trend": [series["count"] for series in trend.result],
        "funnel": [step["count"] for step in funnel.result],
    }


def grant(flag_id: int) -> dict[str, Any]:
    body = NewRoleAccess(role_id=TASK["role_id"])
    access = parsed(
        create_feature_flag_role_access.sync_detailed(PROJECT, flag_id, client=CLIENT, body=body),
        201,
    )
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
