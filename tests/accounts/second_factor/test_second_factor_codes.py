"""Codes of authenticator apps and recovery codes, against the values of RFC 6238."""

from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pytest
from pyotp import TOTP

from fanion.accounts.second_factor.codes import (
    RECOVERY_BYTES,
    RECOVERY_CODES,
    hash_recovery_code,
    is_recovery_code,
    is_totp_code,
    matching_step,
    plain_code,
    provisioning_uri,
    recovery_codes,
    totp_secret,
)

# The secret of RFC 6238's appendix B, and the last six of the eight digits of its codes.
SECRET = totp_secret(b"12345678901234567890")
CODES = {
    59: "287082",
    1111111109: "081804",
    1111111111: "050471",
    1234567890: "005924",
    2000000000: "279037",
    20000000000: "353130",
}


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@pytest.mark.parametrize(("seconds", "code"), CODES.items())
def test_codes_are_those_of_the_standard(seconds: int, code: str) -> None:
    assert matching_step(SECRET, code, at(seconds), 0) == seconds // 30


@pytest.mark.parametrize(
    ("clock_s", "is_valid"), [(-31, False), (-30, True), (0, True), (59, True), (60, False)]
)
def test_one_step_before_and_after_is_accepted(clock_s: int, is_valid: bool) -> None:
    step = 1_000_000
    code = TOTP(SECRET).generate_otp(step)

    assert (matching_step(SECRET, code, at(step * 30 + clock_s), 0) == step) == is_valid


def test_a_code_and_all_before_it_are_used_up() -> None:
    step = 1_000_000
    codes = [TOTP(SECRET).generate_otp(step + n) for n in (-1, 0, 1)]
    now = at(step * 30)

    steps = [matching_step(SECRET, code, now, after=step) for code in codes]

    assert steps == [None, None, step + 1]


@pytest.mark.parametrize(
    "code", ["", "28708", "2870820", "２８７０８２", "abcdef", "-87082", "287 82"]
)
def test_what_is_no_code_matches_nothing(code: str) -> None:
    assert matching_step(SECRET, code, at(59), 0) is None


@pytest.mark.parametrize(
    ("typed", "plain"),
    [(" 287 082 ", "287082"), ("ABCD-efgh ijkl-MNOP", "abcdefghijklmnop"), ("x" * 99, "x" * 40)],
)
def test_separators_and_case_are_left_out(typed: str, plain: str) -> None:
    assert plain_code(typed) == plain


def test_recovery_codes_are_no_totp_codes_and_differ() -> None:
    random = bytes(range(RECOVERY_CODES * RECOVERY_BYTES))

    codes = recovery_codes(random)

    assert len(set(codes)) == RECOVERY_CODES == 10
    assert codes[0] == "aaaq-eaye-auda-ocaj"
    plain = [plain_code(code) for code in codes]
    assert all(is_recovery_code(code) and not is_totp_code(code) for code in plain)
    assert len({hash_recovery_code(code) for code in plain}) == RECOVERY_CODES


def test_the_address_for_the_app_names_the_account() -> None:
    parts = urlsplit(provisioning_uri(SECRET, "ada+test@example.com"))

    assert (parts.scheme, parts.netloc) == ("otpauth", "totp")
    assert parts.path == "/Fanion:ada%2Btest%40example.com"
    assert parse_qs(parts.query) == {"secret": [SECRET], "issuer": ["Fanion"]}
