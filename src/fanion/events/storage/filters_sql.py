"""Filters on events as ClickHouse conditions, for statements that read the table `events`.

A condition on a person selects the persons that have the property now, and all that were merged
into one of them. A condition on a group selects the groups that have it now.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from fanion.properties.bindings import NO_COLUMNS, Bindings, DedicatedColumns
from fanion.properties.condition_sql import (
    event_text,
    holds_without,
    property_condition,
    value_condition,
)
from fanion.properties.elements.comparisons import CHAIN, OPPOSITES
from fanion.properties.filters import ELEMENT, METADATA, ConditionGroup, Node, Property

NO_PERSON: Final = "toUUID('00000000-0000-0000-0000-000000000000')"

# Finds the values of an attribute in a chain of elements, in which quotes are escaped.
_ATTRIBUTE: Final = r'[:"]{name}="((?:[^"\\]|\\.)*)"'
_ESCAPED: Final = '\\"'

# The selected persons, and all that were merged into them.
_WITH_MERGED = """
  SELECT arrayJoin(if(moved.old_person = {no_person}, [matching.person_id],
                      [matching.person_id, moved.old_person]))
    FROM (SELECT person_id FROM {source} WHERE {where}) AS matching
    LEFT JOIN (SELECT old_person, new_person
                 FROM person_overrides FINAL
                WHERE {project}) AS moved ON moved.new_person = matching.person_id
"""


def event_condition(
    leaf: Property,
    bindings: Bindings,
    project: str,
    now: datetime,
    columns: DedicatedColumns = NO_COLUMNS,
) -> str:
    """Compile one comparison with a property of the event, of its person or of one of its groups.

    Args:
        project: The condition that a row of any table belongs to the project.
        now: The moment from which relative dates count back.
        columns: The properties of events with a dedicated column.
    """
    if leaf.type == "event":
        return property_condition(leaf, bindings, now, events_of=project, columns=columns)
    if leaf.type == "group":
        return _of_group(leaf, bindings, project, now)
    if leaf.type == METADATA:
        return f"event = {bindings.text(str(leaf.value))}"
    if leaf.type == ELEMENT:
        return _of_element(leaf, bindings, now, columns)
    return _of_person(leaf, bindings, project, now)


def tree_condition(
    node: Node,
    bindings: Bindings,
    project: str,
    now: datetime,
    columns: DedicatedColumns = NO_COLUMNS,
) -> str:
    """Compile a tree of comparisons with properties, such as the steps of an action.

    Args:
        node: A tree that is not empty, and has only comparisons that `event_condition` compiles.
        bindings: As for `event_condition`, like all that follow.
    """
    if isinstance(node, ConditionGroup):
        parts = [tree_condition(child, bindings, project, now, columns) for child in node.children]
        return f"({f' {node.type} '.join(parts)})"
    assert isinstance(node, Property)  # steps of actions have no others
    return event_condition(node, bindings, project, now, columns)


def _of_element(
    leaf: Property, bindings: Bindings, now: datetime, columns: DedicatedColumns
) -> str:
    """Compile a condition on an attribute: it holds if it does for any element of the chain.

    One that is negative holds if its opposite does for none.
    """
    if leaf.operator in OPPOSITES:
        opposite = replace(leaf, operator=OPPOSITES[leaf.operator], negation=False)
        holds = _of_element(opposite, bindings, now, columns)
        return holds if leaf.negation else f"NOT {holds}"
    if leaf.negation:
        return f"NOT {_of_element(replace(leaf, negation=False), bindings, now, columns)}"
    chain = event_text(CHAIN, bindings, columns)
    values = f"extractAll({chain}, {bindings.text(_ATTRIBUTE.format(name=leaf.key))})"
    value = f"replaceAll(attribute, {bindings.text(_ESCAPED)}, '\"')"
    return f"arrayExists(attribute -> {value_condition(leaf, value, bindings, now)}, {values})"


def _of_person(leaf: Property, bindings: Bindings, project: str, now: datetime) -> str:
    """Compile a condition on the person.

    A person without a row has no properties, so negative conditions exclude the persons that fail.
    """
    condition = property_condition(leaf, bindings, now)
    if holds_without(leaf):
        failing = with_merged("persons FINAL", f"{project} AND NOT ({condition})", project)
        return f"person_id NOT IN ({failing})"
    matching = with_merged("persons FINAL", f"{project} AND {condition}", project)
    return f"person_id IN ({matching})"


def _of_group(leaf: Property, bindings: Bindings, project: str, now: datetime) -> str:
    """Compile a condition on a group.

    An event without the group, or whose group has no row, has none of its properties.
    """
    assert leaf.group_type_index is not None  # the parsers require it
    is_negative = holds_without(leaf)
    condition = property_condition(leaf, bindings, now)
    rows = group_rows(leaf.group_type_index, bindings, project)
    keys = f"SELECT group_key FROM {rows} AND {'NOT ' * is_negative}({condition})"
    return f"{group_key(leaf.group_type_index)} {'NOT ' * is_negative}IN ({keys})"


def group_key(index: int) -> str:
    """Return the group key of a row of `events`; it is empty without a group of this type index."""
    return f"ifNull(toString(attributes.`$group_{int(index)}`), '')"


def group_rows(index: int, bindings: Bindings, project: str) -> str:
    """Return what follows FROM: the groups of the type as they are now."""
    return f"groups FINAL WHERE {project} AND group_type_index = {bindings.add(index, 'UInt8')}"


def with_merged(source: str, where: str, project: str) -> str:
    """Return a statement for the ids under which events of some persons are stored.

    Args:
        source: A table that has `person_id`.
        where: The condition that selects its rows.
    """
    return _WITH_MERGED.format(no_person=NO_PERSON, source=source, where=where, project=project)
