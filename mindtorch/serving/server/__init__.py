"""`mindspore_serving.server`: starting servables and servers; `register` is for their files."""

from . import register
from ._server import (
    ServableStartConfig,
    SSLConfig,
    exchange_version,
    remove_version,
    set_max_enqueued_requests,
    start_grpc_server,
    start_restful_server,
    start_servables,
    stop,
)

__all__ = [
    "SSLConfig",
    "ServableStartConfig",
    "exchange_version",
    "register",
    "remove_version",
    "set_max_enqueued_requests",
    "start_grpc_server",
    "start_restful_server",
    "start_servables",
    "stop",
]
