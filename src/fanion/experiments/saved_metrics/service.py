"""Changes of the saved metrics of experiments, each in one transaction.

Source: experiments.md section 1d.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.experiments.metric_documents import read_saved_query
from fanion.experiments.saved_metrics.model import SavedMetricRecord
from fanion.experiments.saved_metrics.store import (
    SavedMetricStore,
    create_metric,
    get_metric,
    remove_metric,
    write_metric,
)
from fanion.insights.calculation.named_store import require_named
from fanion.rest.validation import normal_tags


@dataclass(frozen=True, slots=True)
class SavedMetricService:
    store: SavedMetricStore

    async def create_metric(self, author: Author, sent: Mapping[str, Any]) -> SavedMetricRecord:
        """Create a saved metric.

        Raises:
            Invalid: The metric cannot be used, or the project has too many of them.
        """
        async with self.store.records.write() as connection:
            return await connection.run_sync(_create, author, _normalised(sent))

    async def change_metric(
        self, author: Author, metric_id: int, sent: Mapping[str, Any]
    ) -> SavedMetricRecord:
        """Change a saved metric, in all experiments that have it.

        Raises:
            NotFound: There is no such saved metric.
            Invalid: The metric cannot be used.
        """
        async with self.store.records.write() as connection:
            return await connection.run_sync(_change, author, metric_id, _normalised(sent))

    async def remove_metric(self, author: Author, metric_id: int) -> None:
        """Delete a saved metric, also from the experiments that have it, or raise NotFound."""
        async with self.store.records.write() as connection:
            await connection.run_sync(remove_metric, author, metric_id)


def _create(connection: Connection, author: Author, sent: Mapping[str, Any]) -> SavedMetricRecord:
    require = partial(require_named, connection, author.project_id)
    values = {**sent, "query": read_saved_query(sent["query"], None, require)}
    return create_metric(connection, author, values)


def _change(
    connection: Connection, author: Author, metric_id: int, sent: Mapping[str, Any]
) -> SavedMetricRecord:
    before = get_metric(connection, author.project_id, metric_id, for_update=True)
    values = dict(sent)
    if "query" in values:
        require = partial(require_named, connection, author.project_id)
        values["query"] = read_saved_query(values["query"], before.query, require)
    return write_metric(connection, author, before, values)


def _normalised(sent: Mapping[str, Any]) -> dict[str, Any]:
    if "tags" not in sent:
        return dict(sent)
    return {**sent, "tags": normal_tags(sent["tags"] or [])}
