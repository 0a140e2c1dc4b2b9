"""The settings that an operator may choose.

`mail` parses the mail addresses among them, `stores` the URLs of both stores, `roles` the roles.
`otel` reads the variables of OpenTelemetry.
"""

from fanion.config.otel import OtelSettings, read_otel_settings
from fanion.config.roles import ALL, Role, roles_text
from fanion.config.settings import (
    MAY_HOLD_PASSWORD,
    PREFIX,
    GroupAccess,
    Settings,
    SettingsError,
    is_of_this_machine,
    is_safe_url,
    read_settings,
    read_valid_settings,
)

__all__ = [
    "ALL",
    "MAY_HOLD_PASSWORD",
    "PREFIX",
    "GroupAccess",
    "OtelSettings",
    "Role",
    "Settings",
    "SettingsError",
    "is_of_this_machine",
    "is_safe_url",
    "read_otel_settings",
    "read_settings",
    "read_valid_settings",
    "roles_text",
]
