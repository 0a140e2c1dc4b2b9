"""Queued mails: bounded, retried, and given up."""

from collections import Counter

import pytest
from structlog.testing import capture_logs

from fanion.accounts.mail.client import MailNotSent
from fanion.accounts.mail.message import Mail
from fanion.accounts.mail.worker import MAILS_WAITING_MAX, WAITING_S_MAX, MailWorker
from tests.support.management import Clock

LINK = "https://fanion.example.com/api/reset/t0ken/"


def mail(number: int) -> Mail:
    return Mail("password_reset", f"ada{number}@example.com", "Hello", LINK)


class RecordingSender:
    """A mail client that records attempts.

    Attributes:
        failures: The errors of the next attempts.
    """

    def __init__(self) -> None:
        self.failures: list[MailNotSent] = []
        self.attempts: list[str] = []

    async def __call__(self, mail: Mail) -> None:
        self.attempts.append(mail.to)
        if self.failures:
            raise self.failures.pop(0)


class Post:
    def __init__(self) -> None:
        self.clock = Clock()
        self.sender = RecordingSender()
        self.outcomes: Counter[str] = Counter()
        self.worker = MailWorker(self.sender, self.clock.seconds, self._count)

    def _count(self, outcome: str) -> None:
        self.outcomes[outcome] += 1


@pytest.fixture
def post() -> Post:
    return Post()


async def test_mails_are_sent_once_in_their_order(post: Post) -> None:
    for number in range(3):
        assert post.worker.put(mail(number))

    await post.worker.send_due()
    await post.worker.send_due()

    assert post.sender.attempts == [f"ada{number}@example.com" for number in range(3)]
    assert post.outcomes == {"sent": 3}
    assert len(post.worker) == 0


async def test_a_mail_is_tried_again_later_and_the_others_rest_meanwhile(post: Post) -> None:
    post.sender.failures = [MailNotSent("down")]
    post.worker.put(mail(1))
    post.worker.put(mail(2))

    await post.worker.send_due()
    first = list(post.sender.attempts)
    await post.worker.send_due()
    second = list(post.sender.attempts)
    post.clock.move(seconds=5)
    await post.worker.send_due()

    assert first == ["ada1@example.com"]
    assert second == ["ada1@example.com", "ada2@example.com"]
    assert post.sender.attempts == [*second, "ada1@example.com"]
    assert post.outcomes == {"sent": 2}


async def test_a_refused_mail_is_not_tried_again_and_delays_no_other(post: Post) -> None:
    post.sender.failures = [MailNotSent("no such user", is_final=True)]
    post.worker.put(mail(1))
    post.worker.put(mail(2))

    await post.worker.send_due()

    assert post.outcomes == {"failed": 1, "sent": 1}
    assert len(post.worker) == 0


async def test_a_mail_is_given_up_once_its_link_may_have_expired(post: Post) -> None:
    post.sender.failures = [MailNotSent("down") for _ in range(1_000)]
    post.worker.put(mail(1))

    while len(post.worker):
        await post.worker.send_due()
        post.clock.move(seconds=60)

    assert post.outcomes == {"failed": 1}
    assert 10 < len(post.sender.attempts) < WAITING_S_MAX / 60


async def test_other_packages_hand_over_the_parts_of_a_mail(post: Post) -> None:
    taken = [
        post.worker.send("invite", to, "Hello", "Text\n") for to in ("ada@example.com", "a,b@c.d")
    ]

    await post.worker.send_due()

    assert taken == [True, False]
    assert post.sender.attempts == ["ada@example.com"]


async def test_more_than_may_wait_are_dropped_and_counted(post: Post) -> None:
    taken = [post.worker.put(mail(number)) for number in range(MAILS_WAITING_MAX + 2)]

    assert taken == [True] * MAILS_WAITING_MAX + [False] * 2
    assert len(post.worker) == MAILS_WAITING_MAX
    assert post.outcomes == {"dropped": 2}


async def test_the_log_names_the_kind_and_neither_recipient_nor_link(post: Post) -> None:
    post.sender.failures = [MailNotSent("down"), MailNotSent("refused", is_final=True)]
    with capture_logs() as lines:
        for number in range(3):
            post.worker.put(mail(number))
        await post.worker.send_due()
        await post.worker.send_due()

    assert [(line["event"], line["kind"]) for line in lines] == [
        ("mail_delayed", "password_reset"),
        ("mail_not_sent", "password_reset"),
        ("mail_sent", "password_reset"),
    ]
    assert "ada" not in str(lines) and "t0ken" not in str(lines)


async def test_an_unexpected_error_costs_one_mail_and_not_the_others(post: Post) -> None:
    calls: list[str] = []

    async def send(mail: Mail) -> None:
        calls.append(mail.to)
        if len(calls) == 1:
            raise RuntimeError

    worker = MailWorker(send, post.clock.seconds)
    worker.put(mail(1))
    worker.put(mail(2))

    with pytest.raises(RuntimeError):
        await worker.send_due()
    await worker.send_due()

    assert calls == ["ada1@example.com", "ada2@example.com"]
