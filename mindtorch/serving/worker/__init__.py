"""`mindspore_serving.worker`: the names that version 1.1 had for starting servables."""

from typing import Any

from mindtorch.serving.server import ServableStartConfig, register, start_servables, stop

__all__ = ["register", "start_servable", "start_servable_in_master", "stop"]


def start_servable_in_master(
    servable_directory: str,
    servable_name: str,
    version_number: int = 0,
    device_type: str | None = None,
    device_id: int = 0,
) -> None:
    """Start a servable; `server.start_servables` since version 1.3.

    Args:
        servable_directory: the folder that holds servables.
        servable_name: the servable's folder in it.
        version_number: the folder of the version; 0: the largest.
        device_type: None or "CPU".
        device_id: has no effect on the CPU.
    """
    config = ServableStartConfig(
        servable_directory, servable_name, device_id, version_number, device_type
    )
    start_servables(config)


def start_servable(*args: Any, **kwargs: Any) -> None:
    """Workers that go to a server over the network are not supported.

    Args:
        *args: of version 1.1.
        **kwargs: of version 1.1.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("start_servable: workers are processes of the server's machine; use "
                       "start_servable_in_master, which is in the server's own script")  # fmt: skip
