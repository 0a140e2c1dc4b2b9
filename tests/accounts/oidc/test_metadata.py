"""The provider's description of itself is checked before anything is sent there."""

from typing import Any

import msgspec
import pytest

from fanion.accounts.oidc.errors import ProviderInvalid
from fanion.accounts.oidc.metadata import ProviderMetadata, read_metadata

ISSUER = "https://id.example.com/realm"
DOCUMENT: dict[str, Any] = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/auth",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/keys",
    "id_token_signing_alg_values_supported": ["RS256", "HS256", "none", "ES256"],
    "unknown": {"of": "later versions"},
}


def read(**changed: Any) -> ProviderMetadata:
    document = {name: value for name, value in (DOCUMENT | changed).items() if value != "(none)"}
    return read_metadata(msgspec.json.encode(document), ISSUER)


def test_a_description_is_read() -> None:
    algorithms = frozenset({"RS256", "ES256"})

    assert read() == ProviderMetadata(
        ISSUER,
        f"{ISSUER}/auth",
        f"{ISSUER}/token",
        f"{ISSUER}/keys",
        None,
        algorithms,
        sends_secret=False,
        names_issuer=False,
    )
    assert read(id_token_signing_alg_values_supported="(none)").algorithms == {"RS256"}
    assert read(userinfo_endpoint=f"{ISSUER}/me").userinfo_endpoint == f"{ISSUER}/me"
    assert read(authorization_response_iss_parameter_supported=True).names_issuer


@pytest.mark.parametrize(
    ("methods", "sends_secret"),
    [
        (["client_secret_basic"], False),
        (["client_secret_post"], True),
        (["client_secret_post", "client_secret_basic"], False),
        (["private_key_jwt"], False),
    ],
)
def test_the_secret_is_sent_where_the_provider_reads_it(
    methods: list[str], sends_secret: bool
) -> None:
    assert read(token_endpoint_auth_methods_supported=methods).sends_secret == sends_secret


@pytest.mark.parametrize(
    "changed",
    [
        {"issuer": ISSUER + "/"},
        {"issuer": "https://evil.example"},
        {"issuer": 7},
        {"token_endpoint": "(none)"},
        {"jwks_uri": ""},
        {"jwks_uri": "https://" + "a" * 2_000},
        {"token_endpoint": "http://id.example.com/token"},
        {"token_endpoint": "file:///etc/passwd"},
        {"token_endpoint": "https://"},
        {"token_endpoint": "https://id.example.com:99999/"},
        {"token_endpoint": "https://user:secret@id.example.com/"},
        {"userinfo_endpoint": "http://10.0.0.1/"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "https://id.example.com/\r\nset-cookie: x"},
        {"id_token_signing_alg_values_supported": ["HS256", "none"]},
        {"id_token_signing_alg_values_supported": []},
        {"id_token_signing_alg_values_supported": "RS256"},
    ],
)
def test_a_description_that_cannot_be_used_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ProviderInvalid) as caught:
        read(**changed)

    assert caught.value.code == "oidc_provider_invalid"


@pytest.mark.parametrize("raw", [b"", b"<html>", b"[]", b"{}", b"[" * 100_000, b"\xff\xfe"])
def test_garbage_is_refused(raw: bytes) -> None:
    with pytest.raises(ProviderInvalid, match="configuration"):
        read_metadata(raw, ISSUER)
