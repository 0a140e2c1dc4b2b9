"""An SMTP client that sends one mail at a time."""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from email.message import EmailMessage
from email.utils import make_msgid

from aiosmtplib import (
    SMTP,
    SMTPAuthenticationError,
    SMTPConnectError,
    SMTPException,
    SMTPRecipientsRefused,
    SMTPResponseException,
)

from fanion.accounts.mail.message import Mail, encode, on_one_line
from fanion.config.mail import SmtpServer

SILENCE_S = 10.0  # at most, between two replies of the mail server
ATTEMPT_S = 30.0  # for a whole attempt, however slowly the server answers
REASON_CHARS_MAX = 200


class MailNotSent(Exception):
    """A mail was not sent; the message is the reason.

    Attributes:
        is_final: Whether another attempt would end in the same way.
    """

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


class MailClient:
    """A client of one mail server.

    Args:
        sender: Name and address from which mails are sent.
        trusted: The trusted certificates; None for those of the system, or of SSL_CERT_FILE.
        silence_s: The longest time that the server may take for its next reply.
        attempt_s: The longest time of a whole attempt.
    """

    def __init__(
        self,
        server: SmtpServer,
        sender: tuple[str, str],
        now: Callable[[], datetime],
        *,
        trusted: ssl.SSLContext | None = None,
        silence_s: float = SILENCE_S,
        attempt_s: float = ATTEMPT_S,
    ) -> None:
        self._server = server
        self._sender = sender
        self._now = now
        self._trusted = trusted
        self._silence_s = silence_s
        self._attempt_s = attempt_s

    async def send(self, mail: Mail) -> None:
        """Send a mail, and return when the mail server has accepted it.

        Raises:
            MailNotSent: Its message holds neither the mail nor a password.
        """
        domain = self._sender[1].rpartition("@")[2]
        try:
            message_id = make_msgid(domain=domain).strip("<>")
            message = encode(mail, self._sender, self._now(), message_id)
        except ValueError as error:
            raise MailNotSent(str(error), is_final=True) from None
        try:
            async with asyncio.timeout(self._attempt_s) as limit:
                await self._deliver(message, domain)
        except Exception as error:
            if limit.expired():
                reason = f"the mail server took longer than {self._attempt_s:g} s"
                raise MailNotSent(reason) from None
            raise _describe_error(error) from None

    async def _deliver(self, message: EmailMessage, domain: str) -> None:
        server = self._server
        connection = SMTP(
            hostname=server.host,
            port=server.port,
            local_hostname=domain,
            timeout=self._silence_s,
            use_tls=server.scheme == "smtps",
            start_tls=False,  # here an error says that the server cannot do it
            tls_context=self._trusted,
        )
        try:
            await connection.connect()
            if server.scheme == "smtp":
                await _encrypt(connection)
            if server.user:
                await connection.login(server.user, server.password)
            await connection.send_message(message)
            with suppress(SMTPException, OSError):
                await connection.quit()  # an error does not matter: the mail is accepted already
        finally:
            if isinstance(connection.transport, asyncio.WriteTransport):
                connection.transport.abort()  # to close it would wait for a server that is silent


async def _encrypt(connection: SMTP) -> None:
    """Continue encrypted.

    Raises:
        MailNotSent: The server does not offer it: nothing is ever sent without.
    """
    await connection.ehlo()
    if not connection.supports_extension("starttls"):
        reason = "STARTTLS extension not supported by server."
        raise MailNotSent(f"the mail server cannot do this: {reason}", is_final=True)
    await connection.starttls()


def _describe_error(error: Exception) -> MailNotSent:
    """Describe an error without a reply to a password: some servers repeat the password."""
    if isinstance(error, SMTPConnectError) and isinstance(error.__cause__, OSError):
        error = error.__cause__
    match error:
        case MailNotSent():
            return error
        case SMTPAuthenticationError():
            return MailNotSent(f"the mail server refused the password ({error.code})")
        case SMTPRecipientsRefused():
            [refused, *_] = error.recipients
            return _describe_refusal("the recipient", refused)
        case SMTPResponseException() if error.code > 0:
            return _describe_refusal("the mail", error)
        case SMTPResponseException():
            return MailNotSent("the mail server's reply is too long or malformed")
        case ssl.SSLCertVerificationError():
            return MailNotSent(f"its certificate is not trusted: {error.verify_message}")
        case SMTPException():
            return MailNotSent(f"{type(error).__name__}: {_reason(error.message)}")
        case OSError():
            reason = _reason(str(error))
            return MailNotSent(f"{type(error).__name__}: {reason}".rstrip(": "))
    return MailNotSent(type(error).__name__)


def _describe_refusal(what: str, refused: SMTPResponseException) -> MailNotSent:
    """Describe a refusal. Codes of 500 and more are final (RFC 5321 section 4.2.1)."""
    reason = f"{refused.code} {_reason(refused.message)}".rstrip()
    return MailNotSent(f"the mail server refused {what}: {reason}", is_final=refused.code >= 500)


def _reason(text: str) -> str:
    return on_one_line(text)[:REASON_CHARS_MAX]
