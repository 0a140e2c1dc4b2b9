"""The URL of the accept log in Kafka."""

import pytest

from fanion.config.kafka import KafkaAddress, read_kafka_url


def test_a_url_with_everything_is_read() -> None:
    read = read_kafka_url(
        "kafkas://us%40er:p%2Fw@b1.example:9093,[::1]:9094/events-2"
        "?partitions=6&replicas=2&retention_days=30&mechanism=PLAIN&ca=/etc/ca.pem"
    )

    assert read == KafkaAddress(
        servers="b1.example:9093,[::1]:9094",
        name="events-2",
        is_encrypted=True,
        user="us@er",
        password="p/w",
        mechanism="PLAIN",
        ca="/etc/ca.pem",
        partitions=6,
        replicas=2,
        retention_days=30,
    )


def test_a_url_with_brokers_alone_is_read() -> None:
    read = read_kafka_url("kafka://b:9092")

    assert (read.servers, read.name, read.user, read.mechanism) == ("b:9092", "fanion", "", "")
    assert (read.partitions, read.replicas, read.retention_days) == (32, 3, 7)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("kafka://", "must begin with"),
        ("http://b:9092", "must begin with"),
        ("kafka://b", "with its port"),
        ("kafka://b:0", "with its port"),
        ("kafka://b:70000", "with its port"),
        ("kafka://b:9092,", "with its port"),
        ("kafka://u:s3cret@b 1:9092", "with its port"),
        ("kafka://b:9092/a/b", "name of the log"),
        ("kafka://b:9092/a.b", "name of the log"),
        ("kafka://b:9092/" + "a" * 31, "name of the log"),
        ("kafka://b:9092?acks=1", "unknown option 'acks'; allowed are: partitions"),
        ("kafka://b:9092?partitions=0", "partitions must be a number from 1 to 1024, got '0'"),
        ("kafka://b:9092?replicas=many", "replicas must be a number from 1 to 9, got 'many'"),
        ("kafka://b:9092?retention_days=-1", "retention_days must be a number"),
        ("kafka://u:s3cret@b:9092?mechanism=NONE", "mechanism must be one of SCRAM-SHA-512"),
    ],
)
def test_a_wrong_url_is_refused_without_its_password(url: str, message: str) -> None:
    with pytest.raises(ValueError, match="LOG_URL") as raised:
        read_kafka_url(url)

    assert message in str(raised.value)
    assert "s3cret" not in str(raised.value)
