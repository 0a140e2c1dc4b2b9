"""The options of questions that a SELECT cannot say, which are refused by their names."""

from dataclasses import MISSING, Field
from dataclasses import fields as fields_of
from typing import Any, Final

from fanion.errors import Invalid
from fanion.rest.options import sent_names

CODE: Final = "not_sql"


def no_sql_for(what: str) -> Invalid:
    """Return the error for a question with something that SQL cannot say."""
    return Invalid(
        f"This question cannot be opened as SQL, because of {what}.", code=CODE, attr="query"
    )


def require_known(part: Any, *known: str) -> None:
    """Refuse a part of a question with an option other than these that is not the default.

    Options that are added to questions later are refused here until they are known.

    Raises:
        Invalid: It has such an option, which the error names as clients send it.
    """
    for field in fields_of(part):
        is_known = field.name in known or not field.compare
        if is_known or getattr(part, field.name) == _default_of(field):
            continue
        names = sent_names(type(part))
        raise no_sql_for(names.get(field.name, field.name))


def _default_of(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()
