"""The bytes of a management request made into plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import parse_qs

import msgspec

from fanion.errors import ParseError, UnsupportedMediaType

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
    A form in several parts is read by `rest.form`.

    raises: ParseError, UnsupportedMediaType
    """
    if not raw:
        return NOTHING
    media = content_type.partition(";")[0].strip().lower()
    if media == "application/x-www-form-urlencoded":
        return Body(_form(raw), form=True)
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
