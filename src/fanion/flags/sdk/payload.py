"""The document from which SDKs evaluate flags themselves, in the two forms that they know.

The older one is what `/api/feature_flag/local_evaluation/` always said: active flags, filters as
stored. The newer one, of `/flags/definitions`, also lists flags that are switched off, because
newer clients otherwise ask the service for them at every call, and spells everything out,
because typed clients decode it.

source: flags.md section 15; sdk-wire.md section 5.2
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from fanion.flags.engine.definition import DEVICE_ID, Definitions, FlagRow, grouped_filters
from fanion.flags.engine.flag_set import FlagSet
from fanion.flags.engine.hashing import sha1
from fanion.flags.evaluation.responses import payload_text
from fanion.flags.sdk.local_evaluation import local_cohorts, local_filters

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Document:
    """etag: quoted, the same for the same bytes on every server"""

    body: bytes
    etag: str


def etagged(body: bytes) -> Document:
    return Document(body, f'"{sha1(body).digest()[:12].hex()}"')


def definitions_document(
    project_id: int,
    definitions: Definitions,
    flag_set: FlagSet,
    *,
    with_cohorts: bool,
    newer: bool,
) -> Document:
    # Older clients would hash the distinct id: of a flag that goes by device they ask the service.
    rows = [
        row
        for row in definitions.flags
        if newer or (row.active and row.bucketing_identifier != DEVICE_ID)
    ]
    flags = []
    for row in rows:
        filters = local_filters(flag_set, grouped_filters(row), with_cohorts=with_cohorts)
        flag = flag_summary(project_id, row, _spelled_out(filters) if newer else filters)
        if newer:
            flag |= {"version": row.version, "has_experiment": False}
            flag |= _where_and_whose(row)
        flags.append(flag)
    cohorts = local_cohorts(flag_set, (row.filters for row in rows)) if with_cohorts else {}
    types = {str(index): name for index, name in definitions.group_types.items()}
    return etagged(_encode({"flags": flags, "group_type_mapping": types, "cohorts": cohorts}))


def flag_summary(project_id: int, row: FlagRow, filters: Mapping[str, Any]) -> dict[str, Any]:
    """The eight fields in which a flag is told where it is not managed."""
    return {
        "id": row.id,
        "team_id": project_id,
        "name": row.name,
        "key": row.key,
        "filters": filters,
        "deleted": row.deleted,
        "active": row.active,
        "ensure_experience_continuity": row.ensure_experience_continuity,
    }


def _where_and_whose(row: FlagRow) -> dict[str, Any]:
    told = {
        "bucketing_identifier": row.bucketing_identifier,
        "evaluation_runtime": row.evaluation_runtime,
        "evaluation_contexts": row.evaluation_contexts,
    }
    return {name: value for name, value in told.items() if value}


def _spelled_out(filters: Mapping[str, Any]) -> dict[str, Any]:
    """With type and operator on every property, and payloads as JSON texts.

    Newer evaluators try conditions as they are listed, older ones and the service those first
    that force a variant: so that is how they are listed here.
    """
    written = dict(filters)
    groups = filters.get("groups")
    if isinstance(groups, list):
        ordered = sorted(groups, key=_forces_no_variant)
        written["groups"] = [_spelled_out_group(group) for group in ordered]
    payloads = filters.get("payloads")
    if isinstance(payloads, dict):
        written["payloads"] = {key: payload_text(value) for key, value in payloads.items()}
    return written


def _forces_no_variant(group: Any) -> bool:
    return not (isinstance(group, dict) and group.get("variant"))


def _spelled_out_group(group: Any) -> Any:
    properties = group.get("properties") if isinstance(group, dict) else None
    if not isinstance(properties, list):
        return group
    return {**group, "properties": [_spelled_out_leaf(leaf) for leaf in properties]}


def _spelled_out_leaf(leaf: Any) -> Any:
    if not isinstance(leaf, dict):
        return leaf
    kind = leaf.get("type") or "person"
    operator = leaf.get("operator") or ("in" if kind == "cohort" else "exact")
    return {**leaf, "type": kind, "operator": operator}
