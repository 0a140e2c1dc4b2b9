"""The producer of records is replaced when it can never send again."""

import asyncio

import pytest

from fanion.accept_log.kafka.producer import RecordProducer
from fanion.accept_log.port import AppendUnsure
from fanion.config.kafka import read_kafka_url
from tests.support.server import free_port


async def test_an_append_under_way_is_reported_when_the_producer_is_replaced() -> None:
    """It takes 4 s, after which a record that no broker takes is given up."""
    address = read_kafka_url(f"kafka://127.0.0.1:{free_port()}/away")
    producer = RecordProducer(address, 10**6)
    sending = asyncio.create_task(producer.send("away.live", [(0, b"1")]))
    await asyncio.sleep(0)

    first = producer.current
    await producer.replace(first)

    assert producer.current is not first
    with pytest.raises(AppendUnsure):
        await sending
    await asyncio.to_thread(producer.close)
