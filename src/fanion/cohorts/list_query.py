"""Parameters of the list of cohorts.

source: cohorts.md section 17
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from fanion.cohorts.criteria.definition import Criteria, leaves_of, nested_ids
from fanion.errors import Invalid
from fanion.rest.unknown_fields import shortened

Kind = Literal["static", "dynamic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortQuery:
    """Conditions combined by AND.

    search:        part of the name, in any case
    no_behavioral: without those that depend on events, themselves or through others
    """

    is_static: bool | None = None
    search: str = ""
    creator_id: int | None = None
    no_behavioral: bool = False

    def finds(self, name: str | None) -> bool:
        return self.search.lower() in (name or "").lower()


def read_cohort_query(
    kind: str | None, search: str | None, creator_id: int | None, *, no_behavioral: bool
) -> CohortQuery:
    """raises: Invalid"""
    if kind and kind not in get_args(Kind):
        detail = f'"{shortened(kind)}" is not a valid choice. Allowed are: dynamic, static.'
        raise Invalid(detail, code="invalid_choice", attr="type")
    return CohortQuery(
        is_static=kind == "static" if kind else None,
        search=(search or "").strip(),
        creator_id=creator_id,
        no_behavioral=no_behavioral,
    )


def behavioral(cohorts: Mapping[int, Criteria]) -> set[int]:
    """Ids of those whose members depend on events, also through other cohorts. cohorts: by id"""
    outer: dict[int, list[int]] = {}
    waiting: list[int] = []
    for one in cohorts.values():
        if one.is_static:
            continue
        criteria = one.effective_filters
        if any(leaf.get("type") == "behavioral" for leaf in leaves_of(criteria.get("properties"))):
            waiting.append(one.id)
        for nested in nested_ids(criteria):
            outer.setdefault(nested, []).append(one.id)
    found = set(waiting)
    while waiting:
        for one_id in outer.get(waiting.pop(), ()):
            if one_id not in found:
                found.add(one_id)
                waiting.append(one_id)
    return found
