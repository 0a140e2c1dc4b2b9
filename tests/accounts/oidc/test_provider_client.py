"""The identity provider over HTTP, against a real server that may be slow, garbled or gone."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from fanion.accounts.oidc.authorization import BrowserSecret, authorization_url
from fanion.accounts.oidc.errors import (
    ProviderInvalid,
    ProviderUnavailable,
    SignInDenied,
    TokenInvalid,
)
from fanion.accounts.oidc.id_token import Expected
from fanion.accounts.oidc.model import OidcSettings
from fanion.accounts.oidc.provider_client import (
    ANSWER_BYTES_MAX,
    FAILURE_PAUSE_S,
    KEPT_S,
    KEYS_AGAIN_S,
    REQUESTS_MAX,
    Provider,
    Tokens,
)
from tests.support.management import Clock
from tests.support.oidc_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    CODE,
    FakeProvider,
    json_answer,
    on_loopback,
    open_provider,
    raw_answer,
)

CONFIGURATION = "/.well-known/openid-configuration"
REDIRECT = "http://fanion.test/api/login/oidc/callback/"
SECRET = BrowserSecret("of the browser")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def fake(clock: Clock) -> AsyncIterator[FakeProvider]:
    async with open_provider(clock.now) as fake:
        yield fake


@pytest.fixture
async def provider(fake: FakeProvider, clock: Clock) -> AsyncIterator[Provider]:
    provider = Provider(settings_of(fake), on_loopback, clock.seconds)
    yield provider
    await provider.close()


def settings_of(fake: FakeProvider) -> OidcSettings:
    return OidcSettings(fake.issuer, CLIENT_ID, CLIENT_SECRET)


async def authorized(fake: FakeProvider, provider: Provider, **claims: Any) -> None:
    """Sign the user in at the provider, who agrees."""
    metadata = await provider.metadata()
    url = authorization_url(metadata, settings_of(fake), REDIRECT, "state", SECRET, fresh=False)
    fake.authorize(url, **claims)


async def redeem(provider: Provider, code: str = CODE, verifier: str = SECRET.verifier) -> Tokens:
    return await provider.redeem(code, verifier, REDIRECT)


def expected(fake: FakeProvider, clock: Clock) -> Expected:
    return Expected(fake.issuer, CLIENT_ID, SECRET.nonce, clock.now())


async def test_a_code_becomes_verified_claims(
    fake: FakeProvider, provider: Provider, clock: Clock
) -> None:
    await authorized(fake, provider, email="ada@example.com")

    tokens = await redeem(provider)
    claims = await provider.verify(tokens.id_token, expected(fake, clock))

    assert (claims["sub"], claims["email"]) == ("ada", "ada@example.com")
    assert [(request.method, request.path) for request in fake.requests] == [
        ("GET", CONFIGURATION),
        ("POST", "/token"),
        ("GET", "/keys"),
    ]
    assert fake.requests[1].headers["host"] == f"127.0.0.1:{fake.port}"
    assert "cookie" not in fake.requests[1].headers


async def test_the_secret_is_sent_in_the_body_to_those_that_ask_for_it(
    fake: FakeProvider, provider: Provider
) -> None:
    fake.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    fake.answers["/token"] = json_answer(200, {"id_token": "a.b.c", "access_token": "x"})
    await authorized(fake, provider)

    assert await redeem(provider) == Tokens("a.b.c", "x")

    form = fake.requests[-1].form
    assert (form["client_id"], form["client_secret"]) == (CLIENT_ID, CLIENT_SECRET)
    assert "authorization" not in fake.requests[-1].headers


@pytest.mark.parametrize(
    ("code", "verifier"), [("another", SECRET.verifier), (CODE, BrowserSecret("x").verifier)]
)
async def test_another_code_or_verifier_is_denied(
    fake: FakeProvider, provider: Provider, code: str, verifier: str
) -> None:
    await authorized(fake, provider)

    with pytest.raises(SignInDenied, match="does not accept its code"):
        await redeem(provider, code, verifier)


async def test_a_code_is_redeemed_once(fake: FakeProvider, provider: Provider) -> None:
    await authorized(fake, provider)
    await redeem(provider)

    with pytest.raises(SignInDenied):
        await redeem(provider)


async def test_metadata_and_keys_are_kept_for_an_hour(
    fake: FakeProvider, provider: Provider, clock: Clock
) -> None:
    await authorized(fake, provider)
    token = fake.sign(fake.claims)
    for _ in range(3):
        await provider.verify(token, expected(fake, clock))
    known = fake.count_requests(CONFIGURATION), fake.count_requests("/keys")

    clock.move(seconds=KEPT_S)
    await provider.metadata()

    assert known == (1, 1)
    assert fake.count_requests(CONFIGURATION) == 2


async def test_concurrent_sign_ins_share_one_read(fake: FakeProvider, provider: Provider) -> None:
    results = await asyncio.gather(*(provider.metadata() for _ in range(20)))

    assert len(set(results)) == 1
    assert fake.count_requests(CONFIGURATION) == 1


async def test_a_read_goes_on_when_one_who_waits_leaves(
    fake: FakeProvider, provider: Provider
) -> None:
    fake.hold.add(CONFIGURATION)
    leaving, staying = [asyncio.create_task(provider.metadata()) for _ in range(2)]
    await fake.received(CONFIGURATION)

    leaving.cancel()
    await asyncio.wait([leaving])
    fake.let_go.set()

    assert (await staying).issuer == fake.issuer
    assert leaving.cancelled()


async def test_new_keys_are_read_when_a_token_has_one(
    fake: FakeProvider, provider: Provider, clock: Clock
) -> None:
    await authorized(fake, provider)
    await provider.verify(fake.sign(fake.claims), expected(fake, clock))
    fake.key = RSAKey.generate_key(2048, {"kid": "second"})
    fake.published = [dict(fake.key.as_dict(private=False))]
    clock.move(seconds=KEYS_AGAIN_S)
    await authorized(fake, provider)

    claims = await provider.verify(fake.sign(fake.claims), expected(fake, clock))

    assert claims["sub"] == "ada"
    assert fake.count_requests("/keys") == 2


async def test_unknown_keys_make_the_server_ask_at_a_bounded_rate(
    fake: FakeProvider, provider: Provider, clock: Clock
) -> None:
    await authorized(fake, provider)
    await provider.verify(fake.sign(fake.claims), expected(fake, clock))
    fake.key = RSAKey.generate_key(2048, {"kid": "not published"})
    token, requests = fake.sign(fake.claims), []

    for seconds in (0, 10, KEYS_AGAIN_S, 0, 1):
        clock.move(seconds=seconds)
        with pytest.raises(TokenInvalid, match="a key that the provider does not publish"):
            await provider.verify(token, expected(fake, clock))
        requests.append(fake.count_requests("/keys"))

    assert requests == [1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    ("path", "answer", "error"),
    [
        (CONFIGURATION, raw_answer(b"<html>"), ProviderInvalid),
        (CONFIGURATION, raw_answer(b"{}"), ProviderInvalid),
        (CONFIGURATION, raw_answer(b"", 404), ProviderInvalid),
        (CONFIGURATION, raw_answer(b"", 302, "location: http://127.0.0.1/\r\n"), ProviderInvalid),
        (CONFIGURATION, raw_answer(b"", 503), ProviderUnavailable),
        (CONFIGURATION, raw_answer(b" " * (ANSWER_BYTES_MAX + 1)), ProviderInvalid),
        (CONFIGURATION, raw_answer(b"x", 200, "content-encoding: gzip\r\n"), ProviderInvalid),
        (CONFIGURATION, b"not even HTTP\r\n\r\n", ProviderUnavailable),
        (CONFIGURATION, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{", ProviderUnavailable),
        ("/token", raw_answer(b"<html>"), ProviderInvalid),
        ("/token", raw_answer(b"[]"), ProviderInvalid),
        ("/token", json_answer(200, {"access_token": "x"}), ProviderInvalid),
        ("/token", json_answer(200, {"id_token": "x", "access_token": "a\r\nb"}), ProviderInvalid),
        ("/token", json_answer(200, {"id_token": ["x"], "access_token": "a"}), ProviderInvalid),
        ("/token", json_answer(401, {"error": "invalid_client"}), ProviderInvalid),
        ("/token", json_answer(400, {"error": "invalid_grant"}), SignInDenied),
        ("/token", raw_answer(b"", 500), ProviderUnavailable),
        ("/token", raw_answer(b" " * (ANSWER_BYTES_MAX + 1)), ProviderInvalid),
    ],
)  # fmt: skip
async def test_a_provider_out_of_order_is_a_clear_error(
    fake: FakeProvider, clock: Clock, path: str, answer: bytes, error: type[Exception]
) -> None:
    provider = Provider(settings_of(fake), on_loopback, clock.seconds)
    fake.answers[path] = answer

    with pytest.raises(error):
        await provider.redeem(CODE, "verifier", REDIRECT)

    await provider.close()


@pytest.mark.parametrize("answer", [raw_answer(b"no"), raw_answer(b"{}", 500)])
async def test_keys_out_of_order_are_a_clear_error(
    fake: FakeProvider, provider: Provider, clock: Clock, answer: bytes
) -> None:
    await authorized(fake, provider)
    fake.answers["/keys"] = answer

    with pytest.raises((ProviderInvalid, ProviderUnavailable)):
        await provider.verify(fake.sign(fake.claims), expected(fake, clock))


async def test_after_a_failure_the_provider_is_left_alone_for_a_while(
    fake: FakeProvider, provider: Provider, clock: Clock
) -> None:
    fake.answers[CONFIGURATION] = raw_answer(b"", 503)
    for _ in range(5):
        with pytest.raises(ProviderUnavailable):
            await provider.metadata()
    requests = fake.count_requests(CONFIGURATION)
    del fake.answers[CONFIGURATION]

    clock.move(seconds=FAILURE_PAUSE_S)

    assert requests == 1
    assert (await provider.metadata()).issuer == fake.issuer


async def test_a_provider_that_is_not_there_is_an_error(clock: Clock) -> None:
    async with open_provider(clock.now) as gone:
        settings = settings_of(gone)
    provider = Provider(settings, on_loopback, clock.seconds)

    with pytest.raises(ProviderUnavailable):
        await provider.metadata()


async def test_a_name_without_an_address(fake: FakeProvider, clock: Clock) -> None:
    async def nowhere(_: str, __: int) -> Sequence[str]:
        return []

    async def failing(_: str, __: int) -> Sequence[str]:
        raise OSError("no such host")

    for resolve in (nowhere, failing):
        with pytest.raises(ProviderUnavailable):
            await Provider(settings_of(fake), resolve, clock.seconds).metadata()


async def test_the_next_address_is_tried(fake: FakeProvider, clock: Clock) -> None:
    async def two(_: str, __: int) -> Sequence[str]:
        return ["127.0.0.2", "127.0.0.1"]

    provider = Provider(settings_of(fake), two, clock.seconds)

    assert (await provider.metadata()).issuer == fake.issuer
    await provider.close()


@pytest.mark.parametrize("path", [CONFIGURATION, "/token"])
async def test_a_slow_provider_is_given_up(fake: FakeProvider, clock: Clock, path: str) -> None:
    provider = Provider(settings_of(fake), on_loopback, clock.seconds, timeout_s=0.3)
    fake.hold.add(path)

    with pytest.raises(ProviderUnavailable):
        await redeem(provider)

    await provider.close()


async def test_sign_ins_that_wait_for_the_provider_are_bounded(
    fake: FakeProvider, provider: Provider
) -> None:
    await authorized(fake, provider)
    fake.hold.add("/token")
    waiting = [asyncio.create_task(redeem(provider)) for _ in range(REQUESTS_MAX)]
    await fake.received("/token", REQUESTS_MAX)

    with pytest.raises(ProviderUnavailable, match="Too many people"):
        await redeem(provider)
    fake.let_go.set()
    await asyncio.gather(*waiting, return_exceptions=True)
    fake.hold.clear()
    await authorized(fake, provider)

    assert (await redeem(provider)).access_token


async def test_user_info_is_of_the_same_user(fake: FakeProvider, provider: Provider) -> None:
    fake.info = {"sub": "ada", "email": "ada@example.com"}
    claims = await provider.user_info("token", "ada")

    assert claims == fake.info
    assert fake.requests[-1].headers["authorization"] == "Bearer token"
    for info in ({"sub": "boss"}, {}, {"sub": None}):
        fake.info = info
        with pytest.raises(ProviderInvalid):
            await provider.user_info("token", "ada")


async def test_a_provider_without_user_info(fake: FakeProvider, provider: Provider) -> None:
    fake.metadata = {"userinfo_endpoint": None}

    assert await provider.user_info("token", "ada") == {}
