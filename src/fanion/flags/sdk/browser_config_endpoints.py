"""Configuration that browser and mobile SDKs read when they start, in addition to flags.

Products other than feature flags are switched off, and their lists are empty.

Source: sdk-wire.md section 7.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from fanion.errors import InvalidApiKey, MissingApiKey, NotFound
from fanion.flags.evaluation.responses import CONFIGURATION
from fanion.projects.cache import Projects
from fanion.server.request import Request
from fanion.server.response import Response, json_response
from fanion.wire.decoding import parse_query

EMPTY_LISTS: Mapping[str, str] = {
    "/api/surveys": "surveys",
    "/api/early_access_features": "earlyAccessFeatures",
    "/api/web_experiments": "experiments",
    "/api/product_tours": "product_tours",
}
_ADDED: Mapping[str, Any] = {
    "captureDeadClicks": False,
    "productTours": False,
    "errorTracking": {"autocaptureExceptions": False, "suppressionRules": []},
    "logs": {"captureConsoleLogs": False},
    "conversations": False,
}
_TOKEN = re.compile(r"/array/([^/]+)/")

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class BrowserConfig:
    projects: Projects

    async def json(self, request: Request) -> Response:
        """Answer GET /array/{token}/config."""
        return json_response(_configuration(await self._token(request)))

    async def script(self, request: Request) -> Response:
        """Answer GET /array/{token}/config.js: the configuration for a script tag."""
        script = await self.config_script(request)
        return Response(200, script, content_type="application/javascript; charset=utf-8")

    async def config_script(self, request: Request) -> bytes:
        """Return the script for the project whose token is in the path.

        Raises:
            NotFound: The token is not valid.
        """
        token = await self._token(request)
        config = {"config": _configuration(token), "siteApps": []}
        return (
            b"(function() {\n"
            b"  window._POSTHOG_REMOTE_CONFIG = window._POSTHOG_REMOTE_CONFIG || {};\n"
            b"  window._POSTHOG_REMOTE_CONFIG[%b] = %b;\n"
            b"})();\n"
        ) % (_encode(token), _encode(config))

    async def empty_list(self, request: Request) -> Response:
        """Answer with an empty list for a product that does not exist here.

        Raises:
            MissingApiKey: There is no token.
            InvalidApiKey: The token is not valid.
        """
        token = parse_query(request.query).get("token")
        if not token:
            raise MissingApiKey
        await self.projects.by_token(token, request)
        name = EMPTY_LISTS[request.path.rstrip("/")]
        return json_response({name: []})

    async def _token(self, request: Request) -> str:
        """Return the valid token in the path; on NotFound clients use their defaults."""
        match = _TOKEN.match(request.path)
        try:
            if match is None:
                raise NotFound
            await self.projects.by_token(match[1], request)
            return match[1]  # clients look up their configuration by the token they sent
        except InvalidApiKey:
            raise NotFound from None


def _configuration(token: str) -> dict[str, Any]:
    return {"token": token, **CONFIGURATION, **_ADDED}
