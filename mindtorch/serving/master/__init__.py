"""`mindspore_serving.master`: the names that version 1.1 had for starting servers."""

from mindtorch.serving.checks import check_int, check_str
from mindtorch.serving.server import start_grpc_server as _start_grpc
from mindtorch.serving.server import start_restful_server as _start_rest
from mindtorch.serving.server import stop

__all__ = ["start_grpc_server", "start_master_server", "start_restful_server", "stop"]


def start_grpc_server(
    ip: str = "0.0.0.0", grpc_port: int = 5500, max_msg_mb_size: int = 100
) -> int:
    """Start a gRPC server; `server.start_grpc_server` since version 1.3.

    Args:
        ip: the address of the network that it listens on.
        grpc_port: its port.
        max_msg_mb_size: how many megabytes a message may have, 1 to 512.
    """
    return _start_grpc(_address(ip, "grpc_port", grpc_port), max_msg_mb_size)


def start_restful_server(
    ip: str = "0.0.0.0", restful_port: int = 5900, max_msg_mb_size: int = 100
) -> int:
    """Start a REST server; `server.start_restful_server` since version 1.3.

    Args:
        ip: the address of the network that it listens on.
        restful_port: its port.
        max_msg_mb_size: how many megabytes the body of a request may have, 1 to 512.
    """
    return _start_rest(_address(ip, "restful_port", restful_port), max_msg_mb_size)


def start_master_server(ip: str = "0.0.0.0", master_port: int = 6100) -> None:
    """Workers that come over the network are not supported.

    Args:
        ip: would be the address that they come to.
        master_port: would be its port.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(
        f"start_master_server({ip!r}, {master_port}): workers are processes of this machine; use "
        "worker.start_servable_in_master, or start a server on each machine behind a balancer"
    )


def _address(ip: str, name: str, port: int) -> str:
    check_str("ip", ip)
    check_int(name, port, 1, 65535)
    return f"{ip}:{port}"
