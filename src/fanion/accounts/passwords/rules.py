"""The rules for a new password: long enough, and none that everybody tries first.

There are no rules of composition.

Source: NIST SP 800-63B section 5.1.1.2.
"""

from functools import cache

from fanion.errors import Invalid

PASSWORD_CHARS_MIN = 12
# A longer password is refused before it is hashed.
PASSWORD_CHARS_MAX = 256
COMMON_PASSWORDS = 10_000


def check_password(password: str, email: str = "", attr: str = "password") -> None:
    """Raise Invalid if the password is too short, too long, too common or the e-mail address.

    The first call in a process takes tens of milliseconds, to load the list of common passwords.

    Args:
        email: The address of the account, which must not be its password.
        attr: The name of the field, for the error.
    """
    if len(password) < PASSWORD_CHARS_MIN:
        raise Invalid(
            f"Ensure this field has at least {PASSWORD_CHARS_MIN} characters.",
            code="password_too_short",
            attr=attr,
        )
    if len(password) > PASSWORD_CHARS_MAX:
        raise Invalid(
            f"Ensure this field has no more than {PASSWORD_CHARS_MAX} characters.",
            code="max_length",
            attr=attr,
        )
    folded = password.casefold()
    if folded in _common_passwords() or len(set(folded)) == 1:
        raise Invalid("This password is too common.", code="password_too_common", attr=attr)
    if email and folded == email.casefold():
        raise Invalid(
            "The password must not be the e-mail address.",
            code="password_too_similar",
            attr=attr,
        )


@cache
def _common_passwords() -> frozenset[str]:
    from zxcvbn.frequency_lists import FREQUENCY_LISTS  # type: ignore[import-untyped]

    return frozenset(FREQUENCY_LISTS["passwords"][:COMMON_PASSWORDS])
