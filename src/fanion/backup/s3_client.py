"""A bucket of an S3-compatible object store as a destination of backups.

Credentials, region and endpoint come from the environment variables that other tools use too:
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from fanion.backup.model import BackupRefused

# How long an operation is tried again while the store does not answer, or answers 5xx.
_RETRIED: Final = timedelta(minutes=2)
_TIMEOUT: Final = timedelta(minutes=1)
_LISTED: Final = 1_000
_REASON_CHARS_MAX: Final = 300


class S3Destination:
    """Objects below a prefix of a bucket."""

    def __init__(self, url: str) -> None:
        """Prepare to use a bucket, without a request.

        Args:
            url: `s3://bucket/prefix`.

        Raises:
            BackupRefused: The address is wrong.
        """
        parts = urlsplit(url)
        if not parts.netloc or parts.query or parts.fragment or "@" in parts.netloc:
            raise BackupRefused(f"{url!r} is not an address such as s3://bucket/prefix")
        self._where = f"s3://{parts.netloc}{parts.path}".rstrip("/")
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        with self._named():
            self._store = S3Store(
                parts.netloc,
                prefix=parts.path.strip("/") or None,
                client_options={"timeout": _TIMEOUT, "allow_http": endpoint.startswith("http://")},
                retry_config={"retry_timeout": _RETRIED},
            )

    @property
    def where(self) -> str:
        return self._where

    def read(self, name: str) -> bytes:
        with self._named():
            return bytes(obstore.get(self._store, name).bytes())

    def write(self, name: str, content: bytes) -> None:
        with self._named():
            obstore.put(self._store, name, content, use_multipart=False)

    def flush(self) -> None:
        """Do nothing: an object that was written is durable."""

    def names(self, folder: str) -> Iterator[str]:
        with self._named():
            for page in obstore.list(self._store, f"{folder}/", chunk_size=_LISTED):
                yield from (str(entry["path"]) for entry in page)

    def delete(self, names: Sequence[str]) -> None:
        with self._named():
            if names:
                obstore.delete(self._store, names)

    @contextmanager
    def locked(self, *, shared: bool) -> Iterator[None]:
        """Do nothing: an object store has no locks, and the data folder has one."""
        yield

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Turn errors of the library into one line that names the destination."""
        try:
            yield
        except BaseError as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise BackupRefused(f"{self._where}: {reason[:_REASON_CHARS_MAX]}") from error
