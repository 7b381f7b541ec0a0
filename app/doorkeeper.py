"""Who is let in: requests to the dashboard under its own address, from its own pages; no page may frame it."""

from typing import Any

from starlette.datastructures import URL, Headers, MutableHeaders
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

ADDRESS = "127.0.0.1"
CLOSED = ("/_stcore/metrics", "/_stcore/script-health-check")
ELSEWHERE = 'This is not the dashboard’s address, which is <a href="{0}">{0}</a>.'
SEALS = {
    "x-frame-options": "DENY",
    "content-security-policy": "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
}


class Doorkeeper:
    """An application in front of another one: refuses with 403, sends localhost to the address, seals every answer, and gives ``page`` as every page."""

    def __init__(self, app: ASGIApp, page: bytes):
        self.app, self.page = app, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app
        if scope["type"] == "websocket" and not is_welcome(scope):
            app = WebSocketClose(1008)  # before it was accepted, which is status 403
        elif scope["type"] == "http" and not is_welcome(scope):
            url, port = URL(scope=scope), scope["server"][1]
            app = HTMLResponse(ELSEWHERE.format(f"http://{ADDRESS}:{port}"), 403)
            if url.netloc == f"localhost:{port}":  # as people and editors write it
                app = RedirectResponse(str(url.replace(netloc=f"{ADDRESS}:{port}")))
        elif scope["type"] == "http" and scope["method"] == "GET" and is_page(scope["path"]):
            app = HTMLResponse(self.page, headers={"cache-control": "no-cache"})

        async def seal(message: Any) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SEALS)
            await send(message)

        await app(scope, receive, seal)


def is_welcome(scope: Scope) -> bool:
    """True for a request to this very address, by a page of it or by none; a session needs a page."""
    headers, address = Headers(scope=scope), f"{ADDRESS}:{scope['server'][1]}"
    origins = {f"http://{address}"} | ({None} if scope["type"] == "http" else set())
    closed = scope["path"].rstrip("/").startswith(CLOSED)
    return headers.get("host") == address and headers.get("origin") in origins and not closed


def is_page(path: str) -> bool:
    """True for the address of a page: neither a file nor the server's."""
    return "." not in path and not path.startswith("/_stcore") and path.count("/") == 1
