"""A watch over what no page of the console may do, based on the browser's own events."""

from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Request, Response, WebError

# Streams end with the page. Aborted requests are those of a page that was left.
ENDLESS = "/stream/"
# Answered by a server that is starting.
STARTING = (502, 503)
ABORTED = "net::ERR_ABORTED"
# Read by screens that cannot know whether there is any: 404 is an answer like others.
OPTIONAL = "/guarded_release/"
# Written for each failed response; those are checked one by one.
FAILED_LOAD = "Failed to load resource:"


class Watch:
    """A watch over one page.

    It finds errors on the browser's console, uncaught errors, violations of the page's policy
    (which the browser writes to the console), failed responses and requests to other hosts.

    Attributes:
        problems: In the words of a failing test; empty for a clean page.
    """

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self._origin = origin
        self._expected: list[tuple[int, str]] = []
        self._may_be_lost = False
        self.problems: list[str] = []
        self.requests: list[Request] = []
        self.pending: set[Request] = set()
        self._begun: set[Request] = set()
        context.on("console", self._wrote)
        context.on("weberror", self._threw)
        context.on("request", self._asked)
        context.on("response", self._answered)
        context.on("requestfinished", self._finished)
        context.on("requestfailed", self._failed)

    def expect_status(self, status: int, path: str) -> None:
        """Accept responses with this status from now on.

        Args:
            path: A part of the path.
        """
        self._expected.append((status, path))

    def expect_lost_requests(self) -> None:
        """Accept from now on that the server may be down, or starting."""
        self._may_be_lost = True

    def begin_again(self) -> None:
        self._expected.clear()
        self._may_be_lost = False
        self.problems.clear()
        self.requests.clear()
        self.pending.clear()
        self._begun.clear()

    def assert_clean(self) -> None:
        assert not self.problems, "\n".join(["the page did what no page may:", *self.problems])

    def count(self, wanted: Callable[[Request], bool] = lambda _: True) -> int:
        """Return the number of the requests so far."""
        return sum(1 for request in self.requests if wanted(request))

    def waits(self) -> list[str]:
        """Return what is under way: the paths, and whether their answers have begun to come."""
        return [
            f"{request.url} ({'begun' if request in self._begun else 'not answered'})"
            for request in self.pending
        ]

    def _wrote(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(FAILED_LOAD):
            self.problems.append(f"console error: {message.text}")

    def _threw(self, error: WebError) -> None:
        self.problems.append(f"uncaught error: {error.error}")

    def _asked(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in ("data", "blob"):
            return
        self.requests.append(request)
        if ENDLESS not in address.path:
            self.pending.add(request)
        if f"{address.scheme}://{address.netloc}" != self._origin:
            self.problems.append(f"request to another host: {request.url}")

    def _answered(self, response: Response) -> None:
        self._begun.add(response.request)
        if response.status < 400 or (self._may_be_lost and response.status in STARTING):
            return
        if response.status == 404 and response.url.endswith(OPTIONAL):
            return
        for status, path in self._expected:
            if status == response.status and path in response.url:
                return
        method = response.request.method
        self.problems.append(f"{response.status} for {method} {response.url}")

    def _finished(self, request: Request) -> None:
        self.pending.discard(request)

    def _failed(self, request: Request) -> None:
        self.pending.discard(request)
        if request.failure != ABORTED and not self._may_be_lost:
            self.problems.append(f"{request.failure} for {request.method} {request.url}")
