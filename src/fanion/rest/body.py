"""The bytes of a management request made into plain values."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import IO, Any

import msgspec

from fanion.errors import MALFORMED, InvalidPayload, ParseError, UnsupportedMediaType
from fanion.wire.decoding import READ_ON_LOOP_BYTES_MAX, split_urlencoded
from fanion.wire.incremental_json import load
from fanion.wire.json_outline import outline_of

# Filters of flags and cohorts nest about ten levels; past this nothing sensible is meant, and
# far past it encoders run out of stack.
NESTING_MAX = 100
FORM_FIELDS_MAX = 1000


@dataclass(frozen=True, slots=True)
class Body:
    """values: decoded JSON of any kind; of a form, each name with the list of its texts
    files:  of a multipart form, every field from its beginning; closed with the body
    """

    values: Any
    form: bool = False
    files: Mapping[str, IO[bytes]] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        """The text under `name`, when there is one."""
        value = self.values.get(name) if isinstance(self.values, dict) else None
        if self.form and value:
            value = value[-1]
        return value if isinstance(value, str) else None

    def close(self) -> None:
        for file in self.files.values():
            file.close()


NOTHING = Body({})


def read_body(content_type: str, raw: bytes) -> Body:
    """An empty body counts as an empty object; without a content type it is taken as JSON.
    A form in several parts is read by `rest.multipart_reader`.

    raises: ParseError, UnsupportedMediaType
    """
    if not raw:
        return NOTHING
    if _media(content_type) == "application/x-www-form-urlencoded":
        return Body(_form(raw), form=True)
    _require_json(content_type)
    return Body(_json(raw))


def read_texts(content_type: str, raw: bytes, names: Set[str]) -> Body:
    """As `read_body`, of a large object or form these fields alone; they are not to be large.

    raises: ParseError, UnsupportedMediaType
    """
    if _media(content_type) == "application/x-www-form-urlencoded":
        fields = _form(raw)
        return Body({name: fields[name] for name in names & fields.keys()}, form=True)
    _require_json(content_type)
    try:
        value = outline_of(raw, names, strict=True).value
    except InvalidPayload as error:
        raise _not_json(error) from None
    return Body(value)


def _media(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _require_json(content_type: str) -> None:
    media = _media(content_type)
    if media not in {"", "application/json"} and not media.endswith("+json"):
        raise UnsupportedMediaType(content_type)


def _form(raw: bytes) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    try:
        for name, value in split_urlencoded(raw, FORM_FIELDS_MAX):
            fields.setdefault(name.decode(), []).append(value.decode())
    except InvalidPayload as error:
        raise ParseError(f"Malformed form - {_reason(error)}") from None
    except ValueError as error:
        raise ParseError(f"Malformed form - {error}") from None
    return fields


def _json(raw: bytes) -> Any:
    values = _decode(raw) if len(raw) <= READ_ON_LOOP_BYTES_MAX else _decode_large(raw)
    if raw.count(b"[") + raw.count(b"{") > NESTING_MAX and is_deep(values):
        raise ParseError("JSON parse error - nested too deeply")
    return values


def _decode_large(raw: bytes) -> Any:
    try:
        return load(raw, strict=True)
    except InvalidPayload as error:
        raise _not_json(error) from None


def _not_json(error: InvalidPayload) -> ParseError:
    return ParseError(f"JSON parse error - {_reason(error)}")


def _reason(error: InvalidPayload) -> str:
    return error.detail.removeprefix(MALFORMED).removesuffix(".")


def _decode(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except RecursionError:
        raise ParseError("JSON parse error - nested too deeply") from None
    except ValueError as error:
        raise ParseError(f"JSON parse error - {error}") from None


def is_deep(values: Any, levels_max: int = NESTING_MAX) -> bool:
    level = [values]
    for _ in range(levels_max):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner.extend(value.values())
            elif isinstance(value, list):
                inner.extend(value)
        if not inner:
            return False
        level = inner
    return True
