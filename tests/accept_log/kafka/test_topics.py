"""Addresses and brokers that cannot be used are refused."""

import pytest
from confluent_kafka import Uuid

from fanion.accept_log.kafka.topics import Topics, topic_ids
from fanion.config.kafka import read_kafka_url
from fanion.errors import StartRefused


def test_a_file_of_certificates_that_is_missing_is_refused() -> None:
    address = read_kafka_url("kafkas://127.0.0.1:9092/fanion?ca=/missing.pem")

    with pytest.raises(StartRefused, match=r"^FANION_LOG_URL cannot be used: .*ssl\.ca\.location"):
        Topics(address)


def test_brokers_that_give_topics_no_ids_are_refused() -> None:
    with pytest.raises(StartRefused, match=r"since version 2\.8"):
        topic_ids([Uuid(1, 2), Uuid(0, 0)])


def test_ids_are_text() -> None:
    live, historical = topic_ids([Uuid(1, 2), Uuid(1, 3)])

    assert live != historical
