"""Messages between a server and the process that exports and imports a project."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from fanion.activity.model import Author
from fanion.transfer.report import Report, Result

# The most objects listed one by one; the counts include all.
OUTCOMES_MAX = 1_000


class Task(Struct, frozen=True, kw_only=True):
    """A project to export or to import, with the open file of the document.

    Attributes:
        action: `preview` is an import that is rolled back.
    """

    records_url: str
    action: Literal["export", "preview", "import"]
    project_id: int
    organization_id: UUID
    user_id: int | None
    now: datetime

    @property
    def author(self) -> Author:
        return Author(self.organization_id, self.user_id, self.now, project_id=self.project_id)


class KindCounts(Struct, frozen=True, kw_only=True):
    """The number of objects of one kind, by what the import did with them."""

    kind: str
    created: int
    updated: int
    unchanged: int
    skipped: int


class Outcome(Struct, frozen=True, kw_only=True):
    kind: str
    name: str
    result: Result
    why: str
    count: int


class ImportReport(Struct, frozen=True, kw_only=True):
    """The report of an import.

    Attributes:
        outcomes: At most OUTCOMES_MAX, without unchanged objects.
        outcomes_left_out: How many more there are.
    """

    counts: list[KindCounts]
    outcomes: list[Outcome]
    outcomes_left_out: int


class Done(Struct, frozen=True, tag="done"):
    """The result of a finished task; an export has no report."""

    report: ImportReport | None = None


class Refused(Struct, frozen=True, tag="refused"):
    """The result for a document that cannot be imported, with one line per error."""

    detail: str
    code: str


class Failed(Struct, frozen=True, tag="failed"):
    """The result if anything other than the document prevents the task."""

    reason: Literal["missing", "store", "other"]
    detail: str


Answer = Done | Refused | Failed


def import_report(report: Report) -> ImportReport:
    changed = [*_changed(report)]
    return ImportReport(
        counts=[
            KindCounts(kind=kind, **{str(result): count for result, count in of.items()})
            for kind, of in report.counts().items()
        ],
        outcomes=changed[:OUTCOMES_MAX],
        outcomes_left_out=max(len(changed) - OUTCOMES_MAX, 0),
    )


def _changed(report: Report) -> Iterator[Outcome]:
    for one in report.outcomes:
        if one.result != "unchanged":
            yield Outcome(
                kind=one.kind, name=one.name, result=one.result, why=one.why, count=one.count
            )
