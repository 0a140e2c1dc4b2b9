"""The methods of a path, told to whoever asks with OPTIONS.

The framework's own answer names those of the path's first handler alone.
"""

from litestar.datastructures import MutableScopeHeaders
from litestar.routes import HTTPRoute
from litestar.types import Message, Scope

from fanion.errors import with_head

_REFUSED = 405


async def tell_methods(message: Message, scope: Scope) -> None:
    """Called before each message is sent."""
    if message["type"] == "http.response.start" and scope.get("method") == "OPTIONS":
        allowed = ", ".join(sorted(with_head(_methods(scope))))
        if allowed:
            MutableScopeHeaders.from_message(message)["allow"] = allowed


def _methods(scope: Scope) -> set[str]:
    """Without those whose handler does nothing but refuse."""
    template = scope.get("path_template")
    return {
        str(method)
        for route in scope["litestar_app"].routes
        if isinstance(route, HTTPRoute) and route.path_format == template
        for handler in route.route_handlers
        if handler.status_code != _REFUSED
        for method in handler.http_methods
    }
