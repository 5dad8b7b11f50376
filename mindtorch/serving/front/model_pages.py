"""What is told of models: KServe's metadata, and the state that the page shows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from .kserve_tensors import DATATYPES
from .service import Service
from .version import MethodInfo, TensorInfo, Version

__all__ = ["model_metadata", "status"]


def model_metadata(service: Service, name: str, number: int, method: str = "") -> dict[str, Any]:
    """KServe's metadata of a servable's method.

    Args:
        service: what is served.
        name: the servable.
        number: its version; 0: the newest.
        method: the method; empty: the first.

    Raises:
        ServingError: there is no such servable, version or method.
    """
    version = service.servables.resolve(name, number)
    chosen = version.method(method)
    return {
        "name": name,
        "versions": [str(each) for each in sorted(service.servables.running[name])],
        "platform": "_".join(["mindtorch", *version.formats[:1]]),
        "inputs": [_tensor(info) for info in chosen.inputs],
        "outputs": [_tensor(info) for info in chosen.outputs],
    }


def _tensor(info: TensorInfo) -> dict[str, Any]:
    """A tensor's metadata; no datatype and an open shape where nothing is known of it."""
    shape = (-1,) if info.shape is None else (-1, *info.shape)
    return {"name": info.name, "datatype": DATATYPES.get(info.dtype or "", ""), "shape": shape}


def status(service: Service) -> dict[str, Any]:
    """All that the page shows.

    Args:
        service: what is served.
    """
    versions = [_of_version(version) for version in service.servables.all()]
    failed = [{"servable": name, "version": number, "error": error}
              for (name, number), (_, error) in service.servables.failed.items()]  # fmt: skip
    return {"ready": service.servables.ready, "versions": versions, "failed": failed}


def _of_version(version: Version) -> dict[str, Any]:
    return {
        "servable": version.config.name,
        "version": version.config.number,
        "ready": version.ready,
        "trouble": version.trouble,
        "formats": version.formats,
        "batch_size": version.batch_size,
        "pending": version.pending,
        "restarts": version.restarts,
        "workers": [{"pid": worker.pid, "batches": len(worker.batches)}
                    for worker in version.workers],
        "methods": [_of_method(method) for method in version.methods.values()],
        **version.metrics.summary(),
    }  # fmt: skip


def _of_method(method: MethodInfo) -> dict[str, Any]:
    return {
        "name": method.name,
        "inputs": [asdict(info) for info in method.inputs],
        "outputs": [asdict(info) for info in method.outputs],
        "stages": method.stages,
    }
