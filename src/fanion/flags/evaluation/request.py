"""Requests to /decide and /flags, read from the decoded body and the query.

Source: flags.md section 10; sdk-wire.md section 4.1.
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
# The version that clients expect if they send something other than a number.
VERSION_UNREADABLE = 2

# The keys that determine the project.
KEYS_OF_PROJECT = frozenset({"$token", "token", "api_key", "project_id", "properties"})

RUNTIMES = ("client", "server")

_TRUE_WORDS = frozenset({"y", "yes", "t", "true", "on", "1"})


class MissingDistinctId(AppError):
    status, type, default_code = 400, "validation_error", "missing_distinct_id"
    default_detail = "Decide requires a distinct_id."


class FlagRequest(Struct, frozen=True, gc=False):
    """A request for a subject's flags.

    Attributes:
        subject: As the request describes it; nothing has been read from stores yet.
        anon_distinct_id: The distinct id from before the login, for experience continuity.
        keys: The requested flags; None for all.
        contexts: The client's contexts; flags that are limited to other contexts are left out.
        runtime: `client` or `server` if the client says so; flags limited to the other are left
            out.
        is_large: Whether processing it takes more than a few milliseconds.
    """

    subject: Subject
    anon_distinct_id: str | None = None
    keys: tuple[str, ...] | None = None
    geoip_disable: bool = False
    contexts: frozenset[str] = frozenset()
    runtime: str = ""
    is_large: bool = False


def project_token(values: Mapping[str, Any], fields: Mapping[str, str]) -> str:
    """Return the project key of a request.

    Args:
        fields: Form fields sent next to the data; they take precedence.

    Raises:
        MissingApiKey: There is no key.
        InvalidApiKey: The key is not text.

    Source: capture.md section 1.4.
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
    """Read a request; None for a client that wants no flags.

    Raises:
        MissingDistinctId: There is no distinct id.
        InvalidPayload: A field has the wrong type.
    """
    return None if is_truthy(values.get("disable_flags")) else read_request(values)


def read_request(values: Mapping[str, Any]) -> FlagRequest:
    """Read a request, even if the client says that it wants no flags.

    Raises:
        MissingDistinctId: There is no distinct id.
        InvalidPayload: A field has the wrong type.
    """
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
            groups={k: id_text(v) for k, v in groups.items() if v is not None} if groups else {},
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
    """Return True for JSON true and a few words; everything else is false.

    Source: flags.md section 6.
    """
    return value is True or (isinstance(value, str) and value.lower() in _TRUE_WORDS)


def id_text(value: object) -> str:
    """Return an id as text; a number becomes decimal."""
    return value if isinstance(value, str) else str(value)


def with_stored_id(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return person properties with `distinct_id` in its stored form; servers send it there too."""
    given = properties.get("distinct_id")
    if not isinstance(given, str):
        return properties
    stored = stored_distinct_id(given)
    return properties if stored == given else {**properties, "distinct_id": stored}


def _token_within(properties: object) -> Any:
    return properties.get("token") if isinstance(properties, dict) else None


def _object(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = values.get(name)
    if value is None or value == []:  # PHP clients encode an empty object as a list
        return {}
    if not isinstance(value, dict):
        raise InvalidPayload(f"Malformed request data: {name} must be an object.")
    return value


def _device_id(values: Mapping[str, Any]) -> str | None:
    """Return the device id, which browsers and servers spell differently and may send as null."""
    value = values.get("$device_id")
    if value is None:
        value = values.get("device_id")
    return id_text(value) or None if isinstance(value, str | int | float) else None


def _contexts(values: Mapping[str, Any]) -> frozenset[str]:
    names = values.get("evaluation_contexts")
    if names is None:
        names = values.get("evaluation_environments")
    if not isinstance(names, list):
        return frozenset()
    return frozenset(normal_tags([each for each in names if isinstance(each, str)]))


def _runtime(value: object) -> str:
    return value if isinstance(value, str) and value in RUNTIMES else ""


def _keys(values: Mapping[str, Any]) -> tuple[str, ...] | None:
    keys = values.get("flag_keys_to_evaluate")
    if keys is None:
        keys = values.get("flag_keys")
    if not isinstance(keys, list):
        return None
    return tuple(dict.fromkeys(key for key in keys if isinstance(key, str)))


def visible_keys(flag_set: FlagSet, flag_request: FlagRequest) -> tuple[str, ...] | None:
    """Return the keys of the flags to evaluate; None for all.

    A client that names no context, or no runtime, gets the flags of every one.
    """
    if not flag_set.limited or not (flag_request.contexts or flag_request.runtime):
        return flag_request.keys
    flags = flag_set.flags
    requested = flags if flag_request.keys is None else flag_request.keys
    return tuple(key for key in requested if key in flags and _is_for(flags[key], flag_request))


def _is_for(flag: Flag, flag_request: FlagRequest) -> bool:
    in_runtime = not flag_request.runtime or flag.runtime in (ANYWHERE, flag_request.runtime)
    in_context = (
        not flag_request.contexts
        or not flag.contexts
        or bool(flag.contexts & flag_request.contexts)
    )
    return in_runtime and in_context
