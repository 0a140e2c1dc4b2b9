"""Actions of a project whose events are stored."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from fanion.actions.model import ActionStep
from fanion.actions.store import ACTIONS
from fanion.activity.model import Author
from fanion.projects.model import Project
from tests.support.histories import Analyst

Json = dict[str, Any]
MADE_AT = datetime(2024, 4, 1, tzinfo=UTC)


async def define(analyst: Analyst, project: Project, *steps: Json) -> Json:
    """Create an action, and return it as an entity of a question."""
    values = {
        "name": uuid4().hex,
        "description": "",
        "tags": [],
        "steps": [ActionStep(**step) for step in steps],
    }
    author = Author(project.organization_id, None, MADE_AT, project_id=project.id)
    async with analyst.records.write() as connection:
        made = await connection.run_sync(ACTIONS.create, author, values)
    return {"id": made.id, "type": "actions"}
