"""Batch exports: where the events of each hour or day of a project are written, and the runs."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from fanion.events.storage.export_query import ExportFormat
from fanion.exports.intervals.model import SETTLED, Every, Interval, interval_of

FileFormat = Literal["CSV", "JSONLines", "Parquet"]
FORMAT_OF: Final[Mapping[FileFormat, ExportFormat]] = {
    "CSV": "csv",
    "JSONLines": "jsonl",
    "Parquet": "parquet",
}
RunStatus = Literal["Running", "Completed", "FailedRetryable"]
DestinationType = Literal["S3"]
# The intervals that a backfill may begin before the present one.
INTERVALS_MAX: Final = 50_000


class S3Config(Struct, frozen=True, kw_only=True):
    """A bucket of S3 or a compatible store, without its keys.

    Attributes:
        prefix: What all names begin with, without slashes at its ends.
        endpoint_url: None for Amazon's own in the region.
    """

    bucket_name: str
    region: str
    prefix: str = ""
    endpoint_url: str | None = None
    file_format: FileFormat = "JSONLines"

    @property
    def endpoint(self) -> str:
        """Return the address of the store, without a path."""
        return self.endpoint_url or f"https://s3.{self.region}.amazonaws.com"

    @property
    def place(self) -> tuple[str, str, str]:
        """Return what two exports of a project may not share."""
        return self.endpoint, self.bucket_name, self.prefix


class S3Keys(Struct, frozen=True, kw_only=True):
    """The keys with which requests to a bucket are signed."""

    aws_access_key_id: str
    aws_secret_access_key: str


class BatchExportRun(Struct, frozen=True, kw_only=True):
    """An hour or a day that was written, or that was tried."""

    id: int
    status: RunStatus
    data_interval_start: datetime
    data_interval_end: Annotated[datetime, Meta(description="Exclusive.")]
    attempts: int
    records_completed: Annotated[int | None, Meta(description="Events; null until it is written.")]
    bytes_exported: int | None
    latest_error: Annotated[str | None, Meta(description="Why the last attempt failed.")]
    created_at: datetime
    last_updated_at: datetime
    finished_at: datetime | None


class BatchExportRecord(Struct, frozen=True, kw_only=True):
    """A batch export as it is stored and returned, without its destination."""

    id: int
    name: str
    interval: Every
    paused: bool
    last_paused_at: datetime | None
    next_start: Annotated[
        datetime, Meta(description="The start of the hour or day that is written next.")
    ]
    latest_error: Annotated[
        str | None, Meta(description="Why it cannot be written; null while there is no error.")
    ]
    created_at: datetime
    last_updated_at: datetime


class BatchExport(BatchExportRecord, frozen=True, kw_only=True):
    """A batch export with its destination, without the keys.

    Attributes:
        due_at: When the next interval is written; the time for which it has to be over is in it.
        latest_runs: The newest first.
    """

    project_id: int
    config: S3Config
    due_at: datetime
    latest_runs: list[BatchExportRun] = []

    @property
    def next_interval(self) -> Interval:
        return interval_of(self.next_start, self.interval)


def columns_from(start: datetime, every: Every) -> Mapping[str, datetime]:
    """Return the columns of an export that goes on with the interval that has this time."""
    interval = interval_of(start, every)
    return {"next_start": interval.start, "due_at": interval.end + SETTLED}
