"""Sign-in by OpenID Connect: the operator's settings, and the provider's claims about a user."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanion.config import GroupAccess
from fanion.projects.model import FIRST_NAME_CHARS_MAX, Level, read_email

OWN_CLAIMS = ("email", "email_verified")


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """The operator's settings for the identity provider.

    Attributes:
        client_secret: "" for a public client, which only PKCE protects.
        domains: The domains of e-mail addresses by which accounts are found, in lower case.
        groups: The access that members of a group of the provider get, by the group's name.
    """

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    scopes: str = "openid email profile"
    domains: frozenset[str] = frozenset()
    groups_claim: str = "groups"
    groups: Mapping[str, GroupAccess] = field(default_factory=dict)
    creates_accounts: bool = False

    def is_trusted_address(self, identity: "OidcIdentity") -> bool:
        """Return whether the account with this address belongs to this identity."""
        email = identity.verified_email
        return email is not None and email.rpartition("@")[2] in self.domains


@dataclass(frozen=True, slots=True)
class OidcIdentity:
    """A user as the provider describes them.

    Attributes:
        verified_email: In lower case; None if the provider names no address that it has verified.
        groups: Names, in no order.
    """

    issuer: str
    subject: str
    verified_email: str | None
    first_name: str
    groups: frozenset[str]


def lacks_claims(claims: Mapping[str, Any], settings: OidcSettings) -> bool:
    """Return whether the user info endpoint may have claims that this ID token lacks."""
    names = [*OWN_CLAIMS, *([settings.groups_claim] if settings.groups else [])]
    return any(name not in claims for name in names)


def read_identity(
    token: Mapping[str, Any], user_info: Mapping[str, Any], settings: OidcSettings
) -> OidcIdentity:
    """Build the identity of a user from the provider's claims.

    Args:
        token: The claims of a verified ID token, which take precedence over those of `user_info`.
    """
    email = _verified_email(token if "email_verified" in token else user_info)
    groups = token.get(settings.groups_claim, user_info.get(settings.groups_claim))
    return OidcIdentity(
        settings.issuer,
        token["sub"],
        email,
        _first_name({**user_info, **token}, email),
        _names(groups),
    )


def _verified_email(claims: Mapping[str, Any]) -> str | None:
    """Return the address if the same source marks it as verified.

    The mark of another address says nothing.
    """
    email, is_verified = claims.get("email"), claims.get("email_verified")
    # Some providers send the text "true", for example the user info of Amazon Cognito.
    if not isinstance(email, str) or not (is_verified is True or is_verified == "true"):
        return None
    try:
        return read_email(email)
    except ValueError:
        return None


def _first_name(claims: Mapping[str, Any], email: str | None) -> str:
    for name in ("given_name", "name"):
        text = claims.get(name)
        if isinstance(text, str) and text.strip() and text.isprintable():
            return text.strip()[:FIRST_NAME_CHARS_MAX]
    return (email or "").partition("@")[0][:FIRST_NAME_CHARS_MAX] or "?"


def _names(groups: object) -> frozenset[str]:
    """Return the groups named by a claim: a list or a single text. Other values name no group."""
    if isinstance(groups, str):
        return frozenset({groups})
    if not isinstance(groups, list):
        return frozenset()
    return frozenset(group for group in groups if isinstance(group, str))


@dataclass(frozen=True, slots=True)
class GrantedAccess:
    """The access that the groups of a user give, at each sign-in.

    Attributes:
        level: None if groups do not decide about levels.
        roles: The names of the roles that the user is in from now on.
        managed: The names of all roles that groups decide about. Other roles stay as they are.
    """

    level: Level | None
    roles: frozenset[str]
    managed: frozenset[str]


def granted_access(
    mapping: Mapping[str, GroupAccess], groups: frozenset[str], lowest: Level
) -> GrantedAccess:
    """Return the access that these groups give.

    Args:
        lowest: The level of a user whose groups name none, if groups decide about levels.
    """
    mine = [access for group, access in mapping.items() if group in groups]
    return GrantedAccess(
        _level(list(mapping.values()), mine, lowest),
        frozenset(role for access in mine for role in access.roles),
        frozenset(role for access in mapping.values() for role in access.roles),
    )


def _level(
    known: Sequence[GroupAccess], mine: Sequence[GroupAccess], lowest: Level
) -> Level | None:
    if all(access.level is None for access in known):
        return None
    named = [Level[access.level.upper()] for access in mine if access.level is not None]
    return max(named, default=lowest)
