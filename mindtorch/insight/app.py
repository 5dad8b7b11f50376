"""The application: who may ask, the pages, the files of samples, and the server."""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import secrets
import socket
import sys
import urllib.parse
from http import cookies
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from fastapi import FastAPI, Request
from nicegui import ui
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from . import pages as pages
from .pages.registry import PAGES, Page
from .pages.view import View, frame
from .reading.folder import RunFolder

__all__ = ["Guard", "Place", "application", "make_server", "serve"]

_COOKIE = "insight_token"
# Vue's templates are compiled in the browser; everything comes from this server.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "worker-src 'self' blob:; connect-src 'self'; object-src 'none'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that is bound to `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host_of(value: str) -> str:
    try:
        return urllib.parse.urlsplit(f"//{value}").hostname or ""
    except ValueError:
        return ""


class Guard:
    """Lets those in who may see the folder, and gives the application the folder.

    With a token, requests must bring it: as `?token=` once, then as a cookie, or in an
    `Authorization: Bearer` header. Without one the server is bound to loopback, and the Host header
    must be one of loopback's names: a name that somebody points to 127.0.0.1 is refused. Requests
    that other sites' pages make (Origin) are refused in both cases.

    Args:
        app: the application.
        folder: what it shows.
        token: "" for none.
        prefix: what addresses begin with.
    """

    def __init__(self, app: Any, folder: RunFolder, token: str = "", prefix: str = "") -> None:
        self.app, self.folder, self.token = app, folder, token
        self.prefix = prefix.rstrip("/")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        refused = self._refusal(scope)
        if refused is not None:
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008})
            else:
                await refused(scope, receive, send)
            return

        async def answer(message: Any) -> None:
            if message["type"] == "http.response.start":
                names = {name for name, _ in message["headers"]}
                added = [pair for pair in _HEADERS if pair[0] not in names]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        inner = dict(scope, insight=self.folder)
        if self.prefix:  # as ASGI has it, the path keeps what the root is
            inner["root_path"] = scope.get("root_path", "") + self.prefix
        await self.app(inner, receive, answer)

    def _refusal(self, scope: Any) -> Any:
        """The answer to a request that is not let in; None for others."""
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        host = headers.get("host", "")
        if not self.token and not is_loopback(_host_of(host)):
            return PlainTextResponse("This server answers to localhost and 127.0.0.1.", 403)
        origin = headers.get("origin")
        if origin is not None and urllib.parse.urlsplit(origin).netloc != host:
            return PlainTextResponse("Requests of other sites are refused.", 403)
        if self.prefix and not scope["path"].startswith(f"{self.prefix}/"):
            if scope["path"] == self.prefix:
                return RedirectResponse(f"{self.prefix}/")
            return PlainTextResponse(f"The pages are below {self.prefix}/.", 404)
        return self._token_refusal(scope, headers) if self.token else None

    def _token_refusal(self, scope: Any, headers: dict[str, str]) -> Any:
        query = urllib.parse.parse_qs(scope.get("query_string", b"").decode("latin-1"))
        if self._is_token(query.pop("token", [""])[0]):
            rest = urllib.parse.urlencode(query, doseq=True)
            answer = RedirectResponse(scope["path"] + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(_COOKIE, self.token, httponly=True, samesite="strict", path="/")
            return answer
        if self._is_token(headers.get("authorization", "").removeprefix("Bearer ")):
            return None
        jar: cookies.SimpleCookie = cookies.SimpleCookie()
        with contextlib.suppress(cookies.CookieError):
            jar.load(headers.get("cookie", ""))
        if _COOKIE in jar and self._is_token(jar[_COOKIE].value):
            return None
        words = "Open the address with ?token=... that `mindtorch insight` printed."
        return PlainTextResponse(words, 401)

    def _is_token(self, given: str) -> bool:
        return bool(given) and hmac.compare_digest(given.encode(), self.token.encode())


def _show(page: Page, request: Request) -> None:
    dark = request.cookies.get("insight_theme") == "dark"
    frame(View(request.scope["insight"], page, dict(request.query_params), dark))


def _register(page: Page) -> None:
    def show(request: Request) -> None:
        _show(page, request)

    ui.page(f"/{page.name}", language="en-US")(show)


def _stored(request: Request) -> Response:
    """A picture or sound. The query names a training and a tag that were read, no file."""
    folder: RunFolder = request.scope["insight"]
    query = request.query_params
    run = folder.runs.get(query.get("run", ""))
    items = run.series("stored", query.get("tag", "")) if run is not None else []
    wanted = (query.get("step"), query.get("time"))
    item = next((x for x in items if (str(x.step), str(x.time)) == wanted), None)
    if run is None or item is None:
        return PlainTextResponse("There is no such sample.", 404)
    try:
        content = run.content_of(item)
    except (OSError, ValueError, LookupError) as error:
        return PlainTextResponse(f"The sample cannot be read: {error}", 404)
    headers = {"content-security-policy": "default-src 'none'; sandbox", "cache-control": "private"}
    return Response(content, media_type=item.media, headers=headers)


_APPLICATION: list[FastAPI] = []


def application() -> FastAPI:
    """The one application of this process; its pages show the folder of the guard around it."""
    if not _APPLICATION:
        app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        app.add_api_route("/stored", _stored, methods=["GET"])
        for page in PAGES:
            _register(page)
        ui.run_with(app, title="mindtorch insight", tailwind=False, show_welcome_message=False,
                    reconnect_timeout=10, favicon="📈")  # fmt: skip
        _APPLICATION.append(app)
    return _APPLICATION[0]


def make_server(guard: Guard) -> uvicorn.Server:
    """What answers on sockets."""
    config = uvicorn.Config(guard, log_level="warning", access_log=False, lifespan="on",
                            timeout_graceful_shutdown=2, ws_max_size=1 << 20)  # fmt: skip
    return uvicorn.Server(config)


class Place(NamedTuple):
    """Where pages are served.

    Attributes:
        host, port: port 0 takes a free one.
        token: what requests must bring; made up where others than this machine can ask.
        prefix: what addresses begin with, behind a proxy.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    token: str = ""
    prefix: str = ""


def serve(base: Path, place: Place, interval: float = 2.0) -> int:
    """Serve until a signal comes. Returns the exit status.

    Args:
        base: the folder that is shown; it is read while the server runs.
        place: where.
        interval: seconds between two looks at the files.
    """
    token = place.token
    if not token and not is_loopback(place.host):
        token = secrets.token_urlsafe(24)
    folder = RunFolder(base, interval)
    guard = Guard(application(), folder, token, place.prefix)
    try:
        family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
        held = socket.create_server((place.host, place.port), family=family)
    except OSError as error:
        words = f"{place.host}:{place.port}: {error.strerror or error}"
        print(f"mindtorch insight: {words}", file=sys.stderr)
        return 2
    shown = f"[{place.host}]" if ":" in place.host else place.host
    secret = f"?token={token}" if token else ""
    address = f"http://{shown}:{held.getsockname()[1]}{guard.prefix}/{secret}"
    print(f"mindtorch insight shows {folder.base}\n{address}", flush=True)
    folder.start()
    try:
        make_server(guard).run(sockets=[held])
    except (KeyboardInterrupt, SystemExit):
        pass  # uvicorn has ended in order, and raises the signal again
    finally:
        folder.stop()
        held.close()
    return 0
