"""The texts that tools answer: JSON of a bounded size, which says what was left out."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fanion.mcp.model import ApiAnswer, Tool

# About 12,000 tokens; assistants refuse or cut answers that are several times as large.
ANSWER_BYTES_MAX = 48 * 1024
# The bytes of an answer of the API that are received. Decoding them takes some milliseconds.
RECEIVED_BYTES_MAX = 4 * 1024 * 1024
# Room for the notes beside the rows.
_NOTE_BYTES = 512
# The names of lists of rows: of lists and queries, of saved insights.
_ROWS = ("results", "result")


def is_error(answer: ApiAnswer) -> bool:
    return answer.status >= 400 or answer.body is None


def answer_text(tool: Tool, answer: ApiAnswer) -> str:
    """Return what the assistant reads: the answer of the API, or its error with the status."""
    if answer.body is None:
        return _error_text(413, "answer_too_large", _too_large(tool, f"{RECEIVED_BYTES_MAX:,}"))
    value = _decoded(answer.body)
    if answer.status >= 400:
        fields = value if isinstance(value, dict) else {"detail": f"Status {answer.status}."}
        return _bounded_text(tool, {"status": answer.status, **fields})
    value = _with_columns(value, tool.columns)
    version = answer.headers.get(tool.version_header, "")
    if isinstance(value, dict) and version.isdecimal():
        value = {"version": int(version), **value}
    return _bounded_text(tool, value)


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return None


def _error_text(status: int, code: str, detail: str) -> str:
    fields = {"type": "invalid_request", "code": code, "detail": detail, "attr": None}
    return msgspec.json.encode({"status": status, **fields}).decode()


def _too_large(tool: Tool, size: str) -> str:
    return (
        f"The answer has more than {size} bytes; a tool answers at most {ANSWER_BYTES_MAX:,}. "
        f"{tool.more}"
    )


def _with_columns(value: Any, columns: Sequence[str]) -> Any:
    """Keep the columns of each result."""
    if not columns or not isinstance(value, dict) or not isinstance(value.get("results"), list):
        return value
    rows = [{name: row[name] for name in columns if name in row} for row in value["results"]]
    return {**value, "results": rows}


def _bounded_text(tool: Tool, value: Any) -> str:
    """Return the value as JSON, with as many of its rows as there is room for."""
    text = msgspec.json.encode(value)
    if len(text) <= ANSWER_BYTES_MAX:
        return text.decode()
    answer = {"results": value} if isinstance(value, list) else value
    for name in _ROWS:
        if isinstance(answer, dict) and isinstance(answer.get(name), list):
            cut = _cut_rows(tool, name, answer)
            if cut is not None:
                return cut
    return _error_text(413, "answer_too_large", _too_large(tool, f"{len(text):,}"))


def _cut_rows(tool: Tool, name: str, answer: Mapping[str, Any]) -> str | None:
    """Return the rows that fit beside the rest; None if there is room for none."""
    rows: Sequence[Any] = answer[name]
    rest = {key: value for key, value in answer.items() if key != name}
    room = ANSWER_BYTES_MAX - len(msgspec.json.encode(rest)) - _NOTE_BYTES
    shown: list[msgspec.Raw] = []
    for row in rows:
        encoded = msgspec.json.encode(row)
        room -= len(encoded) + 1
        if room < 0:
            break
        shown.append(msgspec.Raw(encoded))
    if not shown:
        return None
    note = f"Cut: the first {len(shown)} of {len(rows)} results of this answer. {tool.more}"
    return msgspec.json.encode({"note": note, **rest, name: shown}).decode()
