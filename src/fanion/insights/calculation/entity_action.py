"""The `action` of an answer, which describes the event of a series.

Source: insights.md, section 4e.
"""

from typing import Any

from fanion.insights.entities import Entity


def entity_action(entity: Entity, order: int) -> dict[str, Any]:
    return {
        "id": entity.id,
        "type": entity.type_name,
        "order": order,
        "name": entity.name or entity.event,
        "custom_name": entity.custom_name,
        "math": entity.sent.get("math"),
        "math_property": entity.sent.get("math_property"),
        "math_hogql": entity.sent.get("math_hogql"),
        "math_group_type_index": entity.sent.get("math_group_type_index"),
        "properties": entity.sent.get("properties") or {},
    }
