"""Checks that flags stay computable when a flag changes, or what a flag names."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Text, cast, select

from fanion.actions.references import named_actions
from fanion.db.schema.tables import feature_flags
from fanion.errors import Invalid
from fanion.flags.definitions.rollback_conditions import (
    ROLLBACK_CONDITIONS,
    listed_conditions,
    read_condition,
)
from fanion.flags.definitions.store import cohort_rows, definitions_around, flag_row, live_flags
from fanion.flags.definitions.validation.parts import not_valid, same_json
from fanion.flags.engine.conditions import compile_cohort
from fanion.flags.engine.definition import (
    FlagDefinitions,
    FlagRow,
    Rules,
    compile_flag,
    parse_rules,
)
from fanion.flags.engine.flag_set import broken_dependents, problem_of, uncomputable_flags
from fanion.insights.calculation.named_store import require_named
from fanion.insights.query import scopes_of
from fanion.insights.segments.conditions import named_segments
from fanion.insights.trends.query import TrendsQuery
from fanion.properties.filters import FlagIs, InCohort

_flag = feature_flags.c


def require_computable(
    connection: Connection, row: Mapping[str, Any], changed: Mapping[str, Any], former_key: str
) -> None:
    """Raise Invalid if the flag, or one that depends on it, could not be computed after the change.

    A stored change must be checked after it is written and the project's flag version has moved:
    from then on no other transaction changes the project's flags. An unsaved change can be checked
    at any time, because the stored flag itself is not read.

    Args:
        row: The flag after the change, by column.
        changed: The columns that are set.
    """
    if not row["deleted"] and _needs_check(changed):
        _require_own(connection, row)
    if changed.get("deleted") or row["key"] != former_key:
        _require_others(connection, row, former_key)


def flags_with_action(connection: Connection, project_id: int, action_id: int) -> Sequence[str]:
    """Return the flags whose rollback conditions name an action, as `flag "checkout"`."""
    return _flags_naming(connection, project_id, action_id, named_actions)


def flags_with_segment(connection: Connection, project_id: int, segment_id: int) -> Sequence[str]:
    """Return the flags whose rollback conditions name a segment, as `flag "checkout"`."""
    return _flags_naming(connection, project_id, segment_id, named_segments)


def _flags_naming(
    connection: Connection,
    project_id: int,
    named_id: int,
    ids_in: Callable[[Any], Iterable[int]],
) -> Sequence[str]:
    rows = connection.execute(
        select(_flag.key, _flag.rollback_conditions)
        .where(_flag.project_id == project_id, _flag.deleted.is_(False))
        .order_by(_flag.id)
    )
    return [
        f'flag "{row.key}"'
        for row in rows
        if named_id in ids_in(list(listed_conditions(row.rollback_conditions)))
    ]


def require_known_names(
    connection: Connection, project_id: int, sent: object, stored: object
) -> None:
    """Check the actions and segments that rollback conditions name.

    Args:
        sent: Conditions that can be read.
        stored: Those that they replace, which are not checked again.

    Raises:
        Invalid: An action or a segment does not exist.
    """
    known = listed_conditions(stored)
    for index, raw in enumerate(listed_conditions(sent)):
        condition = None if any(same_json(raw, one) for one in known) else read_condition(raw)
        if condition is not None:
            at = f"{ROLLBACK_CONDITIONS}__{index}__threshold_metric"
            _require_names(connection, project_id, condition.metric, at)


def _require_names(connection: Connection, project_id: int, metric: TrendsQuery, at: str) -> None:
    conditions = [scope.properties for scope in scopes_of(metric)]
    try:
        require_named(connection, project_id, metric.entities, conditions)
    except Invalid as problem:
        attr = at if problem.attr is None else f"{at}__{problem.attr}"
        raise Invalid(problem.detail, code=problem.code, attr=attr) from None


def flags_without_answer(connection: Connection, project_id: int) -> Mapping[str, str]:
    """Return why active flags cannot be computed, by key, for those broken by a cohort."""
    asking = (_flag.active, cast(_flag.filters, Text).like('%cohort"%'))
    rows = connection.execute(live_flags(project_id).where(*asking))
    flags = [compile_flag(FlagRow(*row)) for row in rows]
    if not flags:
        return {}
    return uncomputable_flags(flags, map(compile_cohort, cohort_rows(connection, project_id)))


def _needs_check(changed: Mapping[str, Any]) -> bool:
    """Return whether the change must be checked: a broken flag may be switched off and deleted."""
    return "filters" in changed or changed.get("active") is True or changed.get("deleted") is False


def _require_own(connection: Connection, row: Mapping[str, Any]) -> None:
    try:
        rules = parse_rules(row["filters"])
    except ValueError as error:
        raise not_valid(str(error)) from None
    if _has_dependencies(rules):
        around = definitions_around(connection, row["project_id"], flag_row(row))
        problem = problem_of(row["id"], around)
        if problem is not None:
            raise not_valid(problem)


def _has_dependencies(rules: Rules) -> bool:
    return any(isinstance(leaf, FlagIs | InCohort) for leaf in rules.leaves())


def _require_others(connection: Connection, row: Mapping[str, Any], former_key: str) -> None:
    others = live_flags(row["project_id"]).where(_flag.id != row["id"])
    naming = others.where(cast(_flag.filters, Text).like('%"flag"%'))
    rows = [FlagRow(*columns) for columns in connection.execute(naming)]
    if not rows:
        return
    # Another flag may have the former key, or a key that looks like this flag's id.
    namesakes = others.where(_flag.key.in_([former_key, str(row["id"])]))
    rows += [FlagRow(*columns) for columns in connection.execute(namesakes)]
    rows += [] if row["deleted"] else [flag_row(row)]
    definitions = FlagDefinitions(list({flag.id: flag for flag in rows}.values()))
    broken = broken_dependents(row["id"], former_key, definitions)
    if broken:
        what = "delete this feature flag" if row["deleted"] else "change the key of this flag"
        raise Invalid(f"Cannot {what} because other flags depend on it: {', '.join(broken)}.")
