"""Alembic, told where the migrations are."""

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from fanion.db.migrate import FOLDER


def upgrade(connection: Connection) -> None:
    """Apply what is missing."""
    command.upgrade(config_of(connection), "head")


def config_of(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
