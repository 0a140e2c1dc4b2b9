"""The report of `fanion doctor` on an accept log in Kafka."""

import re

import pytest

from fanion.app.accept_logs import open_log
from fanion.cli.doctor.kafka import ADVICE_ON_IDS, ADVICE_ON_RISK, examine_kafka
from fanion.config import read_settings
from fanion.config.kafka import read_kafka_url
from fanion.db.engine import Records
from tests.support.accept_logs import envelope
from tests.support.kafka.brokers import Kafka
from tests.support.kafka.logs import open_kafka_log
from tests.support.server import free_port

pytestmark = pytest.mark.postgresql


async def test_topics_that_do_not_exist_yet_are_no_failure(kafka: Kafka, records: Records) -> None:
    examined = await examine_kafka(read_kafka_url(kafka.url("new")), records)

    assert examined.text.startswith("1 brokers answer; the topics do not exist yet")
    assert not examined.advice


async def test_the_settings_that_risk_requests_are_reported(
    kafka: Kafka, records: Records, records_url: str
) -> None:
    url = kafka.url("examined")
    log = await open_log(
        read_settings({"FANION_DATABASE_URL": records_url, "FANION_LOG_URL": url}), records
    )
    await log.append(envelope())
    await log.close()

    examined = await examine_kafka(read_kafka_url(url), records)

    known, _, rest = examined.text.partition("; 1 requests wait, most in partition ")
    assert known == "1 brokers answer, 8 partitions, 1 replicas"
    assert re.match(r"\d of examined\.live: 1; replicas 1: ", rest), examined.text
    assert examined.advice == ADVICE_ON_RISK


async def test_topics_that_were_created_again_are_reported(
    kafka: Kafka, records: Records, records_url: str
) -> None:
    url = kafka.url("gone")
    settings = read_settings({"FANION_DATABASE_URL": records_url, "FANION_LOG_URL": url})
    await (await open_log(settings, records)).close()
    await kafka.delete_topics("gone")
    await (await open_kafka_log(url)).close()

    examined = await examine_kafka(read_kafka_url(url), records)

    assert examined.text.endswith("these topics are not those whose positions are stored")
    assert examined.advice == ADVICE_ON_IDS


async def test_brokers_that_do_not_answer_are_an_error(records: Records) -> None:
    """It waits 5 s for them."""
    with pytest.raises(OSError, match="accept log"):
        await examine_kafka(read_kafka_url(f"kafka://127.0.0.1:{free_port()}"), records)
