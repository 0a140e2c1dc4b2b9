"""Validation of cohort requests, and the columns that the requests set.

It covers new and changed cohorts, and the query for the members of a static cohort.

Source: cohorts.md sections 10 to 12.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import asdict

from fanion.cohorts.criteria.definition import (
    FIELDS_OF_QUERY,
    NAME_CHARS_MAX,
    UNSAVED,
    UNSUPPORTED_FIELDS_OF_QUERY,
    Criteria,
    CriteriaError,
    check_filters,
    filters_of_groups,
    leaves_of,
    nested_ids,
    reaches,
)
from fanion.cohorts.criteria.older_groups import normal_groups
from fanion.cohorts.criteria.resolve import resolve
from fanion.cohorts.criteria.validation import check_conditions, check_criteria, check_groups
from fanion.cohorts.model import LockedCohort, PlainCohort
from fanion.errors import Invalid
from fanion.rest.unknown_fields import require_known, shortened

_COPY = " (static copy)"
# The fields of a cohort that decide who its members are.
AUDIENCE = frozenset({"filters", "groups", "is_static", "deleted"})


def copy_name(name: str | None) -> str:
    """Return the name of a static copy, cut to the maximum length of a name.

    Source: cohorts.md section 15.
    """
    return ((name or "")[: NAME_CHARS_MAX - len(_COPY)] + _COPY).strip()


def has_criteria_to_evaluate(sent: Mapping[str, Any]) -> bool:
    """Return whether the members of a new static cohort are found by its criteria.

    Source: cohorts.md section 17.
    """
    filters = sent.get("filters")
    if not sent.get("is_static") or not isinstance(filters, dict):
        return False
    return any(leaves_of(filters.get("properties")))


def usable_fields(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sent fields; empty `filters` count as absent.

    Raises:
        Invalid: A field would be ignored.
    """
    if sent.get("static_person_ids"):
        raise Invalid(
            "Not supported. Use add_persons_to_static_cohort.", attr="_create_static_person_ids"
        )
    return {
        name: value
        for name, value in sent.items()
        if name != "static_person_ids" and not (name == "filters" and value == {})
    }


def check_created(sent: Mapping[str, Any], *, with_file: bool) -> None:
    """Check the names and values in the criteria of a new cohort.

    The criteria of a static cohort are checked only if they are evaluated.

    Raises:
        Invalid: The criteria are wrong, or a cohort that is not static has a file of members.
    """
    if sent.get("is_static"):
        if not with_file and has_criteria_to_evaluate(sent):
            check_criteria(sent["filters"])
        return
    if with_file:
        raise _takes_no_file()
    if sent.get("filters") is not None:
        check_criteria(sent["filters"])
    check_groups(_as_list(sent.get("groups")))


def check_changed(sent: Mapping[str, Any], before: Criteria) -> None:
    """Check the names and values in the changed criteria of a cohort.

    Criteria that equal the stored ones are accepted unchecked.

    Raises:
        Invalid: The criteria are wrong.
    """
    if sent.get("is_static", before.is_static):
        return
    # The criteria of a static cohort have never been checked.
    filters = sent.get("filters", before.filters if before.is_static else None)
    groups = _as_list(sent.get("groups", before.groups if before.is_static else None))
    if filters is not None:
        check_criteria(filters, None if before.is_static else before.effective_filters)
    check_groups(groups, () if before.is_static else before.groups)


def created_values(sent: Mapping[str, Any], now: datetime, *, imports: bool) -> dict[str, Any]:
    """Return the columns of a new cohort.

    Args:
        sent: Fields of the request. Those of a `PlainCohort` are used, and those that were not sent
            are absent.
        imports: Whether the request has members, which are imported in the background.

    Raises:
        Invalid: `filters` or `groups` are malformed.
    """
    if sent.get("filters") is not None:
        check_filters(sent["filters"])
    begins = not sent.get("is_static", False) or imports
    return {
        **asdict(PlainCohort()),
        **{name: sent[name] for name in PlainCohort.__struct_fields__ if name in sent},
        "groups": normal_groups(_as_list(sent.get("groups"))),
        **_deletion(sent.get("deleted", False), False, now),
        "is_calculating": begins,
        "count": None,
        "last_calculation": None,
        "errors_calculating": 0,
        "version": 0,
        "requested": int(begins),
        "due_at": now if begins else None,
    }


def changed_values(
    sent: Mapping[str, Any],
    before: LockedCohort,
    others: Mapping[int, Criteria],
    now: datetime,
    *,
    imports: bool,
) -> dict[str, Any]:
    """Return the columns to set for a change.

    Args:
        others: All cohorts of the project by id, including deleted ones.

    Raises:
        Invalid: The criteria are malformed, refer to missing cohorts or form a loop; the criteria
            of a static cohort differ; or a cohort that is not static gets a file.
    """
    known = before.criteria
    values = dict(sent)
    if sent.get("filters") is not None:
        check_filters(sent["filters"])
    if "groups" in sent:
        values["groups"] = _as_list(sent["groups"])
    if _sends_filters_of_groups(values, known):
        values.pop("filters")
    if known.is_static and sent.get("is_static", True):
        _require_same_criteria(values, known)
    if not sent.get("is_static", known.is_static):
        if imports:
            raise _takes_no_file()
        check_nested(known, _effective_filters(values, known), others)
        check_nested(known, filters_of_groups(_objects(values.get("groups", ()))), others)
    if "deleted" in sent:
        values |= _deletion(sent["deleted"], before.deleted, now)
    return values | begun_work(sent, before, now, imports=imports)


def begun_work(
    sent: Mapping[str, Any], before: LockedCohort, now: datetime, *, imports: bool
) -> dict[str, Any]:
    """Return the columns that schedule the work that follows a change."""
    work = _work(sent, before, now, imports)
    if "due_at" in work:
        work["requested"] = before.requested + 1
    return work


def check_nested(
    before: Criteria, filters: Mapping[str, Any], others: Mapping[int, Criteria]
) -> None:
    """Raise Invalid if `filters` refer to cohorts that do not exist, or form a loop.

    Cohorts to which the stored criteria refer are not checked again.
    """
    stored = () if before.is_static else before.nested_ids()
    nested = [nested_id for nested_id in nested_ids(filters) if nested_id not in stored]
    if before.id in nested or reaches(nested, before.id, others):
        raise Invalid("Cohorts cannot reference other cohorts in a loop.")
    require_cohorts(nested, others)


def require_cohorts(nested: Iterable[int], others: Container[int]) -> None:
    """Raise Invalid for the first nested cohort that is not in the project."""
    for cohort_id in nested:
        if cohort_id not in others:
            raise Invalid(f"Invalid Cohort ID in filter: {cohort_id}")


def check_sources(sent: Mapping[str, Any], *, insight: bool, file: bool) -> None:
    """Raise Invalid if the members cannot be taken from the insight or the query of a request.

    Either needs a static cohort and excludes every other source of members.
    """
    query = sent.get("query") is not None
    attr = "query" if query else "insight"
    if not insight and not query:
        return
    if not sent.get("is_static"):
        raise Invalid(
            "Only a static cohort can be created from an insight or a query.",
            attr="is_static",
        )
    if insight + query + file > 1:
        raise Invalid("Send only one of csv, insight and query.", attr=attr)
    if query and sent.get("filters") is not None:
        raise Invalid("Cannot set both 'query' and 'filters' at the same time.", attr=attr)


def read_actors_query(query: object, others: Mapping[int, Criteria]) -> str:
    """Return an ActorsQuery as the text that `query_criteria` parses.

    Args:
        others: The cohorts of the project by id.

    Raises:
        Invalid: The query is malformed, uses what is not supported, or cannot be calculated.
    """
    if not isinstance(query, dict):
        raise Invalid("query must be an object.", attr="query")
    kind = query.get("kind")
    if kind == "HogQLQuery":
        raise Invalid('HogQLQuery is not supported. Use kind "ActorsQuery".', attr="query")
    if kind != "ActorsQuery":
        detail = f'The kind of a query must be ActorsQuery, not "{shortened(kind)}".'
        raise Invalid(detail, attr="query")
    require_known(query, FIELDS_OF_QUERY.union(UNSUPPORTED_FIELDS_OF_QUERY), "query")
    for name in UNSUPPORTED_FIELDS_OF_QUERY:
        if query.get(name):
            raise Invalid(
                "This field is not supported in the query of a cohort.", attr=f"query__{name}"
            )
    leaves = query.get("properties")
    if not isinstance(leaves, list) or not leaves:
        raise Invalid("An ActorsQuery must have a non-empty list of properties.", attr="query")
    check_conditions(leaves, "query")
    require_cohorts(nested_ids({"properties": leaves}), others)
    text = msgspec.json.encode(leaves).decode()
    try:
        resolve(query_criteria(text), others)
    except CriteriaError as error:
        raise Invalid(str(error), attr="query") from None
    return text


def filters_query_text(filters: Mapping[str, Any]) -> str:
    """Return the criteria of a static cohort as the text that `query_criteria` parses."""
    return msgspec.json.encode(filters["properties"]).decode()


def query_criteria(text: str) -> Criteria:
    """Return the criteria whose `properties` are this JSON; a list is combined by AND."""
    return Criteria(UNSAVED, None, False, {"properties": msgspec.json.decode(text)}, ())


def _require_same_criteria(values: dict[str, Any], before: Criteria) -> None:
    """Raise Invalid if a change sends other criteria for a static cohort.

    The criteria of a static cohort are never evaluated again. Empty criteria equal each other.

    Args:
        values: Criteria that equal the stored ones are removed from it.
    """
    for name, stored in (("filters", before.effective_filters), ("groups", list(before.groups))):
        if name not in values:
            continue
        sent = values[name]
        is_empty = not stored or (name == "filters" and not _has_conditions(stored))
        if sent != stored and not (is_empty and not _has_conditions(sent)):
            raise Invalid("The criteria of a static cohort cannot be changed.", attr=name)
        del values[name]


def _has_conditions(criteria: object) -> bool:
    """Return whether there is any condition in `filters` or `groups`."""
    if isinstance(criteria, Mapping):
        return any(leaves_of(criteria.get("properties")))
    return bool(criteria)


def _takes_no_file() -> Invalid:
    return Invalid("A file of members can only be uploaded to a static cohort.", attr="csv")


def _sends_filters_of_groups(values: Mapping[str, Any], before: Criteria) -> bool:
    """Return whether `filters` equals what the API returns for the stored `groups`."""
    if "filters" not in values or before.filters:
        return False
    groups = values.get("groups", before.groups)
    return bool(
        values["filters"] == before.effective_filters and list(groups) == list(before.groups)
    )


def changes_audience(values: Mapping[str, Any], before: LockedCohort, *, imports: bool) -> bool:
    """Return whether a change may change the members.

    Args:
        values: The columns to set.
        imports: Whether the request has members.
    """
    is_static = values.get("is_static", before.is_static)
    return (imports and is_static) or any(
        name in values and values[name] != getattr(before, name) for name in AUDIENCE
    )


def _effective_filters(values: Mapping[str, Any], before: Criteria) -> dict[str, Any]:
    """Return the criteria after the change in the form of `filters`."""
    filters = values.get("filters", before.filters)
    return filters or filters_of_groups(_objects(values.get("groups", before.groups)))


def _objects(groups: Sequence[object]) -> list[Mapping[str, Any]]:
    if not all(isinstance(group, dict) for group in groups):
        raise Invalid("A group must be an object.", attr="groups")
    return [group for group in groups if isinstance(group, dict)]


def _work(
    sent: Mapping[str, Any], before: LockedCohort, now: datetime, imports: bool
) -> dict[str, Any]:
    if sent.get("deleted") is True:
        return {} if before.deleted else {"due_at": None, "is_calculating": False}
    if sent.get("is_static", before.is_static):
        # Imports that were pending before the deletion, or that failed too often, are tried again.
        waits = before.waits and not sent.get("deleted", before.deleted)
        begins = imports or waits
        values: dict[str, Any] = {"due_at": now} if begins else {}
        if not before.is_static:
            values = {"due_at": None, "count": None} | values
        return values | {"is_calculating": begins}
    if sent.keys() == {"deleted"}:  # restored: is_calculating stays false
        return {"due_at": now} if before.deleted else {}
    return {"due_at": now, "is_calculating": True}


def _deletion(deleted: bool, before: bool, now: datetime) -> dict[str, Any]:
    """Return the columns of a deletion; deleting again keeps the time of the first deletion."""
    if deleted and before:
        return {"deleted": True}
    return {"deleted": deleted, "deleted_at": now if deleted else None}


def _as_list(groups: object) -> list[Any]:
    if groups is None or groups == {}:
        return []
    if not isinstance(groups, list):
        type_name = type(groups).__name__
        raise Invalid(
            f'Expected a list of items but got type "{type_name}".',
            code="not_a_list",
            attr="groups",
        )
    return groups
