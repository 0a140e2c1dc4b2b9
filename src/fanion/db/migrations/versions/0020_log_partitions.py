"""The accept log in partitions. A new PostgreSQL database is set up with them; another one keeps
its single log until `fanion log open-partitions`."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0020"
down_revision = "0019"
oldest_program = "0005"

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

_IS_USED = "SELECT EXISTS (SELECT FROM accept_log_lanes) OR EXISTS (SELECT FROM organizations)"
# As `accept_log.postgres_partitions.OPEN`.
_OPEN = (
    """
    INSERT INTO accept_log_lanes (historical, envelopes, bytes)
    VALUES (FALSE, 0, 4611686018427387904), (TRUE, 0, 4611686018427387904)
    """,
    """
    INSERT INTO accept_log_sizes (slot, historical, envelopes, bytes)
    SELECT slot, historical, 0, 0
      FROM GENERATE_SERIES(0, 63) AS slot
     CROSS JOIN (VALUES (FALSE), (TRUE)) AS lane (historical)
    """,
    """
    INSERT INTO log_positions (consumer, partition, position, claimed, holder, held_until)
    SELECT lane || '/' || partition, partition, 0, 0, '', '1970-01-01T00:00:00Z'
      FROM GENERATE_SERIES(1, 64) AS partition
     CROSS JOIN (VALUES ('live'), ('historical')) AS lane (lane)
    """,
)


def upgrade() -> None:
    op.add_column(
        "log_positions", sa.Column("partition", sa.Integer(), server_default="0", nullable=False)
    )
    op.add_column(
        "log_positions", sa.Column("epoch", sa.BigInteger(), server_default="0", nullable=False)
    )
    op.create_table(
        "log_workers",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("renewed_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_log_workers")),
    )
    op.create_table(
        "accept_log_entries",
        sa.Column("historical", sa.Boolean(), nullable=False),
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("received_at", UtcDateTime(), nullable=False),
        sa.Column("client_ip", sa.Text(), nullable=False),
        sa.Column("user_agent", sa.Text(), nullable=False),
        sa.Column("sent_at", UtcDateTime(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(
            "historical", "partition", "id", name=op.f("pk_accept_log_entries")
        ),
    )
    op.create_table(
        "accept_log_sizes",
        sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("historical", sa.Boolean(), nullable=False),
        sa.Column("envelopes", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("slot", "historical", name=op.f("pk_accept_log_sizes")),
    )
    connection = op.get_bind()
    if connection.dialect.name != "postgresql" or connection.scalar(sa.text(_IS_USED)):
        return
    for statement in _OPEN:
        connection.exec_driver_sql(statement)
