"""Databases as version 0.7 or older have set them up, brought to the present schema: `persons` is
one table, and the accept log has no partitions."""

from alembic import command
from sqlalchemy import text

from fanion.db.drivers import parse_url
from fanion.db.migrate import _engine, alembic_config, migrate

_FIRST_ROW = (
    "INSERT INTO organizations (id, name, created_at) "
    "VALUES ('00000000000000000000000000000001', 'o', '2024-03-01 12:00:00')"
)


async def migrate_from_the_first_version(url: str, *statements: str) -> None:
    """url: of an empty database; statements: run with the schema of the first version"""
    engine = _engine(parse_url(url))
    async with engine.begin() as connection:
        await connection.run_sync(lambda one: command.upgrade(alembic_config(one), "0001"))
        for statement in statements:
            await connection.execute(text(statement))
    await engine.dispose()
    await migrate(url)


async def make_undivided(url: str) -> None:
    """url: of an empty database, which has no rows afterwards either"""
    await migrate_from_the_first_version(url, _FIRST_ROW)
    engine = _engine(parse_url(url))
    async with engine.begin() as connection:
        await connection.execute(text("DELETE FROM organizations"))
    await engine.dispose()
