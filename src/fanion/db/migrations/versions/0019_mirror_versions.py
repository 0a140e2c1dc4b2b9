"""One source of the versions of persons, groups and overrides, and notes of those that the event
store's mirror lacks."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json

revision = "0019"
down_revision = "0018"
oldest_program = "0005"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

# Until now a person's version counted its changes, and that of an override was a position in the
# accept log. Attempts that were not committed have mirrored versions a little higher.
_MARGIN = 1_000
_GREATEST = """
  SELECT COALESCE(MAX(version), 0)
    FROM (SELECT MAX(version) AS version FROM persons
          UNION ALL SELECT MAX(version) FROM person_overrides
          UNION ALL SELECT MAX(version) FROM person_floors
          UNION ALL SELECT MAX(version) FROM groups
          UNION ALL SELECT MAX(position) FROM log_positions
          UNION ALL SELECT MAX(claimed) FROM log_positions) AS used
"""


def upgrade() -> None:
    op.create_table(
        "mirror_versions",
        sa.Column("version", Id, autoincrement=True, nullable=False),
        sa.PrimaryKeyConstraint("version", name=op.f("pk_mirror_versions")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "mirror_outbox",
        sa.Column("version", Id, autoincrement=False, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("persons", sa.LargeBinary(), nullable=False),
        sa.Column("groups", Json(), nullable=False),
        sa.PrimaryKeyConstraint("version", name=op.f("pk_mirror_outbox")),
    )
    connection = op.get_bind()
    first = connection.scalar(sa.text(_GREATEST)) + _MARGIN
    if connection.dialect.name == "sqlite":
        connection.execute(sa.text("INSERT INTO mirror_versions VALUES (:first)"), {"first": first})
    else:
        connection.execute(
            sa.text("SELECT setval('mirror_versions_version_seq', :first)"), {"first": first}
        )
