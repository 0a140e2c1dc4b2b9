"""Persons in partitions. A new PostgreSQL database is set up with them; another one keeps its one
table until `fanion persons partition`."""

from alembic import op

from fanion.db.person_partitions import OLD, REFERENCES, VIEW, Reference, create, swap

revision = "0021"
down_revision = "0020"
oldest_program = "0005"

_IS_USED = "SELECT EXISTS (SELECT FROM persons) OR EXISTS (SELECT FROM organizations)"


def upgrade() -> None:
    connection = op.get_bind()
    connection.exec_driver_sql(VIEW)
    if connection.dialect.name != "postgresql":
        return
    if connection.exec_driver_sql(_IS_USED).scalar():
        return
    found = [Reference(*row) for row in connection.exec_driver_sql(REFERENCES)]
    for statement in create():
        connection.exec_driver_sql(statement)
    for one in found:
        connection.exec_driver_sql(one.add)
        connection.exec_driver_sql(one.validate)
    for statement in swap(found):
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql(f"DROP TABLE {OLD}")
