"""Answers to questions in the form that a client wants: as JSON, or as a table."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final

import msgspec
from litestar import Response
from litestar.params import QueryParameter

from fanion.insights.funnels.query import FunnelsQuery
from fanion.insights.kinds.service import name_of
from fanion.insights.query import InsightQuery
from fanion.insights.questions.service import QuestionService
from fanion.insights.tables.kinds import table_of
from fanion.insights.tables.model import TEXTS, AnswerTable, typed_lines
from fanion.projects.request_api import ManagementRequest
from fanion.rest.unknown_fields import FORMAT, choice

# Maps the formats of a table to their media types.
_MEDIA_TYPES: Final[Mapping[str, str]] = {
    "csv": "text/csv",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
}
FORMATS: Final = (FORMAT, *_MEDIA_TYPES)
# The document leaves it out: with several media types for an answer, generated clients would have
# to tell a text from the answer in JSON that they ask for.
Form = Annotated[str | None, QueryParameter(name="format", include_in_schema=False)]


def read_form(sent: str | None) -> str:
    """Return the format that a text names, by default JSON.

    Raises:
        Invalid: There is no such format.
    """
    return choice(sent or FORMAT, FORMATS, "format")


async def answer_response(
    request: ManagementRequest,
    questions: QuestionService,
    form: str,
    asked: InsightQuery | str,
    body: Any,
) -> Response[Any]:
    """Return an answer in a format.

    Args:
        asked: The question, or the `kind` of a query that is none.
        body: The answer as it is in JSON, with `results`.
    """
    if form == FORMAT:
        return Response(body)
    kind = asked if isinstance(asked, str) else name_of(asked)
    content = await asyncio.to_thread(_written, form, kind, body, _optional_steps(asked))
    if isinstance(content, tuple):
        content = await questions.write_parquet(request.project.id, *content)
    name = f'attachment; filename="{kind}.{form}"'
    return Response(content, media_type=_MEDIA_TYPES[form], headers={"content-disposition": name})


def _optional_steps(asked: object) -> Collection[int]:
    steps = asked.steps if isinstance(asked, FunnelsQuery) else ()
    return [place for place, step in enumerate(steps) if step.optional_at is not None]


def _written(
    form: str, kind: str, body: Any, optional_steps: Collection[int]
) -> bytes | tuple[str, bytes]:
    """Return the text of a table, or for Parquet what the event store makes it of."""
    answer = msgspec.json.decode(msgspec.json.encode(body))
    # Answers to filters have the results under this name.
    whole = {"results": answer.get("result"), **answer}
    table: AnswerTable = table_of(kind, whole, optional_steps)
    return typed_lines(table) if form == "parquet" else TEXTS[form](table)
