"""OpenID Connect."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0009"
down_revision = "0008"
oldest_program = "0005"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("users", sa.Column("email_chosen_by_owner", sa.Boolean(), nullable=True))
    op.create_table(
        "oidc_identities",
        sa.Column("issuer", sa.String(length=500), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_used_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_oidc_identities_user_id")),
        sa.PrimaryKeyConstraint("issuer", "subject", name=op.f("pk_oidc_identities")),
    )
    op.create_index(
        op.f("ix_oidc_identities_user_id"), "oidc_identities", ["user_id"], unique=False
    )
    op.create_table(
        "oidc_states",
        sa.Column("hash", sa.String(length=100), nullable=False),
        sa.Column("browser_hash", sa.String(length=100), nullable=False),
        sa.Column("return_path", sa.Text(), nullable=False),
        sa.Column("user_id", Id, nullable=True),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_oidc_states_user_id")),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_oidc_states")),
    )
    op.create_index(op.f("ix_oidc_states_expires_at"), "oidc_states", ["expires_at"], unique=False)
