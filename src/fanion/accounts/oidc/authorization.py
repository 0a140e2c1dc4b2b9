"""The authorization request, and what ties its response to the browser that began it. Pure.

Source: RFC 6749; RFC 7636; OpenID Connect Core 1.0 section 3.1.2.1.
"""

from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import urlencode, urlsplit

from fanion.accounts.oidc.metadata import ProviderMetadata
from fanion.accounts.oidc.model import OidcSettings

CALLBACK_PATH = "/api/login/oidc/callback/"
RETURN_PATH_CHARS_MAX = 2_000
# The longest parameter of a callback. Providers send codes of up to some thousand characters.
PARAMETER_CHARS_MAX = 4_096
# The accepted age of the sign-in to the provider if it must be fresh; the request asks for 0.
FRESH_MAX_AGE_S = 300


@dataclass(frozen=True, slots=True)
class BrowserSecret:
    """The secret in the cookie of the browser that began a sign-in.

    Nonce and PKCE verifier derive from it. They are not stored, and only this browser's callback
    has them.
    """

    text: str

    @property
    def nonce(self) -> str:
        return _derived("nonce", self.text)

    @property
    def verifier(self) -> str:
        return _derived("verifier", self.text)

    @property
    def challenge(self) -> str:
        """The PKCE challenge, S256 (RFC 7636 section 4.2)."""
        return _base64url(sha256(self.verifier.encode()).digest())


def _derived(purpose: str, secret: str) -> str:
    return _base64url(sha256(f"{purpose}:{secret}".encode(errors="surrogatepass")).digest())


def _base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def authorization_url(
    metadata: ProviderMetadata,
    settings: OidcSettings,
    redirect_uri: str,
    state: str,
    secret: BrowserSecret,
    *,
    fresh: bool,
) -> str:
    """Return the URL to which the browser is sent.

    Args:
        fresh: Whether the user has to sign in to the provider again.
    """
    query = {
        "response_type": "code",
        "client_id": settings.client_id,
        "redirect_uri": redirect_uri,
        "scope": settings.scopes,
        "state": state,
        "nonce": secret.nonce,
        "code_challenge": secret.challenge,
        "code_challenge_method": "S256",
    }
    if fresh:
        query |= {"prompt": "login", "max_age": "0"}
    endpoint = metadata.authorization_endpoint
    separator = "&" if urlsplit(endpoint).query else "?"
    return endpoint.partition("#")[0] + separator + urlencode(query)


@dataclass(frozen=True, slots=True)
class Callback:
    """The parameters with which the provider sends the browser back.

    Source: RFC 6749 section 4.1.2; RFC 9207.
    """

    state: str
    code: str
    error: str
    issuer: str

    @property
    def is_too_long(self) -> bool:
        parts = (self.state, self.code, self.error, self.issuer)
        return any(len(part) > PARAMETER_CHARS_MAX for part in parts)


def local_path(text: str | None, default: str) -> str:
    r"""Return the path where the browser goes after the sign-in: on this server, or else `default`.

    Browsers read a backslash as a slash, and leave out control characters: `/\evil.example` and
    `/<tab>/evil.example` lead elsewhere, as `//evil.example` does.
    """
    if not text or len(text) > RETURN_PATH_CHARS_MAX:
        return default
    if not (text.isascii() and text.isprintable()) or " " in text or "\\" in text:
        return default
    return text if text[0] == "/" and text[1:2] != "/" else default
