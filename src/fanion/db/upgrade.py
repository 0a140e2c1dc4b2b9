"""Alembic, told where the migrations are."""

from collections.abc import Callable
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from fanion.db.migrate import FOLDER


def upgrade(connection: Connection, told: Callable[[int, int], None] | None) -> None:
    """Apply what is missing. told: as of `migrate`"""
    config = config_of(connection)
    if told is not None:
        config.attributes["on_apply"] = _telling(told, _missing(config, connection))
    command.upgrade(config, "head")


def _telling(told: Callable[[int, int], None], missing: int) -> Callable[..., None]:
    applied = 0

    def on_apply(**_: Any) -> None:
        nonlocal applied
        applied += 1
        told(applied, missing)

    told(0, missing)
    return on_apply


def _missing(config: Config, connection: Connection) -> int:
    applied = MigrationContext.configure(connection).get_current_revision()
    scripts = ScriptDirectory.from_config(config)
    return len(list(scripts.iterate_revisions("head", applied or "base")))


def config_of(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
