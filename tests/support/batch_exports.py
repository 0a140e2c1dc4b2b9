"""A batch export that is paused, so that no test sends anything."""

from typing import Any, Final

BATCH_EXPORT: Final[dict[str, Any]] = {
    "name": "Warehouse",
    "interval": "day",
    "paused": True,
    "destination": {
        "type": "S3",
        "config": {
            "bucket_name": "events",
            "region": "eu-central-1",
            "aws_access_key_id": "key",
            "aws_secret_access_key": "secret",
        },
    },
}
