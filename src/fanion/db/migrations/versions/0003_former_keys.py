"""Former keys."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json, UtcDateTime

revision = "0003"
down_revision = "0002"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "former_project_tokens",
        sa.Column("token", sa.String(length=200), nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("valid_until", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_former_project_tokens_project_id")
        ),
        sa.PrimaryKeyConstraint("token", name=op.f("pk_former_project_tokens")),
    )
    op.create_index(
        op.f("ix_former_project_tokens_project_id"),
        "former_project_tokens",
        ["project_id"],
        unique=False,
    )
    op.create_table(
        "former_secret_keys",
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("mask_value", sa.String(length=20), nullable=False),
        sa.Column("valid_until", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_former_secret_keys_project_id")
        ),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_former_secret_keys")),
    )
    op.create_index(
        op.f("ix_former_secret_keys_project_id"), "former_secret_keys", ["project_id"], unique=False
    )
    op.add_column("webhooks", sa.Column("former_secrets", Json(), nullable=True))
