"""Writes a revision: the difference between db/schema/ and what the migrations create."""

import sys
import tempfile
from pathlib import Path

from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from fanion.db.migrate import FOLDER, alembic_config


def write_revision(message: str) -> None:
    number = len(list(ScriptDirectory(str(FOLDER)).walk_revisions())) + 1
    with tempfile.TemporaryDirectory() as folder:
        engine = create_engine(f"sqlite:///{Path(folder) / 'records.db'}")
        with engine.begin() as connection:
            config = alembic_config(connection)
            config.attributes["alters"] = number > 1
            config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
            command.upgrade(config, "head")
            command.revision(config, message, autogenerate=True, rev_id=f"{number:04}")
        engine.dispose()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit('usage: python -m fanion.db.migrations "what changed"')
    write_revision(sys.argv[1])
