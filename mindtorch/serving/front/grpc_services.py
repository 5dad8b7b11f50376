"""The gRPC side: MindSpore's service, KServe's, and health."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

import mindtorch
from mindtorch.serving.errors import FAILED, INVALID, NOT_FOUND, ServingError
from mindtorch.serving.proto.kserve import MESSAGES

from .kserve_tensors import Infer, infer_of, method_of, response_bytes
from .mindspore_messages import error_reply, predict_of, reply_of
from .model_pages import model_metadata
from .service import Call, Service

__all__ = ["Health", "add_services"]

EXTENSIONS = ["binary_tensor_data"]


class Health:
    """The health service, whose answer follows the servables.

    Args:
        service: what is served.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self.servicer = health.aio.HealthServicer()

    async def update(self, serving: bool) -> None:
        """Tell watchers how it is.

        Args:
            serving: whether new requests are taken.
        """
        status = health_pb2.HealthCheckResponse
        for name in ("", "mindspore.serving.proto.MSService", "inference.GRPCInferenceService"):
            here = serving and self.service.servables.ready
            await self.servicer.set(name, status.SERVING if here else status.NOT_SERVING)


def add_services(server: Any, service: Service, health_service: Health) -> None:
    """Add all services to a server of grpcio's asyncio.

    Args:
        server: the server.
        service: what is served.
        health_service: what tells how it is.
    """
    health_pb2_grpc.add_HealthServicer_to_server(health_service.servicer, server)
    unary = grpc.unary_unary_rpc_method_handler
    predict = unary(_predict(service))
    kserve = {
        name: unary(_handler(parse, act, service),
                    response_serializer=None if name == "ModelInfer" else _serialized)
        for name, (parse, act) in _KSERVE.items()
    }  # fmt: skip
    server.add_generic_rpc_handlers((
        grpc.method_handlers_generic_handler(
            "mindspore.serving.proto.MSService", {"Predict": predict}
        ),
        grpc.method_handlers_generic_handler("inference.GRPCInferenceService", kserve),
    ))  # fmt: skip


def _serialized(reply: Any) -> bytes:
    data: bytes = reply.SerializeToString()
    return data


async def _abort(context: Any, error: ServingError) -> None:
    await context.abort(getattr(grpc.StatusCode, error.kind.grpc), str(error))


def _predict(service: Service) -> Callable[[bytes, Any], Awaitable[Any]]:
    async def predict(data: bytes, context: Any) -> Any:
        call = Call("mindspore-grpc", context.peer(), "")
        try:
            request = predict_of(data)
        except DecodeError:
            error = ServingError(INVALID, "the request is no PredictRequest")
            service.refused(call, error)
            await _abort(context, error)
            return None
        spec = request.spec
        try:
            call = Call("mindspore-grpc", context.peer(), spec.name, spec.version_number,
                        spec.method_name, context.time_remaining())  # fmt: skip
            if not spec.method_name:
                raise ServingError(INVALID, "the request names no method")
            service.find(call)
            answer = await service.infer(call, request.columns(), request.rows)
            return reply_of(spec, answer)
        except ServingError as error:
            service.refused(call, error)
            if error.kind.is_limit:
                await _abort(context, error)
            return error_reply(spec, error)

    return predict


def _handler(
    parse: Callable[[bytes], Any], act: Callable[[Service, Any, Any], Awaitable[Any]],
    service: Service,
) -> Callable[[bytes, Any], Awaitable[Any]]:
    async def handle(data: bytes, context: Any) -> Any:
        name = ""
        try:
            request = parse(data)
            name = getattr(request, "model_name", "")
            return await act(service, request, context)
        except DecodeError:
            error = ServingError(INVALID, "the request is no message of this method")
        except ServingError as failure:
            error = failure
        service.refused(Call("kserve-grpc", context.peer(), name), error)
        await _abort(context, error)
        return None

    return handle


def version_of(text: str) -> int:
    """The number that a version's name is; 0 of an empty one.

    Args:
        text: the name.

    Raises:
        ServingError: it is no number.
    """
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ServingError(NOT_FOUND, f"there is no version {text[:40]!r}")
    return int(text)


async def _infer(service: Service, infer: Infer, context: Any) -> Any:
    request = infer.message
    call = Call("kserve-grpc", context.peer(), request.model_name,
                version_of(request.model_version), method_of(request.parameters),
                context.time_remaining())  # fmt: skip
    service.find(call)
    columns, rows = infer.columns()
    return response_bytes(request, await service.infer(call, columns, rows))


async def _live(service: Service, request: Any, context: Any) -> Any:
    return MESSAGES["ServerLiveResponse"](live=True)


async def _ready(service: Service, request: Any, context: Any) -> Any:
    return MESSAGES["ServerReadyResponse"](ready=service.servables.ready)


async def _model_ready(service: Service, request: Any, context: Any) -> Any:
    version = service.servables.resolve(request.name, version_of(request.version))
    return MESSAGES["ModelReadyResponse"](ready=version.ready)


async def _server_metadata(service: Service, request: Any, context: Any) -> Any:
    return MESSAGES["ServerMetadataResponse"](
        name="mindtorch", version=mindtorch.__version__, extensions=EXTENSIONS
    )


async def _model_metadata(service: Service, request: Any, context: Any) -> Any:
    number = version_of(request.version)
    try:
        return MESSAGES["ModelMetadataResponse"](**model_metadata(service, request.name, number))
    except (TypeError, ValueError) as error:
        raise ServingError(FAILED, str(error)) from None


_Act = Callable[[Service, Any, Any], Awaitable[Any]]
_KSERVE: dict[str, tuple[Callable[[bytes], Any], _Act]] = {
    **{name: (MESSAGES[f"{name}Request"].FromString, act) for name, act in {
        "ServerLive": _live,
        "ServerReady": _ready,
        "ModelReady": _model_ready,
        "ServerMetadata": _server_metadata,
        "ModelMetadata": _model_metadata,
    }.items()},
    "ModelInfer": (infer_of, _infer),
}  # fmt: skip
