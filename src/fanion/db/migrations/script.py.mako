"""${message[0].upper() + message[1:]}."""

import sqlalchemy as sa
from alembic import op

from fanion.db.columns import Json, UtcDateTime

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
# Of the programs that still work with this schema, also while newer ones use it, the one that knows
# the fewest revisions. Its own number unless it only adds what older programs leave alone.
oldest_program = ${repr(up_revision)}

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
% for line in (upgrades or "pass").splitlines():
% if not line.strip().startswith("# ###"):
    ${line.removeprefix("    ")}
% endif
% endfor
