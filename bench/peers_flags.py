"""The flags of `bench.decide`, as other servers of flags write them.

Each has two conditions: a text in the address, for everybody, then the plan, for 60 %. Every
second one has two variants of equal shares.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

DISTINCT_ID: Final = "user-1"
PROPERTIES: Final[Mapping[str, object]] = {
    "plan": "pro",
    "email": "ann@example.com",
    "age": "30",
}
PLANS: Final = ["team", "pro"]
ROLLOUT: Final = 60
EDGE_TOKEN: Final = "*:development.bench"


def write_for_edge(folder: Path, _: int, flags: int) -> None:
    """Write the features of Unleash Edge."""
    features = [_feature(number) for number in range(flags)]
    (folder / "features.json").write_text(json.dumps({"version": 2, "features": features}))


def _feature(number: int) -> Mapping[str, object]:
    key = f"flag-{number}"
    weight = {"weight": 500, "weightType": "variable", "stickiness": "userId"}
    variants = [{"name": name, **weight} for name in ("control", "test")] if number % 2 else []

    def strategy(property_name: str, operator: str, values: list[str], share: int) -> object:
        return {
            "name": "flexibleRollout",
            "constraints": [{"contextName": property_name, "operator": operator, "values": values}],
            "parameters": {"rollout": str(share), "stickiness": "userId", "groupId": key},
            "variants": variants,
        }

    by_email = strategy("email", "STR_CONTAINS", [f"{number}@"], 100)
    strategies = [by_email, strategy("plan", "IN", PLANS, ROLLOUT)]
    return {
        "name": key,
        "type": "release",
        "project": "default",
        "enabled": True,
        "strategies": strategies,
        "variants": [],
    }


def write_for_flagd(folder: Path, _: int, flags: int) -> None:
    """Write the flags of flagd, with its JSON Logic."""
    named = {f"flag-{number}": _rule(number) for number in range(flags)}
    (folder / "flags.json").write_text(json.dumps({"flags": named}))


def _rule(number: int) -> Mapping[str, object]:
    on: object = {"fractional": [["control", 50], ["test", 50]]} if number % 2 else "on"
    by_email = {"in": [f"{number}@", {"var": "email"}]}
    by_plan = {"in": [{"var": "plan"}, PLANS]}
    share = {"fractional": _shares(number)}
    return {
        "state": "ENABLED",
        "variants": _variations(number),
        "defaultVariant": "off",
        "targeting": {"if": [by_email, on, by_plan, share, "off"]},
    }


def write_for_relay_proxy(folder: Path, port: int, flags: int) -> None:
    """Write the flags and the configuration of the relay proxy of GO Feature Flag."""
    named = {f"flag-{number}": _targeted(number) for number in range(flags)}
    (folder / "flags.json").write_text(json.dumps(named))
    configuration = {
        "server": {"mode": "http", "host": "127.0.0.1", "port": port},
        "fileFormat": "json",
        "retrievers": [{"kind": "file", "path": str(folder / "flags.json")}],
    }
    (folder / "proxy.json").write_text(json.dumps(configuration))


def _targeted(number: int) -> Mapping[str, object]:
    by_email = {"query": f'email co "{number}@"'}
    on: Mapping[str, object] = (
        {"percentage": {"control": 50, "test": 50}} if number % 2 else {"variation": "on"}
    )
    by_plan = {"query": "plan in [" + ", ".join(f'"{plan}"' for plan in PLANS) + "]"}
    return {
        "variations": _variations(number),
        "targeting": [{**by_email, **on}, {**by_plan, "percentage": dict(_shares(number))}],
        "defaultRule": {"variation": "off"},
    }


def _variations(number: int) -> Mapping[str, object]:
    if number % 2:
        return {name: name for name in ("control", "test", "off")}
    return {"on": True, "off": False}


def _shares(number: int) -> list[tuple[str, int]]:
    if number % 2:
        return [("control", ROLLOUT // 2), ("test", ROLLOUT // 2), ("off", 100 - ROLLOUT)]
    return [("on", ROLLOUT), ("off", 100 - ROLLOUT)]
