"""Very many rows, written as the server writes them: through the API they would take minutes."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid5

from sqlalchemy import insert, select

from fanion.db.schema.tables import feature_flags, person_distinct_ids, persons
from fanion.projects.store import move_flag_version
from tests.console.project import Project, has, when

NAMESPACE = UUID("6f6f1f2e-3f57-5d58-9d0e-6f9a3c1b7a11")


def add_flags(project: Project, count: int) -> None:
    """Copies of one that the API has made, each with a key of its own: `flag-00017`."""
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


def add_persons(project: Project, count: int) -> None:
    """With an address each: `many-00017@example.com`."""
    now = datetime.now(UTC)
    with project.records() as connection:
        rows = [
            {
                "project_id": project.id,
                "uuid": uuid5(NAMESPACE, f"{project.id} {number}"),
                "properties": {"email": f"many-{number:05}@example.com", "plan": "pro"},
                "is_identified": True,
                "created_at": now - timedelta(seconds=number),
                "version": 1,
                "email": f"many-{number:05}@example.com",
            }
            for number in range(count)
        ]
        connection.execute(insert(persons), rows)
        found = select(persons.c.id, persons.c.email).where(persons.c.project_id == project.id)
        ids = [
            {"project_id": project.id, "distinct_id": email, "person_id": person_id}
            for person_id, email in connection.execute(found)
        ]
        connection.execute(insert(person_distinct_ids), ids)
