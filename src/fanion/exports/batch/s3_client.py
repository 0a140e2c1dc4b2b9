"""The bucket that a batch export writes to."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from fanion.exports.batch.model import S3Config, S3Keys
from fanion.exports.batch.proxy_client import checked_addresses, checking_proxy
from fanion.webhooks.client import Resolve

if TYPE_CHECKING:
    from obstore.store import S3Credential, S3Store

# How long one request may take, and how long it is tried again after 5xx and lost connections.
TIMEOUT: Final = timedelta(minutes=1)
_RETRIED: Final = timedelta(seconds=20)
_LISTED: Final = 1_000
_REASON_CHARS_MAX: Final = 300
# An answer of the store, as the library repeats it.
_PARTS: Final = (
    re.compile(r"status code: (\d{3} [A-Z][A-Za-z ]+)"),
    re.compile(r"<Code>([^<]{1,100})</Code>"),
    re.compile(r"<Message>([^<]{1,200})</Message>"),
)


class DestinationFailed(Exception):
    """A request that the object store refused or did not answer; the text is one line."""


class S3Bucket:
    """Objects below a prefix of a bucket.

    Every failure is a DestinationFailed.
    """

    def __init__(self, store: "S3Store", config: S3Config) -> None:
        self._store = store
        self._config = config

    async def read(self, name: str) -> bytes | None:
        """Return an object, or None if there is none."""
        import obstore

        with self._named():
            try:
                answer = await obstore.get_async(self._store, name)
                return bytes(await answer.bytes_async())
            except FileNotFoundError:
                return None

    async def write(self, name: str, content: bytes) -> None:
        """Write an object, which is there whole or not at all."""
        import obstore

        with self._named():
            await obstore.put_async(self._store, name, content, use_multipart=False)

    async def names(self, folder: str) -> Sequence[str]:
        """Return the names of all objects that begin with `folder/`."""
        import obstore

        found: list[str] = []
        with self._named():
            async for page in obstore.list(self._store, f"{folder}/", chunk_size=_LISTED):
                found += (str(entry["path"]) for entry in page)
        return found

    async def delete(self, names: Sequence[str]) -> None:
        """Delete those of these objects that there are."""
        import obstore

        with self._named():
            if names:
                await obstore.delete_async(self._store, names)

    async def flush(self) -> None:
        """Do nothing: an object that was written is durable."""

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Turn errors of the library into one line."""
        from obstore.exceptions import BaseError

        try:
            yield
        except BaseError as error:
            raise DestinationFailed(_reason(str(error), self._config)) from error


@asynccontextmanager
async def open_bucket(
    config: S3Config, keys: S3Keys, resolve: Resolve, *, allow_private: bool
) -> AsyncIterator[S3Bucket]:
    """Open a bucket until the end of the block.

    Args:
        allow_private: Whether it may have an address that is not public.

    Raises:
        Refused: The address is not public.
        OSError: The host of the bucket has no address.
    """
    if allow_private:
        yield S3Bucket(await asyncio.to_thread(_open_store, config, keys, None), config)
        return
    endpoint = urlsplit(config.endpoint)
    # Asked here too, for an error that says why.
    await checked_addresses(resolve, endpoint.hostname or "", endpoint.port or 443)
    async with checking_proxy(resolve) as proxy:
        yield S3Bucket(await asyncio.to_thread(_open_store, config, keys, proxy), config)


def _open_store(config: S3Config, keys: S3Keys, proxy: str | None) -> "S3Store":
    """Build the client, for which the server's own credentials and settings do not count."""
    from obstore.store import S3Store

    signing: S3Credential = {
        "access_key_id": keys.aws_access_key_id,
        "secret_access_key": keys.aws_secret_access_key,
        "token": None,
        "expires_at": None,
    }
    return S3Store(
        config.bucket_name,
        prefix=config.prefix or None,
        config={
            "endpoint": config.endpoint,
            "aws_endpoint_url_s3": config.endpoint,
            "region": config.region,
            "virtual_hosted_style_request": False,
            "skip_signature": False,
        },
        client_options={
            "timeout": TIMEOUT,
            "allow_http": config.endpoint.startswith("http://"),
            **({} if proxy is None else {"proxy_url": proxy}),
        },
        retry_config={"retry_timeout": _RETRIED},
        credential_provider=lambda: signing,
    )


def _reason(text: str, config: S3Config) -> str:
    """Return an error in one line: what the store says of it, if it has answered."""
    status, code, message = (found and found[1] for found in (part.search(text) for part in _PARTS))
    if status:
        reason = f"it answers {': '.join(part for part in (status, code, message) if part)}"
    elif "kind: Timeout" in text:
        reason = f"it does not answer within {TIMEOUT.seconds} seconds"
    else:
        reason = (text.strip().splitlines() or ["no connection"])[0]
    return f"{config.bucket_name}: {reason[:_REASON_CHARS_MAX]}"
