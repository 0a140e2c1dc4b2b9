"""Keys expire."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import UtcDateTime

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("personal_api_keys", sa.Column("expires_at", UtcDateTime(), nullable=True))
