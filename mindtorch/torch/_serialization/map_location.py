"""Where the storages of a file go: the names of devices in files, and ``map_location``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from mindtorch.engine.devices.device import Device

from ..storage import TypedStorage, UntypedStorage
from .pickle_names import resolve

_Tagger = Callable[[Any], "str | None"]
_Restorer = Callable[[Any, str], Any]
_packages: list[tuple[int, _Tagger, _Restorer]] = []


def register_package(priority: int, tagger: _Tagger, deserializer: _Restorer) -> None:
    """Add a way to name and to restore the place of storages; lower priorities are asked first.

    Args:
        priority: ours are 10 (cpu), 20 (cuda) and 22 (meta).
        tagger: ``tagger(storage)`` -> the place's name in files, or None.
        deserializer: ``deserializer(storage, name)`` -> the storage there, or None.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: UntypedStorage | TypedStorage) -> str:
    """The name of the place of ``storage`` in files: ``"cpu"``, ``"cuda:0"``."""
    for _priority, tagger, _restorer in _packages:
        tag = tagger(storage)
        if tag:
            return tag
    raise RuntimeError(f"don't know how to determine data location of {type(storage).__name__}")


def default_restore_location(storage: Any, location: str) -> Any:
    """``storage`` moved to the place that a file names."""
    for _priority, _tagger, restorer in _packages:
        restored = restorer(storage, location)
        if restored is not None:
            return restored
    raise RuntimeError(
        "don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
        f"{location})"
    )


def _tag(device_type: str) -> _Tagger:
    return lambda storage: str(storage.device) if storage.device.type == device_type else None


def _to_cpu(storage: Any, location: str) -> Any:
    return storage if location == "cpu" else None


def _to_meta(storage: Any, location: str) -> Any:
    return UntypedStorage(storage.nbytes(), device="meta") if location == "meta" else None


def _to_cuda(storage: Any, location: str) -> Any:
    if location != "cuda" and not re.match("cuda(:|[0-9]+)", location):
        return None
    cuda = resolve("torch", "cuda")
    if not cuda.is_available():
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
            "False. If you are running on a CPU-only machine, please use torch.load with "
            "map_location=torch.device('cpu') to map your storages to the CPU."
        )
    index = Device(location).index or 0
    if index >= cuda.device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but "
            f"torch.cuda.device_count() is {cuda.device_count()}. Please use torch.load with "
            "map_location to map your storages to an existing device."
        )
    return storage.to(device=Device("cuda", index))


register_package(10, _tag("cpu"), _to_cpu)
register_package(20, _tag("cuda"), _to_cuda)
register_package(22, _tag("meta"), _to_meta)


def restorer_for(map_location: Any) -> Callable[[UntypedStorage, str], UntypedStorage]:
    """``(storage, location) -> storage`` for any of the forms of ``map_location``."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(
            storage, map_location.get(location, location)
        )
    if isinstance(map_location, bytes):
        map_location = map_location.decode("ascii")
    if isinstance(map_location, (str, Device)):
        return lambda storage, location: default_restore_location(storage, str(map_location))

    def restore(storage: UntypedStorage, location: str) -> UntypedStorage:
        result = map_location(storage, location)
        if result is None:
            return default_restore_location(storage, location)
        if isinstance(result, TypedStorage):
            return result.untyped()
        if not isinstance(result, UntypedStorage):
            raise TypeError(
                f"Argument 'wrap_storage' must be UntypedStorage, but got {type(result)}"
            )
        return result

    return restore
