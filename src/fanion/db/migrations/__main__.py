"""A command that writes a revision with the changes of db/schema/ since the last migration."""

import sys
import tempfile
from pathlib import Path

from alembic import command
from sqlalchemy import create_engine

from fanion.db.migrate import NEWEST, alembic_config


def write_revision(message: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(f"sqlite:///{Path(folder) / 'records.db'}")
        with engine.begin() as connection:
            config = alembic_config(connection)
            config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
            command.upgrade(config, "head")
            revision = f"{int(NEWEST) + 1:04}"
            command.revision(config, message, autogenerate=True, rev_id=revision)
        engine.dispose()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit('usage: python -m fanion.db.migrations "what changed"')
    write_revision(sys.argv[1])
