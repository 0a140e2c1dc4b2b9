"""A request of the management API that the guard has authenticated."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from msgspec import Meta, Struct

from fanion.activity.model import Author
from fanion.errors import BodyTooLarge, ClientLeft, ParseError
from fanion.projects.model import FORMER_VALID_S_MAX, Principal, Project, User
from fanion.rest.body_reader import MULTIPART, Body, read_body, read_form, read_texts
from fanion.rest.pagination import Page, read_page
from fanion.rest.validation import read_struct
from fanion.server.forwarded import BaseUrl, Caller, Client
from fanion.server.head import HeaderFields
from fanion.wire.decoding import READ_ON_LOOP_BYTES_MAX
from fanion.wire.incremental_json import DECODED_BYTES_MAX
from fanion.wire.offload import Decoding

T = TypeVar("T")

# Of a request that replaces a key or a secret.
FormerValidS = Annotated[
    int,
    Meta(
        ge=0,
        le=FORMER_VALID_S_MAX,
        description="How long the present key stays valid. With 0 it ends at "
        "once, and so do all former keys.",
    ),
]
# Fields of a body that may hold the caller's key.
KEY_NAMES = frozenset({"personal_api_key"})

# Of a handler that a session may use only soon after its owner has signed in or confirmed the
# password. Keys are exempt.
FRESH: dict[str, Any] = {"fresh_sign_in": True}


def scoped(name: str) -> dict[str, Any]:
    """A controller's `opt`: keys need the scope `<name>:read` or `<name>:write`."""
    return {"scope": name}


@dataclass(frozen=True, slots=True)
class _ConnectionCaller:
    """A `Caller` whose address and headers are decoded only when they are used."""

    connection: ASGIConnection[Any, Any, Any, Any]

    @property
    def headers(self) -> HeaderFields:
        sent = self.connection.scope["headers"]
        return HeaderFields(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in sent
        )

    @property
    def peer(self) -> str:
        host, port = self.connection.scope["client"] or ("", 0)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class ManagementRequest(Request[User, Principal, State]):
    """The guard sets `principal`, and `project` where the path or `opt` asks for one."""

    principal: Principal
    project: Project

    @property
    def signed_in_as(self) -> Principal | None:
        """Where the handler takes a session and needs none."""
        found: Principal | None = self.scope["state"].get("principal")
        return found

    @property
    def caller(self) -> Caller:
        return _ConnectionCaller(self)

    @property
    def remote_client(self) -> Client:
        return self._server_url.proxies.client(self.caller)

    @property
    def client_address(self) -> str:
        """As of `TrustedProxies.client_address`."""
        return self.remote_client.address

    @property
    def author(self) -> Author:
        """Author of the changes that this request makes in its project."""
        project = self.project
        return Author(
            project_id=project.id,
            organization_id=project.organization_id,
            user_id=self.principal.user.id,
            now=self.app.state.now(),
        )

    @property
    def page(self) -> Page:
        """The requested page of a list."""
        return read_page(self.address, self.scope["query_string"].decode("latin-1"))

    @property
    def address(self) -> str:
        """Absolute URL of the request as the client sees it, without the query."""
        path = self.scope.get("raw_path") or self.scope["path"].encode()
        return self.origin + path.partition(b"?")[0].decode("latin-1")

    @property
    def origin(self) -> str:
        """Scheme and host of absolute links, with the path prefix of a proxy."""
        headers: Any = self.headers  # `get` is overloaded in place of having a default
        client = self.scope["client"]  # that of the connection
        return self._server_url.of(client[0] if client else "", headers, self.scope["scheme"])

    @property
    def _server_url(self) -> BaseUrl:
        base_url: BaseUrl = self.app.state.base_url
        return base_url

    async def client_left(self) -> None:
        """Wait until the client has disconnected."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def unless_client_left(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work, which is cancelled when the client disconnects.

        raises: ClientLeft
        """
        working = asyncio.ensure_future(work)
        leaving = asyncio.ensure_future(self.client_left())
        try:
            await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise ClientLeft
        finally:
            working.cancel()
            leaving.cancel()
            await asyncio.gather(working, leaving, return_exceptions=True)

    async def values(self) -> Body:
        """The decoded body. Before authentication only the fields of a large body that may hold the
        key are decoded.

        raises: as `read_body` and `read_form`
        """
        known: Body | None = self.scope["state"].get("body")
        if known is None:
            kind = self.headers.get("content-type", "")
            if self._is_multipart:
                known = await self._read_form(kind)
            else:
                raw = await super().body()
                if len(raw) > self._body_bytes_max:
                    raise BodyTooLarge(self._body_bytes_max)
                if len(raw) <= READ_ON_LOOP_BYTES_MAX:
                    known = read_body(kind, raw)
                elif "principal" in self.scope["state"]:
                    known = await self._read_large(partial(read_body, kind, raw))
                else:
                    return await self._read_large(partial(read_texts, kind, raw, KEY_NAMES))
            self.scope["state"]["body"] = known
        return known

    async def _read_large(self, read: Callable[[], Body]) -> Body:
        decoding: Decoding = self.app.state.decoding
        length = len(await super().body())
        async with decoding.room(length, length) as room:
            await room.grow(DECODED_BYTES_MAX)
            return await room.run(read)

    @property
    def _body_bytes_max(self) -> int:
        """A handler may take less than all others: `opt` has `body_bytes_max`."""
        bytes_max: int = self.route_handler.opt.get("body_bytes_max", self.app.state.body_bytes_max)
        return bytes_max

    @property
    def _is_multipart(self) -> bool:
        media = self.headers.get("content-type", "").partition(";")[0]
        return media.strip().lower() == MULTIPART

    async def _read_form(self, content_type: str) -> Body:
        """Small before authentication: the form may hold the key, and anyone can send one."""
        bytes_max = self._body_bytes_max
        if self.route_handler.opt.get("takes_files") and "principal" in self.scope["state"]:
            bytes_max = self.app.state.upload_bytes_max
        length = self.content_length
        if length is not None and length > bytes_max:
            raise BodyTooLarge(bytes_max)
        return await read_form(self._chunks(), content_type, bytes_max)

    async def _chunks(self) -> AsyncGenerator[bytes]:
        more = True
        while more:
            message = await self.receive()
            if message["type"] != "http.request":
                raise ParseError("The client left before the request was complete.")
            more = message["more_body"]
            yield message["body"]

    # The framework fills a handler's `data` from these two methods. They are overridden so that a
    # body is read once, as JSON or as a form, with the errors that clients expect.

    async def body(self) -> bytes:
        """An empty body counts as an empty object, so that errors name the missing fields. The
        framework only checks whether there is a body: a multipart form is not read here."""
        if self._is_multipart:
            return b"{}"
        return await super().body() or b"{}"

    async def json(self) -> Any:
        """The handler's struct."""
        body = await self.values()
        field = self.route_handler.parsed_data_field
        if field is None or not issubclass(field.annotation, Struct):
            return body.values
        read = partial(read_struct, field.annotation, body.values, form=body.form)
        if (self.content_length or READ_ON_LOOP_BYTES_MAX + 1) <= READ_ON_LOOP_BYTES_MAX:
            return read()
        return await asyncio.to_thread(read)
