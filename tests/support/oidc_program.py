"""The OpenID provider from npm in another process, and a browser that signs in to it."""

import asyncio
import json
import os
import re
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest

from tests.support import plain_http

NPM = Path(__file__).parents[1] / "clients" / "npm"
START_S = 60
CLIENT_ID, CLIENT_SECRET = "fanion", "a secret: with +signs/ of the client"
REDIRECTS_MAX = 20
CODE_S = 1


@dataclass(frozen=True)
class OidcProgram:
    issuer: str

    async def sign_in(self, browser: httpx.AsyncClient, url: str, user: str, back: str) -> str:
        """Open `url` as a browser does, sign in as `user` if asked to, and agree.

        Args:
            browser: Keeps the provider's cookies.
            back: The start of the address to which the provider returns.

        Returns:
            That address, which is not opened.
        """
        answer = await browser.get(url)
        for _ in range(REDIRECTS_MAX):
            if answer.is_redirect:
                url = urljoin(str(answer.url), answer.headers["location"])
                if url.startswith(back):
                    return url
                answer = await browser.get(url)
            else:
                answer = await self._submit(browser, answer, user)
        raise AssertionError(f"{answer.status_code} {answer.url}: {answer.text[:2000]}")

    async def _submit(
        self, browser: httpx.AsyncClient, page: httpx.Response, user: str
    ) -> httpx.Response:
        """Submit the provider's form: name and any password, consent, or a change of users."""
        action = re.search(r'<form[^>]*action="([^"]+)"', page.text)
        assert action is not None, (page.status_code, page.text[:2000])
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]+)"', page.text))
        if fields.get("prompt") == "login":
            fields |= {"login": user, "password": "any"}
        return await browser.post(urljoin(str(page.url), action[1]), data=fields)


@asynccontextmanager
async def open_program(
    redirect_uri: str, accounts: Mapping[str, Mapping[str, Any]]
) -> AsyncGenerator[OidcProgram]:
    """Run the provider.

    Args:
        accounts: Claims by the name that signs in. Codes for `late` are valid for CODE_S.
    """
    if shutil.which("node") is None:
        pytest.skip("no Node found: install the packages `nodejs` and `npm`")
    if not (NPM / "node_modules" / "oidc-provider").exists():
        pytest.skip("oidc-provider is missing: `make test` installs it, with npm if there is")
    configuration = {
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "redirect_uris": [redirect_uri],
        "accounts": accounts,
        "late": "late",
        "code_s": CODE_S,
    }
    process = await asyncio.create_subprocess_exec(
        "node",
        str(NPM / "oidc_provider.mjs"),
        env=os.environ | {"PROVIDER": json.dumps(configuration)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        async with asyncio.timeout(START_S):
            issuer = (await process.stdout.readline()).decode().strip()
        assert issuer, "the provider has not started"
        yield OidcProgram(issuer)
    finally:
        process.stdin.close()
        await process.stdout.read()
        await process.wait()


def open_browser() -> httpx.AsyncClient:
    return plain_http.AsyncClient(timeout=30, follow_redirects=False)
