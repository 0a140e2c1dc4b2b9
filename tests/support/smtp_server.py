"""A real SMTP server on loopback that can be slow, refuse and break off; it runs in threads."""

import base64
import socket
import socketserver
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

RECEIVED_S = 60


@dataclass(frozen=True)
class ReceivedMail:
    """A mail that was delivered.

    Attributes:
        encrypted: Whether TLS was in use.
        user: The login of the sender; "" for none.
        password: The password of the sender; "" for none.
    """

    sender: str
    recipients: tuple[str, ...]
    raw: bytes
    encrypted: bool
    user: str
    password: str

    @property
    def message(self) -> EmailMessage:
        return message_from_bytes(self.raw, policy=default)

    @property
    def text(self) -> str:
        content: str = self.message.get_content()
        return content.replace("\r\n", "\n")


@dataclass
class MailServer:
    """The behaviour of the server, and what it received.

    Attributes:
        context: For TLS, by STARTTLS unless `tls_first`; None for no TLS.
        replies: Replace the usual ones, by verb (`AUTH`, `MAIL`, `RCPT`, `DATA`, `.`, `GREETING`).
        breaks: Verbs at which the connection is closed without a reply.
        silent: Verbs at which it says nothing until the client leaves, which is noted as `LEFT`.
        dribbles: Verbs at which it sends one line of a reply after another, without an end.
    """

    context: ssl.SSLContext | None = None
    tls_first: bool = False
    port: int = 0
    replies: dict[str, list[str]] = field(default_factory=dict)
    breaks: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    dribbles: set[str] = field(default_factory=set)
    mails: list[ReceivedMail] = field(default_factory=list)
    verbs: list[str] = field(default_factory=list)
    _came: threading.Condition = field(default_factory=threading.Condition)

    def received(self, number: int = 1) -> list[ReceivedMail]:
        """Return the mails, once at least `number` have come. It blocks: await it in a thread."""
        with self._came:
            came = self._came.wait_for(lambda: len(self.mails) >= number, RECEIVED_S)
        assert came, f"{len(self.mails)} mails of {number} have come"
        return self.mails

    def said(self, verb: str) -> None:
        """Wait until a client has sent the verb."""
        with self._came:
            assert self._came.wait_for(lambda: verb in self.verbs, RECEIVED_S), self.verbs

    def note(self, verb: str) -> None:
        with self._came:
            self.verbs.append(verb)
            self._came.notify_all()

    def keep(self, mail: ReceivedMail) -> None:
        with self._came:
            self.mails.append(mail)
            self._came.notify_all()


class _Left(Exception):
    """The end of the connection."""


class _Session:
    """One connection."""

    def __init__(self, server: MailServer, sock: socket.socket) -> None:
        self._server = server
        self._sock = sock
        self._file = sock.makefile("rb")
        self._sender = self._user = self._password = ""
        self._recipients: list[str] = []

    def run(self) -> None:
        if self._server.tls_first:
            self._begin_tls()
        self._answer("GREETING", "220 mail.test ESMTP")
        while line := self._line():
            verb = line.split(" ", 1)[0].upper()
            if verb == "QUIT":
                self._answer(verb, "221 bye")
                return
            self._command(verb, line)

    def _command(self, verb: str, line: str) -> None:
        match verb:
            case "EHLO":
                self._answer(verb, self._extensions())
            case "STARTTLS":
                self._answer(verb, "220 go on")
                self._begin_tls()
            case "AUTH":
                self._log_in(line)
            case "MAIL":
                self._sender = line.partition("<")[2].partition(">")[0]
                self._recipients = []
                self._answer(verb, "250 ok")
            case "RCPT":
                if self._answer(verb, "250 ok").startswith("2"):
                    self._recipients.append(line.partition("<")[2].partition(">")[0])
            case "DATA":
                if self._answer(verb, "354 go on").startswith("3"):
                    self._take_mail()
            case "RSET":
                self._answer(verb, "250 ok")
            case _:
                self._answer(verb, "502 unknown")

    def _extensions(self) -> str:
        names = ["mail.test", "AUTH PLAIN"]
        if self._server.context is not None and not self._encrypted:
            names.append("STARTTLS")
        return "\r\n".join(f"250{' ' if n is names[-1] else '-'}{n}" for n in names)

    def _log_in(self, line: str) -> None:
        if self._answer("AUTH", "235 ok").startswith("2"):
            sent = base64.b64decode(line.split(" ")[2]).decode().split("\0")
            self._user, self._password = sent[1], sent[2]

    def _take_mail(self) -> None:
        lines = []
        while (line := self._file.readline()) != b".\r\n":
            if not line:
                raise _Left
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        if not self._answer(".", "250 taken").startswith("2"):
            return
        recipients = tuple(self._recipients)
        mail = (b"".join(lines), self._encrypted, self._user, self._password)
        self._server.keep(ReceivedMail(self._sender, recipients, *mail))

    @property
    def _encrypted(self) -> bool:
        return isinstance(self._sock, ssl.SSLSocket)

    def _begin_tls(self) -> None:
        assert self._server.context is not None
        try:
            self._sock = self._server.context.wrap_socket(self._sock, server_side=True)
        except OSError:
            raise _Left from None
        self._file = self._sock.makefile("rb")

    def _line(self) -> str:
        return self._file.readline().decode().rstrip("\r\n")

    def _answer(self, verb: str, usual: str) -> str:
        """Send a reply and return it."""
        server = self._server
        server.note(verb)
        if verb in server.breaks:
            raise _Left
        if verb in server.silent:
            with suppress(OSError):
                self._file.read()  # until the client leaves
            server.note("LEFT")
            raise _Left
        while verb in server.dribbles:
            self._send("250-" + "x" * 900)
        planned = server.replies.get(verb)
        reply = planned.pop(0) if planned else usual
        self._send(reply)
        return reply

    def _send(self, reply: str) -> None:
        self._sock.sendall(reply.encode() + b"\r\n")

    def close(self) -> None:
        self._file.close()
        self._sock.close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False


@contextmanager
def smtp_server(
    context: ssl.SSLContext | None = None, *, tls_first: bool = False
) -> Generator[MailServer]:
    state = MailServer(context, tls_first)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            session = _Session(state, self.request)
            with suppress(OSError, _Left):
                session.run()
            session.close()

    with _Server(("127.0.0.1", 0), Handler) as server:
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
