"""The mail settings: addresses, and the server that sends mails."""

import re
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

# The scheme of FANION_SMTP_URL and its default port.
SMTP_PORTS = {"smtp": 587, "smtps": 465, "smtp+plain": 25}
MAIL_ADDRESS_CHARS_MAX = 254  # RFC 5321 section 4.5.3.1.3, without the angle brackets
_WORD, _LABEL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+", r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_MAIL_ADDRESS = re.compile(rf"(?=[^@]{{1,64}}@){_WORD}(?:\.{_WORD})*@{_LABEL}(?:\.{_LABEL})*")
_MAILBOX = re.compile(r"(?P<name>[^<>]*)<(?P<address>[^<>]*)>")


class SmtpServer(msgspec.Struct, frozen=True, kw_only=True):
    """A mail server.

    Attributes:
        scheme: `smtp` begins TLS by STARTTLS and sends nothing without it, `smtps` begins with
            TLS, `smtp+plain` has no TLS.
        user: "" if the server needs no login.
        password: "" if the server needs no login.
    """

    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"SmtpServer({self.scheme}://{self.host}:{self.port})"


def read_smtp_url(url: str) -> SmtpServer:
    """Parse a URL such as `smtp://user:password@mail.example.com:587`.

    User and password are percent-encoded.

    Raises:
        ValueError: The URL is wrong. The text repeats nothing that may be a password.
    """
    parsed = _split_smtp_url(url)
    user, password = unquote(parsed.username or ""), unquote(parsed.password or "")
    if user and parsed.scheme == "smtp+plain":
        raise ValueError("SMTP_URL must not hold a password with smtp+plain, which sends it openly")
    if not (user + password).isprintable() or bool(user) != bool(password):
        raise ValueError("SMTP_URL must hold a user name with its password, or neither")
    return SmtpServer(
        scheme=parsed.scheme,
        host=parsed.hostname or "",
        port=parsed.port or SMTP_PORTS[parsed.scheme],
        user=user,
        password=password,
    )


def _split_smtp_url(url: str) -> SplitResult:
    try:
        parsed = urlsplit(url)
        is_named = bool(parsed.hostname) and parsed.port != 0 and parsed.scheme in SMTP_PORTS
        if is_named and not (parsed.path.strip("/") or parsed.query or parsed.fragment):
            return parsed
    except ValueError:  # the port is wrong, or the brackets of an IPv6 address
        pass
    raise ValueError(
        "SMTP_URL must be an address such as smtp://user:password@mail.example.com:587, "
        "beginning with smtp://, smtps:// or smtp+plain://, without a path"
    )


def read_mailbox(text: str) -> tuple[str, str]:
    """Return name and address of `Fanion <fanion@example.com>`, or of an address without a name.

    Raises:
        ValueError: The text is not an address.
    """
    match = _MAILBOX.fullmatch(text.strip())
    address = match["address"] if match else text.strip()
    name = (match["name"] if match else "").strip().strip('"')
    if not (is_mail_address(address) and name.isprintable()):
        raise ValueError(
            "MAIL_FROM must be an address such as fanion@example.com or "
            f"Fanion <fanion@example.com>, got {text!r}"
        )
    return name, address


def is_mail_address(text: str) -> bool:
    """Return whether mail can be sent to this address.

    Only ASCII without quotes counts, as nearly all addresses are, so that nothing in it has a
    meaning in SMTP or in a header.

    Source: RFC 5321 section 4.1.2.
    """
    return len(text) <= MAIL_ADDRESS_CHARS_MAX and _MAIL_ADDRESS.fullmatch(text) is not None
