"""How a receiver knows that a request is ours and fresh: an HMAC over id, time and body.

While a secret is replaced there is one for each secret that is valid: receivers accept a request
when any of them is right.

source: Standard Webhooks 1.0.0, "Signature scheme", "Webhook headers" and "Secret rotation"
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime

SECRET_PREFIX = "whsec_"
SECRET_BYTES = 32


def secret_text(chance: bytes) -> str:
    """chance: SECRET_BYTES random bytes"""
    return SECRET_PREFIX + b64encode(chance).decode()


def signed_headers(
    secrets: Sequence[str], message_id: str, now: datetime, body: bytes
) -> dict[str, str]:
    """The same message keeps its id over all attempts; the time is that of the attempt.

    secrets: that are valid, the present one first
    """
    timestamp = str(int(now.timestamp()))
    signatures = [_signature(secret, message_id, timestamp, body) for secret in secrets]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(signatures),
    }


def is_signed(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """As a receiver checks it, who also looks whether the time is near."""
    expected = _signature(secret, headers["webhook-id"], headers["webhook-timestamp"], body)
    given = headers["webhook-signature"].split(" ")
    return any(hmac.compare_digest(expected, one) for one in given)


def _signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    key = b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = b".".join((message_id.encode(), timestamp.encode(), body))
    return "v1," + b64encode(hmac.digest(key, signed, "sha256")).decode()
