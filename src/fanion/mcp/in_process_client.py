"""The HTTP API of this process, as `/mcp` calls it: through the same application as its clients.

Keys, scopes, throttles, limits and errors are those of the API, because the requests are.
"""

from collections.abc import Mapping
from urllib.parse import unquote

from fanion.errors import AppError
from fanion.mcp.answers import RECEIVED_BYTES_MAX
from fanion.mcp.model import ApiAnswer, ApiCall
from fanion.observability.logging import Telemetry
from fanion.projects.auth.model import Principal
from fanion.server.asgi_bridge import AsgiApp, run_asgi_app
from fanion.server.errors import ClientDisconnected, HttpError
from fanion.server.request import Request
from fanion.web.application import error_response

# Headers of the outer request that say nothing about the inner one. A key is the only credential.
_LEFT_OUT = frozenset(
    {"accept-encoding", "connection", "cookie", "expect", "origin", "transfer-encoding"}
)
_LEFT_OUT_PREFIXES = ("content-", "mcp-", "sec-", "x-fanion-")


class InProcessApi:
    """An Api that a request to this server calls, with its key and its address."""

    def __init__(
        self, management: AsgiApp, telemetry: Telemetry, outer: Request, request_id: str
    ) -> None:
        self._management = management
        self._telemetry = telemetry
        self._outer = outer
        self._request_id = request_id
        self._headers = {
            name: value
            for name, value in outer.headers.items()
            if name not in _LEFT_OUT and not name.startswith(_LEFT_OUT_PREFIXES)
        }

    async def send(self, call: ApiCall) -> ApiAnswer:
        request = _InnerRequest(call, self._headers, self._outer)
        state = {"request_id": self._request_id, "is_head": False}
        try:
            await run_asgi_app(
                self._management, request, state, path=unquote(call.path), headers=[]
            )
        except ClientDisconnected:
            pass  # nobody reads the answer, or it is too large
        except Exception as error:
            self._answer_error(request, error)
        principal = state.get("principal")
        if isinstance(principal, Principal):
            self._outer.key_id, self._outer.user_id = principal.credential, principal.user.id
        return request.answer

    def _answer_error(self, request: "_InnerRequest", error: Exception) -> None:
        if not isinstance(error, AppError | HttpError):
            self._telemetry.log_failure(self._request_id, request.path, error)
            error = AppError()
        response = error_response(error)
        request.response_bytes(response.status, list(response.headers), response.body)


class _InnerRequest(Request):
    """A request to the API that is made by another one, and collects its answer."""

    def __init__(self, call: ApiCall, headers: Mapping[str, str], outer: Request) -> None:
        sent = {**headers, "content-type": "application/json"} if call.body else dict(headers)
        super().__init__(call.method, call.path, call.query, sent, outer.peer, call.body)
        self.server = outer.server
        self._outer = outer
        self._status = 503
        self._answered: dict[str, str] = {}
        self._received: bytearray | None = bytearray()

    @property
    def answer(self) -> ApiAnswer:
        body = None if self._received is None else bytes(self._received)
        return ApiAnswer(self._status, self._answered, body)

    def keep(self, memory: int, disk: int) -> None:
        """Count nothing: the bodies of tools are small."""

    async def client_disconnect(self) -> None:
        await self._outer.client_disconnect()

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.response_stream(status, headers)
        self._add(body)

    def response_stream(self, status: int, headers: list[tuple[str, str]]) -> None:
        self._status, self._answered = status, dict(headers)
        self._received = bytearray()

    async def send_bytes(self, data: bytes) -> None:
        self._add(data)
        if self._received is None:
            raise ClientDisconnected

    def _add(self, data: bytes) -> None:
        if self._received is not None:
            self._received += data
            if len(self._received) > RECEIVED_BYTES_MAX:
                self._received = None
