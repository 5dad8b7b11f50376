"""The stub of the service `mindspore.serving.proto.MSService`, under the module's real name."""

from __future__ import annotations

from typing import Any

from .ms_service_pb2 import PredictReply, PredictRequest

__all__ = ["MSServiceStub"]

PREDICT = "/mindspore.serving.proto.MSService/Predict"


class MSServiceStub:
    """Calls the service.

    Args:
        channel: a channel of grpcio.
    """

    def __init__(self, channel: Any) -> None:
        self.Predict = channel.unary_unary(
            PREDICT,
            request_serializer=PredictRequest.SerializeToString,
            response_deserializer=PredictReply.FromString,
        )
