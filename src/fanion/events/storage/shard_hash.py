"""The shard to which an event belongs.

It is the remainder of `sipHash64(project_id, distinct_id)`, the sharding key of the Distributed
table, so that all events of a distinct id are on one shard, whoever inserts them.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from fanion.events.event import Event, EventRejected

_Words = npt.NDArray[np.uint64]

# SipHash-2-4 with a key of zeros.
_START: Final = (
    0x736F6D6570736575,
    0x646F72616E646F6D,
    0x6C7967656E657261,
    0x7465646279746573,
)
_WORD: Final = 8


def divided(events: Sequence[Event], slots: Sequence[int]) -> dict[int, list[int]]:
    """Return the places of the events of each shard, the shards in the order of their numbers.

    Raises:
        EventRejected: The number of a project does not fit its column.
    """
    try:
        hashes = _hash_keys(events)
    except OverflowError as error:
        raise EventRejected(f"a number does not fit its column: {error}") from None
    shards = np.array(slots)[(hashes % np.uint64(len(slots))).astype(np.int64)]
    return {int(number): np.flatnonzero(shards == number).tolist() for number in np.unique(shards)}


def _hash_keys(events: Sequence[Event]) -> _Words:
    """Return `sipHash64(project_id, distinct_id)` of each event."""
    projects, at = np.unique(
        np.array([event.project_id for event in events], np.uint64), return_inverse=True
    )
    of_projects = sip_hashes([project.tobytes() for project in projects])[at]
    ids = sip_hashes([event.distinct_id.encode(errors="replace") for event in events])
    both = np.column_stack((of_projects, ids, np.full(len(events), _length(2 * _WORD), np.uint64)))
    return _hash_words(both.ravel(), np.full(len(events), 3))


def sip_hashes(texts: Sequence[bytes]) -> _Words:
    """Return `sipHash64` of each text."""
    words = b"".join([_padded(text) for text in texts])
    return _hash_words(
        np.frombuffer(words, "<u8"), np.array([len(text) // _WORD + 1 for text in texts], np.int64)
    )


def _padded(text: bytes) -> bytes:
    """Return whole words, of which the last one ends with the length of the text."""
    return text + bytes(_WORD - 1 - len(text) % _WORD) + bytes((len(text) & 0xFF,))


def _length(size: int) -> int:
    """Return the last word of a text that has whole words."""
    return (size & 0xFF) << 56


def _hash_words(words: _Words, counts: npt.NDArray[np.int64]) -> _Words:
    """Return the hash of each text.

    Args:
        words: The words of all texts.
        counts: How many words each text has.
    """
    # Texts with more words come first: each step takes one word of all that have more.
    order = np.argsort(-counts, kind="stable")
    starts = (np.cumsum(counts) - counts)[order]
    longer = np.searchsorted(-counts[order], -np.arange(counts.max(initial=0)), side="left")
    state = [np.full(len(counts), start, np.uint64) for start in _START]
    for step, number in enumerate(longer.tolist()):
        word = words[starts[:number] + step]
        some = [part[:number] for part in state]
        some[3] = some[3] ^ word
        _mix(some, 2)
        some[0] = some[0] ^ word
        for part, mixed in zip(state, some, strict=True):
            part[:number] = mixed
    state[2] ^= np.uint64(0xFF)
    _mix(state, 4)
    hashes = np.empty(len(counts), np.uint64)
    hashes[order] = state[0] ^ state[1] ^ state[2] ^ state[3]
    return hashes


def _mix(state: list[_Words], rounds: int) -> None:
    a, b, c, d = state
    for _ in range(rounds):
        a = a + b
        b = _rotated(b, 13) ^ a
        a = _rotated(a, 32)
        c = c + d
        d = _rotated(d, 16) ^ c
        a = a + d
        d = _rotated(d, 21) ^ a
        c = c + b
        b = _rotated(b, 17) ^ c
        c = _rotated(c, 32)
    state[:] = a, b, c, d


def _rotated(words: _Words, bits: int) -> _Words:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
