"""Options of handlers that say who may call them."""

from typing import Any

# The largest body of requests that anyone can send.
SIGN_IN_BYTES_MAX = 16 * 1024
# Options of a handler that needs neither key nor session, and takes a small body.
OPEN: dict[str, Any] = {"public": True, "body_bytes_max": SIGN_IN_BYTES_MAX, "security": [{}]}
# Options of a handler that needs a session and changes only the caller's own account: it refuses
# personal keys and admits viewers.
OF_SESSION: dict[str, Any] = {"session": True, "own": True, "security": [{"session": []}]}
# Options of a handler for callers who must still set up a required second factor.
WITHOUT_SECOND_FACTOR: dict[str, Any] = {"without_second_factor": True}
