"""local_map: a function of local parts as one of DTensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from ....utils import _pytree as pytree
from ...device_mesh import DeviceMesh
from .._tensor import DTensor

__all__ = ["local_map"]


def local_map(
    func: Callable[..., Any] | None = None, out_placements: Any = None, in_placements: Any = None,
    in_grad_placements: Any = None, device_mesh: DeviceMesh | None = None, *,
    redistribute_inputs: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """``func``, which takes plain tensors, as a function of DTensors: it gets their local parts.

    Args:
        func: the function; None: a decorator is made.
        out_placements: how the results lie, a tuple of placements' lists for several ones.
        in_placements: how each input is to lie, None for one that is no DTensor; as they do when
            it is None as a whole.
        in_grad_placements: how the gradients of the local parts lie; as the inputs when None.
        device_mesh: of the results; that of the inputs when None.
        redistribute_inputs: let inputs that lie otherwise be redistributed.

    Raises:
        AssertionError: another number of placements than of inputs or results.
        ValueError: an input that lies otherwise.
    """
    if func is None:
        return functools.partial(
            local_map, out_placements=out_placements, in_placements=in_placements,
            in_grad_placements=in_grad_placements, device_mesh=device_mesh,
            redistribute_inputs=redistribute_inputs,
        )  # fmt: skip

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        given, form = pytree.tree_flatten(args)
        _check_count(in_placements, given)
        mesh = device_mesh or next((x.device_mesh for x in given if isinstance(x, DTensor)), None)
        local = []
        for place, value in enumerate(given):
            wanted = None if in_placements is None else in_placements[place]
            slopes = None if in_grad_placements is None else in_grad_placements[place]
            checked = in_placements is not None
            local.append(_local(value, wanted, slopes, checked, redistribute_inputs))
        made = func(*pytree.tree_unflatten(local, form), **kwargs)
        if not any(isinstance(x, DTensor) for x in given):
            return made
        results, shape = pytree.tree_flatten(made)
        lie = out_placements if isinstance(out_placements, tuple) else (out_placements,)
        if len(results) != len(lie):
            raise AssertionError(
                "local_map requires one PlacementType be provided for each output value, "
                f"received {len(lie)} out_placements but {len(results)} is expected!"
            )
        wrapped = [_whole(x, mesh, how) for x, how in zip(results, lie, strict=True)]
        return pytree.tree_unflatten(wrapped, shape)

    return mapped


def _check_count(in_placements: Any, given: list[Any]) -> None:
    if in_placements is not None and len(in_placements) != len(given):
        raise AssertionError(
            f"in_placements length {len(in_placements)} does not match the number of input args "
            f"{len(given)}!"
        )


def _local(value: Any, wanted: Any, slopes: Any, checked: bool, redistribute: bool) -> Any:
    """The local part of an input, lying as it is wanted."""
    if not isinstance(value, DTensor):
        if checked and wanted is not None and not isinstance(value, EngineTensor):
            raise AssertionError(
                f"Non-Tensor input {value} expects None placements but received {wanted}!"
            )
        return value
    if checked:
        if wanted is None:
            raise AssertionError(
                f"DTensor input {value} expects placements but received {wanted}!"
            )
        if value.placements != tuple(wanted):
            if not redistribute:
                raise ValueError(
                    f"arg {value} in local_map has a mismatched placements: arg placements is "
                    f"{value.placements} but the input placements is {wanted}! If "
                    "redistribute_inputs is wanted, set redistribute_inputs=True to local_map."
                )
            value = value.redistribute(placements=tuple(wanted))
    return value.to_local(grad_placements=None if slopes is None else tuple(slopes))


def _whole(value: Any, mesh: Any, placements: Any) -> Any:
    """A result as a DTensor."""
    if isinstance(value, DTensor):
        raise AssertionError(f"torch.Tensor output expected but received {type(value)}: {value}")
    if isinstance(value, EngineTensor):
        return DTensor.from_local(value, mesh, placements, run_check=False)
    if placements is not None:
        raise AssertionError(
            f"Non-tensor output {value} expects None placements but received {placements}!"
        )
    return value
