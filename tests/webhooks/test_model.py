"""Webhooks: allowed destinations, reported changes, signatures and retries."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from fanion.activity.model import ActivityRecord, Author, Change, Trigger
from fanion.projects.model import Project
from fanion.webhooks.destination import URL_CHARS_MAX, read_target, refusal
from fanion.webhooks.model import (
    ATTEMPTS_MAX,
    BODY_BYTES_MAX,
    EVENT_TYPES,
    SECRET_BYTES,
    DeliveryOutcome,
    captured_body,
    change_body,
    event_type_of,
    is_signed,
    secret_text,
    signed_headers,
    wait_after,
)

NOW = datetime(2024, 3, 1, 12, 0, 0, 500_000, tzinfo=UTC)
PROJECT = Project(1, uuid4(), uuid4(), "p", "phc", "UTC", NOW)

FORBIDDEN = {
    "0.0.0.0": "an unspecified",
    "::": "an unspecified",
    "127.0.0.1": "a loopback",
    "127.255.255.254": "a loopback",
    "::1": "a loopback",
    "169.254.169.254": "a link-local",
    "fe80::1": "a link-local",
    "fe80::1%eth0": "a link-local",
    "224.0.0.1": "a multicast",
    "239.255.255.250": "a multicast",
    "ff02::1": "a multicast",
    "ff0e::1": "a multicast",
    "10.0.0.1": "a private or reserved",
    "172.16.0.1": "a private or reserved",
    "172.31.255.255": "a private or reserved",
    "192.168.1.1": "a private or reserved",
    "0.1.2.3": "a private or reserved",
    "192.0.2.1": "a private or reserved",
    "198.18.0.1": "a private or reserved",
    "255.255.255.255": "a private or reserved",
    "fc00::1": "a private or reserved",
    "fd12:3456::1": "a private or reserved",
    "fec0::1": "a private or reserved",
    "2001:db8::1": "a private or reserved",
    "100.64.0.1": "a private or reserved",
    "4000::1": "a private or reserved",
    # IPv6 addresses that stand for IPv4: mapped, translated, tunnelled, compatible.
    "::ffff:127.0.0.1": "a loopback",
    "::ffff:10.0.0.1": "a private or reserved",
    "::ffff:169.254.169.254": "a link-local",
    "::ffff:0.0.0.0": "an unspecified",
    "::ffff:224.0.0.1": "a multicast",
    "64:ff9b::7f00:1": "a loopback",
    "64:ff9b::a9fe:a9fe": "a link-local",
    "64:ff9b:1::1": "a private or reserved",
    "2002:7f00:1::": "a loopback",
    "2002:c0a8:101::1": "a private or reserved",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2": "a private or reserved",
    "::127.0.0.1": "a private or reserved",
}


@pytest.mark.parametrize("address", FORBIDDEN)
def test_no_webhook_is_sent_to_what_is_not_public(address: str) -> None:
    assert refusal(address) == f"{FORBIDDEN[address]} address"


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "172.32.0.1",
        "2606:4700:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    ],
)
def test_public_addresses_are_allowed(address: str) -> None:
    assert refusal(address) is None


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "returned", "reached"),
    [
        (
            "https://Hooks.Example/a/b?c=d",
            "hooks.example",
            443,
            "/a/b?c=d",
            "hooks.example",
            "https://192.0.2.1:443/a/b?c=d",
        ),
        (
            "http://hooks.example:8080",
            "hooks.example",
            8080,
            "/",
            "hooks.example:8080",
            "http://192.0.2.1:8080/",
        ),
        (
            "https://münchen.example/ü",
            "xn--mnchen-3ya.example",
            443,
            "/%C3%BC",
            "xn--mnchen-3ya.example",
            "https://192.0.2.1:443/%C3%BC",
        ),
        ("http://[::1]:5/", "::1", 5, "/", "[::1]:5", "http://192.0.2.1:5/"),
    ],
)
def test_a_url_is_reached_at_an_address(
    url: str, host: str, port: int, path: str, returned: str, reached: str
) -> None:
    target = read_target(url)

    parts = target.host, target.port, target.path, target.host_header, target.url_at("192.0.2.1")
    assert parts == (host, port, path, returned, reached)


def test_an_address_of_version_6_stands_in_brackets() -> None:
    assert read_target("http://a/x").url_at("2001:db8::1") == "http://[2001:db8::1]:80/x"


@pytest.mark.parametrize(
    ("url", "reported"),
    [
        ("", "The URL must begin with https:// or http://."),
        ("hooks.example", "The URL must begin with https:// or http://."),
        ("//hooks.example", "The URL must begin with https:// or http://."),
        ("file:///etc/passwd", "The URL must begin with https:// or http://."),
        ("gopher://hooks.example", "The URL must begin with https:// or http://."),
        ("http://", "Enter a valid URL."),
        ("http:///path", "Enter a valid URL."),
        ("http://a b/", "Enter a valid URL."),
        ("http://a\tb/", "Enter a valid URL."),
        ("http://a\r\nHost: b/", "Enter a valid URL."),
        ("http://%31%32%37.0.0.1/", "Enter a valid URL."),
        ("http://a..b/", "Enter a valid URL."),
        ("http://[fe80::1%25eth0]/", "Enter a valid URL."),
        ("http://[::1/", "Enter a valid URL."),
        ("http://a:0/", "Enter a valid URL."),
        ("http://a:65536/", "Enter a valid URL."),
        ("http://a:b/", "Enter a valid URL."),
        (f"http://{'a.' * 130}/", "Enter a valid URL."),
        ("http://user@a/", "The URL must not hold a user name or a password."),
        ("http://user:password@a/", "The URL must not hold a user name or a password."),
        (
            "http://a/" + "x" * URL_CHARS_MAX,
            f"Ensure this field has no more than {URL_CHARS_MAX} characters.",
        ),
    ],
)
def test_other_urls_are_refused(url: str, reported: str) -> None:
    with pytest.raises(ValueError) as error:
        read_target(url)

    assert str(error.value) == reported


def test_a_request_is_signed_as_standard_webhooks_says() -> None:
    """The example from the libraries of Standard Webhooks has this signature."""
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    at = datetime.fromtimestamp(1614265330.9, UTC)

    headers = signed_headers([secret], "msg_p5jXN8AQM9LWM0D4loKWxJek", at, body)

    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_a_signature_holds_for_its_secret_time_and_body_only() -> None:
    secret = secret_text(bytes(range(SECRET_BYTES)))
    headers = signed_headers([secret], "id", NOW, b"{}")

    assert is_signed(secret, headers, b"{}")
    assert not is_signed(secret, headers, b"[]")
    assert not is_signed(secret, headers | {"webhook-timestamp": "1"}, b"{}")
    assert not is_signed(secret, headers | {"webhook-id": "other"}, b"{}")
    assert not is_signed(secret_text(b"x" * SECRET_BYTES), headers, b"{}")


def entry(
    activity: str, *changes: Change, scope: Any = "FeatureFlag", **author: Any
) -> ActivityRecord:
    by = Author(
        project_id=PROJECT.id, organization_id=PROJECT.organization_id, user_id=7, now=NOW, **author
    )
    return ActivityRecord(
        author=by, scope=scope, item_id="5", activity=activity, name="beta", changes=changes or None
    )


def change(field: str, after: object, before: object = None) -> Change:
    return Change(type="FeatureFlag", action="changed", field=field, before=before, after=after)


ROLLBACK = Trigger(job_type="auto_rollback", job_id="5", payload={})
SCHEDULED = Trigger(job_type="scheduled_change", job_id="5", payload={})


@pytest.mark.parametrize(
    ("reported", "kind"),
    [
        (entry("created"), "feature_flag.created"),
        (entry("updated", change("name", "x")), "feature_flag.updated"),
        (entry("updated", change("name", "x"), change("deleted", True)), "feature_flag.deleted"),
        (entry("updated", change("deleted", False)), "feature_flag.updated"),
        (
            entry("updated", change("active", False), trigger=ROLLBACK),
            "feature_flag.rolled_back",
        ),
        (entry("updated", change("active", False), trigger=SCHEDULED), "feature_flag.updated"),
        (entry("created", scope="Cohort"), "cohort.created"),
        (entry("updated", change("name", "x"), scope="Cohort"), "cohort.updated"),
        (entry("updated", change("deleted", True), scope="Cohort"), "cohort.deleted"),
        (entry("merged_into", scope="Cohort"), None),
        (entry("deleted", scope="EventDefinition"), None),
        (entry("updated", change("name", "x"), scope="Project"), None),
    ],
)
def test_an_entry_of_the_activity_is_one_type_of_event(
    reported: ActivityRecord, kind: str | None
) -> None:
    assert event_type_of(reported) == kind


def test_every_type_of_event_has_a_thing_and_a_verb() -> None:
    assert all(len(kind.split(".")) == 2 for kind in EVENT_TYPES)


def test_a_body_holds_the_entry() -> None:
    reported = entry("updated", change("name", "x", "y"), trigger=SCHEDULED)

    body = change_body("feature_flag.updated", reported, {"first_name": "Olga", "email": "o@e.com"})

    assert msgspec.json.decode(body) == {
        "type": "feature_flag.updated",
        "timestamp": "2024-03-01T12:00:00.500000Z",
        "data": {
            "project_id": 1,
            "item_id": "5",
            "name": "beta",
            "user": {"first_name": "Olga", "email": "o@e.com"},
            "changes": [
                {
                    "type": "FeatureFlag",
                    "action": "changed",
                    "field": "name",
                    "before": "y",
                    "after": "x",
                }
            ],
            "trigger": {"job_type": "scheduled_change", "job_id": "5", "payload": {}},
            "truncated": False,
        },
    }


def test_a_body_that_is_too_large_leaves_out_what_changed() -> None:
    reported = entry("updated", change("filters", "x" * BODY_BYTES_MAX))

    body = change_body("feature_flag.updated", reported, None)

    data = msgspec.json.decode(body)["data"]
    assert (data["changes"], data["truncated"], data["item_id"]) == (None, True, "5")
    assert len(body) < BODY_BYTES_MAX


def test_captured_events_are_reported_by_their_number() -> None:
    body = captured_body(1, UUID(int=3), "paid", 4, (NOW, NOW + timedelta(seconds=30)))

    assert msgspec.json.decode(body) == {
        "type": "event.captured",
        "timestamp": "2024-03-01T12:00:30.500000Z",
        "data": {
            "project_id": 1,
            "event_definition": {"id": str(UUID(int=3)), "name": "paid"},
            "count": 4,
            "since": "2024-03-01T12:00:00.500000Z",
            "until": "2024-03-01T12:00:30.500000Z",
        },
    }


def test_waits_grow_until_a_delivery_is_given_up() -> None:
    failed = DeliveryOutcome(500, "no")
    waits = [wait_after(attempt, failed) for attempt in range(1, ATTEMPTS_MAX + 2)]

    known = [wait for wait in waits if wait is not None]
    assert waits == [*known, None, None]
    assert known == sorted(set(known))
    assert timedelta(hours=20) < sum(known, timedelta()) <= timedelta(days=1)


def test_what_would_end_the_same_way_is_given_up_at_once() -> None:
    assert wait_after(1, DeliveryOutcome(error="no", is_final=True)) is None


def test_while_a_secret_is_replaced_each_signs() -> None:
    new, old, other = (secret_text(bytes([number]) * SECRET_BYTES) for number in range(3))

    headers = signed_headers([new, old], "id", NOW, b"{}")

    alone = [
        signed_headers([secret], "id", NOW, b"{}")["webhook-signature"] for secret in (new, old)
    ]
    assert headers["webhook-signature"] == " ".join(alone)
    assert [is_signed(secret, headers, b"{}") for secret in (new, old, other)] == [
        True,
        True,
        False,
    ]
