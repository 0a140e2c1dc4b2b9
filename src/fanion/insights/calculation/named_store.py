"""The check that the actions and segments of a question exist when it is stored."""

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection

from fanion.actions.conditions import no_such_action
from fanion.actions.store import ACTIONS
from fanion.insights.entities import Entity
from fanion.insights.segments.conditions import segments_among
from fanion.insights.segments.model import no_such_segment
from fanion.insights.segments.store import SEGMENTS
from fanion.properties.filters import Node, leaves


def require_named(
    connection: Connection,
    project_id: int,
    entities: Iterable[Entity],
    conditions: Iterable[Node | None] = (),
) -> None:
    """Check the events of a question and the conditions on them, and its other conditions.

    Raises:
        Invalid: An action or a segment does not exist, or there are too many segments.
    """
    each = [part for entity in entities for part in (entity, *entity.nodes)]
    actions = {part.action: part.place for part in reversed(each) if part.action is not None}
    _require_actions(connection, project_id, actions)
    nodes = (*conditions, *(part.properties for part in each))
    named = segments_among(leaf for node in nodes if node is not None for leaf in leaves(node))
    _require_segments(connection, project_id, named)


def _require_actions(connection: Connection, project_id: int, named: Mapping[int, str]) -> None:
    known = {one.id for one in ACTIONS.some(connection, project_id, named)} if named else set()
    for action_id, place in named.items():
        if action_id not in known:
            raise no_such_action(action_id, place or None)


def _require_segments(connection: Connection, project_id: int, named: Mapping[int, str]) -> None:
    known = {one.id for one in SEGMENTS.some(connection, project_id, named)} if named else set()
    for segment_id, place in named.items():
        if segment_id not in known:
            raise no_such_segment(segment_id, place or None)
