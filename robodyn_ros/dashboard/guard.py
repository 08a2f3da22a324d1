"""Access check of the page: only a browser on this machine that shows this page gets in.

The server listens on 127.0.0.1 only. That does not keep out other web pages in the same browser:
they can open a websocket to it (recognised by their Origin), or let their own host name point to
127.0.0.1 (recognised by the Host header). viser has no hook for such a check: it calls
`websockets.serve` in the middle of a private method, and a proxy in front would leave viser's own
port open to the same pages. So `websockets.serve` is replaced while viser starts, to put the check
before viser's answer. `guarded_server` then tries the check out and raises if it did not take
effect.
"""

from __future__ import annotations

import http
import http.client
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

import viser
import websockets.asyncio.server
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from ..errors import RobodynError

HOST = "127.0.0.1"
HOST_NAMES = (HOST, "localhost")
# The page may load only itself, and no other page may frame it
POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
    "connect-src 'self' ws://127.0.0.1:{port} ws://localhost:{port} data: blob:; "
    "frame-ancestors 'none'; form-action 'none'; base-uri 'none'"
)


def refusal(headers: Headers, port: int) -> str:
    """Return why a request is refused; empty if it is allowed."""
    hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
    if len(hosts) != 1 or hosts[0].lower() not in {f"{name}:{port}" for name in HOST_NAMES}:
        return "this page is served as 127.0.0.1 and localhost only"
    if any(one.lower() not in {f"http://{name}:{port}" for name in HOST_NAMES} for one in origins):
        return "requests from other pages are refused"
    if len(origins) != 1 and "Upgrade" in headers:
        return "a websocket needs an Origin header"
    return ""


def guarded_server(port: int) -> viser.ViserServer:
    """Return a viser server with the check, on the first free port from this one on."""
    with _guard_in_front(), redirect_stdout(io.StringIO()):  # viser prints a banner
        server = viser.ViserServer(host=HOST, port=port, verbose=False)
    if not _is_guarded(server.get_port()):
        server.stop()
        raise RobodynError(
            f"viser {viser.__version__} cannot be guarded against other web pages: "
            "install the version that robodyn_ros was tested with, 1.1"
        )
    return server


@contextmanager
def _guard_in_front() -> Iterator[None]:
    """Put the check in front of every server that starts in this context."""
    serve = websockets.asyncio.server.serve

    def guarded_serve(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        return serve(*arguments, process_request=_guarded(process_request), **options)

    websockets.asyncio.server.serve = guarded_serve  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        websockets.asyncio.server.serve = serve  # type: ignore[misc]


def _guarded(answer: Callable[..., Any]) -> Callable[..., Any]:
    """Return a request handler that checks the request and adds the security headers."""

    def process_request(connection: Any, request: Request) -> Response | None:
        port = connection.local_address[1]
        reason = refusal(request.headers, port)
        if reason:
            return connection.respond(http.HTTPStatus.FORBIDDEN, reason + "\n")
        response: Response | None = answer(connection, request)
        if response is not None:
            response.headers["Content-Security-Policy"] = POLICY.format(port=port)
            response.headers["X-Frame-Options"] = "DENY"
            response.headers["X-Content-Type-Options"] = "nosniff"
            response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        return response

    return process_request


def _is_guarded(port: int) -> bool:
    return _status(port, "other.example") == 403 and _status(port, f"{HOST}:{port}") == 200


def _status(port: int, host: str) -> int:
    connection = http.client.HTTPConnection(HOST, port, timeout=10.0)
    try:
        connection.request("GET", "/", headers={"Host": host})
        return connection.getresponse().status
    finally:
        connection.close()
