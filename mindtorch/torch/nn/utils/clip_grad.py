"""Limits on gradients."""

from __future__ import annotations

import warnings
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine.compile.capture.host_calls import host_call
from mindtorch.engine.optim.multi_tensor import fits, global_norm, scale_all
from mindtorch.engine.sharding.placements import Replicate
from mindtorch.engine.sharding.sharded import Sharding, sharded_aval, sharded_tensor
from mindtorch.engine.sharding.total_norm import local_parts, total_norm
from mindtorch.engine.tensor import Tensor as EngineTensor

from ...autograd.grad_mode import no_grad

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
           "get_total_norm"]  # fmt: skip


def _listed(parameters: Any) -> list[Any]:
    return [parameters] if isinstance(parameters, EngineTensor) else list(parameters)


def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Any:
    """The norm of all tensors taken as one vector."""
    tensors = _listed(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return torch.tensor(0.0)
    if any(t._sparse for t in tensors):
        from ...sparse._base import missing

        missing("linalg_vector_norm")
    if any(t.aval.sharded for t in tensors):
        total = _norm_over_processes(tensors, norm_type)
    elif norm_type == 2.0 and fits(tensors):
        total = torch.tensor(global_norm(tensors), dtype=tensors[0].dtype)
    else:
        total = torch.stack([t.norm(norm_type) for t in tensors]).norm(norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def _norm_over_processes(tensors: list[Any], norm_type: float) -> Any:
    """The norm, the same number in all processes; a DTensor where all lie over one mesh."""
    total = torch.tensor(total_norm(tensors, norm_type), dtype=tensors[0].dtype)
    meshes = {t.aval.sharding.mesh if t.aval.sharded else None for t in tensors}
    if len(meshes) > 1:
        return total
    mesh: Any = meshes.pop()
    return sharded_tensor(
        total, sharded_aval(total.aval, Sharding(mesh, (Replicate(),) * len(mesh.shape)))
    )


def clip_grads_with_norm_(
    parameters: Any, max_norm: float, total_norm: Any, foreach: Any = None
) -> None:
    """Multiply gradients by ``max_norm / (total_norm + 1e-6)`` where that is less than 1."""
    factor: Any = torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    gradients = [p.grad for p in _listed(parameters) if p.grad is not None]
    gradients, factor = local_parts(gradients), local_parts([factor])[0]
    if fits(gradients) and len({id(g) for g in gradients}) == len(gradients):
        scale_all(gradients, float(factor))
        return
    for gradient in gradients:
        gradient.mul_(factor)


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: Any = None,
) -> Any:  # fmt: skip
    """Scale gradients down in place so that their common norm is at most ``max_norm``.

    Returns:
        the norm before.
    """
    given = _listed(parameters)
    if not isinstance(parameters, EngineTensor) and hasattr(parameters, "__next__") and not given:
        warnings.warn(
            "`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3
        )
    return _clip(given, max_norm, norm_type, error_if_nonfinite)


@host_call
@no_grad()
def _clip(given: Any, max_norm: float, norm_type: float, error_if_nonfinite: bool) -> Any:
    gradients = [p.grad for p in given if p.grad is not None]
    total = get_total_norm(gradients, norm_type, error_if_nonfinite)
    clip_grads_with_norm_(given, max_norm, total)
    return total


def clip_grad_norm(parameters: Any, max_norm: float, norm_type: float = 2.0) -> Any:
    """The deprecated name of :func:`clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of "
        "`torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: Any = None) -> None:
    """Hold every element of the gradients between ``-clip_value`` and ``clip_value``."""
    limit = float(clip_value)
    with no_grad():
        for p in _listed(parameters):
            if p.grad is not None:
                p.grad.clamp_(min=-limit, max=limit)
