"""A request of the management API that the guard has authenticated."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from msgspec import Meta, Struct

from fanion.activity.model import Author, OrganizationAuthor
from fanion.errors import BodyTooLarge, ClientLeft, Unavailable
from fanion.projects.auth.model import Principal
from fanion.projects.model import FORMER_VALID_S_MAX, Organization, Project, User
from fanion.rest.body_reader import Body, is_multipart, read_body, read_form
from fanion.rest.pagination import Page, read_page
from fanion.rest.validation import read_struct
from fanion.server.asgi_bridge import REQUEST
from fanion.server.errors import ClientDisconnected, ContentTooLarge, Overloaded
from fanion.server.forwarded import BaseUrl, Caller, Client
from fanion.server.head import HeaderFields
from fanion.server.request import Request as HttpRequest
from fanion.wire.decoding import READ_ON_LOOP_BYTES_MAX
from fanion.wire.incremental_json import DECODED_BYTES_MAX, decoded_bytes
from fanion.wire.offload import Decoding

T = TypeVar("T")

# A field of requests that replace a key or a secret.
FormerValidS = Annotated[
    int,
    Meta(
        ge=0,
        le=FORMER_VALID_S_MAX,
        description="How long the current key stays valid. With 0, it and all former keys end at "
        "once.",
    ),
]
# A larger body is not searched for the caller's key, as it is not read until the caller is known.
KEY_BODY_BYTES_MAX = READ_ON_LOOP_BYTES_MAX

# Options of a handler that a session may use only soon after its owner has signed in or confirmed
# the password. Keys are exempt.
FRESH: dict[str, Any] = {"fresh_sign_in": True}


def scoped(name: str) -> dict[str, Any]:
    """Return a controller's `opt`: keys need the scope `<name>:read` or `<name>:write`."""
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


async def _receiving(reading: Awaitable[T]) -> T:
    """Await a body and translate its errors: ClientLeft, Unavailable, and those of the reader."""
    try:
        return await reading
    except ClientDisconnected:
        raise ClientLeft from None
    except Overloaded as error:
        raise Unavailable(
            error.detail, code=error.reason, retry_after_s=error.retry_after_s
        ) from None


async def _whole(raw: bytes) -> AsyncIterator[bytes]:
    yield raw


class ManagementRequest(Request[User, Principal, State]):
    """A request with its caller.

    The guard sets `principal`, and `project` if the path or `opt` asks for one.
    """

    principal: Principal
    project: Project

    @property
    def is_head(self) -> bool:
        """Return whether the client sent HEAD, which the server answers as GET."""
        return bool(self.scope["state"].get("is_head"))

    @property
    def signed_in_as(self) -> Principal | None:
        """The caller, if any, of a handler that takes a session and needs none."""
        principal: Principal | None = self.scope["state"].get("principal")
        return principal

    @property
    def caller(self) -> Caller:
        return _ConnectionCaller(self)

    @property
    def remote_client(self) -> Client:
        return self._server_url.proxies.client(self.caller)

    @property
    def client_address(self) -> str:
        """The normalised address of the client; see `TrustedProxies.client_address`."""
        return self.remote_client.address

    @property
    def author(self) -> Author:
        """The author of the changes that this request makes in its project."""
        project = self.project
        return Author(
            project_id=project.id,
            organization_id=project.organization_id,
            user_id=self.principal.user.id,
            now=self.app.state.now(),
        )

    def author_in(self, organization: Organization) -> OrganizationAuthor:
        """Return the author of the changes that this request makes in an organization."""
        return OrganizationAuthor(organization.id, self.principal.user.id, self.app.state.now())

    @property
    def page(self) -> Page:
        """The requested page of a list."""
        return read_page(self.address, self.scope["query_string"].decode("latin-1"))

    @property
    def address(self) -> str:
        """The absolute URL of the request as the client sees it, without the query."""
        path = self.scope.get("raw_path") or self.scope["path"].encode()
        return self.origin + path.partition(b"?")[0].decode("latin-1")

    @property
    def origin(self) -> str:
        """Scheme and host of absolute links, with the path prefix of a proxy."""
        headers: Any = self.headers  # `get` is overloaded instead of having a default
        client = self.scope["client"]  # the other end of the connection
        return self._server_url.of(client[0] if client else "", headers, self.scope["scheme"])

    @property
    def _server_url(self) -> BaseUrl:
        base_url: BaseUrl = self.app.state.base_url
        return base_url

    def client_left(self) -> "asyncio.Future[None]":
        """Return a future that ends when the client disconnects or the response is sent."""
        state = self.scope["state"]
        known: asyncio.Future[None] | None = state.get("client_left")
        if known is None:
            known = state["client_left"] = asyncio.ensure_future(self._client_leaves())
        return known

    async def _client_leaves(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def unless_client_left(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of the work, which is cancelled if the client disconnects.

        Raises:
            ClientLeft: The client has disconnected.
        """
        working: asyncio.Future[T] = asyncio.ensure_future(work)
        leaving = self.client_left()
        try:
            either: set[asyncio.Future[Any]] = {working, leaving}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            raise ClientLeft
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    async def values(self) -> Body:
        """Return the decoded body.

        The body is read once, and only for a caller who is known, unless the handler is public.

        Raises:
            BodyTooLarge: The body is larger than the handler allows.
            ClientLeft: The client has disconnected.
            Unavailable: The server has no room for the body.
            AppError: The body cannot be decoded; see `read_body` and `read_form`.
        """
        known: Body | None = self._state_body
        if known is None:
            known = self.scope["state"]["body"] = await _receiving(self._read_body())
        return known

    async def small_values(self) -> Body | None:
        """Return the decoded body of a caller who is not known yet.

        It raises the same errors as `values`.

        Returns:
            None for a body larger than KEY_BODY_BYTES_MAX, which is left unread.
        """
        raw = await _receiving(self._incoming.read_small(KEY_BODY_BYTES_MAX))
        if raw is None:
            return None
        if len(raw) > self._body_bytes_max:
            raise BodyTooLarge(self._body_bytes_max)
        kind = self._media_type
        if is_multipart(kind):
            body = await _receiving(read_form(_whole(raw), kind, len(raw), self._incoming.keep))
        else:
            body = read_body(kind, raw)
        self.scope["state"]["body"] = body
        return body

    async def _read_body(self) -> Body:
        kind, bytes_max = self._media_type, self._body_bytes_max
        if is_multipart(kind):
            return await self._read_form(kind, bytes_max)
        try:
            raw = await self._incoming.read(bytes_max)
        except ContentTooLarge:
            raise BodyTooLarge(bytes_max) from None
        if len(raw) <= READ_ON_LOOP_BYTES_MAX:
            return read_body(kind, raw)
        return await self._read_large(kind, raw)

    async def _read_large(self, kind: str, raw: bytes) -> Body:
        """Decode a large body, and count the memory of its values until the request is answered."""
        decoding: Decoding = self.app.state.decoding
        async with decoding.room(len(raw), len(raw)) as room:
            await room.grow(DECODED_BYTES_MAX)
            body = await room.run(partial(read_body, kind, raw))
            held = await room.run(partial(decoded_bytes, raw))
            self._incoming.keep(min(DECODED_BYTES_MAX, held), 0)
            return body

    async def _read_form(self, kind: str, bytes_max: int) -> Body:
        if self.route_handler.opt.get("takes_files"):
            bytes_max = self.app.state.upload_bytes_max
        length = self.content_length
        if length is not None and length > bytes_max:
            raise BodyTooLarge(bytes_max)
        incoming, folder = self._incoming, self.app.state.upload_folder
        return await read_form(incoming.pieces(), kind, bytes_max, incoming.keep, folder)

    @property
    def _incoming(self) -> HttpRequest:
        """The request as the server has it, which counts the memory that it holds."""
        extensions: Any = self.scope["extensions"]
        incoming: HttpRequest = extensions[REQUEST]
        return incoming

    @property
    def _state_body(self) -> Body | None:
        body: Body | None = self.scope["state"].get("body")
        return body

    @property
    def _media_type(self) -> str:
        return self.headers.get("content-type", "")

    @property
    def _body_bytes_max(self) -> int:
        """The handler's largest body, which it may set as `body_bytes_max` in `opt`."""
        bytes_max: int = self.route_handler.opt.get("body_bytes_max", self.app.state.body_bytes_max)
        return bytes_max

    # The framework fills a handler's `data` from these two methods. They are overridden so that a
    # body is read once, as JSON or as a form, with the errors that clients expect.

    async def body(self) -> bytes:
        """Return the body; an empty one counts as an empty object.

        Errors thus name missing fields. The framework only checks whether there is a body, so a
        multipart form is not read here.
        """
        if is_multipart(self._media_type):
            return b"{}"
        await self.values()
        return self._incoming.body or b"{}"

    async def json(self) -> Any:
        """Return the handler's struct, read from the body."""
        body = await self.values()
        field = self.route_handler.parsed_data_field
        if field is None or not issubclass(field.annotation, Struct):
            return body.values
        read = partial(read_struct, field.annotation, body.values, form=body.form)
        if (self.content_length or READ_ON_LOOP_BYTES_MAX + 1) <= READ_ON_LOOP_BYTES_MAX:
            return read()
        return await asyncio.to_thread(read)
