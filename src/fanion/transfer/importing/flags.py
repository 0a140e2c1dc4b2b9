"""Flags of a document, written into a project, with the roles that may edit them.

Those that are new are made first, without conditions; then all conditions are written, which
may name any of them.
"""

from typing import Any

from sqlalchemy import update

from fanion.db.schema.tables import feature_flags
from fanion.flags.management.role_access_store import give_flag
from fanion.flags.storage.changes import change_flag, create_flag
from fanion.flags.storage.store import lock_flag
from fanion.projects.model import folded
from fanion.transfer.document import FlagEntry
from fanion.transfer.importing.context import ImportTarget
from fanion.transfer.importing.matching import differing, role_keys
from fanion.transfer.importing.roles import role_ids
from fanion.transfer.references import numbered, numbered_flag
from fanion.transfer.snapshot import flag_entry

_PLAIN = (
    "name",
    "active",
    "ensure_experience_continuity",
    "performed_rollback",
    "tags",
    "has_enriched_analytics",
    "bucketing_identifier",
    "evaluation_runtime",
    "evaluation_contexts",
)
_CONDITIONS = ("filters", "rollback_conditions")


def import_flags(target: ImportTarget) -> None:
    stored = {one.key: one for one in target.stored.flags}
    for entry in target.document.flags:
        known = stored.get(entry.key)
        flag_id = _make(target, entry) if known is None else known.id
        target.flags[entry.key] = str(flag_id)
    ids = role_ids(target)
    for entry in target.document.flags:
        known, flag_id = stored.get(entry.key), int(target.flags[entry.key])
        given: list[str] = []
        if known is None:
            _write_conditions(target, flag_id, entry)
            target.report.created("flag", entry.key)
        else:
            before = flag_entry(known, target.names, target.keys)
            given = before.roles
            target.report.compared("flag", entry.key, _update(target, flag_id, before, entry))
        for name in entry.roles:
            name_in_report = f"{entry.key} for {name}"
            if folded(name) in role_keys(given):
                target.report.unchanged("role access", name_in_report)
            else:
                give_flag(target.connection, target.author, flag_id, ids[folded(name)])
                target.report.created("role access", name_in_report)


def _make(target: ImportTarget, entry: FlagEntry) -> int:
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
    conditions = _columns(target, {name: getattr(entry, name) for name in _CONDITIONS})
    target.connection.execute(
        update(feature_flags).where(feature_flags.c.id == flag_id).values(**conditions)
    )


def _update(target: ImportTarget, flag_id: int, before: FlagEntry, entry: FlagEntry) -> list[str]:
    """Names of the fields that differed. Dashboards are added, never removed."""
    fields = differing(before, entry, (*_PLAIN, *_CONDITIONS))
    if entry.created_at is not None and entry.created_at != before.created_at:
        fields["created_at"] = entry.created_at
    columns = _columns(target, fields)
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


def _columns(target: ImportTarget, fields: dict[str, Any]) -> dict[str, Any]:
    found = dict(fields)
    if "filters" in fields:
        found["filters"] = numbered_flag(fields["filters"], target.ids)
    if "rollback_conditions" in fields:
        found["rollback_conditions"] = numbered(fields["rollback_conditions"], target.ids)
    return found
