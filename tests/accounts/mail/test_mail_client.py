"""Mails over SMTP to a real server.

They are sent encrypted or not at all, within a time limit, and errors reveal no secret.
"""

import asyncio
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fanion.accounts.mail.client import MailClient, MailNotSent
from fanion.accounts.mail.message import Mail
from fanion.config.mail import SmtpServer
from tests.support.certificates import make_certificate
from tests.support.smtp_server import MailServer, smtp_server

NOW = datetime(2024, 3, 1, 12, 0, tzinfo=UTC)
MAIL = Mail("test", "ada@example.com", "Hello", "Text\n.\nwith a lone dot\n")
SECRET = "s3cret"


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    folder: Path = tmp_path_factory.mktemp("tls")
    return make_certificate(folder, "IP:127.0.0.1")


@pytest.fixture
def plain() -> Iterator[MailServer]:
    with smtp_server() as server:
        yield server


def client(
    server: MailServer,
    scheme: str = "smtp+plain",
    *,
    host: str = "127.0.0.1",
    user: str = "",
    trusted: ssl.SSLContext | None = None,
    silence_s: float = 30.0,
    attempt_s: float = 30.0,
) -> MailClient:
    password = SECRET if user else ""
    named = SmtpServer(scheme=scheme, host=host, port=server.port, user=user, password=password)
    return MailClient(
        named,
        ("Fanion", "fanion@example.com"),
        lambda: NOW,
        trusted=trusted,
        silence_s=silence_s,
        attempt_s=attempt_s,
    )


async def failure(sending: MailClient, mail: Mail = MAIL) -> MailNotSent:
    with pytest.raises(MailNotSent) as raised:
        await sending.send(mail)
    assert SECRET not in str(raised.value)
    assert "\n" not in str(raised.value)
    return raised.value


async def test_a_mail_arrives_as_it_was_written(plain: MailServer) -> None:
    await client(plain).send(MAIL)

    [mail] = plain.mails
    assert (mail.sender, mail.recipients) == ("fanion@example.com", ("ada@example.com",))
    assert mail.text == MAIL.text
    assert mail.message["Subject"] == "Hello"
    assert not mail.encrypted


async def test_starttls_encrypts_before_anything_is_sent(
    tls: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    serving, trusted = tls
    with smtp_server(serving) as server:
        await client(server, "smtp", user="fanion", trusted=trusted).send(MAIL)

    [mail] = server.mails
    assert mail.encrypted
    assert (mail.user, mail.password) == ("fanion", SECRET)
    assert server.verbs.index("STARTTLS") < server.verbs.index("AUTH")


async def test_smtps_begins_encrypted(tls: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    serving, trusted = tls
    with smtp_server(serving, tls_first=True) as server:
        await client(server, "smtps", user="fanion", trusted=trusted).send(MAIL)

    assert [mail.encrypted for mail in server.mails] == [True]
    assert "STARTTLS" not in server.verbs


async def test_nothing_is_sent_to_a_server_without_starttls(plain: MailServer) -> None:
    refused = await failure(client(plain, "smtp", user="fanion"))

    assert str(refused) == (
        "the mail server cannot do this: STARTTLS extension not supported by server."
    )
    assert {"AUTH", "MAIL"}.isdisjoint(plain.verbs)


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
async def test_a_certificate_must_be_trusted_and_for_the_name(
    scheme: str, tls: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    serving, trusted = tls
    with smtp_server(serving, tls_first=scheme == "smtps") as server:
        unknown = await failure(client(server, scheme))
        other = await failure(client(server, scheme, host="localhost", trusted=trusted))

    assert str(unknown) == "its certificate is not trusted: self-signed certificate"
    assert str(other).startswith("its certificate is not trusted: Hostname mismatch")
    assert not other.is_final  # a certificate can be renewed
    assert {"AUTH", "MAIL"}.isdisjoint(server.verbs)


@pytest.mark.parametrize(
    ("verb", "reply", "reason", "is_final"),
    [
        ("RCPT", "550 no such user", "refused the recipient: 550 no such user", True),
        ("RCPT", "450 greylisted", "refused the recipient: 450 greylisted", False),
        ("MAIL", "552 too much", "refused the mail: 552 too much", True),
        (".", "554 spam", "refused the mail: 554 spam", True),
        (".", "451 later", "refused the mail: 451 later", False),
        ("GREETING", "421 busy", "refused the mail: 421 busy", False),
        ("RCPT", "550 \x1b[31mred " + "x" * 500, "refused the recipient: 550 [31mred xx", True),
    ],
)
async def test_a_refusal_says_whether_it_is_final(
    verb: str, reply: str, reason: str, is_final: bool, plain: MailServer
) -> None:
    plain.replies[verb] = [reply]

    refused = await failure(client(plain))

    assert str(refused).startswith(f"the mail server {reason}")
    assert len(str(refused)) < 300
    assert refused.is_final is is_final
    assert plain.mails == []


async def test_a_refused_password_is_not_repeated(
    tls: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    serving, trusted = tls
    with smtp_server(serving) as server:
        server.replies["AUTH"] = [f"535 not {SECRET}"] * 5

        refused = await failure(client(server, "smtp", user="fanion", trusted=trusted))

    assert str(refused) == "the mail server refused the password (535)"
    assert not refused.is_final  # the operator can correct it


async def test_a_reply_without_a_code_is_not_repeated(plain: MailServer) -> None:
    plain.replies["AUTH"] = [f"you said {SECRET}"]

    refused = await failure(client(plain, user="fanion"))

    assert str(refused) == "the mail server's reply is too long or malformed"
    assert not refused.is_final


@pytest.mark.parametrize("verb", ["GREETING", "EHLO", "MAIL", "RCPT", "DATA", "."])
async def test_a_connection_that_breaks_off_is_a_failure(verb: str, plain: MailServer) -> None:
    plain.breaks.add(verb)

    broken = await failure(client(plain))

    assert not broken.is_final
    assert plain.mails == []


async def test_a_server_that_breaks_off_after_it_has_taken_the_mail_has_taken_it(
    plain: MailServer,
) -> None:
    plain.breaks.add("QUIT")

    await client(plain).send(MAIL)

    assert len(plain.mails) == 1


async def test_no_server_is_a_failure() -> None:
    with smtp_server() as server:
        pass

    refused = await failure(client(server))

    assert str(refused).startswith("ConnectionRefusedError")
    assert not refused.is_final


@pytest.mark.parametrize("verb", ["GREETING", "RCPT"])
async def test_a_silent_server_is_left_and_the_loop_goes_on(verb: str, plain: MailServer) -> None:
    plain.silent.add(verb)
    sending = client(plain, attempt_s=0.2)

    waiting = asyncio.create_task(failure(sending))
    await asyncio.to_thread(plain.said, verb)
    was_waiting = not waiting.done()
    late = await waiting
    plain.silent.clear()
    await sending.send(MAIL)

    assert was_waiting
    assert str(late) == "the mail server took longer than 0.2 s"
    assert len(plain.mails) == 1


async def test_a_handshake_that_never_ends_is_cut(
    tls: tuple[ssl.SSLContext, ssl.SSLContext], plain: MailServer
) -> None:
    plain.silent.add("GREETING")  # as when a server waits for TLS to begin

    late = await failure(client(plain, "smtps", trusted=tls[1], attempt_s=0.2))

    assert str(late) == "the mail server took longer than 0.2 s"


async def test_a_reply_without_an_end_is_cut(plain: MailServer) -> None:
    plain.dribbles.add("EHLO")

    refused = await failure(client(plain))

    assert str(refused) == "the mail server's reply is too long or malformed"
    assert not refused.is_final


async def test_a_send_that_is_cancelled_leaves_no_connection(plain: MailServer) -> None:
    plain.silent.add("MAIL")
    sending = client(plain)
    waiting = asyncio.create_task(sending.send(MAIL))
    await asyncio.to_thread(plain.said, "MAIL")

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    await asyncio.to_thread(plain.said, "LEFT")
    assert plain.mails == []


async def test_no_mail_is_sent_to_an_address_that_is_none(plain: MailServer) -> None:
    address = "ada@example.com>\r\nRCPT TO:<eve@example.com"

    refused = await failure(client(plain), Mail("test", address, "Hello", "Text\n"))

    assert refused.is_final
    assert plain.verbs == []
