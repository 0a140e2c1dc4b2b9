"""Store the last checks of alerts, and the mails that they cause until these are sent."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json, UtcDateTime

revision = "0036"
down_revision = "0035"
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = "0031"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    with op.batch_alter_table("alerts") as batch_op:
        batch_op.add_column(sa.Column("subscribed_users", Json(), nullable=True))
    op.create_table(
        "alert_checks",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("alert_id", Id, nullable=False),
        sa.Column("checked_at", UtcDateTime(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("webhooks", sa.Integer(), nullable=False),
        sa.Column("mails", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["alert_id"], ["alerts.id"], name=op.f("fk_alert_checks_alert_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_checks")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_alert_checks_project_id"), "alert_checks", ["project_id"])
    op.create_index(op.f("ix_alert_checks_alert_id_id"), "alert_checks", ["alert_id", "id"])
    op.create_table(
        "alert_mails",
        sa.Column("id", Id, autoincrement=True, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("alert_id", Id, nullable=False),
        sa.Column("user_id", Id, nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["alert_id"], ["alerts.id"], name=op.f("fk_alert_mails_alert_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_alert_mails_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_mails")),
        sqlite_autoincrement=True,
    )
    for name in ("project_id", "alert_id", "created_at"):
        op.create_index(op.f(f"ix_alert_mails_{name}"), "alert_mails", [name])
