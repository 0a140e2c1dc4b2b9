"""The user with row policies, whom the stand-in plays by filters: its engine has no other users.

deploy/clickhouse/sql-user.sql makes this user on a real server.
"""

import ast
from collections.abc import Mapping

from fanion.events.storage.cluster_schema import LOCAL_SUFFIX
from fanion.events.storage.sql_user import PROJECT, TABLES
from tests.support.clickhouse.message import Message

SQL_USER = "fanion_sql"
FILTERS = "additional_table_filters"


class Denied(Exception):
    """The refusal of what this user may not do."""


def settings_of(message: Message, defaults: Mapping[str, str]) -> Mapping[str, str]:
    """Return the settings of a request, with those by which this user sees one project.

    Raises:
        Denied: This user may not do it.
    """
    sent = dict(message.settings)
    project = sent.pop(PROJECT, None)
    if message.user != SQL_USER:
        return {**defaults, **sent}
    if message.text.lstrip()[:6].upper() == b"INSERT":
        raise Denied("Code: 497. DB::Exception: Not enough privileges. (ACCESS_DENIED)")
    # Without a project a statement sees nothing but the engine itself.
    condition = f"project_id = {int(ast.literal_eval(project))}" if project else "0"
    filters: dict[str, str] = ast.literal_eval(defaults.get(FILTERS, "{}"))
    for table in (*TABLES, *(f"{name}{LOCAL_SUFFIX}" for name in TABLES)):
        name = f"{message.database}.{table}"
        filters[name] = f"({filters.get(name, '1')}) AND {condition}"
    listed = ", ".join(f"'{name}': '{text}'" for name, text in filters.items())
    return {**defaults, FILTERS: f"{{{listed}}}", **sent}
