"""The authorization request, and where a sign-in leads."""

from urllib.parse import parse_qs, urlsplit

import pytest

from fanion.accounts.oidc.authorization import BrowserSecret, authorization_url, local_path
from fanion.accounts.oidc.metadata import ProviderMetadata
from fanion.accounts.oidc.model import OidcSettings

ISSUER = "https://id.example.com"
SETTINGS = OidcSettings(ISSUER, "fanion", "secret", scopes="openid email groups")
REDIRECT = "https://fanion.example.com/api/login/oidc/callback/"


def metadata(endpoint: str) -> ProviderMetadata:
    algorithms = frozenset({"RS256"})
    return ProviderMetadata(ISSUER, endpoint, "t", "k", None, algorithms, False, False)


@pytest.mark.parametrize("endpoint", [f"{ISSUER}/auth", f"{ISSUER}/auth?tenant=7#part"])
@pytest.mark.parametrize("fresh", [False, True])
def test_the_request_asks_for_a_code_with_pkce(endpoint: str, fresh: bool) -> None:
    secret = BrowserSecret("secret of the browser")

    url = authorization_url(metadata(endpoint), SETTINGS, REDIRECT, "state", secret, fresh=fresh)

    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{ISSUER}/auth"
    assert (query.pop("tenant", None), parts.fragment) == ("7" if "?" in endpoint else None, "")
    asked_afresh = {"prompt": "login", "max_age": "0"} if fresh else {}
    assert query == asked_afresh | {
        "response_type": "code",
        "client_id": "fanion",
        "redirect_uri": REDIRECT,
        "scope": "openid email groups",
        "state": "state",
        "nonce": secret.nonce,
        "code_challenge": secret.challenge,
        "code_challenge_method": "S256",
    }


def test_nothing_in_the_request_leads_to_the_secret_or_the_verifier() -> None:
    one, other = BrowserSecret("one"), BrowserSecret("other")

    derived = {value for of in (one, other) for value in (of.nonce, of.verifier, of.challenge)}

    assert len(derived) == 6
    assert all(len(value) == 43 for value in derived)  # RFC 7636 section 4.1


@pytest.mark.parametrize(
    "path", ["/", "/flags", "/flags/7?tab=usage#reach", "/a%2F%2Fb", "/a//b", "/fanion/flags"]
)
def test_paths_of_this_server_are_returned_to(path: str) -> None:
    assert local_path(path, "/home") == path


@pytest.mark.parametrize(
    "text",
    [
        None, "", "flags", "//evil.example", "///evil.example", "/\\evil.example",
        "\\/evil.example",
        "/\t/evil.example", "/\n/evil.example", "\t//evil.example", " //evil.example",
        "https://evil.example", "javascript:alert(1)", "/a\r\nset-cookie: x=y", "/é", "/a b",
        "/" + "a" * 2_000, "/\x7f", "/\0",
    ],
)  # fmt: skip
def test_everything_else_leads_home(text: str | None) -> None:
    assert local_path(text, "/home") == "/home"
