"""The breakdown of a question: properties or cohorts whose values have their own entries.

Source: insights.md, section 2e.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Literal, Self, get_args

from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import OFF_SCHEMA, StrictOptions, switch, whole
from fanion.insights.sessions.fields import check_session_field
from fanion.properties.operators import VALUES_MAX as IDS_MAX
from fanion.rest.json_schema import JsonSchema, listed, one_of, or_null
from fanion.rest.options import Before, Option, Options, items, read, schemas_of

# The types for which insights/sql/breakdown.py has SQL.
BreakdownType = Literal["event", "person", "group", "session", "cohort", "hogql"]
BREAKDOWNS_MAX: Final = 3
VALUES_MAX: Final = 25  # values of a breakdown, unless the question sets a limit
VALUES_MOST: Final = 500
BINS_MAX: Final = 100
GROUP_TYPES_MAX: Final = 5


def _type(fields: Fields, name: str, _: Before) -> str | None:
    kind = fields.text(name)
    if kind is not None and kind not in get_args(BreakdownType):
        raise fields.error(name, f"Breakdowns of type {kind} are not supported.")
    return kind


def _group_type_index(fields: Fields, name: str, before: Before) -> int | None:
    index = fields.whole(name, 0, GROUP_TYPES_MAX - 1)
    if index is None and before["type"] == "group":
        raise fields.required(name)
    return index


def _key_name(fields: Fields) -> str:
    return "value" if fields.raw("property") is None and fields.raw("value") else "property"


def _key(fields: Fields, _: str, before: Before) -> str:
    name = _key_name(fields)
    if before["type"] == "cohort":
        return _cohort_key(fields, fields.raw(name), name)
    return fields.text(name) or ""


_TYPE: Final = Option(_type, or_null(one_of(get_args(BreakdownType))))
_GROUP_TYPE: Final = Option(_group_type_index, whole(0, GROUP_TYPES_MAX - 1).schema)
# The name of a property, or the id of a cohort.
_KEY: Final[JsonSchema] = {"type": ["string", "integer"]}
_KEYS: Final[JsonSchema] = {"anyOf": [_KEY, listed(_KEY, maxItems=IDS_MAX)]}
_VALUE: Final = {"value": {"type": ["string", "integer", "null"]}}
_PROPERTY: Final = Option(_key, _KEY, "property", beside=_VALUE)


@dataclass(frozen=True, slots=True)
class Breakdown(StrictOptions):
    """One property whose values have their own entries.

    Attributes:
        key: The name of the property; for a cohort its id as text, or `all`; of type hogql an
            expression in SQL, whose text is neither parsed nor checked.
        bins: Numbers are counted in this many parts of equal width, from the least to the greatest.
        normalize_url: Whether `?`, `#` and `/` are removed from the end.
        place: The place of the key in the request.
    """

    required = ("property",)
    called = "Breakdowns"

    type: Annotated[BreakdownType, _TYPE] = "event"
    key: Annotated[str, _PROPERTY] = ""
    group_type_index: Annotated[int | None, _GROUP_TYPE] = None
    bins: Annotated[int | None, whole(1, BINS_MAX, "histogram_bin_count")] = None
    normalize_url: Annotated[bool, switch()] = False
    place: str = field(default="", compare=False)

    def completed(self, fields: Fields) -> Self:
        if not self.key:
            raise fields.error("property", "Name one property.")
        if self.type == "hogql":
            return replace(self, place=fields.place(_key_name(fields)))
        if self.type == "session":
            check_session_field(self.key, fields.place(_key_name(fields)))
        return self


@dataclass(frozen=True, slots=True)
class _Single(Options):
    """A breakdown by one property, by several of one type, or by cohorts, as it is sent."""

    keys: Annotated[
        Any,
        Option(lambda fields, name, _: fields.raw(name), _KEYS, "breakdown"),
        "A property, or ids of cohorts: one series for each value.",
    ] = None
    type: Annotated[BreakdownType, replace(_TYPE, name="breakdown_type")] = "event"
    group_type_index: Annotated[
        int | None, replace(_GROUP_TYPE, name="breakdown_group_type_index")
    ] = None
    bins: Annotated[
        int | None,
        whole(1, BINS_MAX, "breakdown_histogram_bin_count"),
        "Numbers are counted in this many bins of equal width.",
    ] = None
    normalize_url: Annotated[
        bool, switch("breakdown_normalize_url"), "Removes `?`, `#` and `/` from the end."
    ] = False

    def parts(self, fields: Fields) -> tuple[Breakdown, ...]:
        if self.keys in (None, "", []):
            return ()
        keys = self.keys if isinstance(self.keys, list) else [self.keys]
        if self.type == "cohort":
            return _cohorts(fields, keys)
        if not all(isinstance(key, str) and key for key in keys):
            raise fields.error("breakdown", "breakdown must name one property.")
        _require_few(fields, keys, BREAKDOWNS_MAX)
        for key in keys if self.type == "session" else ():
            check_session_field(key, fields.place("breakdown"))
        more = (self.group_type_index, self.bins, self.normalize_url, fields.place("breakdown"))
        return tuple(Breakdown(self.type, key, *more) for key in keys)


def _parts(fields: Fields, name: str, _: Before) -> Sequence[Breakdown]:
    """Return the parts that are sent as a list, or else those of a single breakdown."""
    listed_parts: Sequence[Breakdown] = _LISTED.read(fields, name, {})
    return listed_parts or read(_Single, fields).parts(fields)


_LISTED: Final = items(Breakdown, BREAKDOWNS_MAX, "breakdowns")
# The older names too, of which path cleaning is not calculated.
_BESIDE: Final = {**schemas_of(_Single), "breakdown_path_cleaning": OFF_SCHEMA}


def _cohorts(fields: Fields, ids: Sequence[object]) -> tuple[Breakdown, ...]:
    """Return a part for each cohort; `all` and 0 mean everyone."""
    _require_few(fields, ids, IDS_MAX)
    keys = [_cohort_key(fields, value, "breakdown") for value in ids]
    return tuple(Breakdown("cohort", key) for key in dict.fromkeys(keys))


def _require_few(fields: Fields, keys: Sequence[object], most: int) -> None:
    if len(keys) > most:
        raise fields.error("breakdown", f"Ensure this list has at most {most} elements.")


def _cohort_key(fields: Fields, value: object, name: str) -> str:
    if value in ("all", "0") or (value == 0 and not isinstance(value, bool)):
        return "all"
    text = str(value)
    if isinstance(value, bool) or not (text.isdecimal() and len(text) <= 18):
        raise fields.error(name, 'A breakdown by cohort needs ids, or "all".')
    return text


@dataclass(frozen=True, slots=True)
class Breakdowns(Options):
    """The breakdown of a question.

    Attributes:
        parts: Up to three properties whose values are combined, or one part for each cohort.
        limit: The number of values shown; all others have one entry, `Other`.
        hide_other: Whether that entry is left out.
    """

    parts: Annotated[
        Sequence[Breakdown],
        replace(_LISTED, read=_parts, beside=_BESIDE),
        "Several properties, whose values are combined.",
    ]
    limit: Annotated[
        int,
        whole(1, VALUES_MOST, "breakdown_limit"),
        "The number of values shown; all others have one entry.",
    ] = VALUES_MAX
    hide_other: Annotated[
        bool,
        switch("breakdown_hide_other_aggregation"),
        "Leaves out the entry for all other values.",
    ] = False

    @property
    def dimensions(self) -> int:
        """Return how many values each entry has; all cohorts together have one."""
        types = [part.type for part in self.parts]
        return len(types) - max(0, types.count("cohort") - 1)

    @property
    def cohort_dimension(self) -> int | None:
        """Return which value of an entry is a cohort, None without cohorts."""
        types = [part.type for part in self.parts]
        return types.index("cohort") if "cohort" in types else None

    @property
    def cohorts(self) -> tuple[int, ...]:
        keys = [part.key for part in self.parts if part.type == "cohort" and part.key != "all"]
        return tuple(int(key) for key in keys)

    @property
    def are_cohorts(self) -> bool:
        return all(part.type == "cohort" for part in self.parts)

    @property
    def with_all_cohorts(self) -> Self:
        """Return the breakdown with all cohorts shown, if it is one by cohorts."""
        if self.are_cohorts:
            return replace(self, limit=max(self.limit, len(self.parts)))
        return self


def read_breakdowns(fields: Fields) -> Breakdowns | None:
    """Read the breakdown of a question; return None without one.

    Raises:
        Invalid: An option cannot be read.
    """
    breakdowns = read(Breakdowns, fields)
    return breakdowns if breakdowns.parts else None
