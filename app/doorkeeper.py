"""Who is let in: requests to the dashboard under its own address, from its own pages; no page may frame it."""

from collections.abc import Awaitable, Callable
from typing import Any

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

ADDRESS = "127.0.0.1"
CLOSED = ("/_stcore/metrics", "/_stcore/script-health-check")
SEALS = [
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
]


class Doorkeeper:
    """An application in front of another one: refuses with 403, seals every answer, and gives ``page`` as every page."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], page: bytes):
        self.app, self.page = app, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
        elif not is_welcome(scope):
            await answer(send, 403, b"this is not the dashboard's address", scope["type"])
        elif scope["type"] == "http" and scope["method"] == "GET" and is_page(scope["path"]):
            await answer(send, 200, self.page)
        else:
            await self.app(scope, receive, sealed(send))


def is_welcome(scope: Scope) -> bool:
    """True for a request to this very address, by a page of it or by none; a session needs a page."""
    headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
    address = f"{ADDRESS}:{scope['server'][1]}"
    origins = {f"http://{address}"} | ({None} if scope["type"] == "http" else set())
    closed = scope["path"].rstrip("/").startswith(CLOSED)
    return headers.get(b"host") == address and headers.get(b"origin") in origins and not closed


def is_page(path: str) -> bool:
    """True for the address of a page: neither a file nor the server's."""
    return "." not in path and not path.startswith("/_stcore") and path.count("/") == 1


async def answer(send: Send, status: int, body: bytes, kind: str = "http") -> None:
    if kind == "websocket":  # closed before it was accepted, which is status 403
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"cache-control", b"no-cache")]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *SEALS]})
    await send({"type": "http.response.body", "body": body})


def sealed(send: Send) -> Send:
    async def sealing(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *SEALS]}
        await send(message)

    return sealing
