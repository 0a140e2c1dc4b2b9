"""Very many rows in a new project, written as the server writes them, but all at once."""

from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import insert, select, text

from fanion.db.schema.tables import feature_flags, persons
from fanion.projects.store import move_flag_version
from tests.console.project import Project, has, when

# Copies the first person, each with another number.
COPIES = """
  WITH RECURSIVE numbers(number) AS (
         SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < :last)
INSERT INTO persons
       (project_id, uuid, properties, is_identified, created_at, version, email)
SELECT project_id,
       substr(uuid, 1, 16) || printf('%016x', number),
       replace(properties, '00000', printf('%05d', number)),
       is_identified, created_at, version,
       replace(email, '00000', printf('%05d', number))
  FROM numbers, persons
 WHERE project_id = :project_id
"""
DISTINCT_IDS = """
INSERT INTO person_distinct_ids (project_id, distinct_id, person_id)
SELECT project_id, email, id FROM persons WHERE project_id = :project_id
"""


def add_many_flags(project: Project, count: int) -> None:
    """Add copies of one flag that the API has made, each with its own key: `flag-00017`."""
    made = project.flag(
        "flag-00000",
        when(has("plan", ["pro"]), rollout=20),
        when(rollout=5),
        name="One of many",
        tags=["many"],
    )
    with project.records() as connection:
        this = select(feature_flags).where(feature_flags.c.id == made["id"])
        row = dict(connection.execute(this).one()._mapping)
        del row["id"]
        copies = [
            row | {"key": f"flag-{number:05}", "active": number % 3 > 0}
            for number in range(1, count)
        ]
        connection.execute(insert(feature_flags), copies)
        move_flag_version(connection, project.id)


def add_many_persons(project: Project, count: int) -> None:
    """Add persons whose address is also their distinct id: `many-00017@example.com`."""
    with project.records() as connection:
        first = {
            "project_id": project.id,
            "uuid": UUID(int=project.id << 64),
            "properties": {"email": "many-00000@example.com", "plan": "pro"},
            "is_identified": True,
            "created_at": datetime.now(UTC),
            "version": 1,
            "email": "many-00000@example.com",
        }
        connection.execute(insert(persons), [first])
        numbers = {"project_id": project.id, "last": count - 1}
        if count > 1:
            connection.execute(text(COPIES), numbers)
        connection.execute(text(DISTINCT_IDS), numbers)
