"""The addresses of the people behind a number, as answers name them.

Source: insights.md, section 13.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

_encode = msgspec.json.Encoder(order="deterministic").encode
# Values that ask for nothing.
_NOTHING: tuple[object, ...] = (None, "", [], {})


def people_url(project_id: int, kind: str, sent: Mapping[str, Any], **place: Any) -> str:
    """Return the address, below the root of the server, of the people behind a number.

    Args:
        kind: The last part of the path: `trends`, `funnel`, `retention`, …
        sent: The question, by the names of `filters`.
        place: The place of the number, by the names of section 13. These replace names of the
            question; None leaves a name of the question out.
    """
    return PeopleUrls(project_id, kind, sent).url(**place)


class PeopleUrls:
    """The addresses of the people behind the numbers of one answer; encodes the question once."""

    def __init__(self, project_id: int, kind: str, sent: Mapping[str, Any]) -> None:
        self._path = f"/api/projects/{project_id}/persons/{kind}/"
        self._question = dict(_texts(sent))

    def url(self, **place: Any) -> str:
        question = [(name, text) for name, text in self._question.items() if name not in place]
        parameters = urlencode([*question, *_texts(place)], quote_via=quote)
        return f"{self._path}?{parameters}" if parameters else self._path


def _texts(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield values as a query string carries them: text as it is, all else as JSON."""
    for name, value in values.items():
        if not any(type(value) is type(nothing) and value == nothing for nothing in _NOTHING):
            yield name, value if isinstance(value, str) else _encode(value).decode()
