"""The import of the flags of a document into a project, and of the roles that may edit them.

New flags are created first, without conditions. Then all conditions are written, which may refer
to any flag.
"""

from typing import Any
from uuid import UUID

from sqlalchemy import select, update

from fanion.db.schema.organizations import roles
from fanion.db.schema.tables import feature_flags, memberships, users
from fanion.flags.definitions.changes_store import change_flag, create_flag
from fanion.flags.definitions.model import PlainFlag
from fanion.flags.definitions.role_access.store import give_flag
from fanion.flags.definitions.store import lock_flag
from fanion.projects.roles.model import PlainRole, folded
from fanion.projects.roles.store import (
    add_role,
    add_role_member,
    get_role,
    record_role,
    set_role,
)
from fanion.rest.validation import shared_fields
from fanion.transfer.document import FlagEntry, RoleEntry
from fanion.transfer.importing.target import ImportTarget, differing
from fanion.transfer.references import replace_names, replace_names_in_flag
from fanion.transfer.snapshot import flag_entry

_role = roles.c
_CONDITIONS = ("filters", "rollback_conditions")
_PLAIN = tuple(
    name for name in PlainFlag.__struct_fields__ if name != "key" and name not in _CONDITIONS
)


def import_flags(target: ImportTarget) -> None:
    stored = {flag.key: flag for flag in target.stored.flags}
    for entry in target.document.flags:
        known = stored.get(entry.key)
        flag_id = _create_flag(target, entry) if known is None else known.id
        target.flags[entry.key] = str(flag_id)
    ids = _role_ids(target)
    for entry in target.document.flags:
        known, flag_id = stored.get(entry.key), int(target.flags[entry.key])
        given: set[str] = set()
        if known is None:
            _write_conditions(target, flag_id, entry)
            target.report.created("flag", entry.key)
        else:
            before = flag_entry(known, target.names, target.keys)
            given = {folded(name) for name in before.roles}
            target.report.compared("flag", entry.key, _update_flag(target, flag_id, before, entry))
        for name in entry.roles:
            name_in_report = f"{entry.key} for {name}"
            if folded(name) in given:
                target.report.unchanged("role access", name_in_report)
            else:
                give_flag(target.connection, target.author, flag_id, ids[folded(name)])
                target.report.created("role access", name_in_report)


def _create_flag(target: ImportTarget, entry: FlagEntry) -> int:
    values = {
        "key": entry.key,
        "filters": {"groups": []},
        "deleted": False,
        "created_at": entry.created_at or target.author.now,
        "analytics_dashboards": [target.dashboards[key] for key in entry.analytics_dashboards],
        **{name: getattr(entry, name) for name in _PLAIN},
    }
    return create_flag(target.connection, target.author, values).definition.id


def _write_conditions(target: ImportTarget, flag_id: int, entry: FlagEntry) -> None:
    conditions = _flag_columns(target, {name: getattr(entry, name) for name in _CONDITIONS})
    target.connection.execute(
        update(feature_flags).where(feature_flags.c.id == flag_id).values(**conditions)
    )


def _update_flag(
    target: ImportTarget, flag_id: int, before: FlagEntry, entry: FlagEntry
) -> list[str]:
    """Set the fields that differ, and return their names; dashboards are added, never removed."""
    fields = differing(before, entry, (*_PLAIN, *_CONDITIONS))
    if entry.created_at is not None and entry.created_at != before.created_at:
        fields["created_at"] = entry.created_at
    columns = _flag_columns(target, fields)
    missing = set(entry.analytics_dashboards) - set(before.analytics_dashboards)
    added = [target.dashboards[key] for key in entry.analytics_dashboards if key in missing]
    if added:
        fields["analytics_dashboards"] = added

    if fields:
        flag = lock_flag(target.connection, target.author.project_id, flag_id)
        if flag is not None:
            if added:
                columns["analytics_dashboards"] = [*flag.analytics_dashboards, *added]
            change_flag(target.connection, target.author, flag, columns, alone=False)
    return list(fields)


def _flag_columns(target: ImportTarget, fields: dict[str, Any]) -> dict[str, Any]:
    columns = dict(fields)
    if "filters" in fields:
        columns["filters"] = replace_names_in_flag(fields["filters"], target.ids)
    if "rollback_conditions" in fields:
        columns["rollback_conditions"] = replace_names(fields["rollback_conditions"], target.ids)
    return columns


def import_roles(target: ImportTarget) -> None:
    """Import roles; members in the document are added, and none is removed."""
    stored = {folded(role.name): role for role in target.stored.roles}
    ids = _role_ids(target)
    users_by_email = _users_by_email(target) if target.document.roles else {}
    for entry in target.document.roles:
        known = stored.get(folded(entry.name))
        before = None
        if known is None:
            values = shared_fields(entry, PlainRole)
            role_id = add_role(target.connection, target.author, values).id
            target.report.created("role", entry.name)
        else:
            role_id = ids[folded(entry.name)]
            before = get_role(target.connection, target.author.organization_id, role_id)
            fields = differing(known, entry, ("feature_flags_access_level",))
            set_role(target.connection, role_id, fields)
            target.report.compared("role", entry.name, list(fields))
        _add_members(target, role_id, entry, set(known.members) if known else set(), users_by_email)
        after = get_role(target.connection, target.author.organization_id, role_id)
        record_role(target.connection, target.author, before, after)


def _role_ids(target: ImportTarget) -> dict[str, UUID]:
    """Return the ids of the organization's roles by folded name."""
    mine = target.author.organization_id
    rows = target.connection.execute(
        select(_role.folded_name, _role.id).where(_role.organization_id == mine)
    )
    return {row.folded_name: row.id for row in rows}


def _add_members(
    target: ImportTarget,
    role_id: UUID,
    entry: RoleEntry,
    members: set[str],
    users_by_email: dict[str, UUID],
) -> None:
    for email in entry.members:
        name = f"{email} in {entry.name}"
        if email in members:
            target.report.unchanged("role member", name)
        elif email not in users_by_email:
            why = "no member of this organization has the e-mail address"
            target.report.skipped("role member", name, why)
        else:
            add_role_member(target.connection, target.author, role_id, users_by_email[email])
            target.report.created("role member", name)


def _users_by_email(target: ImportTarget) -> dict[str, UUID]:
    """Return the users of the organization by e-mail address."""
    mine = target.author.organization_id
    rows = target.connection.execute(
        select(users.c.email, users.c.uuid)
        .join(memberships, memberships.c.user_id == users.c.id)
        .where(memberships.c.organization_id == mine)
    )
    return {row.email: row.uuid for row in rows}
