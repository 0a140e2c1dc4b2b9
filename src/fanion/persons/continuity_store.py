"""What a merge does to the identities that flags keep for a person.

source: flags.md section 9, "Merging persons"
"""

from sqlalchemy import Connection, bindparam, exists, update

from fanion.db.schema.flags import flag_continuity
from fanion.persons.moves_store import Moves, concerning

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


def move_kept_identities(connection: Connection, moves: Moves) -> None:
    """To be called before the vanishing persons are removed, which takes along what stays.

    A record that the surviving person already has for a flag wins.
    moves: `gone` and `survivor`, numbers of persons of one project
    """
    if theirs := concerning(connection, flag_continuity.c.person_id, moves):
        connection.execute(_MOVE, theirs)
