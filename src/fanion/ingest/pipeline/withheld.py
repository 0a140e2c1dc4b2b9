"""What is not made of events whose person was deleted after they were accepted."""

from collections.abc import Iterable, Sequence

from msgspec import structs

from fanion.events.erasure import Erasure
from fanion.ingest.pipeline.types import Arrived


def without_erased(arrived: Sequence[Arrived], erasures: Iterable[Erasure]) -> Sequence[Arrived]:
    """The events that may be stored, as they may be.

    An event of a person that was deleted with its events is left out; one of a person that was
    deleted alone makes no person. No other person is joined with one that was deleted.
    """
    for erasure in erasures:
        arrived = [one for one in (_under(erasure, event) for event in arrived) if one is not None]
    return arrived


def _under(erasure: Erasure, arrived: Arrived) -> Arrived | None:
    if arrived.received_at > erasure.requested_at:
        return arrived
    prepared = arrived.prepared
    if prepared.distinct_id in erasure.distinct_ids:
        if erasure.with_events:
            return None
        silent = structs.replace(prepared, update=None, merge=None, makes_person=False)
        return structs.replace(arrived, prepared=silent)
    if prepared.merge is not None and prepared.merge.other_id in erasure.distinct_ids:
        return structs.replace(arrived, prepared=structs.replace(prepared, merge=None))
    return arrived
