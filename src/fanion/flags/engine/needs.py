"""What must be read before flags can be evaluated; mostly nothing.

source: flags.md sections 6 to 9
"""

from collections.abc import Collection, Mapping

from msgspec import Struct

from fanion.flags.engine.flag_set import FlagSet
from fanion.flags.engine.reads import Reads, union
from fanion.flags.engine.subject import Subject


class Needs(Struct, frozen=True, gc=False):
    """person:     the stored properties of the person
    cohorts:    ids of the cohorts whose stored members matter
    groups:     (group type index, group key) whose stored properties matter
    continuity: keys of the flags whose kept distinct ids matter
    """

    person: bool = False
    cohorts: frozenset[int] = frozenset()
    groups: frozenset[tuple[int, str]] = frozenset()
    continuity: frozenset[str] = frozenset()

    @property
    def nothing(self) -> bool:
        return self is NOTHING or self == NOTHING


NOTHING = Needs()
_NO_GROUPS: frozenset[tuple[int, str]] = frozenset()
_NO_PROPERTIES: Mapping[str, object] = {}


def needs(flag_set: FlagSet, subject: Subject, keys: Collection[str] | None = None) -> Needs:
    """Compare what the flags look at with what the request itself says.

    subject: as the request describes it; stored values are not looked at
    keys:    the flags asked for; None for all
    """
    reads = flag_set.reads if keys is None else _of(flag_set, keys)
    person = not _covers(subject, reads.person)
    groups = _groups(flag_set, subject, reads) if reads.groups and subject.groups else _NO_GROUPS
    if not (person or reads.cohorts or groups or reads.continuity):
        return NOTHING
    return Needs(person, reads.cohorts, groups, reads.continuity)


def _of(flag_set: FlagSet, keys: Collection[str]) -> Reads:
    entries = [flag_set.by_key[key] for key in keys if key in flag_set.by_key]
    return entries[0].reads if len(entries) == 1 else union(entry.reads for entry in entries)


def _covers(subject: Subject, names: frozenset[str]) -> bool:
    if not names or names <= subject.sent.keys():
        return True
    return bool(subject.geoip) and names <= (subject.sent.keys() | subject.geoip.keys())


def _groups(flag_set: FlagSet, subject: Subject, reads: Reads) -> frozenset[tuple[int, str]]:
    unsent = [
        name
        for name, names in reads.groups.items()
        if name in subject.groups
        and not names <= (subject.group_properties.get(name) or _NO_PROPERTIES).keys()
    ]
    if not unsent:
        return _NO_GROUPS
    return frozenset((flag_set.group_indexes[name], subject.groups[name]) for name in unsent)
