"""Roles of a document, written into the organization of a project."""

from uuid import UUID, uuid4

from sqlalchemy import select, update

from fanion.db.schema.organizations import roles
from fanion.db.schema.tables import memberships, users
from fanion.projects.model import Role, folded
from fanion.projects.roles_store import add_role_member, create_role, load_roles, record_role
from fanion.transfer.document import RoleEntry
from fanion.transfer.importing.context import ImportTarget

_role = roles.c


def import_roles(target: ImportTarget) -> None:
    """Adds the members that the document names; none is removed."""
    stored = {folded(one.name): one for one in target.stored.roles}
    ids = role_ids(target)
    users_by_email = _users_by_email(target) if target.document.roles else {}
    for entry in target.document.roles:
        known = stored.get(folded(entry.name))
        before = None
        if known is None:
            role_id = _create(target, entry)
            target.report.created("role", entry.name)
        else:
            role_id = ids[folded(entry.name)]
            before = load_roles(target.connection, [role_id])[role_id]
            level = entry.feature_flags_access_level
            fields = (
                {}
                if level == known.feature_flags_access_level
                else {"feature_flags_access_level": int(level)}
            )
            if fields:
                target.connection.execute(update(roles).where(_role.id == role_id).values(**fields))
            target.report.compared("role", entry.name, list(fields))
        _add_members(target, role_id, entry, set(known.members) if known else set(), users_by_email)
        _record(target, role_id, before)


def _record(target: ImportTarget, role_id: UUID, before: Role | None) -> None:
    author = target.author
    after = load_roles(target.connection, [role_id])[role_id]
    organization_id = author.organization_id
    record_role(target.connection, organization_id, before, after, author.user_id, author.now)


def role_ids(target: ImportTarget) -> dict[str, UUID]:
    """By the name as it is compared."""
    mine = target.author.organization_id
    rows = target.connection.execute(
        select(_role.folded_name, _role.id).where(_role.organization_id == mine)
    )
    return {row.folded_name: row.id for row in rows}


def _create(target: ImportTarget, entry: RoleEntry) -> UUID:
    values = {
        "id": uuid4(),
        "organization_id": target.author.organization_id,
        "name": entry.name,
        "folded_name": folded(entry.name),
        "created_by_id": target.author.user_id,
        "created_at": target.author.now,
    }
    return create_role(target.connection, values, entry.feature_flags_access_level).id


def _add_members(
    target: ImportTarget,
    role_id: UUID,
    entry: RoleEntry,
    members: set[str],
    users_by_email: dict[str, UUID],
) -> None:
    organization_id, now = target.author.organization_id, target.author.now
    for email in entry.members:
        name = f"{email} in {entry.name}"
        if email in members:
            target.report.unchanged("role member", name)
        elif email not in users_by_email:
            why = "no member of this organization has the e-mail address"
            target.report.skipped("role member", name, why)
        else:
            add_role_member(target.connection, organization_id, role_id, users_by_email[email], now)
            target.report.created("role member", name)


def _users_by_email(target: ImportTarget) -> dict[str, UUID]:
    """Users of the organization, by e-mail address."""
    mine = target.author.organization_id
    rows = target.connection.execute(
        select(users.c.email, users.c.uuid)
        .join(memberships, memberships.c.user_id == users.c.id)
        .where(memberships.c.organization_id == mine)
    )
    return {row.email: row.uuid for row in rows}
