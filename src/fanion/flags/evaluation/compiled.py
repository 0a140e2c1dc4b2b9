"""A project's flags, stored and compiled; after a change only changed flags are compiled again."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, overload

import msgspec

from fanion.flags.engine.conditions import compile_cohort
from fanion.flags.engine.definition import Flag, FlagDefinitions, FlagRow, compile_flag
from fanion.flags.engine.flag_set import FlagSet, build_flag_set
from fanion.flags.engine.kept_memory import KEPT_MEMORY, KeptMemory
from fanion.flags.engine.model import Decision

_encode = msgspec.msgpack.Encoder().encode
# Decoded without types, so that stored values stay as they are, even odd filters.
_decode = msgspec.msgpack.Decoder().decode

# A row that msgpack cannot encode, such as one with a number beyond 64 bits, stays as it is.
Packed = bytes | FlagRow


class PackedRows(Sequence[FlagRow]):
    """A list of rows, each decoded when it is read.

    A flag with two conditions takes 509 bytes instead of 2,810 as objects (tracemalloc).
    """

    __slots__ = ("packed",)

    def __init__(self, rows: Iterable[FlagRow]) -> None:
        self.packed: tuple[Packed, ...] = tuple(map(_pack_row, rows))

    def __len__(self) -> int:
        return len(self.packed)

    def __iter__(self) -> Iterator[FlagRow]:
        return map(_unpack_row, self.packed)

    @overload
    def __getitem__(self, index: int) -> FlagRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[FlagRow]: ...
    def __getitem__(self, index: int | slice) -> FlagRow | Sequence[FlagRow]:
        if isinstance(index, slice):
            return [_unpack_row(row) for row in self.packed[index]]
        return _unpack_row(self.packed[index])


def encode_packed_rows(rows: object) -> list[msgspec.Raw | FlagRow]:
    """Encode packed rows, a type that msgpack does not know; a hook of its encoder."""
    if not isinstance(rows, PackedRows):
        raise NotImplementedError(f"{type(rows).__name__} cannot be encoded")
    return [msgspec.Raw(row) if isinstance(row, bytes) else row for row in rows.packed]


def _pack_row(row: FlagRow) -> Packed:
    try:
        return _encode(row)
    except (OverflowError, TypeError, ValueError, RecursionError):
        return row


def _unpack_row(packed: Packed) -> FlagRow:
    return packed if isinstance(packed, FlagRow) else FlagRow(**_decode(packed))


# What a fragment takes besides its text: an object, and an entry in a dict.
_FRAGMENT_OVERHEAD_BYTES: Final = 150

# Encodes what an answer says of one decision.
EncodeFragment = Callable[[Flag, Decision], bytes]


class Fragments(dict[Decision, bytes]):
    """The JSON of each decision in answers of one form, encoded at its first use.

    An answer is a join of fragments. Only decisions that were given take memory.

    Attributes:
        size: The memory that the fragments take, in bytes.
    """

    __slots__ = ("__weakref__", "_encode", "_flags", "_memory", "size")

    def __init__(
        self,
        encode: EncodeFragment,
        flags: Mapping[str, Flag],
        memory: KeptMemory = KEPT_MEMORY,
    ) -> None:
        self._encode = encode
        self._flags = flags
        self._memory = memory
        self.size = 0
        memory.add(self)

    def __missing__(self, decision: Decision) -> bytes:
        fragment = self[decision] = self._encode(self._flags[decision.key], decision)
        size = len(fragment) + _FRAGMENT_OVERHEAD_BYTES
        self.size += size
        self._memory.use(size)
        return fragment

    def forget(self) -> int:
        """Forget all fragments, and return how many bytes they took."""
        size, self.size = self.size, 0
        self.clear()
        return size

    def join(self, decisions: Iterable[Decision]) -> bytes:
        """Return the fragments of the decisions, with commas between them."""
        return b",".join(map(self.__getitem__, decisions))


@dataclass(frozen=True, slots=True)
class CompiledFlags:
    """The stored and compiled flags of one version.

    Attributes:
        compiled: In the order of `rows`, to be reused by the next build.
    """

    definitions: FlagDefinitions
    flag_set: FlagSet
    rows: PackedRows
    compiled: Sequence[Flag]
    _fragments: dict[EncodeFragment, Fragments] = field(default_factory=dict, repr=False)

    def fragments(self, encode: EncodeFragment) -> Fragments:
        """Return the fragments that a function encodes; they live as long as these flags."""
        fragments = self._fragments.get(encode)
        if fragments is None:
            fragments = self._fragments[encode] = Fragments(encode, self.flag_set.flags)
        return fragments


def build_compiled_flags(
    definitions: FlagDefinitions, former: CompiledFlags | None = None
) -> CompiledFlags:
    """Compile a project's flags; flags that cannot be computed are set aside, never an error.

    Args:
        former: Flags of the same project. Flags are reused if their rows are equal.
    """
    rows = PackedRows(definitions.flags)
    flags = _compiled(definitions.flags, rows, former)
    flag_set = build_flag_set(
        flags,
        definitions.group_types,
        map(compile_cohort, definitions.cohorts),
        former.flag_set if former is not None and _surround_alike(definitions, former) else None,
    )
    return CompiledFlags(replace(definitions, flags=rows), flag_set, rows, flags)


def _compiled(
    rows: Sequence[FlagRow], packed: PackedRows, former: CompiledFlags | None
) -> list[Flag]:
    known: dict[Packed, Flag] = {}
    if former is not None:
        pairs = zip(former.rows.packed, former.compiled, strict=True)
        known = {key: flag for key, flag in pairs if isinstance(key, bytes)}
    return [
        known[key] if isinstance(key, bytes) and key in known else compile_flag(row)
        for key, row in zip(packed.packed, rows, strict=True)
    ]


def _surround_alike(definitions: FlagDefinitions, former: CompiledFlags) -> bool:
    """Return whether group types and cohorts, which conditions name, are unchanged.

    They are compared as bytes, because Python considers 1 and True equal.
    """
    return _surroundings(definitions) == _surroundings(former.definitions)


def _surroundings(definitions: FlagDefinitions) -> bytes | object:
    try:
        return _encode((definitions.group_types, definitions.cohorts))
    except (OverflowError, TypeError, ValueError, RecursionError):
        return object()  # equal to nothing
