"""The door of the page: only this machine's own browser windows that show this page get in.

The server listens on 127.0.0.1 alone. That does not keep out other web pages that are open in the
same browser: they may open a websocket to it (then Origin names them), or let their own name point
to 127.0.0.1 (then Host does). viser has no hook for such a check, so the check goes in front of
the function with which it answers requests, where `websockets` calls it. If that ever fails to
take hold, `guarded_server` raises instead of leaving the door open.
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
NAMES = (HOST, "localhost")  # by which a browser on this machine may call it
# What the page may load: itself, and nothing from anywhere else; and nobody may frame it
POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
    "connect-src 'self' ws://127.0.0.1:{port} ws://localhost:{port} data: blob:; "
    "frame-ancestors 'none'; form-action 'none'; base-uri 'none'"
)


def refusal(headers: Headers, port: int) -> str:
    """Why a request must not be answered; empty: it may."""
    hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
    if len(hosts) != 1 or hosts[0].lower() not in {f"{name}:{port}" for name in NAMES}:
        return "this page answers to 127.0.0.1 and localhost only"
    if any(one.lower() not in {f"http://{name}:{port}" for name in NAMES} for one in origins):
        return "another page must not talk to this one"
    if len(origins) != 1 and "Upgrade" in headers:
        return "a websocket must say from which page it comes"
    return ""


def guarded_server(port: int) -> viser.ViserServer:
    """A viser server on 127.0.0.1 that refuses strangers; the next free port from this one on."""
    with _guard_in_front(), redirect_stdout(io.StringIO()):  # viser greets
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
    """While it is open, servers that start get the guard before their own answer."""
    serve = websockets.asyncio.server.serve

    def guarded_serve(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        return serve(*arguments, process_request=_guarded(process_request), **options)

    websockets.asyncio.server.serve = guarded_serve  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        websockets.asyncio.server.serve = serve  # type: ignore[misc]


def _guarded(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The same answer, but to those who may ask only, and with the policy for what it holds."""

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
    """Whether a stranger is turned away, and we are not."""
    return _status(port, "stranger.example") == 403 and _status(port, f"{HOST}:{port}") == 200


def _status(port: int, host: str) -> int:
    connection = http.client.HTTPConnection(HOST, port, timeout=10.0)
    try:
        connection.request("GET", "/", headers={"Host": host})
        return connection.getresponse().status
    finally:
        connection.close()
