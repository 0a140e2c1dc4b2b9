"""Where links that set a password lead, and how long they last."""

from datetime import timedelta

from fanion.accounts.model import Purpose

MAILED_LASTS = timedelta(hours=1)
PRINTED_LASTS = timedelta(hours=24)  # at the first start, and by the operator
# Below the address of this server.
PATHS = {
    Purpose.FIRST_START: "/api/sign_in_links/",
    Purpose.RESET: "/api/reset/",
}


def link_address(base_url: str, purpose: Purpose, token: str) -> str:
    """base_url: of this server, without a slash at its end"""
    return f"{base_url}{PATHS[purpose]}{token}/"
