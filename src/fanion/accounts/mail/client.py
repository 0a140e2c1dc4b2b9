"""An SMTP client that sends one mail at a time, in a thread so as not to block the event loop."""

import asyncio
import smtplib
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import make_msgid
from typing import BinaryIO

from fanion.accounts.mail.message import Mail, encode
from fanion.config.mail import SmtpServer

SILENCE_S = 10.0  # at most, between two lines of the mail server
ATTEMPT_S = 30.0  # for a whole attempt, however slowly the server answers
ENDING_S = 2.0  # for a thread to end after its connection was cut
REPLY_BYTES_MAX = 64 * 1024  # all replies of the server in one attempt
REASON_CHARS_MAX = 200
READY = 220  # RFC 5321 section 4.2.2


class MailNotSent(Exception):
    """A mail was not sent; the message is the reason.

    Attributes:
        is_final: Whether another attempt would end in the same way.
    """

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


class _Attempt:
    """The state of one attempt that its thread and the event loop share."""

    def __init__(self) -> None:
        self._handle: socket.socket | None = None
        self._is_cut = False

    def connected(self, sock: socket.socket) -> None:
        """Keep a handle of the connection. The thread calls this before it waits for the server.

        Raises:
            TimeoutError: The attempt was cut already.
        """
        self._handle = sock.dup()  # wrapping a socket for TLS detaches the original
        if self._is_cut:
            raise TimeoutError

    def cut(self) -> None:
        """End whatever the thread waits for. The event loop calls this."""
        self._is_cut = True
        if self._handle is not None:
            with suppress(OSError):
                self._handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.close()


class MailClient:
    """A client of one mail server.

    Args:
        sender: Name and address from which mails are sent.
        trusted: The trusted certificates; None for those of the system, or of SSL_CERT_FILE.
        silence_s: The longest time that the server may take for its next line.
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
        self._running: asyncio.Future[MailNotSent | None] | None = None

    async def send(self, mail: Mail) -> None:
        """Send a mail, and return when the mail server has accepted it.

        Concurrent calls are not allowed.

        Raises:
            MailNotSent: Its message holds neither the mail nor a password.
        """
        if self._running is not None and not self._running.done():
            raise MailNotSent("the previous attempt has not ended yet")
        domain = self._sender[1].rpartition("@")[2]
        try:
            message_id = make_msgid(domain=domain).strip("<>")
            message = encode(mail, self._sender, self._now(), message_id)
        except ValueError as error:
            raise MailNotSent(str(error), is_final=True) from None
        await self._send_in_thread(message, domain)

    async def _send_in_thread(self, message: EmailMessage, domain: str) -> None:
        loop = asyncio.get_running_loop()
        self._running = ended = loop.create_future()
        attempt = _Attempt()

        def settle(failure: MailNotSent | None) -> None:
            if not ended.done():
                ended.set_result(failure)

        def work() -> None:
            failure = self._attempt(attempt, message, domain)
            with suppress(RuntimeError):  # if the loop is closed, the server has stopped
                loop.call_soon_threadsafe(settle, failure)

        # A daemon thread, so that a look-up that hangs does not delay the shutdown.
        threading.Thread(target=work, name="mail", daemon=True).start()
        try:
            async with asyncio.timeout(self._attempt_s):
                failure = await asyncio.shield(ended)
        except TimeoutError:
            attempt.cut()
            await asyncio.wait([ended], timeout=ENDING_S)
            failure = MailNotSent(f"the mail server took longer than {self._attempt_s:g} s")
        except asyncio.CancelledError:
            attempt.cut()
            raise
        if failure is not None:
            raise failure

    def _attempt(self, attempt: _Attempt, message: EmailMessage, domain: str) -> MailNotSent | None:
        """Deliver the message in the attempt's thread, and return why it was not sent, if so."""
        try:
            self._deliver(attempt, message, domain)
        except Exception as error:
            return _describe_error(error)
        finally:
            attempt.close()
        return None

    def _deliver(self, attempt: _Attempt, message: EmailMessage, domain: str) -> None:
        server, context = self._server, None
        if server.scheme != "smtp+plain":
            context = self._trusted or ssl.create_default_context()
        tls_first = context if server.scheme == "smtps" else None
        connection = _Connection(domain, self._silence_s, tls_first, attempt.connected)
        try:
            code, text = connection.connect(server.host, server.port)
            if code != READY:
                raise smtplib.SMTPConnectError(code, text)
            if server.scheme == "smtp":
                # Raises if the server does not offer TLS: nothing is ever sent without it.
                connection.starttls(context=context)
            if server.user:
                connection.login(server.user, server.password)
            connection.send_message(message)
            with suppress(smtplib.SMTPException, OSError):
                connection.quit()  # an error does not matter: the mail is accepted already
        finally:
            connection.close()


class _Connection(smtplib.SMTP):
    """An SMTP connection with bounded replies.

    The library would read any number of lines as one reply.

    Args:
        context: Of a connection that begins with TLS; None for a plain one.
        connected: Called with the socket as soon as it is open.
    """

    def __init__(
        self,
        domain: str,
        silence_s: float,
        context: ssl.SSLContext | None,
        connected: Callable[[socket.socket], None],
    ) -> None:
        super().__init__(local_hostname=domain, timeout=silence_s)
        self._context = context
        self._connected = connected
        self._left = REPLY_BYTES_MAX

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        self._host = host  # `starttls` checks the certificate against it
        plain = socket.create_connection((host, port), timeout)
        try:
            self._connected(plain)
            if self._context is None:
                return plain
            return self._context.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None and self.sock is not None:
            self.file = _Bounded(self.sock.makefile("rb"), self._count_bytes)
        return super().getreply()

    def _count_bytes(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise OSError("the mail server's replies are too long")


@dataclass(frozen=True, slots=True)
class _Bounded:
    """A file of which only lines are read.

    Attributes:
        took: Called with the size of each line.
    """

    file: BinaryIO
    took: Callable[[int], None]

    def readline(self, size: int) -> bytes:
        line = self.file.readline(size)
        self.took(len(line))
        return line

    def close(self) -> None:
        self.file.close()


def _describe_error(error: Exception) -> MailNotSent:
    """Describe an error without a reply to a password: some servers repeat the password."""
    match error:
        case smtplib.SMTPAuthenticationError():
            return MailNotSent(f"the mail server refused the password ({error.smtp_code})")
        case smtplib.SMTPRecipientsRefused():
            [(code, text), *_] = error.recipients.values()
            return _describe_refusal("the recipient", code, text)
        case smtplib.SMTPResponseException():
            return _describe_refusal("the mail", error.smtp_code, error.smtp_error)
        case smtplib.SMTPNotSupportedError():
            return MailNotSent(f"the mail server cannot do this: {error}", is_final=True)
        case ssl.SSLCertVerificationError():
            return MailNotSent(f"its certificate is not trusted: {error.verify_message}")
        case OSError() | smtplib.SMTPException():
            reason = _on_one_line(str(error))
            return MailNotSent(f"{type(error).__name__}: {reason}".rstrip(": "))
    return MailNotSent(type(error).__name__)


def _describe_refusal(what: str, code: int, text: bytes | str) -> MailNotSent:
    """Describe a refusal. Codes of 500 and more are final (RFC 5321 section 4.2.1)."""
    said = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return MailNotSent(
        f"the mail server refused {what}: {code} {_on_one_line(said)}".rstrip(),
        is_final=code >= 500,
    )


def _on_one_line(text: str) -> str:
    plain = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(plain.split())[:REASON_CHARS_MAX]
