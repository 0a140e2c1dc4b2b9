"""The secrets that are kept in files of their own, as container platforms provide them."""

from pathlib import Path

from fanion.config import PREFIX, SettingsError

SECRET_BYTES_MAX = 4_096


def read_secret(name: str, value: str, path: str) -> str:
    """Return the setting's value, or the file's text without white space around it.

    Args:
        name: The setting with the path, for the error.

    Raises:
        SettingsError: The file cannot be used. The text repeats nothing of the file.
    """
    if not path:
        return value
    try:
        with Path(path).open("rb") as file:
            raw = file.read(SECRET_BYTES_MAX + 1)
        secret = raw.decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise SettingsError(f"{PREFIX}{name}: {path} cannot be read: {reason}") from None
    if not secret or len(raw) > SECRET_BYTES_MAX:
        raise SettingsError(f"{PREFIX}{name}: {path} must hold 1 to {SECRET_BYTES_MAX} bytes")
    return secret
