"""Routes of the management API that are used again once their server is closed.

Building them takes a third of a second of the processor, more than most tests.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable
from contextlib import AsyncExitStack, ExitStack
from typing import TypeVar

import pytest
from litestar import Litestar
from litestar.openapi import OpenAPIConfig

from fanion.web import management
from fanion.web.management import Management, build_application, provide_services, provided

_T = TypeVar("_T")

_free: defaultdict[Hashable, list[Litestar]] = defaultdict(list)


def with_reused_routes(build: Callable[[], _T], closing: ExitStack | AsyncExitStack) -> _T:
    """Return what `build` returns; a management API in it has the routes of one that is closed.

    Args:
        closing: Its end closes what was built.
    """

    def take(config: Management, openapi: OpenAPIConfig | None) -> Litestar:
        if openapi is not None:
            return build_application(config, openapi)
        key = tuple(config.controllers), frozenset(provided(config)), config.body_bytes_max
        if _free[key]:
            routes = _free[key].pop()
            provide_services(routes, config)
        else:
            routes = build_application(config, None)
        closing.callback(_free[key].append, routes)
        return routes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(management, "build_application", take)
        return build()
