"""The proxy of batch exports: it connects to public addresses, whatever names say meanwhile."""

import asyncio
from base64 import b64encode
from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from fanion.exports.batch import proxy_client, s3_client
from fanion.exports.batch.model import S3Config, S3Keys
from fanion.exports.batch.proxy_client import checking_proxy
from fanion.exports.batch.s3_client import DestinationFailed, open_bucket
from tests.support.receiver import open_receiver

KEYS = S3Keys(aws_access_key_id="key", aws_secret_access_key="secret")


async def loopback(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


async def asked(proxy: str, head: str) -> bytes:
    """Return the first line of an answer of the proxy."""
    reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(proxy).port)
    writer.write(f"{head}\r\n\r\n".encode())
    line = await reader.readline()
    writer.close()
    return line


def password(proxy: str) -> str:
    parts = urlsplit(proxy)
    return (
        "Proxy-Authorization: Basic "
        + b64encode(f"{parts.username}:{parts.password}".encode()).decode()
    )


async def test_only_the_client_with_the_password_gets_to_public_addresses() -> None:
    async with checking_proxy(loopback) as proxy:
        stranger = await asked(proxy, "CONNECT s3.example:443 HTTP/1.1")
        private = await asked(proxy, f"CONNECT s3.example:443 HTTP/1.1\r\n{password(proxy)}")
        plain = await asked(proxy, f"GET http://s3.example/ HTTP/1.1\r\n{password(proxy)}")
        nonsense = await asked(proxy, f"CONNECT s3.example:x HTTP/1.1\r\n{password(proxy)}")

    assert stranger.startswith(b"HTTP/1.1 407")
    assert private.startswith(b"HTTP/1.1 403")
    assert plain.startswith(b"HTTP/1.1 405")
    assert nonsense == b""


async def test_a_name_that_moves_to_a_private_address_reaches_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(s3_client, "_RETRIED", timedelta())
    addresses = iter(["93.184.215.14"])

    async def rebound(host: str, port: int) -> Sequence[str]:
        return [next(addresses, "127.0.0.1")]

    async with open_receiver() as receiver:
        config = S3Config(
            bucket_name="bucket",
            region="eu-1",
            endpoint_url=f"https://s3.example:{receiver.port}",
        )
        async with open_bucket(config, KEYS, rebound, allow_private=False) as bucket:
            with pytest.raises(DestinationFailed, match="bucket: "):
                await bucket.write("a", b"b")

        assert receiver.requests == []


async def test_an_allowed_connection_passes_on_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy_client, "refusal", lambda address: None)

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read())
        writer.close()

    far = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = far.sockets[0].getsockname()[1]
    async with far, checking_proxy(loopback) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(proxy).port)
        writer.write(f"CONNECT far.example:{port} HTTP/1.1\r\n{password(proxy)}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"x" * 100_000)
        writer.write_eof()
        answer = await reader.read()
        writer.close()

    assert head.startswith(b"HTTP/1.1 200")
    assert answer == b"x" * 100_000
