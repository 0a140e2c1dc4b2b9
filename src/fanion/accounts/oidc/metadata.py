"""The provider's description of itself, as far as a sign-in needs it.

Source: OpenID Connect Discovery 1.0; RFC 8414; RFC 9207.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from fanion.accounts.oidc.errors import ProviderInvalid
from fanion.config import is_safe_url

WELL_KNOWN = "/.well-known/openid-configuration"
URL_CHARS_MAX = 2_000
# Signatures whose key only the provider has. Others that providers announce are not accepted:
# `none`, and signatures whose key both sides share.
ALGORITHMS = frozenset(
    {
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519",
    }
)  # fmt: skip

_Url = Annotated[str, Meta(min_length=1, max_length=URL_CHARS_MAX)]


class _Document(Struct):
    issuer: str
    authorization_endpoint: _Url
    token_endpoint: _Url
    jwks_uri: _Url
    id_token_signing_alg_values_supported: tuple[str, ...] = ("RS256",)
    # The default of OpenID Connect Discovery section 3.
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    userinfo_endpoint: _Url | None = None
    authorization_response_iss_parameter_supported: bool = False


@dataclass(frozen=True, slots=True)
class ProviderMetadata:
    """The provider's endpoints and the choices that follow from its description.

    Attributes:
        algorithms: Algorithms that the provider announces and that are accepted here.
        sends_secret: Whether the client secret is sent in the body of the token request, not in its
            header.
        names_issuer: Whether each response to an authorization request has `iss`.
    """

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    algorithms: frozenset[str]
    sends_secret: bool
    names_issuer: bool


def read_metadata(raw: bytes, issuer: str) -> ProviderMetadata:
    """Parse the provider's description.

    Args:
        issuer: The issuer as the operator wrote it. The description must name exactly this issuer.

    Raises:
        ProviderInvalid: The description cannot be used.
    """
    try:
        document = msgspec.json.decode(raw, type=_Document)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ProviderInvalid(
            f"The identity provider's configuration cannot be read: {_short(error)}"
        ) from None
    if document.issuer != issuer:
        raise ProviderInvalid(
            "The identity provider's configuration names another issuer than FANION_OIDC_ISSUER."
        )
    urls = (
        document.authorization_endpoint,
        document.token_endpoint,
        document.jwks_uri,
        document.userinfo_endpoint,
    )
    for url in urls:
        if url is not None and not is_safe_url(url):
            raise ProviderInvalid(
                "The identity provider's configuration has an address that is not https."
            )
    algorithms = ALGORITHMS.intersection(document.id_token_signing_alg_values_supported)
    if not algorithms:
        raise ProviderInvalid(
            "The identity provider signs ID tokens with no accepted algorithm; accepted are "
            f"{', '.join(sorted(ALGORITHMS))}."
        )
    return ProviderMetadata(
        document.issuer,
        *urls,
        algorithms=algorithms,
        sends_secret=_sends_secret(document.token_endpoint_auth_methods_supported),
        names_issuer=document.authorization_response_iss_parameter_supported,
    )


def _sends_secret(methods: Sequence[str]) -> bool:
    return "client_secret_basic" not in methods and "client_secret_post" in methods


def _short(error: Exception) -> str:
    return str(error)[:200]
