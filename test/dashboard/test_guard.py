"""Access to the page: only from this machine's own windows of this page."""

import asyncio
import contextlib
import http.client

import pytest

viser = pytest.importorskip("viser", reason="viser is not installed: pip install '.[dashboard]'")

import websockets.asyncio.client  # noqa: E402
from websockets.datastructures import Headers  # noqa: E402
from websockets.exceptions import InvalidStatus  # noqa: E402

import robodyn_ros as rd  # noqa: E402
from robodyn_ros.dashboard import guard  # noqa: E402

OURS = {"Host": "127.0.0.1:8080"}


@pytest.fixture(scope="module")
def port():
    server = guard.guarded_server(8230)
    yield server.get_port()
    server.stop()


@pytest.mark.parametrize(
    ("headers", "admitted"),
    [
        (OURS, True),
        ({"Host": "localhost:8080"}, True),
        ({"Host": "LocalHost:8080"}, True),
        ({**OURS, "Origin": "http://127.0.0.1:8080"}, True),
        ({**OURS, "Origin": "http://127.0.0.1:8080", "Upgrade": "websocket"}, True),
        ({}, False),
        ({"Host": "127.0.0.1"}, False),
        ({"Host": "127.0.0.1:8081"}, False),
        ({"Host": "rebound.example:8080"}, False),
        ({"Host": "127.0.0.1.rebound.example:8080"}, False),
        ({**OURS, "Origin": "http://evil.example"}, False),
        ({**OURS, "Origin": "null"}, False),
        ({**OURS, "Origin": "https://127.0.0.1:8080"}, False),
        ({**OURS, "Origin": "http://127.0.0.1:9999"}, False),
        ({**OURS, "Origin": "http://evil.example", "Upgrade": "websocket"}, False),
        ({**OURS, "Upgrade": "websocket"}, False),
    ],
)
def test_requests_are_checked_by_host_and_origin(headers, admitted):
    assert (guard.refusal(Headers(headers), 8080) == "") == admitted


def test_two_host_headers_are_refused():
    headers = Headers(OURS)
    headers["Host"] = "rebound.example"
    assert guard.refusal(headers, 8080)


def get(port, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10.0)
    connection.request("GET", "/", headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_the_page_is_served_with_a_content_policy(port):
    answer, body = get(port, Host=f"127.0.0.1:{port}")
    assert answer.status == 200 and b"<html" in body
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert "http:" not in policy and "https:" not in policy


@pytest.mark.parametrize(
    "headers",
    [{"Host": "rebound.example"}, {"Host": "127.0.0.1:{port}", "Origin": "http://evil.example"}],
)
def test_foreign_hosts_and_origins_are_refused(port, headers):
    answer, body = get(port, **{name: text.format(port=port) for name, text in headers.items()})
    assert answer.status == 403 and b"<html" not in body


@pytest.mark.parametrize(
    ("origin", "admitted"),
    [("http://localhost:{port}", True), ("http://evil.example", False), (None, False)],
)
def test_websockets(port, origin, admitted):
    async def knock():
        async with websockets.asyncio.client.connect(
            f"ws://127.0.0.1:{port}",
            origin=origin and origin.format(port=port),
            subprotocols=[f"viser-v{viser.__version__}"],
            proxy=None,
        ) as socket:
            await socket.recv()

    outcome = contextlib.nullcontext() if admitted else pytest.raises(InvalidStatus, match="403")
    with outcome:
        asyncio.run(asyncio.wait_for(knock(), 20.0))


def test_it_listens_on_this_machine_only(port):
    with pytest.raises(OSError):
        http.client.HTTPConnection("127.0.0.2", port, timeout=2.0).request("GET", "/")


def test_a_server_that_cannot_be_guarded_is_not_left_open(monkeypatch):
    monkeypatch.setattr(guard, "_guard_in_front", contextlib.nullcontext)
    with pytest.raises(rd.RobodynError, match="cannot be guarded"):
        guard.guarded_server(8240)
    with pytest.raises(OSError):
        http.client.HTTPConnection("127.0.0.1", 8240, timeout=2.0).request("GET", "/")
