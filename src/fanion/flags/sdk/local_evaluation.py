"""The document of definitions from which SDKs evaluate flags locally.

An SDK asks the server for every flag that it cannot decide. Therefore nothing is sent that it would
decide differently: no cohorts that are answered from stored members, and no cohorts without
criteria, which SDKs take to include every person.

The document has two forms. The older one has always been returned by
`/api/feature_flag/local_evaluation/`: active flags, with conditions as stored. The newer one, of
`/flags/definitions`, also lists flags that are switched off, because newer clients otherwise ask
the server for them at every call. It spells conditions out, because typed clients decode it.

Payloads are JSON text in both, as PostHog stores them. A payload of another type makes the client
for Go refuse all definitions, and the one for Java returns it in Java's notation.

Source: flags.md section 15; sdk-wire.md section 5.2.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha1
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from fanion.flags.engine.conditions import ProjectCohorts
from fanion.flags.engine.definition import DEVICE_ID, FlagDefinitions, FlagRow, grouped_filters
from fanion.flags.engine.flag_set import FlagSet
from fanion.flags.evaluation.responses import payload_text
from fanion.properties.filters import (
    ConditionGroup,
    InCohort,
    Leaf,
    Node,
    Property,
    leaves,
    names_distinct_ids,
    parse_leaf,
)
from fanion.wire.distinct_id import with_stored_ids

Json = Mapping[str, Any]


_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class EtagDocument:
    """A document with its entity tag.

    Attributes:
        etag: Quoted; equal bytes have the same tag on every server.
    """

    body: bytes
    etag: str


def etagged(body: bytes) -> EtagDocument:
    # OpenSSL's function: a digest of 74 KB takes 39 µs. The one of flags is faster to begin, and
    # takes 318.
    digest = sha1(body, usedforsecurity=False).digest()
    return EtagDocument(body, f'"{digest[:12].hex()}"')


def definitions_document(
    project_id: int,
    definitions: FlagDefinitions,
    flag_set: FlagSet,
    *,
    with_cohorts: bool,
    newer: bool,
) -> EtagDocument:
    # Older clients would hash the distinct id. Flags that bucket by device are left out, so that
    # they ask the server for these.
    rows = [
        row
        for row in definitions.flags
        if newer or (row.active and row.bucketing_identifier != DEVICE_ID)
    ]
    flags = []
    for row in rows:
        filters = local_filters(flag_set, grouped_filters(row), with_cohorts=with_cohorts)
        filters = _with_payload_texts(filters)
        flag = flag_summary(project_id, row, _spelled_out(filters) if newer else filters)
        if newer:
            flag |= {"version": row.version, "has_experiment": row.has_experiment}
            flag |= _where_and_whose(row)
        flags.append(flag)
    cohorts = local_cohorts(flag_set, (row.filters for row in rows)) if with_cohorts else {}
    types = {str(index): name for index, name in definitions.group_types.items()}
    return etagged(_encode({"flags": flags, "group_type_mapping": types, "cohorts": cohorts}))


class FlagSummary(Struct, kw_only=True):
    """The fields of a flag that are shown outside of its management."""

    id: int
    team_id: Annotated[int, Meta(description="The project.")]
    name: str
    key: str
    filters: dict[str, Any]
    deleted: bool
    active: bool
    ensure_experience_continuity: bool | None


def flag_summary(project_id: int, row: FlagRow, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the eight fields of a flag that are shown outside of its management."""
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
    fields = {
        "bucketing_identifier": row.bucketing_identifier,
        "evaluation_runtime": row.evaluation_runtime,
        "evaluation_contexts": row.evaluation_contexts,
    }
    return {name: value for name, value in fields.items() if value}


def _with_payload_texts(filters: Json) -> Json:
    payloads = filters.get("payloads")
    if not isinstance(payloads, dict):
        return filters
    return {**filters, "payloads": {key: payload_text(value) for key, value in payloads.items()}}


def _spelled_out(filters: Json) -> dict[str, Any]:
    """Return filters with type and operator on every property.

    Newer evaluators try conditions in the listed order; older ones and the server try those that
    force a variant first, so they are listed first.
    """
    written = dict(filters)
    groups = filters.get("groups")
    if isinstance(groups, list):
        ordered = sorted(groups, key=_forces_no_variant)
        written["groups"] = [_spelled_out_group(group) for group in ordered]
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


def local_filters(flag_set: FlagSet, filters: Json, *, with_cohorts: bool) -> Json:
    """Return a flag's filters in a form SDKs can use; unchanged if nothing needs to change.

    Args:
        with_cohorts: The SDK is sent the cohorts as well. Otherwise a condition on a cohort is
            written out as plain groups where possible.
    """
    groups = filters.get("groups")
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        return filters
    if not with_cohorts:
        groups = _expanded(groups, flag_set.cohorts)
    groups = [_with_stored_ids(_with_chains(group, flag_set)) for group in groups]
    return filters if groups == filters["groups"] else {**filters, "groups": groups}


def local_cohorts(flag_set: FlagSet, filters: Iterable[Json]) -> dict[str, Json]:
    """Return the criteria of each dynamic cohort in the filters, by id, including nested ones."""
    sent: dict[str, Json] = {}
    pending = [cohort_id for each in filters for cohort_id in _cohort_ids(each)]
    while pending:
        cohort_id = pending.pop()
        tree = _sendable(flag_set.cohorts, cohort_id)
        if tree is None or str(cohort_id) in sent:
            continue
        sent[str(cohort_id)] = _node_json(tree)
        pending.extend(leaf.cohort_id for leaf in leaves(tree) if isinstance(leaf, InCohort))
    return sent


def _cohort_ids(filters: Json) -> list[int]:
    groups = filters.get("groups")
    listed = groups if isinstance(groups, list) else []
    cohort_leaves = (_cohort_leaf(leaf) for group in listed for leaf in _properties(group))
    return [leaf.cohort_id for leaf in cohort_leaves if leaf is not None]


def _sendable(cohorts: ProjectCohorts, cohort_id: int) -> ConditionGroup | None:
    definition = cohorts.existing_cohort(cohort_id)
    if definition is None or definition.tree is None or cohorts.is_stored(definition):
        return None
    tree = definition.tree
    known = all(isinstance(leaf, Property | InCohort) for leaf in leaves(tree))
    return tree if known and not _has_empty_group(tree) else None


def _has_empty_group(node: Node) -> bool:
    if not isinstance(node, ConditionGroup):
        return False
    return not node.children or any(map(_has_empty_group, node.children))


def _expanded(groups: Sequence[dict[str, Any]], cohorts: ProjectCohorts) -> list[dict[str, Any]]:
    """Write out the flag's only condition on a cohort, after the groups that have none.

    The groups that replace it get the percentage of the flag's last group, which must be the
    percentage that the condition had.
    """
    asking = [group for group in groups if any(map(_cohort_leaf, _properties(group)))]
    if len(asking) != 1 or any(group.get("variant") for group in groups):
        return list(groups)
    percentage = groups[-1].get("rollout_percentage")
    leaf = _cohort_leaf(_properties(asking[0])[0])
    alone = len(_properties(asking[0])) == 1 and leaf is not None and not leaf.negation
    if not alone or leaf is None or asking[0].get("rollout_percentage") != percentage:
        return list(groups)
    tree = _sendable(cohorts, leaf.cohort_id)
    alternatives = None if tree is None else _alternatives(tree)
    if alternatives is None:
        return list(groups)
    written = [
        {"properties": [_leaf_json(each) for each in alternative], "rollout_percentage": percentage}
        for alternative in alternatives
    ]
    return [*(group for group in groups if group is not asking[0]), *written]


def _alternatives(tree: ConditionGroup) -> list[tuple[Property, ...]] | None:
    """Return the criteria as an OR of ANDs of plain properties; None if they have another shape."""
    top = _unwrapped(tree)
    if isinstance(top, ConditionGroup) and top.type == "OR":
        branches = [_conjunction(_unwrapped(child)) for child in top.children]
    else:
        branches = [_conjunction(top)]
    complete = [branch for branch in branches if branch is not None]
    return complete if len(complete) == len(branches) else None


def _conjunction(node: Node) -> tuple[Property, ...] | None:
    if isinstance(node, ConditionGroup) and node.type == "OR":
        return None
    children = node.children if isinstance(node, ConditionGroup) else (node,)
    plain = tuple(c for c in children if isinstance(c, Property) and not c.negation)
    return plain if len(plain) == len(children) else None


def _unwrapped(node: Node) -> Node:
    while isinstance(node, ConditionGroup) and len(node.children) == 1:
        node = node.children[0]
    return node


def _with_stored_ids(group: dict[str, Any]) -> dict[str, Any]:
    """Make conditions on long distinct ids also match the ids as cut by capture."""
    properties = _properties(group)
    if not any(map(names_distinct_ids, properties)):
        return group
    converted = [
        {**leaf, "value": with_stored_ids(leaf.get("value"))} if names_distinct_ids(leaf) else leaf
        for leaf in properties
    ]
    return {**group, "properties": converted}


def _with_chains(group: dict[str, Any], flag_set: FlagSet) -> dict[str, Any]:
    """Name the flags in conditions by key, with the order in which to decide them."""
    properties = _properties(group)
    if not any(leaf.get("type") == "flag" for leaf in properties):
        return group
    return {**group, "properties": [_with_chain(leaf, flag_set) for leaf in properties]}


def _with_chain(leaf: dict[str, Any], flag_set: FlagSet) -> dict[str, Any]:
    flag = flag_set.find_flag(str(leaf.get("key"))) if leaf.get("type") == "flag" else None
    if flag is None:
        return leaf
    entry = flag_set.by_key.get(flag.key)
    before = () if entry is None else entry.depends_on
    # An empty chain tells SDKs that there is no valid order.
    chain = [] if flag.key in flag_set.broken else [*before, flag.key]
    return {**leaf, "key": flag.key, "dependency_chain": chain}


def _properties(group: Any) -> list[dict[str, Any]]:
    properties = group.get("properties") if isinstance(group, dict) else None
    return (
        [leaf for leaf in properties if isinstance(leaf, dict)]
        if isinstance(properties, list)
        else []
    )


def _cohort_leaf(raw: dict[str, Any]) -> InCohort | None:
    try:
        leaf = parse_leaf(raw)
    except ValueError:
        return None
    return leaf if isinstance(leaf, InCohort) else None


def _node_json(node: Node) -> Json:
    if isinstance(node, ConditionGroup):
        return {"type": node.type, "values": [_node_json(child) for child in node.children]}
    return _leaf_json(node)


def _leaf_json(leaf: Leaf) -> Json:
    """Return a leaf without empty keys; a property without a type is the person's."""
    if isinstance(leaf, InCohort):
        fields: dict[str, Any] = {"key": "id", "type": "cohort", "value": leaf.cohort_id}
    elif isinstance(leaf, Property):
        value = list(leaf.value) if isinstance(leaf.value, tuple) else leaf.value
        kind = "person" if leaf.type == "event" else leaf.type
        fields = {"key": leaf.key, "type": kind, "value": value, "operator": leaf.operator}
    else:
        raise TypeError("only properties and cohorts are sent")
    if leaf.negation:
        fields["negation"] = True
    return {key: value for key, value in fields.items() if value is not None}
