"""An application that uses the posthog package, old or new, in its own process.

It reads JOURNEY (JSON, see journey.py) and prints one line of JSON: what the application saw.
"""

import json
import os
import warnings
from datetime import datetime
from typing import Any

from posthog import Posthog
from posthog.version import VERSION

IS_OLD = VERSION.startswith("3.")

Json = dict[str, Any]


def capture(client: Any, journey: Json) -> Json:
    visitor, user, company = journey["visitor"], journey["user"], journey["company"]
    send(client, "page viewed", visitor, properties={"path": "/", "deep": {"list": [1, None]}})
    client.alias(visitor, user)
    if IS_OLD:
        client.identify(user, {"plan": "free"})
    else:
        client.set(distinct_id=user, properties={"plan": "free"})
    client.set(distinct_id=user, properties={"plan": "pro", "email": journey["email"]})
    client.set_once(distinct_id=user, properties={"source": "ad"})
    client.set_once(distinct_id=user, properties={"source": "mail", "first": 1})
    client.group_identify("company", company, {"size": 10})
    send(client, "order paid", user, properties={"amount": 12.5}, groups={"company": company})
    for number in range(journey["batched"]):
        send(client, "batched", user, properties={"n": number})
    past = datetime.fromisoformat(journey["past"])
    send(client, "long ago", user, timestamp=past)
    client.flush()
    return {"anonymous": visitor}


def flags(client: Any, journey: Json) -> Json:
    values, payloads = {}, {}
    for reader in journey["readers"]:
        answer = client.get_all_flags_and_payloads(reader)
        values[reader] = answer["featureFlags"]
        payloads[reader] = answer["featureFlagPayloads"]
    user, groups = journey["user"], {"company": journey["company"]}
    own = {key: client.get_feature_flag(key, user, groups=groups) for key in journey["keys"]}
    client.get_feature_flag(journey["variant_key"], user, groups=groups)
    payload = client.get_feature_flag_payload(journey["variant_key"], user, groups=groups)
    send(client, "order paid again", user, groups=groups, send_feature_flags=True)
    client.flush()
    return {"values": values, "payloads": payloads, "own": own, "own_payload": payload}


def send(client: Any, event: str, distinct_id: str, **fields: Any) -> None:
    if IS_OLD:
        client.capture(distinct_id, event, **fields)
    else:
        client.capture(event, distinct_id=distinct_id, **fields)


def main() -> None:
    # Newer releases announce newer methods for the same request.
    warnings.simplefilter("ignore", DeprecationWarning)
    journey = json.loads(os.environ["JOURNEY"])
    errors: list[str] = []
    client = Posthog(
        journey["token"],
        host=journey["host"],
        flush_interval=0.05,
        on_error=lambda error, batch: errors.append(repr(error)),
    )
    seen = {"capture": capture, "flags": flags}[journey["stage"]](client, journey)
    client.shutdown()
    print(json.dumps({**seen, "errors": errors}))


if __name__ == "__main__":
    main()
