"""Searches for persons by the names, addresses and ids that the interface shows."""

import re
from collections.abc import Iterator
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, Text, and_, or_, select, type_coerce

from fanion.db.schema.tables import person_distinct_ids, person_overrides, persons
from fanion.persons.state.store import ids_by_uuid
from fanion.wire.distinct_id import stored_distinct_id

# Properties of which the first one that a person has is shown as the name, in this order.
NAMES = ("email", "Email", "name", "Name", "username", "Username", "UserName")

_person = persons.c
_link = person_distinct_ids.c
_override = person_overrides.c
# The properties as JSON, without blanks between names and values.
_text = type_coerce(_person.properties, Text)
_NAMED = '(?i)[{{,]"({})":"([^"\\\\]|\\\\.)*{}'
_NAME_PATTERN = "|".join(sorted({name.lower() for name in NAMES}))
_ASCII = re.compile("[\\x00-\\x7f]+")
_encode = msgspec.json.Encoder().encode


def is_found(project_id: int, search: str) -> ColumnElement[bool]:
    """Return the condition that a search finds the person.

    Args:
        search: A part of a name or an e-mail address in any case, a whole distinct id, or the UUID
            of the person or of one that was merged into it.
    """
    return or_(owns(project_id, search), *_by_other_means(project_id, search.strip()))


def _by_other_means(project_id: int, text: str) -> Iterator[ColumnElement[bool]]:
    if not text:
        return
    yield has_email(text, whole=False)
    yield _has_name(text)
    uuid = read_uuid(text)
    if uuid is not None:
        survivor = select(_override.new_person).where(
            _override.project_id == project_id, _override.old_person == uuid
        )
        yield _person.id.in_(ids_by_uuid(project_id, [uuid]))
        yield _person.id.in_(ids_by_uuid(project_id, survivor))


def owns(project_id: int, distinct_id: str) -> ColumnElement[bool]:
    own = _link.distinct_id == stored_distinct_id(distinct_id)
    owner = select(_link.person_id).where(_link.project_id == project_id, own)
    return _person.id.in_(owner)


def has_email(text: str, *, whole: bool) -> ColumnElement[bool]:
    """Return the condition on the e-mail address of a person, in any case.

    Args:
        whole: Whether the text is the whole address; otherwise it is a part of it.
    """
    email = _person.email
    return email == text.lower() if whole else email.contains(text.lower(), autoescape=True)


def _has_name(text: str) -> ColumnElement[bool]:
    """Return the condition that one of NAMES contains the text.

    The pattern is looked for in the JSON: neither engine parses all JSON that can be stored.
    """
    # The text as it is written within JSON.
    written = _encode(text)[1:-1].decode()
    pattern = "".join(map(_in_any_case, re.escape(written)))
    named = _text.regexp_match(_NAMED.format(_NAME_PATTERN, pattern))
    # The engine's own comparison leaves few rows for the pattern; it only knows the case of ASCII.
    part = max(_ASCII.findall(written), key=len, default="")
    return and_(_text.icontains(part, autoescape=True), named) if part else named


def _in_any_case(character: str) -> str:
    """Return a pattern for the character in any case.

    PostgreSQL knows the case of characters that are not ASCII only with a locale that has it.
    """
    if character.isascii():
        return character
    cases = {character, character.lower(), character.upper()}
    cases = {case for case in cases if len(case) == 1}
    return f"[{''.join(sorted(cases))}]" if len(cases) > 1 else character


def read_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
