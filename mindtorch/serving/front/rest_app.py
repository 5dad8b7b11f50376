"""The REST side: MindSpore Serving's service, KServe's, metrics and the page."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse
from starlette.requests import ClientDisconnect
from starlette.routing import Match, Route

import mindtorch
from mindtorch.serving.errors import INVALID, NOT_FOUND, TIMEOUT, TOO_LARGE, ServingError

from .grpc_services import EXTENSIONS, version_of
from .kserve_tensors import columns_of_json, method_of, response_json
from .mindspore_json import answer_json, columns_of_body, error_json, parse
from .model_pages import model_metadata, status
from .service import Call, Service

__all__ = ["DirectRoutes", "make_app"]

logger = logging.getLogger("mindtorch.serving")

PAGE = Path(__file__).with_name("page.html")
JSON = "application/json"
HEADER_LENGTH = "Inference-Header-Content-Length"

_Handler = Callable[[Request], Awaitable[Response]]


def make_app(service: Service, max_bytes: int, lifespan: Any = None) -> FastAPI:
    """The application that uvicorn or Ray Serve runs.

    Args:
        service: what is served.
        max_bytes: how many bytes the body of a request may have.
        lifespan: a context manager of FastAPI's, within which it runs.
    """
    app = FastAPI(title="mindtorch serve", version=mindtorch.__version__,
                  docs_url=None, redoc_url=None, lifespan=lifespan)  # fmt: skip
    page = PAGE.read_text()

    # All are coroutines: others would run in threads, which cannot be started once the script that
    # has started the server is over.
    @app.get("/", response_class=HTMLResponse)
    async def show() -> str:
        """The page."""
        return page

    @app.get("/status")
    async def tell() -> Response:
        """What the page shows."""
        return JSONResponse(status(service))

    @app.get("/metrics")
    async def metrics() -> Response:
        """Counters in Prometheus' format."""
        return _metrics(service)

    predict = _mindspore(service, max_bytes)
    infer = _kserve_infer(service, max_bytes)
    app.state.direct = [
        Route("/v2/models/{name}/infer", infer, methods=["POST"]),
        Route("/v2/models/{name}/versions/{number}/infer", infer, methods=["POST"]),
        Route("/model/{path:path}", predict, methods=["POST"]),
    ]
    app.router.routes.extend(app.state.direct)
    _add_kserve(app, service)

    @app.exception_handler(ServingError)
    async def failed(request: Request, error: ServingError) -> Response:
        return JSONResponse({"error": str(error)}, error.kind.http)

    return app


class DirectRoutes:
    """An ASGI application that leads requests for inference to their handlers, past FastAPI's
    middleware, which takes longer than they do; all else goes to FastAPI, and where it has handlers
    that are not ours, these requests as well.

    Args:
        app: what `make_app` made.
    """

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self.routes: list[Route] = app.state.direct

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        for route in self.routes:
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope.update(found)
                response = await _answered(route.endpoint, Request(scope, receive))
                await response(scope, receive, send)
                return
        await self.app(scope, receive, send)


async def _answered(handler: _Handler, request: Request) -> Response:
    try:
        return await handler(request)
    except ClientDisconnect:
        return Response(status_code=400)  # to nobody
    except Exception:
        logger.exception("a request could not be handled")
        return PlainTextResponse("Internal Server Error", 500)


def _metrics(service: Service) -> Response:
    for version in service.servables.all():
        version.metrics.pending.set(version.pending)
        version.metrics.workers.set(sum(worker.ready for worker in version.workers))
    return PlainTextResponse(service.metrics.text(), media_type="text/plain; version=0.0.4")


def _peer(request: Request) -> str:
    return f"{request.client.host}:{request.client.port}" if request.client else ""


async def _body(request: Request, max_bytes: int, seconds: float) -> bytes:
    """The body of a request.

    Raises:
        ServingError: it is too large, or does not come.
    """
    too_large = ServingError(TOO_LARGE, f"the body has more than {max_bytes} bytes")
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > max_bytes:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                size += len(part)
                if size > max_bytes:
                    raise too_large
                parts.append(part)
    except TimeoutError:
        raise ServingError(TIMEOUT, "the body did not come in time") from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


# -- MindSpore's


def _mindspore(service: Service, max_bytes: int) -> _Handler:
    async def predict(request: Request) -> Response:
        call = Call("mindspore-rest", _peer(request), "")
        try:
            name, number, method = _split(request.path_params["path"])
            call = Call("mindspore-rest", _peer(request), name, number, method)
            service.find(call)
            body = await _body(request, max_bytes, service.servables.limits.request_seconds)
            columns, rows = columns_of_body(parse(body))
            code, answer = answer_json(await service.infer(call, columns, rows))
        except ServingError as error:
            service.refused(call, error)
            code, answer = error_json(error)
        return Response(answer, code, media_type=JSON)

    return predict


def _split(path: str) -> tuple[str, int, str]:
    """Servable, version and method of `NAME[/version/N]:METHOD`."""
    target, colon, method = path.rpartition(":")
    parts = target.split("/")
    if not (colon and method and parts[0]) or len(parts) not in (1, 3):
        raise ServingError(NOT_FOUND, "the address is /model/NAME[/version/N]:METHOD")
    if len(parts) == 3 and (parts[1] != "version" or not parts[2]):
        raise ServingError(NOT_FOUND, "the address is /model/NAME[/version/N]:METHOD")
    return parts[0], version_of(parts[2]) if len(parts) == 3 else 0, method


# -- KServe's


def _add_kserve(app: FastAPI, service: Service) -> None:
    servables = service.servables

    @app.get("/v2")
    async def server() -> dict[str, Any]:
        """Name, version and extensions of the server."""
        return {"name": "mindtorch", "version": mindtorch.__version__, "extensions": EXTENSIONS}

    @app.get("/v2/health/live")
    async def live() -> dict[str, bool]:
        """Whether the server runs."""
        return {"live": True}

    @app.get("/v2/health/ready")
    async def ready() -> Response:
        """Whether all servables can answer."""
        return JSONResponse({"ready": servables.ready}, 200 if servables.ready else 503)

    @app.get("/v2/models/{name}/ready")
    @app.get("/v2/models/{name}/versions/{number}/ready")
    async def model_ready(name: str, number: str = "") -> Response:
        """Whether a version can answer."""
        servables.check_alive(name, version_of(number))
        return JSONResponse({"name": name, "ready": True})

    @app.get("/v2/models/{name}")
    @app.get("/v2/models/{name}/versions/{number}")
    async def model(name: str, number: str = "", method_name: str = "") -> Response:
        """Inputs and outputs of a method."""
        return JSONResponse(model_metadata(service, name, version_of(number), method_name))


def _kserve_infer(service: Service, max_bytes: int) -> _Handler:
    async def infer(request: Request) -> Response:
        name = request.path_params["name"]
        call = Call("kserve-rest", _peer(request), name)
        try:
            number = version_of(request.path_params.get("number", ""))
            data = await _body(request, max_bytes, service.servables.limits.request_seconds)
            head, behind = _parts(data, request.headers.get(HEADER_LENGTH))
            body = parse(head)
            parameters = body.get("parameters") if isinstance(body, dict) else None
            method = method_of(parameters if isinstance(parameters, dict) else {})
            call = Call("kserve-rest", _peer(request), name, number, method)
            service.find(call)
            columns, rows = columns_of_json(body, behind)
            answer = await service.infer(call, columns, rows)
            head, binary = response_json(body, name, answer)
        except ServingError as error:
            service.refused(call, error)
            return JSONResponse({"error": str(error)}, error.kind.http)
        if not binary:
            return Response(head, media_type=JSON)
        return Response(head + binary, media_type="application/octet-stream",
                        headers={HEADER_LENGTH: str(len(head))})  # fmt: skip

    return infer


def _parts(data: bytes, length: str | None) -> tuple[bytes, memoryview]:
    """The JSON of a request and the bytes behind it, whose place a header tells."""
    if length is None:
        return data, memoryview(b"")
    if not (length.isascii() and length.isdigit() and int(length) <= len(data)):
        raise ServingError(INVALID, f"{HEADER_LENGTH} is not the length of a part of the body")
    return data[: int(length)], memoryview(data)[int(length) :]
