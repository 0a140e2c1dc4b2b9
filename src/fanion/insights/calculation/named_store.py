"""The check that the actions and segments of a question exist when it is stored."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection

from fanion.actions.conditions import require_actions_found
from fanion.actions.store import ACTIONS
from fanion.insights.entities import Entity
from fanion.insights.query import actions_among
from fanion.insights.segments.conditions import segments_among
from fanion.insights.segments.model import require_segments_found
from fanion.insights.segments.store import SEGMENTS
from fanion.properties.filters import Node, leaves


def require_named(
    connection: Connection,
    project_id: int,
    entities: Sequence[Entity],
    conditions: Iterable[Node | None] = (),
) -> None:
    """Check the events of a question and the conditions on them, and its other conditions.

    Raises:
        Invalid: An action or a segment does not exist, or there are too many segments.
    """
    if actions := actions_among(entities):
        found = ACTIONS.some(connection, project_id, actions)
        require_actions_found(actions, {action.id for action in found})
    parts = [part.properties for entity in entities for part in (entity, *entity.nodes)]
    nodes = [node for node in (*conditions, *parts) if node is not None]
    if segments := segments_among(leaf for node in nodes for leaf in leaves(node)):
        known = SEGMENTS.some(connection, project_id, segments)
        require_segments_found(segments, {segment.id for segment in known})
