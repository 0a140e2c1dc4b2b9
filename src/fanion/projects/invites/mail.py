"""The mail with the link of an invite."""

from dataclasses import dataclass, field
from typing import Protocol

from fanion.projects.invites.model import INVITE_LASTS, Invite

KIND = "invite"  # names these mails in the log
NAME_CHARS_MAX = 80  # longer names that users chose are cut in a mail


class MailSender(Protocol):
    """Port to the package that sends mails, which is above this one."""

    def __call__(self, kind: str, to: str, subject: str, text: str) -> bool:
        """Return at once whether the mail is going to be sent."""
        ...


@dataclass(frozen=True, slots=True)
class InviteLink:
    """An invite and its link.

    Attributes:
        organization: The name of the organization.
        link: The URL that joins the organization.
    """

    invite: Invite
    organization: str
    link: str = field(repr=False)


def send_invite(send: MailSender, invite_link: InviteLink) -> bool:
    """Send the mail of an invite, and return whether it is going to be sent."""
    invite = invite_link.invite
    organization = _one_line_name(invite_link.organization)
    author = _one_line_name(invite.created_by.first_name)
    message = f"{_quote_message(invite.message)}\n\n" if invite.message else ""
    text = f"""{author} ({invite.created_by.email}) invites you to the organization
{organization} in Fanion.

{message}Join it here. The link works once, within {INVITE_LASTS.days} days:

{invite_link.link}

If you did not expect this invite, you can ignore this mail.
"""
    return send(KIND, invite.target_email, f"You are invited to {organization}", text)


def _one_line_name(text: str) -> str:
    """Return a name on one line."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return plain[:NAME_CHARS_MAX]


def _quote_message(message: str) -> str:
    """Quote a message, so that it cannot pass for the server's own words."""
    lines = message.replace("\r", "").split("\n")
    return "\n".join(f"> {''.join(c for c in line if c.isprintable())}".rstrip() for line in lines)
