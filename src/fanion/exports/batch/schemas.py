"""Request and response bodies of the endpoints of batch exports."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.exports.batch.model import (
    BatchExport,
    BatchExportRecord,
    BatchExportRun,
    DestinationType,
    FileFormat,
    S3Config,
)
from fanion.exports.intervals.model import Every
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_BATCH_EXPORT,
    UNSUPPORTED_OF_BATCH_EXPORT,
    UNSUPPORTED_OF_S3,
)
from fanion.rest.validation import shared_fields

Name = Annotated[str, Meta(min_length=1, max_length=400)]
Model = Literal["events"]
Paused = Annotated[bool, Meta(description="Whether nothing is written for now.")]
Bucket = Annotated[str, Meta(min_length=1, max_length=63)]
Region = Annotated[
    str, Meta(min_length=1, max_length=50, description="For example `eu-central-1`.")
]
Prefix = Annotated[
    str, Meta(max_length=500, description="What all names begin with. Nothing in it is replaced.")
]
Endpoint = Annotated[
    str,
    Meta(
        max_length=500,
        description="The address of an S3-compatible store, such as `https://s3.example.com`; null "
        "for Amazon S3.",
    ),
]
KeyId = Annotated[str, Meta(min_length=1, max_length=200)]
SecretKey = Annotated[str, Meta(min_length=1, max_length=500)]
Format = Annotated[FileFormat, Meta(description="The format of the files.")]
StartAt = Annotated[
    datetime,
    Meta(description="In the first hour or day to write. By default it is the present one."),
]


class S3ConfigWithKeys(Struct, kw_only=True, forbid_unknown_fields=True):
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_S3

    bucket_name: Bucket
    region: Region
    aws_access_key_id: KeyId
    aws_secret_access_key: SecretKey
    prefix: Prefix = ""
    endpoint_url: Endpoint | None = None
    file_format: Format = "JSONLines"


class S3ConfigChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_S3

    bucket_name: Bucket | UnsetType = UNSET
    region: Region | UnsetType = UNSET
    aws_access_key_id: KeyId | UnsetType = UNSET
    aws_secret_access_key: SecretKey | UnsetType = UNSET
    prefix: Prefix | UnsetType = UNSET
    endpoint_url: Endpoint | UnsetType | None = UNSET
    file_format: Format | UnsetType = UNSET


class NewDestination(Struct, kw_only=True, forbid_unknown_fields=True):
    type: DestinationType
    config: S3ConfigWithKeys


class DestinationChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    type: DestinationType | UnsetType = UNSET
    config: S3ConfigChanges | UnsetType = UNSET


class NewBatchExport(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_BATCH_EXPORT
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_BATCH_EXPORT

    name: Name
    destination: NewDestination
    interval: Every
    model: Model = "events"
    paused: Paused = False
    start_at: StartAt | None = None


class BatchExportChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_BATCH_EXPORT
    unsupported: ClassVar[Mapping[str, str]] = {
        **UNSUPPORTED_OF_BATCH_EXPORT,
        "start_at": "Make a backfill.",
    }

    name: Name | UnsetType = UNSET
    destination: DestinationChanges | UnsetType = UNSET
    interval: Every | UnsetType = UNSET
    model: Model | UnsetType = UNSET
    paused: Paused | UnsetType = UNSET


class Unpause(Struct, kw_only=True, forbid_unknown_fields=True):
    backfill: Annotated[
        bool,
        Meta(
            description="Whether to go on where the export was paused. Otherwise it goes on with "
            "the present hour or day."
        ),
    ] = False


class NewBackfill(Struct, kw_only=True, forbid_unknown_fields=True):
    unsupported: ClassVar[Mapping[str, str]] = {
        "end_at": "A backfill ends where the export goes on."
    }

    start_at: Annotated[datetime, Meta(description="In the first hour or day to write.")]


class PausedBody(Struct, kw_only=True):
    paused: bool


class DestinationBody(Struct, frozen=True, kw_only=True):
    """A destination without its keys."""

    type: DestinationType
    config: S3Config


class BatchExportBody(BatchExportRecord, frozen=True, kw_only=True):
    destination: DestinationBody
    model: Model
    latest_runs: Annotated[list[BatchExportRun], Meta(description="The newest first, ten at most.")]


def batch_export_body(export: BatchExport) -> BatchExportBody:
    return BatchExportBody(
        destination=DestinationBody(type="S3", config=export.config),
        model="events",
        latest_runs=export.latest_runs,
        **shared_fields(export, BatchExportRecord),
    )
