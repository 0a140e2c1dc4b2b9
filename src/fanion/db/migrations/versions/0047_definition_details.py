"""Store descriptions, owners and marks of definitions, and properties of persons and groups."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json, UtcDateTime

revision = "0047"
down_revision = "0046"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    with op.batch_alter_table("event_marks") as batch_op:
        batch_op.add_column(sa.Column("description", sa.Text(), nullable=True))
        batch_op.add_column(sa.Column("owner_id", Id, nullable=True))
        batch_op.add_column(sa.Column("verified_at", UtcDateTime(), nullable=True))
        batch_op.add_column(sa.Column("verified_by_id", Id, nullable=True))
        batch_op.add_column(sa.Column("updated_by_id", Id, nullable=True))
        for column in ("owner_id", "verified_by_id", "updated_by_id"):
            batch_op.create_foreign_key(
                batch_op.f(f"fk_event_marks_{column}"), "users", [column], ["id"]
            )
    op.create_table(
        "actor_properties",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("group_type_index", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("property_type", sa.String(length=20), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_actor_properties")),
        sa.UniqueConstraint(
            "project_id",
            "group_type_index",
            "name",
            name=op.f("uq_actor_properties_project_id_group_type_index_name"),
        ),
    )
    _create_property_marks()


def _create_property_marks() -> None:
    op.create_table(
        "property_marks",
        sa.Column("definition_id", sa.Uuid(), nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("tags", Json(), nullable=True),
        sa.Column("owner_id", Id, nullable=True),
        sa.Column("hidden", sa.Boolean(), nullable=False),
        sa.Column("verified", sa.Boolean(), nullable=False),
        sa.Column("verified_at", UtcDateTime(), nullable=True),
        sa.Column("verified_by_id", Id, nullable=True),
        sa.Column("updated_at", UtcDateTime(), nullable=True),
        sa.Column("updated_by_id", Id, nullable=True),
        *(
            sa.ForeignKeyConstraint(
                [column], ["users.id"], name=op.f(f"fk_property_marks_{column}")
            )
            for column in ("owner_id", "verified_by_id", "updated_by_id")
        ),
        sa.PrimaryKeyConstraint("definition_id", name=op.f("pk_property_marks")),
    )
    with op.batch_alter_table("property_marks", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_property_marks_project_id"), ["project_id"], unique=False
        )
