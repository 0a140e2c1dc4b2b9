"""Addresses of the people behind a number, as answers name them.

source: insights.md section 13
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

_encode = msgspec.json.Encoder(order="deterministic").encode
# What asks for nothing.
_NOTHING: tuple[object, ...] = (None, "", [], {})


def people_url(project_id: int, kind: str, sent: Mapping[str, Any], **place: Any) -> str:
    """Below the root of the server.

    kind:  `trends`, `funnel`, `retention`, …: the last part of the path
    sent:  the question, by the names of `filters`
    place: of the number, by the names of section 13; over names of the question. None leaves a
           name of the question out
    """
    return PeopleUrls(project_id, kind, sent).url(**place)


class PeopleUrls:
    """Of the numbers of one answer; the question is encoded once."""

    def __init__(self, project_id: int, kind: str, sent: Mapping[str, Any]) -> None:
        self._path = f"/api/projects/{project_id}/persons/{kind}/"
        self._question = dict(_texts(sent))

    def url(self, **place: Any) -> str:
        question = [(name, text) for name, text in self._question.items() if name not in place]
        parameters = urlencode([*question, *_texts(place)], quote_via=quote)
        return f"{self._path}?{parameters}" if parameters else self._path


def _texts(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """As a query string carries them: text as it is, all else as JSON."""
    for name, value in values.items():
        if not any(type(value) is type(one) and value == one for one in _NOTHING):
            yield name, value if isinstance(value, str) else _encode(value).decode()
