"""What every HTML page of the server has in common: it runs no script and loads nothing."""

from base64 import b64encode
from hashlib import sha256
from html import escape


def html_document(title: str, style: str, body: str, head: str = "") -> str:
    """body, head: HTML"""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{head}<title>{escape(title)}</title><style>{style}</style></head>"
        f"<body>{body}</body></html>"
    )


def content_security_policy(style: str, *more: str) -> str:
    """The page stands in no frame; its own style is let in. more: further directives"""
    style_hash = b64encode(sha256(style.encode()).digest()).decode()
    allowed = (f"style-src 'sha256-{style_hash}'", *more)
    refused = ("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'")
    return "; ".join(("default-src 'none'", *allowed, *refused))
