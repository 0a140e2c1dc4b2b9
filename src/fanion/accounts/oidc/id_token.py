"""Keys of the provider, and ID tokens that they verify. The time is passed in.

Source: OpenID Connect Core 1.0 section 3.1.3.7; RFC 7515; RFC 7517.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hmac import compare_digest
from typing import Any, TypeGuard

import msgspec
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import Key, import_key
from joserfc.jws import JWSRegistry

from fanion.accounts.oidc.errors import ProviderInvalid, TokenInvalid
from fanion.db.schema.accounts import SUBJECT_CHARS_MAX

KEYS_MAX = 50
# RSA moduli of 2,048 to 8,192 bits, and exponents of 32, in base64url. Larger ones take seconds.
_MODULUS_CHARS = range(342, 1367)
_EXPONENT_CHARS_MAX = 6
_PUBLIC_MEMBERS = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}
_CURVES = frozenset({"P-256", "P-384", "P-521", "Ed25519"})
_NAMES = ("kty", "kid", "use", "alg")
_KEY_TYPES: Mapping[str, str] = {"R": "RSA", "P": "RSA", "ES": "EC", "Ed": "OKP"}

TOKEN_CHARS_MAX = 100_000
SECONDS_MAX = 10**12  # the latest time, since 1970
LEEWAY_S = 60  # between the clocks of the provider and of this machine

Keys = Sequence[Key]


class UnknownKey(Exception):
    """The token was signed by none of the known keys; the provider may have newer ones."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The values that an ID token must have.

    Attributes:
        max_age_s: The longest time since the user signed in to the provider; None for any.
    """

    issuer: str
    client_id: str
    nonce: str
    now: datetime
    max_age_s: int | None = None


def read_keys(raw: bytes) -> Keys:
    """Return the provider's public keys for signatures. Other kinds of keys are skipped.

    Raises:
        ProviderInvalid: The keys cannot be read.
    """
    try:
        entries = msgspec.json.decode(raw)["keys"]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, KeyError, TypeError):
        raise ProviderInvalid("The identity provider's keys cannot be read.") from None
    if not isinstance(entries, list):
        raise ProviderInvalid("The identity provider's keys cannot be read.")
    return list(_usable_keys(entries[:KEYS_MAX]))


def _usable_keys(entries: Sequence[object]) -> Iterator[Key]:
    for entry in entries:
        if isinstance(entry, dict) and _is_usable(entry):
            names = (*_NAMES, *_PUBLIC_MEMBERS[entry["kty"]])
            try:
                yield import_key({name: entry[name] for name in names if name in entry})
            except (JoseError, ValueError, TypeError, KeyError):
                continue


def _is_usable(key: Mapping[str, Any]) -> bool:
    names = _PUBLIC_MEMBERS.get(str(key.get("kty")))
    if names is None or key.get("use", "sig") != "sig":
        return False
    members = [key.get(name) for name in names]
    if not all(isinstance(member, str) for member in members):
        return False
    if key["kty"] == "RSA":
        return len(key["n"]) in _MODULUS_CHARS and len(key["e"]) <= _EXPONENT_CHARS_MAX
    return key["crv"] in _CURVES


def read_id_token(
    token: str, keys: Keys, algorithms: Collection[str], expected: Expected
) -> Mapping[str, Any]:
    """Verify an ID token and return its claims.

    Args:
        algorithms: The accepted algorithms, at least one.

    Raises:
        TokenInvalid: The token does not prove who the user is.
        UnknownKey: None of the keys has signed the token.
    """
    claims = _verify_signature(token, keys, algorithms)
    check_claims(claims, expected)
    return claims


def _verify_signature(token: str, keys: Keys, algorithms: Collection[str]) -> Mapping[str, Any]:
    assert algorithms, "the library would accept others"
    if len(token) > TOKEN_CHARS_MAX or not token.isascii():
        raise TokenInvalid("The ID token is too large.")
    registry = JWSRegistry(algorithms=algorithms, strict_check_header=False)
    header = _read_header(token, registry)
    if header.get("alg") not in algorithms:
        raise TokenInvalid("The ID token is signed by an algorithm that is not accepted.")
    # These extensions change what is signed (RFC 7515 section 4.1.11, RFC 7797).
    if "crit" in header or "b64" in header:
        raise TokenInvalid("The ID token has extensions that are not accepted.")
    for key in _candidate_keys(keys, header):
        try:
            payload = jws.deserialize_compact(token, key, registry=registry).payload
        except (JoseError, ValueError, TypeError):
            continue
        return _decode_claims(payload)
    raise UnknownKey


def _read_header(token: str, registry: JWSRegistry) -> Mapping[str, Any]:
    try:
        header = jws.extract_compact(token.encode(), registry=registry).protected
    except (JoseError, ValueError, TypeError, RecursionError):
        header = {}
    if not (isinstance(header, dict) and isinstance(header.get("alg"), str)):
        raise TokenInvalid("The ID token cannot be read.")
    return header


def _candidate_keys(keys: Keys, header: Mapping[str, Any]) -> Iterator[Key]:
    """Yield the keys for the token's algorithm, only those with its key id if it names one."""
    kid, algorithm = header.get("kid"), str(header["alg"])
    kind = _KEY_TYPES.get(algorithm[:2]) or _KEY_TYPES[algorithm[:1]]
    for key in keys:
        is_for_it = key.key_type == kind and key.get("alg") in (None, algorithm)
        if is_for_it and (kid is None or key.kid == kid):
            yield key


def _decode_claims(payload: bytes | None) -> Mapping[str, Any]:
    try:
        claims = msgspec.json.decode(payload or b"")
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        claims = None
    if not isinstance(claims, dict):
        raise TokenInvalid("The ID token cannot be read.")
    return claims


def check_claims(claims: Mapping[str, Any], expected: Expected) -> None:
    """Raise TokenInvalid, with the first reason, unless the claims are as expected."""
    for is_wrong, reason in (
        (claims.get("iss") != expected.issuer, "is from another issuer"),
        (not _is_for(claims, expected.client_id), "is for another client"),
        (not _is_subject(claims.get("sub")), "names no user"),
        (not _is_nonce(claims.get("nonce"), expected.nonce), "belongs to another sign-in"),
        (not _is_current(claims, expected.now.timestamp()), "has expired, or is not valid yet"),
        (not _is_recent(claims, expected), "is from a sign-in that is not fresh"),
    ):
        if is_wrong:
            raise TokenInvalid(f"The ID token {reason}.")


def _is_for(claims: Mapping[str, Any], client_id: str) -> bool:
    audience, party = claims.get("aud"), claims.get("azp")
    if isinstance(audience, str):
        audience = [audience]
    if not isinstance(audience, list) or client_id not in audience:
        return False
    return party == client_id if party is not None or len(audience) > 1 else True


def _is_subject(subject: object) -> bool:
    if not isinstance(subject, str):
        return False
    return 0 < len(subject) <= SUBJECT_CHARS_MAX and subject.isprintable()


def _is_nonce(nonce: object, expected: str) -> bool:
    return isinstance(nonce, str) and compare_digest(nonce.encode(), expected.encode())


def _is_current(claims: Mapping[str, Any], now: float) -> bool:
    expires, issued, begins = (claims.get(name) for name in ("exp", "iat", "nbf"))
    if not (_is_number(expires) and _is_number(issued)):
        return False
    if begins is not None and not (_is_number(begins) and begins <= now + LEEWAY_S):
        return False
    return issued <= now + LEEWAY_S and expires > now - LEEWAY_S


def _is_recent(claims: Mapping[str, Any], expected: Expected) -> bool:
    """Return whether the user signed in within `max_age` (OpenID Connect Core section 3.1.2.1)."""
    if expected.max_age_s is None:
        return True
    signed_in, now = claims.get("auth_time"), expected.now.timestamp()
    if not _is_number(signed_in):
        return False
    return -LEEWAY_S <= now - signed_in <= expected.max_age_s + LEEWAY_S


def _is_number(value: object) -> TypeGuard[int | float]:
    """Return whether the value is a usable time, because JSON numbers can have any length."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= SECONDS_MAX
