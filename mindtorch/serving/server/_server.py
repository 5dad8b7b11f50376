"""Starting and ending a server from a script."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindtorch.serving.checks import check_bool, check_int, check_str, integers

if TYPE_CHECKING:
    from mindtorch.serving.front.hosting import TLS, Host

__all__ = [
    "SSLConfig",
    "ServableStartConfig",
    "exchange_version",
    "remove_version",
    "set_max_enqueued_requests",
    "start_grpc_server",
    "start_restful_server",
    "start_servables",
    "stop",
]

DEVICES = ("ascend", "gpu", "cpu")

_host: list[Host] = []
_limits: dict[str, Any] = {}
_replaced: dict[int, Any] = {}  # handlers of signals that were there before ours


class SSLConfig:
    """Certificates of a server.

    Args:
        certificate: the file of the server's certificates, in PEM.
        private_key: the file of its key, in PEM.
        custom_ca: the file of the authority whose clients may come; used with `verify_client`.
        verify_client: whether clients must have a certificate.

    Raises:
        RuntimeError: an argument is wrong.
    """

    def __init__(
        self,
        certificate: str,
        private_key: str,
        custom_ca: str | None = None,
        verify_client: bool = False,
    ) -> None:
        check_str("certificate", certificate)
        check_str("private_key", private_key)
        check_bool("verify_client", verify_client)
        if verify_client:
            check_str("custom_ca", custom_ca)
        self.certificate = certificate
        self.private_key = private_key
        self.custom_ca = custom_ca
        self.verify_client = verify_client


class ServableStartConfig:
    """Which version of a servable is started, and how.

    Args:
        servable_directory: the folder that holds servables; relative to the script.
        servable_name: the servable's folder in it.
        device_ids: each makes one worker process; models run on the CPU whatever their numbers.
        version_number: the folder of the version; 0: the largest.
        device_type: None or "CPU"; "GPU" and "Ascend" are refused when it is started.
        num_parallel_workers: how many worker processes there are, if more than devices.
        dec_key: the key of encrypted MindIR files.
        dec_mode: how they are encrypted, "AES-GCM" or "AES-CBC".

    Raises:
        RuntimeError: an argument is wrong.
    """

    def __init__(
        self,
        servable_directory: str,
        servable_name: str,
        device_ids: int | Sequence[int] | None = None,
        version_number: int = 0,
        device_type: str | None = None,
        num_parallel_workers: int = 0,
        dec_key: bytes | None = None,
        dec_mode: str = "AES-GCM",
    ) -> None:
        check_str("servable_directory", servable_directory)
        check_str("servable_name", servable_name)
        check_int("version_number", version_number, 0)
        check_int("num_parallel_workers", num_parallel_workers, 0, 64)
        if device_type is not None:
            check_str("device_type", device_type)
            if device_type.lower() not in (*DEVICES, "none"):
                raise RuntimeError(f"Unsupported device type '{device_type}', only support "
                                   "'Ascend', 'GPU', 'CPU' and None, case ignored")  # fmt: skip
        _check_key(dec_key)
        check_str("dec_mode", dec_mode)
        if dec_mode not in ("AES-GCM", "AES-CBC"):
            raise RuntimeError("Parameter 'dec_mode' expected to be 'AES-GCM' or 'AES-CBC'")
        script = os.path.dirname(os.path.realpath(sys.argv[0]))
        self.servable_directory = os.path.realpath(os.path.join(script, servable_directory))
        self.servable_name = servable_name
        self.device_ids = () if device_ids is None else integers("device_ids", device_ids)
        self.version_number = version_number
        self.device_type = (device_type or "none").lower()
        self.num_parallel_workers = max(1, num_parallel_workers, len(self.device_ids))
        self.dec_key = dec_key
        self.dec_mode = dec_mode


def _check_key(key: Any) -> None:
    if key is None:
        return
    if not isinstance(key, bytes):
        raise RuntimeError(f"Parameter 'dec_key' should be bytes, but actually {type(key)}")
    if len(key) not in (16, 24, 32):
        raise RuntimeError(f"Parameter 'dec_key' length {len(key)} expected to be 16, 24 or 32")


def host() -> Host:
    """The host that this process has; it is made at the first call.

    Raises:
        ImportError: a library is missing; the text names the extra that brings it.
    """
    if not _host:
        try:
            from mindtorch.serving.front import hosting, version
        except ImportError as error:
            raise ImportError(
                f"serving needs {error.name}: pip install 'mindtorch-engine[serving]'",
                name=error.name,
            ) from error
        _host.append(hosting.Host(version.Limits(**_limits), daemon=False))
        _end_with_signals()
    return _host[0]


def _end_with_signals() -> None:
    """The script may end and the server goes on, until Ctrl+C or SIGTERM."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number, default in ((signal.SIGINT, signal.default_int_handler),
                            (signal.SIGTERM, signal.SIG_DFL)):  # fmt: skip
        if signal.getsignal(number) is default:
            _replaced[number] = signal.signal(number, _end)
    if _replaced:
        _host[0].wake_main_thread(_replaced)


def _end(number: int, frame: object) -> None:
    stop()
    if threading.main_thread().is_alive():  # else the script is over, and we were all that was left
        raise SystemExit(128 + number)


def start_servables(
    servable_configs: ServableStartConfig | Sequence[ServableStartConfig],
    enable_lite: bool = False,
) -> None:
    """Start worker processes for servables; returns when all are ready.

    Args:
        servable_configs: which; several versions of one servable run side by side.
        enable_lite: has no effect: files of both kinds are read.

    Raises:
        RuntimeError: an argument is wrong, or a servable cannot be loaded. Then nothing is started.
    """
    several = isinstance(servable_configs, tuple | list)
    configs: Any = servable_configs if several else [servable_configs]
    check_bool("enable_lite", enable_lite)
    for config in configs:
        if not isinstance(config, ServableStartConfig):
            raise RuntimeError("Parameter 'servable_configs' should be ServableStartConfig, list "
                               "or tuple of ServableStartConfig, but actually "
                               f"{type(config)}")  # fmt: skip
    host().start([_version_config(config) for config in configs])


def _version_config(config: ServableStartConfig) -> Any:
    host()
    from mindtorch.serving.front import servables, version

    if config.device_type in ("gpu", "ascend"):
        raise RuntimeError(f"The device type '{config.device_type}' of servable name "
                           f"{config.servable_name} is inconsistent with current running "
                           "environment, supported device type: None or 'cpu'")  # fmt: skip
    directory = Path(config.servable_directory)
    folder = directory / config.servable_name
    if not folder.is_dir():
        raise RuntimeError(f"Start servable failed: there is no folder {folder}")
    numbers = servables.version_numbers(folder)
    number = config.version_number or max(numbers, default=0)
    if number not in numbers and (config.version_number or not number):
        wanted = f"version {number}" if number else "version"
        raise RuntimeError(f"Start servable failed: There is no {wanted} in {folder} "
                           f"(there are {numbers})")  # fmt: skip
    return version.VersionConfig(directory, config.servable_name, number,
                                 config.num_parallel_workers, config.dec_key,
                                 config.dec_mode)  # fmt: skip


def exchange_version(config: ServableStartConfig) -> None:
    """Start a version, and let it take the place of the servable's others while requests come.

    Requests that have arrived are answered by the version that they arrived for.

    Args:
        config: the version.

    Raises:
        RuntimeError: it cannot be loaded; then the others go on.
    """
    host().exchange(_version_config(config))


def remove_version(servable_name: str, version_number: int) -> None:
    """End a version when it has answered what it has.

    Args:
        servable_name: the servable.
        version_number: its version.

    Raises:
        RuntimeError: it does not run.
    """
    host().remove(servable_name, version_number)


def set_max_enqueued_requests(max_enqueued_requests: int) -> None:
    """Set how many requests of a version may wait or run.

    Args:
        max_enqueued_requests: the number; 10000 where it is not set.

    Raises:
        RuntimeError: it is no positive whole number.
    """
    check_int("max_enqueued_requests", max_enqueued_requests, 1)
    _limits["max_enqueued_requests"] = max_enqueued_requests
    if _host:
        _host[0].servables.limits.max_enqueued_requests = max_enqueued_requests


def _tls(ssl_config: SSLConfig | None) -> TLS | None:
    if ssl_config is None:
        return None
    if not isinstance(ssl_config, SSLConfig):
        raise RuntimeError("The type of ssl_config should be type of SSLConfig")
    host()
    from mindtorch.serving.front.hosting import TLS

    authority = ssl_config.custom_ca if ssl_config.verify_client else None
    for file in filter(None, (ssl_config.certificate, ssl_config.private_key, authority)):
        if not os.path.isfile(file):
            raise RuntimeError(f"there is no file {file}")
    return TLS(ssl_config.certificate, ssl_config.private_key, authority)


def start_grpc_server(
    address: str, max_msg_mb_size: int = 100, ssl_config: SSLConfig | None = None
) -> int:
    """Start a gRPC server for MindSpore's service, KServe's, and health.

    Args:
        address: "HOST:PORT" or "unix:PATH"; port 0 is any that is free.
        max_msg_mb_size: how many megabytes a message may have, 1 to 512.
        ssl_config: certificates; None: no encryption.

    Returns:
        The port.

    Raises:
        RuntimeError: an argument is wrong, or the address cannot be used.
    """
    check_str("address", address)
    check_int("max_msg_mb_size", max_msg_mb_size, 1, 512)
    return host().start_grpc(address, max_msg_mb_size, _tls(ssl_config))


def start_restful_server(
    address: str, max_msg_mb_size: int = 100, ssl_config: SSLConfig | None = None
) -> int:
    """Start a REST server for MindSpore's service, KServe's, metrics and the page.

    Args:
        address: "HOST:PORT"; port 0 is any that is free.
        max_msg_mb_size: how many megabytes the body of a request may have, 1 to 512.
        ssl_config: certificates; None: no encryption.

    Returns:
        The port.

    Raises:
        RuntimeError: an argument is wrong, or the address cannot be used.
    """
    check_str("address", address)
    check_int("max_msg_mb_size", max_msg_mb_size, 1, 512)
    return host().start_rest(address, max_msg_mb_size, _tls(ssl_config))


def stop() -> None:
    """Answer what waits, and end the servers and the workers."""
    while _host:
        _host.pop().stop()
    if threading.current_thread() is threading.main_thread():
        while _replaced:
            signal.signal(*_replaced.popitem())
