"""Creating a static cohort from a query: the API's `ActorsQuery`, or criteria evaluated once.

source: cohorts.md section 10, "Other ways"
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from fanion.cohorts.criteria.behaviour import CriteriaError
from fanion.cohorts.criteria.definition import UNSAVED, Criteria, nested_ids
from fanion.cohorts.criteria.posthog_fields import OF_QUERY, UNSUPPORTED_OF_QUERY
from fanion.cohorts.criteria.resolve import resolve
from fanion.cohorts.criteria.validation import check_conditions
from fanion.cohorts.validation import require_cohorts
from fanion.errors import Invalid
from fanion.rest.unknown_fields import require_known, shortened


def check_sources(sent: Mapping[str, Any], *, insight: bool, file: bool) -> None:
    """raises: Invalid for more than one source of members, or for a cohort that is not static"""
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
    """The text that `query_criteria` reads.

    others: the cohorts of the project by id
    raises: Invalid
    """
    if not isinstance(query, dict):
        raise Invalid("query must be an object.", attr="query")
    kind = query.get("kind")
    if kind == "HogQLQuery":
        raise Invalid('HogQLQuery is not supported. Use kind "ActorsQuery".', attr="query")
    if kind != "ActorsQuery":
        detail = f'The kind of a query must be ActorsQuery, not "{shortened(kind)}".'
        raise Invalid(detail, attr="query")
    require_known(query, OF_QUERY | UNSUPPORTED_OF_QUERY, "query")
    for name in UNSUPPORTED_OF_QUERY:
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
    """The text that `query_criteria` reads, of the criteria of a static cohort."""
    return msgspec.json.encode(filters["properties"]).decode()


def query_criteria(text: str) -> Criteria:
    """Criteria of a list of conditions, combined by AND."""
    return Criteria(UNSAVED, None, False, {"properties": msgspec.json.decode(text)}, ())
