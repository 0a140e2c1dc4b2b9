"""ID tokens: only what the provider has signed for this sign-in proves who a user is."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, Key, OctKey, OKPKey, RSAKey

from fanion.accounts.oidc.errors import ProviderInvalid, TokenInvalid
from fanion.accounts.oidc.id_token import (
    KEYS_MAX,
    LEEWAY_S,
    TOKEN_CHARS_MAX,
    Expected,
    UnknownKey,
    read_id_token,
    read_keys,
)
from tests.support.management import NOW
from tests.support.oidc_provider import signed_with_public_key, unsigned

ISSUER, CLIENT, NONCE = "https://id.example.com", "fanion", "the nonce"
EXPECTED = Expected(ISSUER, CLIENT, NONCE, NOW)
SECONDS = int(NOW.timestamp())
CLAIMS: dict[str, Any] = {
    "iss": ISSUER,
    "aud": CLIENT,
    "sub": "ada",
    "nonce": NONCE,
    "iat": SECONDS,
    "exp": SECONDS + 300,
}
KEY = RSAKey.generate_key(2048, {"kid": "one"})
OTHER = RSAKey.generate_key(2048, {"kid": "two"})
MISSING = "(left out)"


def published(*keys: Key, **more: Any) -> bytes:
    shown = [dict(key.as_dict(private=False)) | more for key in keys]
    return msgspec.json.encode({"keys": shown})


def signed(claims: dict[str, Any], key: Any = KEY, alg: str = "RS256", **header: Any) -> str:
    named = {name: value for name, value in claims.items() if value != MISSING}
    head = {"alg": alg, "kid": key.kid} | header
    shown = {name: value for name, value in head.items() if value is not None}
    return jwt.encode(shown, named, key, algorithms=[alg])


def read(token: str, keys: bytes | None = None, *algorithms: str, **expected: Any) -> Any:
    known = read_keys(published(KEY) if keys is None else keys)
    expectation = Expected(ISSUER, CLIENT, NONCE, NOW, **expected)
    return read_id_token(token, known, algorithms or ("RS256",), expectation)


def test_the_claims_of_a_signed_token_are_read() -> None:
    assert read(signed(CLAIMS | {"email": "ada@example.com"}))["email"] == "ada@example.com"


@pytest.mark.parametrize(
    ("algorithm", "key"),
    [
        ("RS256", KEY),
        ("RS512", KEY),
        ("PS256", KEY),
        ("ES256", ECKey.generate_key("P-256", {"kid": "e"})),
        ("ES384", ECKey.generate_key("P-384", {"kid": "e"})),
        ("ES512", ECKey.generate_key("P-521", {"kid": "e"})),
        ("Ed25519", OKPKey.generate_key("Ed25519", {"kid": "e"})),
    ],
)
def test_each_accepted_algorithm_is_verified(algorithm: str, key: Any) -> None:
    keys = published(OTHER, key)

    assert read(signed(CLAIMS, key, algorithm), keys, algorithm) == CLAIMS
    with pytest.raises(TokenInvalid, match="algorithm that is not accepted"):
        read(signed(CLAIMS, key, algorithm), keys, "RS384")


def refusal(token: str, *algorithms: str, **expected: Any) -> str:
    with pytest.raises(TokenInvalid) as caught:
        read(token, None, *algorithms, **expected)
    assert caught.value.code == "oidc_token_invalid"
    return caught.value.detail


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        *(({"iss": value}, "is from another issuer")
          for value in (MISSING, "https://evil.example", ISSUER + "/", [ISSUER], None)),
        *(({"aud": value}, "is for another client")
          for value in (MISSING, "other", [], ["other"], "fanion ", {"fanion": 1}, None)),
        ({"aud": [CLIENT, "other"]}, "is for another client"),
        ({"aud": [CLIENT, "other"], "azp": "other"}, "is for another client"),
        ({"azp": "other"}, "is for another client"),
        *(({"sub": value}, "names no user")
          for value in (MISSING, "", 7, None, "x" * 256, "a\0b", ["ada"])),
        *(({"nonce": value}, "belongs to another sign-in")
          for value in (MISSING, "", "another", None, [NONCE], 7)),
        *(({"exp": value}, "has expired, or is not valid yet")
          for value in (MISSING, SECONDS - LEEWAY_S, "soon", None, True, 10**300, -(10**300))),
        *(({"iat": value}, "has expired, or is not valid yet")
          for value in (MISSING, SECONDS + LEEWAY_S + 1, "now", None)),
        *(({"nbf": value}, "has expired, or is not valid yet")
          for value in (SECONDS + LEEWAY_S + 1, "now", False)),
    ],
)  # fmt: skip
def test_a_token_for_anything_else_is_refused(changed: dict[str, Any], reason: str) -> None:
    assert refusal(signed(CLAIMS | changed)) == f"The ID token {reason}."


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": [CLIENT]},
        {"aud": [CLIENT, "other"], "azp": CLIENT},
        {"exp": SECONDS - LEEWAY_S + 1},
        {"iat": SECONDS + LEEWAY_S},
        {"nbf": SECONDS - 1, "exp": SECONDS + 0.5},
    ],
)
def test_what_the_standard_allows_is_accepted(changed: dict[str, Any]) -> None:
    assert read(signed(CLAIMS | changed))["sub"] == "ada"


@pytest.mark.parametrize(
    ("signed_in", "is_fresh"),
    [(SECONDS, True), (SECONDS - 360, True), (SECONDS - 361, False), (SECONDS + 61, False),
     (MISSING, False), ("now", False), (10**300, False)],
)  # fmt: skip
def test_a_fresh_sign_in_is_proved_by_its_time(signed_in: Any, is_fresh: bool) -> None:
    token = signed(CLAIMS | {"auth_time": signed_in})

    if is_fresh:
        assert read(token, max_age_s=300)["sub"] == "ada"
    else:
        assert refusal(token, max_age_s=300) == "The ID token is from a sign-in that is not fresh."
    assert read(token)["sub"] == "ada"


def test_no_algorithm_and_no_shared_key_is_accepted() -> None:
    for token in (
        unsigned(CLAIMS),
        signed_with_public_key(CLAIMS, KEY, "HS256"),
        signed_with_public_key(CLAIMS, KEY, "HS512"),
    ):
        assert "algorithm that is not accepted" in refusal(token)


def test_a_shared_key_among_the_published_ones_is_passed_over() -> None:
    secret = OctKey.generate_key(256, {"kid": "s"})
    keys = msgspec.json.encode({"keys": [dict(secret.as_dict(private=True))]})

    assert read_keys(keys) == []
    with pytest.raises(TokenInvalid):
        read(signed(CLAIMS, secret, "HS256"), keys)


@pytest.mark.parametrize(
    "token",
    ["", ".", "..", "a.b.c", "....", "e30.e30.", "é.é.é", "WyJhbGciXQ.e30.e30", "x" * 600 + ".e30.",
     "eyJhbGciOlsiUlMyNTYiXX0.e30.e30", "a." + "b" * TOKEN_CHARS_MAX, "\0.\0.\0"],
)  # fmt: skip
def test_garbage_is_refused(token: str) -> None:
    assert refusal(token).startswith("The ID token ")


def test_a_changed_token_is_refused() -> None:
    head, payload, signature = signed(CLAIMS).split(".")
    _, other_payload, _ = signed(CLAIMS | {"sub": "boss"}).split(".")

    for token in (
        f"{head}.{other_payload}.{signature}",
        f"{head}.{payload}.",
        f"{head}.{payload}.AA",
    ):
        with pytest.raises(UnknownKey):
            read(token)


def test_a_token_of_an_unknown_key_asks_for_newer_keys() -> None:
    for token in (
        signed(CLAIMS, OTHER),
        signed(CLAIMS, OTHER, kid="one"),
        signed(CLAIMS, OTHER, kid=None),
    ):
        with pytest.raises(UnknownKey):
            read(token)


def test_without_a_key_id_each_key_of_the_kind_is_tried() -> None:
    keys = published(ECKey.generate_key("P-256", {"kid": "e"}), OTHER, KEY)

    assert read(signed(CLAIMS, kid=None), keys)["sub"] == "ada"


def test_keys_for_other_purposes_do_not_verify() -> None:
    for more in ({"use": "enc"}, {"alg": "RS512"}):
        with pytest.raises(UnknownKey):
            read(signed(CLAIMS), published(KEY, **more))


@pytest.mark.parametrize("header", [{"crit": ["b64"], "b64": False}, {"crit": ["exp"], "exp": 1}])
def test_extensions_are_refused(header: dict[str, Any]) -> None:
    head = {"alg": "RS256", "kid": "one", **header}

    assert refusal(unsigned(CLAIMS, head) + "AA").startswith("The ID token ")


def test_headers_that_the_library_does_not_know_are_passed_over() -> None:
    keys = published(KEY)
    head = {"alg": "RS256", "kid": "one", "jku": "https://evil.example/keys", "x-own": 1}

    token = jwt.encode(head, CLAIMS, KEY, registry=_lenient())

    assert read(token, keys)["sub"] == "ada"


def _lenient() -> Any:
    from joserfc.jws import JWSRegistry

    return JWSRegistry(algorithms=["RS256"], strict_check_header=False)


@pytest.mark.parametrize(
    "raw", [b"", b"no json", b"[]", b"7", b'{"keys": 7}', b"{}", b"[" * 100_000, b"\xff", b"null"]
)
def test_keys_that_cannot_be_read_are_the_providers_fault(raw: bytes) -> None:
    with pytest.raises(ProviderInvalid):
        read_keys(raw)


def test_unusable_keys_are_passed_over() -> None:
    good = dict(KEY.as_dict(private=False))
    private = dict(OTHER.as_dict(private=True))
    odd: list[Any] = [
        7, None, [], "x", {}, {"kty": "RSA"}, {"kty": ["RSA"]}, {"kty": "AKP", "pub": "x"},
        good | {"n": 7}, good | {"n": "AQAB"}, good | {"n": "A" * 5000}, good | {"e": "A" * 100},
        good | {"n": "!" * 342}, good | {"use": "enc"}, good | {"use": ["sig"]},
        {"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "OKP", "crv": "X25519", "x": "A" * 43}, {"kty": "OKP", "crv": "Ed25519", "x": "A"},
    ]  # fmt: skip

    keys = read_keys(msgspec.json.encode({"keys": [*odd, good, private]}))

    assert [key.kid for key in keys] == ["one", "two"]
    assert not any(key.is_private for key in keys)


def test_keys_are_bounded() -> None:
    good = dict(KEY.as_dict(private=False))

    assert len(read_keys(msgspec.json.encode({"keys": [good] * 500}))) == KEYS_MAX


def test_a_token_expires_as_time_goes_by() -> None:
    known, token = read_keys(published(KEY)), signed(CLAIMS)
    late = Expected(ISSUER, CLIENT, NONCE, NOW + timedelta(seconds=300 + LEEWAY_S))

    with pytest.raises(TokenInvalid, match="expired"):
        read_id_token(token, known, ["RS256"], late)
