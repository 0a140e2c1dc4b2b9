"""The configuration and the errors that all clients of the brokers have in common."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException

from fanion.config.kafka import KafkaAddress

ANSWER_S: Final = 5.0  # for all requests about topics and offsets
NAME: Final = "fanion accept log"
# Only the errors that this program is told of are logged, by this program.
_LOG_LEVEL: Final = 0


def client_config(address: KafkaAddress) -> dict[str, Any]:
    config: dict[str, Any] = {
        "bootstrap.servers": address.servers,
        "client.id": NAME,
        "log_level": _LOG_LEVEL,
        "socket.timeout.ms": int(ANSWER_S * 1000),
        "socket.keepalive.enable": True,
        # A broker that comes back is used within a second.
        "reconnect.backoff.ms": 50,
        "reconnect.backoff.max.ms": 1000,
        "topic.metadata.refresh.interval.ms": 30_000,
        "topic.metadata.propagation.max.ms": 5_000,
        "security.protocol": _protocol(address),
        # Called for failures that the clients repair themselves. Without it they are printed.
        "error_cb": _ignore,
    }
    if address.user:
        config |= {
            "sasl.mechanism": address.mechanism,
            "sasl.username": address.user,
            "sasl.password": address.password,
        }
    if address.ca:
        config["ssl.ca.location"] = address.ca
    return config


def _protocol(address: KafkaAddress) -> str:
    transport = "SSL" if address.is_encrypted else "PLAINTEXT"
    return f"SASL_{transport}" if address.user else transport


def _ignore(_: KafkaError) -> None:
    """Do nothing."""


def error_of(error: KafkaException) -> KafkaError | None:
    """Return the error that an exception carries."""
    found = error.args[0] if error.args else None
    return found if isinstance(found, KafkaError) else None


def code_of(error: KafkaException) -> int | None:
    """Return the code of an exception; None if it carries no error."""
    found = error_of(error)
    return None if found is None else found.code()


def text_of(error: KafkaException) -> str:
    """Return the text of an exception's error, without its code."""
    found = error_of(error)
    return str(error) if found is None else found.str()


@contextmanager
def kafka_failures() -> Iterator[None]:
    """Turn failures of the brokers into OSError."""
    try:
        yield
    except KafkaException as error:
        raise OSError(f"accept log: {text_of(error)}") from error


def result_of(future: "Future[Any]") -> Any:
    """Wait for an answer.

    Raises:
        OSError: There is none.
    """
    with kafka_failures():
        return future.result(ANSWER_S + 1)


def answered(futures: "dict[Any, Future[Any]]", make: Callable[[Any], Any] = lambda x: x) -> Any:
    """Wait for all answers, and return them by the same keys."""
    return {key: make(result_of(future)) for key, future in futures.items()}
