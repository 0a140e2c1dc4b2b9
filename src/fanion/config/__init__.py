"""What an operator may choose. `mail` reads the addresses among it."""

from fanion.config.settings import (
    MAY_HOLD_PASSWORD,
    PREFIX,
    GroupAccess,
    Settings,
    SettingsError,
    is_safe_url,
    read_settings,
)

__all__ = [
    "MAY_HOLD_PASSWORD",
    "PREFIX",
    "GroupAccess",
    "Settings",
    "SettingsError",
    "is_safe_url",
    "read_settings",
]
