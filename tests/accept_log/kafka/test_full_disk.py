"""A broker whose disk is full takes nothing more, and has lost nothing that it acknowledged."""

import random
from itertools import count

import pytest
from structlog.testing import capture_logs

from fanion.accept_log.port import AppendUnsure
from tests.support.accept_logs import entry_ids, envelope, read_all
from tests.support.awaited import until_soon
from tests.support.kafka.brokers import private_kafka
from tests.support.kafka.logs import open_kafka_log

BODY_BYTES = 50_000


@pytest.mark.long("a broker of its own, which starts twice, and an append that waits for 4 s")
async def test_nothing_that_was_acknowledged_is_lost() -> None:
    with private_kafka() as kafka:
        [broker] = kafka.brokers
        log = await open_kafka_log(kafka.url("full"))
        acknowledged = [await log.append(envelope())]
        broker.fill_disk()

        with capture_logs() as lines:
            with pytest.raises(AppendUnsure):
                for number in count():
                    # A body that cannot be compressed, or the disk would not be small.
                    body = random.Random(number).randbytes(BODY_BYTES)
                    acknowledged.append(await log.append(envelope(body)))

            async def is_explained() -> bool:
                return any(line["event"] == "accept_log_unavailable" for line in lines)

            await until_soon(is_explained, "no line says what is wrong")
        broker.kill()  # it has stopped by itself
        broker.start()
        broker.wait_until_ready()
        stored = entry_ids(await read_all(log))
        await log.close()

    explained = [line["reason"] for line in lines if line["event"] == "accept_log_unavailable"]
    assert len(explained) == 1
    assert explained[0].startswith(f"no broker answers at {broker.address}; a broker whose disk")
    assert set(acknowledged) <= set(stored)
    assert len(set(stored)) == len(stored)
