"""The bytes of a management request made into plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import msgspec

from fanion.errors import InvalidPayload, ParseError, UnsupportedMediaType
from fanion.wire import read_multipart

# Filters of flags and cohorts nest about ten levels; past this nothing sensible is meant, and
# far past it encoders run out of stack.
NESTING_MAX = 100
FORM_FIELDS_MAX = 1000
# A field of a multipart form that is longer can only be a file.
FORM_TEXT_BYTES_MAX = 1_048_576


@dataclass(frozen=True, slots=True)
class Body:
    """values: decoded JSON of any kind; of a form, each name with the list of its texts
    files:  of a multipart form, the bytes of every field
    """

    values: Any
    form: bool = False
    files: Mapping[str, bytes] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        """The text under `name`, when there is one."""
        value = self.values.get(name) if isinstance(self.values, dict) else None
        if self.form and value:
            value = value[-1]
        return value if isinstance(value, str) else None


NOTHING = Body({})


def read_body(content_type: str, raw: bytes) -> Body:
    """An empty body counts as an empty object; without a content type it is taken as JSON.

    raises: ParseError, UnsupportedMediaType
    """
    if not raw:
        return NOTHING
    media = content_type.partition(";")[0].strip().lower()
    if media == "application/x-www-form-urlencoded":
        return Body(_form(raw), form=True)
    if media == "multipart/form-data":
        return _multipart(raw, content_type)
    if media in {"", "application/json"} or media.endswith("+json"):
        return Body(_json(raw))
    raise UnsupportedMediaType(content_type)


def _form(raw: bytes) -> dict[str, list[str]]:
    try:
        return parse_qs(
            raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=FORM_FIELDS_MAX
        )
    except ValueError as error:
        raise ParseError(f"Malformed form - {error}") from None


def _multipart(raw: bytes, content_type: str) -> Body:
    try:
        fields = read_multipart(raw, content_type)
    except InvalidPayload as error:
        raise ParseError(f"Multipart form parse error - {error.detail}") from None
    texts = {
        name: [value.decode("utf-8", "replace")]
        for name, value in fields.items()
        if len(value) <= FORM_TEXT_BYTES_MAX
    }
    return Body(texts, form=True, files=fields)


def _json(raw: bytes) -> Any:
    try:
        values = msgspec.json.decode(raw)
    except RecursionError:
        raise ParseError("JSON parse error - nested too deeply") from None
    except ValueError as error:
        raise ParseError(f"JSON parse error - {error}") from None
    if raw.count(b"[") + raw.count(b"{") > NESTING_MAX and is_deep(values):
        raise ParseError("JSON parse error - nested too deeply")
    return values


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
