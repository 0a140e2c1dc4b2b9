"""Members of an organization: what identifies one, and what each may be."""

import re

from fanion.projects.model import Level

EMAIL_CHARS_MAX = 254  # source: RFC 5321 section 4.5.3.1.3, without the angle brackets
FIRST_NAME_CHARS_MAX = 150  # as PostHog has it
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


def read_level(text: str) -> Level:
    """By its name, in any case. raises: ValueError, which says what is allowed"""
    try:
        return Level[text.strip().upper()]
    except KeyError:
        names = [level.name.lower() for level in Level]
        allowed = f"{', '.join(names[:-1])} or {names[-1]}"
        raise ValueError(f"{text!r} is no level; use {allowed}.") from None


def read_email(text: str) -> str:
    """As it is stored and compared: in lower case. raises: ValueError"""
    email = text.strip().lower()
    if not (_EMAIL.fullmatch(email) and email.isprintable()):
        raise ValueError(f"{text!r} is no e-mail address, such as ada@example.com.")
    if len(email) > EMAIL_CHARS_MAX:
        raise ValueError(f"an e-mail address has at most {EMAIL_CHARS_MAX} characters.")
    return email


def read_first_name(text: str) -> str:
    """raises: ValueError, which says what is allowed"""
    name = text.strip()
    if not 1 <= len(name) <= FIRST_NAME_CHARS_MAX:
        raise ValueError(f"the name must have 1 to {FIRST_NAME_CHARS_MAX} characters.")
    return name
