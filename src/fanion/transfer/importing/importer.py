"""The import of a document into a project, in one transaction.

Objects that exist are updated where they differ; nothing is ever deleted.
"""

from collections.abc import Callable

from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from fanion.activity.model import Author
from fanion.db.drivers import TransactionConflict
from fanion.db.engine import Records
from fanion.db.schema.tables import projects
from fanion.flags.definitions.integrity_store import flags_without_answer
from fanion.flags.definitions.validation.parts import same_json
from fanion.groups.model import GROUP_TYPES_MAX, new_types
from fanion.groups.store import write_types
from fanion.projects.store import move_flag_version, set_account_filters
from fanion.transfer.document import ACCOUNT_FILTERS, Document, DocumentError
from fanion.transfer.export_store import read_project
from fanion.transfer.importing.actions import import_actions
from fanion.transfer.importing.annotations import import_annotations
from fanion.transfer.importing.cohorts import import_cohorts
from fanion.transfer.importing.definitions import (
    import_event_definitions,
    import_property_definitions,
)
from fanion.transfer.importing.experiments import import_experiments
from fanion.transfer.importing.flags import import_flags, import_roles
from fanion.transfer.importing.insights import (
    import_alerts,
    import_dashboards,
    import_insights,
    import_segments,
)
from fanion.transfer.importing.target import ImportTarget, matched_keys
from fanion.transfer.importing.validation import StoredDefinitions, find_faults, normalised
from fanion.transfer.references import replace_ids, replace_names
from fanion.transfer.report import ObjectOutcome, Report, ignored
from fanion.transfer.snapshot import cohort_entry, flag_entry, insight_entry, names_of

# A document of another installation may have the same fault a thousand times.
FAULTS_LISTED_MAX = 50


class _DryRun(Exception):
    """An exception that rolls back a dry run."""


async def import_document(
    records: Records,
    author: Author,
    document: Document,
    *,
    dry_run: bool = False,
    on_outcome: Callable[[ObjectOutcome], None] = ignored,
) -> Report:
    """Import a document and report the outcome of each object.

    Args:
        dry_run: Report the changes and roll them back.
        on_outcome: Called with each outcome before the transaction commits.

    Raises:
        DocumentError: The document has faults, and nothing was written; or the project was changed
            meanwhile.
        Invalid: An object cannot be stored; the transaction is rolled back.
    """
    document = normalised(document)
    async with records.read() as connection:
        stored_definitions = await connection.run_sync(_stored_definitions, author, document)
    require_sound(document, stored_definitions)
    report = Report(on_outcome=on_outcome)
    try:
        async with records.write() as connection:
            await connection.run_sync(_import, author, document, report)
            if dry_run:
                raise _DryRun
    except _DryRun:
        pass
    except (IntegrityError, TransactionConflict):
        raise DocumentError(
            "the project was changed by another request during the import; nothing was imported, "
            "try again"
        ) from None
    return report


def require_sound(document: Document, stored_definitions: StoredDefinitions) -> None:
    """Check a document before it is imported.

    Args:
        document: A normalised document.

    Raises:
        DocumentError: There are faults. The text has a line for each entry that has one, at most
            FAULTS_LISTED_MAX.
    """
    texts = {
        (fault.section, fault.index): fault.text
        for fault in find_faults(document, stored_definitions)
    }
    lines = list(texts.values())
    if len(lines) > FAULTS_LISTED_MAX:
        lines[FAULTS_LISTED_MAX:] = [f"and {len(lines) - FAULTS_LISTED_MAX} more"]
    if lines:
        raise DocumentError("\n".join(lines))


def _stored_definitions(
    connection: Connection, author: Author, document: Document
) -> StoredDefinitions:
    stored = read_project(connection, author.organization_id, author.project_id, with_members=False)
    keys = matched_keys(document, stored)
    names = names_of(stored, keys)
    cohorts = [cohort_entry(cohort, names) for cohort in stored.cohorts]
    return StoredDefinitions(
        {flag.key: flag_entry(flag, names, keys) for flag in stored.flags},
        {cohort.key: cohort for cohort in cohorts},
        {insight.short_id: insight_entry(insight, names) for insight in stored.insights},
        {
            keys.dashboards[dashboard.id]: replace_ids(dashboard.filters, names)
            for dashboard in stored.own_dashboards
            if dashboard.id in keys.dashboards
        },
    )


def _import(connection: Connection, author: Author, document: Document, report: Report) -> None:
    # This lock serialises imports into one project.
    mine = select(projects.c.id).where(projects.c.id == author.project_id)
    connection.execute(mine.with_for_update())
    stored = read_project(connection, author.organization_id, author.project_id, with_members=False)
    keys = matched_keys(document, stored)
    target = ImportTarget(
        connection, author, document, stored, keys, names_of(stored, keys), report
    )
    broken = flags_without_answer(connection, author.project_id)
    _import_group_types(target)
    import_event_definitions(target)
    import_property_definitions(target)
    import_actions(target)
    import_cohorts(target)
    _import_account_filters(target)
    import_segments(target)
    import_insights(target)
    import_dashboards(target)
    import_alerts(target)
    import_annotations(target)
    import_roles(target)
    import_flags(target)
    import_experiments(target)
    _require_answers(target, {flag.key for flag in stored.flags if flag.active} - broken.keys())


def _require_answers(target: ImportTarget, working: set[str]) -> None:
    """Raise DocumentError if the import breaks a flag.

    Args:
        working: Keys of flags that must stay computable.
    """
    for key, why in flags_without_answer(target.connection, target.project_id).items():
        if key in working:
            raise DocumentError(f"flag {key}: the import would break this flag ({why})")


def _import_account_filters(target: ImportTarget) -> None:
    filters = target.document.test_account_filters
    if not filters:
        return
    stored = replace_ids(list(target.stored.test_account_filters), target.names)
    fields = [] if same_json(stored, filters) else [ACCOUNT_FILTERS]
    target.report.compared("project", "test accounts", fields)
    if fields:
        author, conditions = target.author, replace_names(filters, target.ids)
        set_account_filters(
            target.connection, target.project_id, conditions, author.user_id, author.now
        )


def _import_group_types(target: ImportTarget) -> None:
    known = target.stored.group_types
    names = [group_type.group_type for group_type in target.document.group_types]
    added = new_types(known, names)
    target.group_types = {**known, **added}
    for name in names:
        if name not in target.group_types:
            raise DocumentError(
                f"group type {name}: the project already has the maximum of {GROUP_TYPES_MAX}"
            )
        if name in added:
            target.report.created("group type", name)
        else:
            target.report.unchanged("group type", name)
    if added:
        write_types(target.connection, target.project_id, added)
        move_flag_version(target.connection, target.project_id)
