"""What a merge does to the identities that flags keep for a person.

source: flags.md section 9, "Merging persons"
"""

from sqlalchemy import Connection, bindparam, exists, update

from fanion.db.flag_tables import flag_continuity

_kept = flag_continuity.c
_theirs = flag_continuity.alias("theirs")
_MOVE = (
    update(flag_continuity)
    .where(_kept.person_id == bindparam("gone"))
    .where(
        ~exists().where(
            _theirs.c.person_id == bindparam("survivor"), _theirs.c.flag_key == _kept.flag_key
        )
    )
    .values(person_id=bindparam("survivor"))
)


def move_kept_identities(connection: Connection, gone: int, survivor: int) -> None:
    """To be called before the vanishing person is removed, which takes along what stays.

    A record that the surviving person already has for a flag wins. gone, survivor: numbers of
    persons of one project
    """
    connection.execute(_MOVE, {"gone": gone, "survivor": survivor})
