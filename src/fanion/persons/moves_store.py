"""Which merges a table is concerned by: hardly any, and each would be a statement."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Connection, select

from fanion.db.bulk import IDS_MAX

Moves = Sequence[Mapping[str, Any]]


def concerning(connection: Connection, person_id: Column[Any], moves: Moves) -> Moves:
    """Those that take a person away of which there are rows, or will be by a move before.

    person_id: the column that says whose a row is
    moves:     `gone` and `survivor`, numbers of persons
    """
    gone = [move["gone"] for move in moves]
    having: set[int] = set()
    for start in range(0, len(gone), IDS_MAX):
        some = person_id.in_(gone[start : start + IDS_MAX])
        having.update(connection.scalars(select(person_id).where(some).distinct()))
    found = []
    for move in moves:
        if move["gone"] in having:
            having.add(move["survivor"])
            found.append(move)
    return found
