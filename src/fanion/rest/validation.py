"""Converts a client's values to a typed struct, and reports the first problem.

The texts are those of Django REST framework, which clients compare.

Source: capture.md section 10; flags.md section 12.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from msgspec import inspect

from fanion.errors import Invalid
from fanion.rest.unknown_fields import CREDENTIAL_NAMES, no_choice, require_known, require_supported

S = TypeVar("S", bound=msgspec.Struct)
Convert = Callable[[Any], Any]

INTEGER_CHARS_MAX = 20
INTEGER_MAX = 2**63 - 1  # the largest integer in a column of either store
_TRUE = frozenset({"t", "y", "yes", "true", "on", "1"})
_FALSE = frozenset({"f", "n", "no", "false", "off", "0"})
_WHOLE = re.compile(r"\.0*\s*$")
_DATETIME_FORMAT = "YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]"


def read_struct(kind: type[S], values: object, *, form: bool = False) -> S:
    """Convert values to a struct.

    A struct that forbids unknown fields rejects all names except its own and those in two class
    variables. `also_known` contains names that are ignored, `unsupported` those whose values must
    be idle, each with advice.

    Args:
        values: Decoded JSON, or for a form each name with the list of its texts.

    Raises:
        Invalid: `attr` names the field; nested names are joined by `__`.
    """
    if not isinstance(values, dict):
        type_name = type(values).__name__
        raise Invalid(f"Invalid data. Expected a dictionary, but got {type_name}.")
    read = _struct(kind)
    read.refuse_unknown(values, CREDENTIAL_NAMES, form=form)
    struct: S = read.from_form(values) if form else read(values)
    return struct


class _StructReader:
    def __init__(self, kind: type[msgspec.Struct]) -> None:
        self._kind = kind
        self._known: frozenset[str] | None = None
        info = inspect.type_info(kind)
        assert isinstance(info, inspect.StructType)
        self._fields = [
            (f.encode_name, f.name, f.required, _bare(f.type), _converter(f.type))
            for f in info.fields
        ]
        self._unsupported: Mapping[str, str] = getattr(kind, "unsupported", {})
        if info.forbid_unknown_fields:
            also_known: frozenset[str] = getattr(kind, "also_known", frozenset())
            own = {f.encode_name for f in info.fields}
            self._known = also_known.union(own, self._unsupported)

    def __call__(self, values: object) -> Any:
        if not isinstance(values, dict):
            type_name = type(values).__name__
            raise Invalid(f"Invalid data. Expected a dictionary, but got {type_name}.")
        read: dict[str, Any] = {}
        for name, attribute, required, _, convert in self._fields:
            if name in values:
                read[attribute] = _within(name, convert, values[name])
            elif required:
                raise Invalid("This field is required.", code="required", attr=name)
        return self._kind(**read)

    def from_form(self, texts: Mapping[str, list[str]]) -> Any:
        """Read the texts of a form, which are JSON for fields that are not scalars."""
        return self(
            {
                name: _from_texts(kind, texts[name])
                for name, _, _, kind, _ in self._fields
                if name in texts
            }
        )

    def refuse_unknown(
        self,
        values: Mapping[str, Any],
        ignored: frozenset[str] = frozenset(),
        *,
        form: bool = False,
    ) -> None:
        """Raise Invalid for unknown names, and for unsupported ones that are not idle."""
        if self._known is not None and not self._known.issuperset(values):
            require_known((name for name in values if name not in ignored), self._known)
        sent = {name: values[name] for name in self._unsupported if name in values}
        if form:
            sent = {name: _plain_value(texts) for name, texts in sent.items()}
        if sent:
            require_supported(sent, self._unsupported)

    def nested(self, values: object) -> Any:
        if isinstance(values, dict):
            self.refuse_unknown(values)
        return self(values)


@cache
def _struct(kind: type[msgspec.Struct]) -> _StructReader:
    return _StructReader(kind)


def _within(name: str, convert: Convert, value: object) -> Any:
    try:
        return convert(value)
    except Invalid as problem:
        attr = name if problem.attr is None else f"{name}__{problem.attr}"
        raise Invalid(problem.detail, code=problem.code, attr=attr) from None


def _bare(kind: inspect.Type) -> inspect.Type:
    """Return the type without metadata and without `| None`."""
    while True:
        if isinstance(kind, inspect.Metadata):
            kind = kind.type
        elif isinstance(kind, inspect.UnionType):
            kind = next(t for t in kind.types if not isinstance(t, inspect.NoneType))
        else:
            return kind


def _from_texts(kind: inspect.Type, texts: list[str]) -> Any:
    structured = inspect.ListType | inspect.DictType | inspect.StructType | inspect.AnyType
    if not isinstance(kind, structured):
        return texts[-1]
    try:
        return msgspec.json.decode(texts[-1])
    except (msgspec.DecodeError, RecursionError):
        return texts if isinstance(kind, inspect.ListType) else texts[-1]


def _plain_value(texts: list[str]) -> Any:
    """Return the value of a form field, which may be JSON or a boolean."""
    try:
        return msgspec.json.decode(texts[-1].lower())
    except (msgspec.DecodeError, RecursionError):
        return texts[-1]


def _converter(kind: inspect.Type) -> Convert:
    match kind:
        case inspect.Metadata(type=inner):
            return _converter(inner)
        case inspect.UnionType(types=types):
            return _optional(types)
        case inspect.AnyType():
            return lambda value: value
        case inspect.ListType(item_type=item):
            return _list(_converter(item))
        case inspect.StructType(cls=cls):
            return _required(_struct(cls).nested)
        case inspect.LiteralType(values=choices):
            return _required(_choice(tuple(choices)))
        case inspect.StrType():
            return _required(_text(kind))
        case inspect.IntType() | inspect.FloatType():
            return _required(_number(kind))
    for plain, convert in _PLAIN:
        if isinstance(kind, plain):
            return _required(convert)
    raise TypeError(f"no way to read {kind} from a request")


def _optional(types: tuple[inspect.Type, ...]) -> Convert:
    kinds = [t for t in types if not isinstance(t, inspect.NoneType)]
    if len(kinds) != 1:
        raise TypeError("a field of a request must have one type, or one type and null")
    convert = _converter(kinds[0])
    if len(types) == 1:
        return convert
    return lambda value: None if value is None else convert(value)


def _required(convert: Convert) -> Convert:
    def with_value(value: object) -> Any:
        if value is None:
            raise Invalid("This field may not be null.", code="null")
        return convert(value)

    return with_value


def _text(kind: inspect.StrType) -> Convert:
    blank_allowed = not kind.min_length
    longest = kind.max_length

    def convert(value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise Invalid("Not a valid string.")
        text = str(value).strip()
        if not text and not blank_allowed:
            raise Invalid("This field may not be blank.", code="blank")
        if longest is not None and len(text) > longest:
            raise Invalid(
                f"Ensure this field has no more than {longest} characters.", code="max_length"
            )
        if "\0" in text:
            raise Invalid("Null characters are not allowed.", code="null_characters_not_allowed")
        return text

    return convert


def _number(kind: inspect.IntType | inspect.FloatType) -> Convert:
    parse = _integer if isinstance(kind, inspect.IntType) else _float
    lowest, highest = kind.ge, kind.le

    def convert(value: object) -> float:
        number = parse(value)
        if highest is not None and number > highest:
            raise Invalid(
                f"Ensure this value is less than or equal to {highest}.", code="max_value"
            )
        if lowest is not None and number < lowest:
            raise Invalid(
                f"Ensure this value is greater than or equal to {lowest}.", code="min_value"
            )
        return number

    return convert


def _integer(value: object) -> int:
    text = _WHOLE.sub("", str(value))
    try:
        if isinstance(value, bool) or len(text) > INTEGER_CHARS_MAX:
            raise ValueError
        number = int(text)
    except ValueError:
        raise Invalid("A valid integer is required.") from None
    if abs(number) > INTEGER_MAX:
        raise Invalid("A valid integer is required.")
    return number


def _float(value: object) -> float:
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        number = float(value)
    except (ValueError, OverflowError):
        raise Invalid("A valid number is required.") from None
    if number - number != 0:  # infinite or not a number
        raise Invalid("A valid number is required.")
    return number


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    word = value.lower() if isinstance(value, str) else ""
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise Invalid("Must be a valid boolean.")


def _time(value: object) -> datetime:
    """Parse a time; without an offset it is UTC."""
    try:
        if not isinstance(value, str):
            raise ValueError
        time = datetime.fromisoformat(value)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid(
            f"Datetime has wrong format. Use one of these formats instead: {_DATETIME_FORMAT}."
        ) from None


def _uuid(value: object) -> UUID:
    try:
        if not isinstance(value, str):
            raise ValueError
        return UUID(value)
    except ValueError:
        raise Invalid("Must be a valid UUID.") from None


def _dict(value: object) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise Invalid(
        f'Expected a dictionary of items but got type "{type(value).__name__}".', code="not_a_dict"
    )


def _list(item: Convert) -> Convert:
    def convert(value: object) -> list[Any]:
        if value is None:
            raise Invalid("This field may not be null.", code="null")
        if not isinstance(value, list):
            type_name = type(value).__name__
            raise Invalid(
                f'Expected a list of items but got type "{type_name}".', code="not_a_list"
            )
        return [_within(str(index), item, member) for index, member in enumerate(value)]

    return convert


def _choice(choices: tuple[object, ...]) -> Convert:
    allowed = [str(choice) for choice in choices]

    def convert(value: object) -> object:
        # Python considers booleans equal to 0 and 1, but they are not a valid choice.
        if isinstance(value, str | int) and not isinstance(value, bool) and value in choices:
            return value
        raise no_choice(value, allowed, None)

    return convert


_PLAIN: tuple[tuple[type[inspect.Type], Convert], ...] = (
    (inspect.BoolType, _boolean),
    (inspect.DateTimeType, _time),
    (inspect.UUIDType, _uuid),
    (inspect.DictType, _dict),
)


def given_fields(changes: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a PATCH body that the client has sent."""
    fields = msgspec.structs.asdict(changes)
    return {name: value for name, value in fields.items() if value is not msgspec.UNSET}


def shared_fields(source: object, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the values that a record or row has for the fields of a type."""
    return {name: getattr(source, name) for name in kind.__struct_fields__}


def normal_tags(tags: Sequence[str]) -> list[str]:
    """Return tags trimmed and in lower case, without blank and repeated ones, in the given order.

    Source: capture.md section 7.
    """
    return [tag for tag in dict.fromkeys(tag.strip().lower() for tag in tags) if tag]


def object_id(text: str) -> int | None:
    """Return the id in a path outside of the framework; None if it is not an `ObjectId`."""
    if not (text.isascii() and text.isdigit() and len(text) <= INTEGER_CHARS_MAX):
        return None
    number = int(text)
    return number if 1 <= number <= INTEGER_MAX else None
