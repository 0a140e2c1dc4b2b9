"""Members as a CSV table.

source: cohorts.md section 14, "CSV"
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

DISTINCT_IDS_MAX = 10
_DROPPED = ("uuid", "type", "is_identified", "matched_recordings", "value_at_data_point")


def members_table(persons: Sequence[Mapping[str, Any]]) -> str:
    """persons: as the list of members shows them

    One header row with the columns of all, by name; nested values are flattened with dots.
    Empty when there is nobody.
    """
    rows = [dict(_flat("", _reduced(person))) for person in persons]
    if not rows:
        return ""
    columns = sorted({name for row in rows for name in row})
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _reduced(person: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in person.items() if name not in _DROPPED}
    properties = dict(kept.get("properties") or {})
    if properties.get("email"):
        kept["email"] = properties.pop("email")
    kept["properties"] = properties
    kept["distinct_ids"] = list(kept.get("distinct_ids") or ())[:DISTINCT_IDS_MAX]
    return kept


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _flat(f"{name}.{place}", inner)
    elif value is None:
        yield name, ""
    else:
        yield name, value if isinstance(value, str) else msgspec.json.encode(value).decode()
