"""Tensors and modules that are put over the processes of a mesh, and new tensors there."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import api
from mindtorch.engine.aval import aval
from mindtorch.engine.devices.device import empty_on
from mindtorch.engine.dispatch import graph_under_way
from mindtorch.engine.ops.movement import clone
from mindtorch.engine.sharding.placements import Partial, Placement, Replicate, Shard
from mindtorch.engine.sharding.redistribute import redistribute_local
from mindtorch.engine.sharding.sharded import (
    Sharding,
    is_sharded,
    sharded_aval,
    sharded_tensor,
)
from mindtorch.engine.tensor import alias, full_flat, make

from ..._api.arguments import as_device, as_dtype, as_shape
from ..._tensor.size_and_formats import strided
from ...functions.random import generator_of
from ...nn.parameter import Parameter
from .._group import about
from ..device_mesh import DeviceMesh
from ._random import draw_part
from ._tensor import DTensor, checked_placements, current_mesh

__all__ = [
    "distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn", "zeros",
]  # fmt: skip

_LENGTHS = (
    "`placements` must have the same length as `device_mesh.ndim`! Found placements length: {}, "
    "and device_mesh.ndim: {}."
)


def distribute_tensor(
    tensor: Any, device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None, *, src_data_rank: int | None = 0,
) -> DTensor:  # fmt: skip
    """A leaf over the processes of a mesh, with the elements of one process's ``tensor``.

    Args:
        tensor: a leaf, the whole.
        device_mesh: the processes; that of the block when None.
        placements: one for each axis of the mesh; everything everywhere when None.
        src_data_rank: the number along each axis of the process whose elements are taken; None:
            each takes its part of what it has itself, and nothing is sent.

    Raises:
        RuntimeError: no leaf.
        ValueError: another number of placements than the mesh has axes; a DTensor that lies
            otherwise; factors of a product.
        AssertionError, IndexError: a cut along an axis that there is not.
    """
    mesh = current_mesh(device_mesh)
    if not tensor.is_leaf:
        raise RuntimeError(
            "`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf "
            "tensor!"
        )
    if tensor.device.type not in (mesh.device_type, "meta"):
        tensor = tensor.to(mesh.device_type)
    if placements is not None and len(placements) != mesh.ndim:
        raise ValueError(_LENGTHS.format(len(placements), mesh.ndim))
    wanted = checked_placements(placements, mesh, tensor.aval.ndim)
    if is_sharded(tensor.aval):
        return _as_it_lies(tensor, mesh, wanted)
    whole, requires_grad = tensor.aval, tensor.requires_grad
    local = alias(tensor)
    everywhere = Sharding(mesh, (Replicate(),) * mesh.ndim)
    _check_cuts(wanted, whole.ndim)
    sharding = Sharding(mesh, wanted)
    if mesh.get_coordinate() is None:
        local = full_flat((0,), whole.dtype, 0, whole.device)
    else:
        if src_data_rank is not None and whole.device.type != "meta":
            for axis in range(mesh.ndim):
                local = mesh.broadcast_along(axis, local, src_data_rank)
        local = _laid_out(local, everywhere, sharding)
    if local.aval.contiguous and local._storage is not None:
        local = clone(local, strides=None)
    made: Any = sharded_tensor(local, sharded_aval(whole, sharding))
    return api.track(made) if requires_grad else made  # type: ignore[return-value]


def _check_cuts(placements: tuple[Placement, ...], ndim: int) -> None:
    """Raise as PyTorch does for cuts along an axis that there is not, and for factors."""
    for each in placements:
        if isinstance(each, Shard) and each.dim > ndim:
            raise AssertionError(f"Sharding dim {each.dim} greater than tensor ndim {ndim}")
        if isinstance(each, Shard) and each.dim == ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but "
                f"got {each.dim})"
            )
        if isinstance(each, Partial) and each.reduce_op == "product":
            raise ValueError("Replicate to Partial(product) conversion is not supported.")


def _laid_out(local: Any, everywhere: Sharding, sharding: Sharding) -> Any:
    """This process's part of what all have; terms of a sum are equal shares."""
    mesh, placements = sharding.mesh, sharding.placements
    shares = [type(p) is Partial and p.reduce_op == "sum" for p in placements]
    if any(shares) and local.aval.dtype.is_floating_point:
        count = math.prod(n for n, shared in zip(mesh.shape, shares, strict=True) if shared)
        pairs = zip(placements, shares, strict=True)
        cuts = Sharding(mesh, tuple(Replicate() if shared else p for p, shared in pairs))
        made: Any = redistribute_local(local, local.aval.shape, everywhere, cuts)
        return made / count
    return redistribute_local(local, local.aval.shape, everywhere, sharding)


def _as_it_lies(tensor: Any, mesh: DeviceMesh, wanted: tuple[Placement, ...]) -> DTensor:
    """A DTensor that lies so already."""
    if tensor.device_mesh != mesh:
        raise ValueError(
            f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} "
            f"to a different device mesh {mesh}."
        )
    if tensor.placements != wanted:
        raise ValueError(
            f"Cannot distribute a DTensor with placements {tensor.placements} "
            f"to a different placements {list(wanted)}. do you want to call "
            f"`redistribute` instead?"
        )
    return tensor


def _replicate(module: Any, mesh: DeviceMesh) -> None:
    """Put what is plain of a module's own parameters and buffers into every process."""
    for name, parameter in list(module._parameters.items()):
        if parameter is not None and not isinstance(parameter, DTensor):
            made = Parameter(distribute_tensor(parameter.data, mesh), parameter.requires_grad)
            module.register_parameter(name, made)
    for name, buffer in module._buffers.items():
        if buffer is not None and not isinstance(buffer, DTensor):
            module._buffers[name] = distribute_tensor(buffer, mesh)


def distribute_module(
    module: Any, device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Any, DeviceMesh], None] | None = None,
    input_fn: Callable[..., Any] | None = None, output_fn: Callable[..., Any] | None = None,
) -> Any:  # fmt: skip
    """``module``, whose parameters and buffers are DTensors from now on.

    Args:
        device_mesh: the processes; that of the block when None.
        partition_fn: ``partition_fn(name, module, mesh)`` distributes what it likes of each of
            the modules; what it leaves is in every process.
        input_fn: ``input_fn(module, inputs, mesh)`` is called before each forward.
        output_fn: ``output_fn(module, outputs, mesh)`` is called after it.

    Raises:
        RuntimeError: the second time.
        ValueError: functions with other numbers of arguments.
    """
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError(
            "distribute_module should only be called once on a module, "
            "but it has already been called on this module!"
        )
    mesh = current_mesh(device_mesh)
    for name, each in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, each, mesh)
        _replicate(each, mesh)
    if input_fn is not None:
        _hook(module, mesh, input_fn, "input_fn")
    if output_fn is not None:
        _hook(module, mesh, output_fn, "output_fn")
    module._distribute_module_applied = True
    return module


def _hook(module: Any, mesh: DeviceMesh, function: Callable[..., Any], name: str) -> None:
    """Call ``function`` around each forward, with the module or, as earlier, without it."""
    what = "inputs" if name == "input_fn" else "outputs"
    count = len(inspect.signature(function).parameters)
    if count not in (2, 3):
        raise ValueError(f"{name} should take in 3 arguments, but got {count} arguments!")
    if count == 2:
        warnings.warn(
            f"Deprecating {name} that takes two arguments ({what}, device_mesh), "
            f"please use {name} that takes in (module, {what}, device_mesh) instead!",
            FutureWarning,
            stacklevel=3,
        )

    here = mesh.get_coordinate() is not None
    number = mesh.get_group(0).next_number(what) if here else 0
    subject = f"{what} of {type(module).__name__}, on this mesh module {number}"

    def call(own: Any, *values: Any) -> Any:
        given = values[-1]  # the inputs, or behind them the outputs
        with about(subject) if graph_under_way() is None else nullcontext():
            return function(given, mesh) if count == 2 else function(own, given, mesh)

    if name == "input_fn":
        module.register_forward_pre_hook(call)
    else:
        module.register_forward_hook(call)


# --- new tensors ----------------------------------------------------------------------------------


def _new(
    size: Any, dtype: Any, layout: Any, mesh: DeviceMesh | None, placements: Any,
    requires_grad: bool, make_part: Callable[[Any, Sharding], Any],
) -> DTensor:  # fmt: skip
    """A tensor whose part ``make_part(aval of the whole, sharding)`` makes."""
    chosen = current_mesh(mesh)
    if layout is not None and layout is not strided:
        raise AssertionError("layout value not supported!")
    if placements is not None and len(placements) != chosen.ndim:
        raise AssertionError("mesh dimension does not match the length of placements")
    shape = as_shape(size)
    lies = checked_placements(placements or None, chosen, len(shape))
    if any(isinstance(p, Partial) for p in lies):
        raise ValueError("a new tensor cannot be made of terms")
    kind = dtypes.default if dtype is None else as_dtype(dtype)
    whole = aval(shape, kind, None, as_device(chosen.device_type))
    sharding = Sharding(chosen, lies)
    made: Any = sharded_tensor(make_part(whole, sharding), sharded_aval(whole, sharding))
    return api.track(made) if requires_grad else made  # type: ignore[return-value]


def _filled(value: Any) -> Callable[[Any, Sharding], Any]:
    def part(whole: Any, sharding: Sharding) -> Any:
        return full_flat(sharding.local_shape(whole.shape), whole.dtype, value, whole.device)

    return part


def _uninitialised(whole: Any, sharding: Sharding) -> Any:
    described = aval(sharding.local_shape(whole.shape), whole.dtype, None, whole.device)
    return make(empty_on(described.device)(described.size, described.dtype.np), described)


def _drawn(sampler: str, *arguments: float) -> Callable[[Any, Sharding], Any]:
    """The part of the numbers that one process would draw."""

    def part(whole: Any, sharding: Sharding) -> Any:
        draws = getattr(generator_of(None), sampler)
        return draw_part(whole, sharding, lambda array: draws(array, *arguments))

    return part


def zeros(
    *size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = strided,
    device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None,
) -> DTensor:  # fmt: skip
    """Zeros over the processes of a mesh."""
    part = _filled(0)
    return _new(size, dtype, layout, device_mesh, placements, requires_grad, part)


def ones(
    *size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = strided,
    device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None,
) -> DTensor:  # fmt: skip
    """Ones over the processes of a mesh."""
    part = _filled(1)
    return _new(size, dtype, layout, device_mesh, placements, requires_grad, part)


def empty(
    *size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = strided,
    device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None,
) -> DTensor:  # fmt: skip
    """Memory over the processes of a mesh, with whatever was in it."""
    return _new(size, dtype, layout, device_mesh, placements, requires_grad, _uninitialised)


def full(
    size: Any, fill_value: Any, *, requires_grad: bool = False, dtype: Any = None,
    layout: Any = strided, device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:  # fmt: skip
    """``fill_value`` over the processes of a mesh."""
    part = _filled(fill_value)
    return _new((size,), dtype, layout, device_mesh, placements, requires_grad, part)


def rand(
    *size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = strided,
    device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None,
) -> DTensor:  # fmt: skip
    """Numbers spread evenly over [0, 1), those that one process would draw."""
    part = _drawn("uniform", 0.0, 1.0)
    return _new(size, dtype, layout, device_mesh, placements, requires_grad, part)


def randn(
    *size: Any, requires_grad: bool = False, dtype: Any = None, layout: Any = strided,
    device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None,
) -> DTensor:  # fmt: skip
    """Normal numbers, those that one process would draw."""
    part = _drawn("normal", 0.0, 1.0)
    return _new(size, dtype, layout, device_mesh, placements, requires_grad, part)
