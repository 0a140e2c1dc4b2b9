"""What a client asks of /decide and /flags, read from the decoded body and the query.

source: flags.md section 10; sdk-wire.md section 4.1
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from fanion.errors import AppError, InvalidApiKey, InvalidPayload, MissingApiKey
from fanion.flags.engine.definition import ANYWHERE, Flag
from fanion.flags.engine.flag_set import FlagSet
from fanion.flags.engine.model import Subject
from fanion.rest.validation import normal_tags
from fanion.wire.distinct_id import stored_distinct_id

VERSION_DEFAULT = 1
VERSION_MAX = 4
# What a client that sends something else than a number was made for.
VERSION_UNREADABLE = 2

# What `project_token` and the project's choice look at.
KEYS_OF_PROJECT = frozenset({"$token", "token", "api_key", "project_id", "properties"})

RUNTIMES = ("client", "server")

_TRUE_WORDS = frozenset({"y", "yes", "t", "true", "on", "1"})


class MissingDistinctId(AppError):
    status, type, default_code = 400, "validation_error", "missing_distinct_id"
    default_detail = "Decide requires a distinct_id."


class FlagRequest(Struct, frozen=True, gc=False):
    """subject:          as the request describes it, nothing read yet
    anon_distinct_id: the id before the login, for experience continuity
    keys:             the flags asked for; None for all
    contexts:         of the client; flags that are meant for others only are left out
    runtime:          `client` or `server`, where the client says so; flags that are meant for
                      the other one are left out
    is_large:         whether looking through it takes more than a few milliseconds
    """

    subject: Subject
    anon_distinct_id: str | None = None
    keys: tuple[str, ...] | None = None
    geoip_disable: bool = False
    contexts: frozenset[str] = frozenset()
    runtime: str = ""
    is_large: bool = False


def project_token(values: Mapping[str, Any], fields: Mapping[str, str]) -> str:
    """fields: of a form, next to its data; they take precedence

    raises: MissingApiKey; InvalidApiKey for something that is no text
    source: capture.md section 1.4
    """
    token = (
        fields.get("api_key")
        or fields.get("token")
        or values.get("$token")
        or values.get("token")
        or values.get("api_key")
        or _token_within(values.get("properties"))
    )
    if not token:
        raise MissingApiKey
    if not isinstance(token, str):
        raise InvalidApiKey
    return token


def read_flag_request(values: Mapping[str, Any]) -> FlagRequest | None:
    """None for a client that wants no flags. raises: as read_request"""
    return None if is_truthy(values.get("disable_flags")) else read_request(values)


def read_request(values: Mapping[str, Any]) -> FlagRequest:
    """raises: MissingDistinctId; InvalidPayload for a field of the wrong kind"""
    distinct_id = values.get("distinct_id")
    if distinct_id is None:
        distinct_id = values.get("$distinct_id")
    if distinct_id is None:
        raise MissingDistinctId
    anon = values.get("$anon_distinct_id")
    groups = _object(values, "groups")
    group_properties = _object(values, "group_properties")
    return FlagRequest(
        Subject(
            stored_distinct_id(distinct_id),
            sent=with_stored_id(_object(values, "person_properties")),
            groups={k: text(v) for k, v in groups.items() if v is not None} if groups else {},
            group_properties={k: v for k, v in group_properties.items() if isinstance(v, dict)}
            if group_properties
            else {},
            device_id=_device_id(values),
        ),
        anon_distinct_id=None if anon is None else stored_distinct_id(anon),
        keys=_keys(values),
        geoip_disable=is_truthy(values.get("geoip_disable", values.get("disable_geoip"))),
        contexts=_contexts(values),
        runtime=_runtime(values.get("evaluation_runtime")),
    )


def read_version(value: str | None) -> int:
    if value is None or value == "":
        return VERSION_DEFAULT
    try:
        version = int(value)
    except ValueError:
        return VERSION_UNREADABLE
    return min(max(version, VERSION_DEFAULT), VERSION_MAX)


def is_truthy(value: object) -> bool:
    """JSON true, or one of a few words; everything else is false. source: flags.md section 6"""
    return value is True or (isinstance(value, str) and value.lower() in _TRUE_WORDS)


def text(value: object) -> str:
    """An id as text: a number in decimal."""
    return value if isinstance(value, str) else str(value)


def with_stored_id(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties of a person with the `distinct_id` among them as it is stored; servers
    send it there as well."""
    given = properties.get("distinct_id")
    if not isinstance(given, str):
        return properties
    stored = stored_distinct_id(given)
    return properties if stored == given else {**properties, "distinct_id": stored}


def _token_within(properties: object) -> Any:
    return properties.get("token") if isinstance(properties, dict) else None


def _object(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = values.get(name)
    if found is None or found == []:  # an empty object of a client written in PHP
        return {}
    if not isinstance(found, dict):
        raise InvalidPayload(f"Malformed request data: {name} must be an object.")
    return found


def _device_id(values: Mapping[str, Any]) -> str | None:
    """Browsers and servers spell it differently; servers also send null."""
    found = values.get("$device_id")
    if found is None:
        found = values.get("device_id")
    return text(found) or None if isinstance(found, str | int | float) else None


def _contexts(values: Mapping[str, Any]) -> frozenset[str]:
    found = values.get("evaluation_contexts")
    if found is None:
        found = values.get("evaluation_environments")
    if not isinstance(found, list):
        return frozenset()
    return frozenset(normal_tags([each for each in found if isinstance(each, str)]))


def _runtime(value: object) -> str:
    return value if isinstance(value, str) and value in RUNTIMES else ""


def _keys(values: Mapping[str, Any]) -> tuple[str, ...] | None:
    found = values.get("flag_keys_to_evaluate")
    if found is None:
        found = values.get("flag_keys")
    if not isinstance(found, list):
        return None
    return tuple(dict.fromkeys(key for key in found if isinstance(key, str)))


def visible_keys(flag_set: FlagSet, asked: FlagRequest) -> tuple[str, ...] | None:
    """Keys of the flags to evaluate; None for all.

    A client that names no context, or no runtime, gets the flags of every one.
    """
    if not flag_set.limited or not (asked.contexts or asked.runtime):
        return asked.keys
    flags = flag_set.flags
    wanted = flags if asked.keys is None else asked.keys
    return tuple(key for key in wanted if key in flags and _is_for(flags[key], asked))


def _is_for(flag: Flag, asked: FlagRequest) -> bool:
    in_runtime = not asked.runtime or flag.runtime in (ANYWHERE, asked.runtime)
    in_context = not asked.contexts or not flag.contexts or bool(flag.contexts & asked.contexts)
    return in_runtime and in_context
