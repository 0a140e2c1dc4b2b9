"""Mails to users: their texts, and their form in the wire format of SMTP."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from fanion.config.mail import is_mail_address

# Not every server takes 8 bits. Lines may have up to 998 characters, so links stay whole.
_POLICY = SMTP.clone(cte_type="7bit", max_line_length=500)


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail to one user.

    Attributes:
        kind: Names the mail in the log, for example `password_reset`.
        text: May hold a link that signs in, and is therefore not in `repr`.
    """

    kind: str
    to: str
    subject: str
    text: str = field(repr=False)


def is_sendable(address: str) -> bool:
    """Return whether mail can be sent to the address, which is less strictly checked for users."""
    return is_mail_address(_ascii_domain(address))


def on_one_line(text: str) -> str:
    """Return the text with a space for each run of line breaks, control characters and spaces."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def encode(mail: Mail, sender: tuple[str, str], now: datetime, message_id: str) -> EmailMessage:
    """Encode a mail for SMTP.

    Args:
        sender: Name and address, as returned by `read_mailbox`.
        message_id: Without angle brackets.

    Raises:
        ValueError: No mail can be sent to the address.
    """
    if not is_sendable(mail.to):
        raise ValueError("no mail can be sent to the address")
    message = EmailMessage(_POLICY)
    message["From"] = Address(sender[0], addr_spec=sender[1])
    message["To"] = Address(addr_spec=_ascii_domain(mail.to))
    message["Subject"] = mail.subject
    message["Date"] = format_datetime(now)
    message["Message-ID"] = f"<{message_id}>"
    # Prevents out-of-office replies (RFC 3834 section 5).
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.text)
    return message


def reset_mail(to: str, link: str, lasts: timedelta) -> Mail:
    return Mail(
        "password_reset",
        to,
        "Set a new password",
        f"""Somebody, probably you, requested a new password for your Fanion account.

Set it here. The link works once, within {_duration(lasts)}:

{link}

If it was not you, you can ignore this mail: nothing changes without the link.
""",
    )


def password_changed_mail(to: str, address: str) -> Mail:
    """Compose the mail to the owner of an account whose password was changed.

    Args:
        address: The address of this server, for its users.
    """
    return Mail(
        "password_changed",
        to,
        "Your password was changed",
        f"""The password of your Fanion account at {address} was changed, and all other sessions
were ended.

If it was not you, request a new password at once, and tell an administrator of your organization.
""",
    )


def email_changed_mail(to: str, address: str) -> Mail:
    """Compose the mail to the former address of an account. It does not name the new address.

    Args:
        address: The address of this server, for its users.
    """
    return Mail(
        "email_changed",
        to,
        "Your e-mail address was changed",
        f"""The e-mail address of your Fanion account at {address} was changed. This address is no
longer used.

If it was not you, tell an administrator of your organization at once.
""",
    )


def _duration(lasts: timedelta) -> str:
    hours = round(lasts.total_seconds() / 3600)
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours} hours" if hours > 1 else "one hour"


def _ascii_domain(address: str) -> str:
    """Return the address with an international domain in ASCII, or unchanged if it has none."""
    local, at, domain = address.rpartition("@")
    if domain.isascii():
        return address
    try:
        return local + at + domain.encode("idna").decode("ascii")
    except UnicodeError:
        return address
