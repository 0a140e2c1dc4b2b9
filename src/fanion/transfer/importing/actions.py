"""The import of the actions of a document into a project."""

from fanion.actions.model import PlainAction
from fanion.actions.store import ACTIONS
from fanion.rest.validation import shared_fields
from fanion.transfer.importing.target import ImportTarget, differing

_FIELDS = PlainAction.__struct_fields__


def import_actions(target: ImportTarget) -> None:
    """Import actions, which are the same if they have the same name.

    Raises:
        Invalid: The project would have too many of them.
    """
    stored = {action.name: action for action in target.stored.actions}
    for entry in target.document.actions:
        known = stored.get(entry.name)
        if known is None:
            values = shared_fields(entry, PlainAction)
            created = ACTIONS.create(target.connection, target.author, values)
            target.actions[entry.name] = created.id
            target.report.created("action", entry.name)
            continue
        target.actions[entry.name] = known.id
        fields = differing(known, entry, _FIELDS)
        target.report.compared("action", entry.name, list(fields))
        before = ACTIONS.get(target.connection, target.project_id, known.id, for_update=True)
        ACTIONS.write(target.connection, target.author, before, fields)
