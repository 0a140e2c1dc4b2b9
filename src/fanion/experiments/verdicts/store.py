"""The verdicts of which webhooks were notified, and the times of the last checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, or_, select

from fanion.db.due_work import AHEAD, DueRow, DueRows
from fanion.db.engine import Records
from fanion.db.schema.experiments import experiments
from fanion.experiments.model import Experiment
from fanion.experiments.results.schemas import ResultsBody, VerdictBody
from fanion.experiments.store import find_experiment
from fanion.webhooks.model import verdict_body
from fanion.webhooks.outbox_store import enqueue

EVERY: Final = timedelta(hours=1)
LEASE: Final = timedelta(minutes=10)
# Verdicts without a decision: every experiment begins with one.
UNDECIDED: Final = frozenset({"not_started", "no_exposures", "collecting", "wait"})

_experiment = experiments.c


@dataclass(frozen=True, slots=True)
class VerdictStore:
    records: Records

    @property
    def checks(self) -> DueRows:
        """Return the checks of experiments as rows that are due."""
        return DueRows(self.records, experiments, _experiment.checked_at, LEASE, EVERY)

    async def due_experiments(self, now: datetime) -> Sequence[DueRow]:
        """Return experiments that run, and those that have ended since their last check."""
        end = _experiment.end_date
        return await self.checks.due_rows(
            now,
            _experiment.deleted.is_(False),
            _experiment.start_date <= now,
            or_(end.is_(None), end > _experiment.checked_at),
            ahead=AHEAD,
        )

    async def find_experiment(self, project_id: int, experiment_id: int) -> Experiment | None:
        async with self.records.read() as connection:
            return await connection.run_sync(find_experiment, project_id, experiment_id)

    async def finish_check(self, row: DueRow, results: ResultsBody | None, now: datetime) -> None:
        """Store the verdict of results, and call webhooks if it is another one than before.

        Args:
            row: The claim of the experiment.
            results: None if there are none, because a metric cannot be calculated.
            now: The time of the check.
        """
        async with self.records.write() as connection:
            await connection.run_sync(self._finish_check, row, results, now)

    def _finish_check(
        self, connection: Connection, row: DueRow, results: ResultsBody | None, now: datetime
    ) -> None:
        columns = (_experiment.verdict, _experiment.verdict_variant, _experiment.name)
        statement = select(*columns, _experiment.feature_flag_key).where(_experiment.id == row.id)
        former = connection.execute(statement.with_for_update()).first()
        if former is None:
            return
        values: dict[str, Any] = {"checked_at": now}
        verdict = None if results is None else results.verdict
        if results is not None:
            values |= _verdict_columns(results)
        if not self.checks.finish(connection, row, **values) or verdict is None:
            return
        is_begin = former.verdict is None and verdict.code in UNDECIDED
        if is_begin or (former.verdict, former.verdict_variant) == (verdict.code, verdict.variant):
            return
        body = partial(verdict_body, _webhook_values(row, former, verdict), now)
        enqueue(connection, row.project_id, "experiment.verdict", body, now)


def _verdict_columns(results: ResultsBody) -> dict[str, Any]:
    verdict = results.verdict
    return {
        "verdict": verdict.code,
        "verdict_variant": verdict.variant,
        "verdict_sentence": verdict.sentence,
        "verdict_exposures": results.exposures.total,
    }


def _webhook_values(row: DueRow, former: Any, verdict: VerdictBody) -> Mapping[str, Any]:
    return {
        "project_id": row.project_id,
        "experiment": {
            "id": row.id,
            "name": former.name,
            "feature_flag_key": former.feature_flag_key,
        },
        "verdict": {
            "code": verdict.code,
            "variant": verdict.variant,
            "sentence": verdict.sentence,
        },
        "former_verdict": former.verdict,
    }
