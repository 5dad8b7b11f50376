"""Functions that make a new tensor like a DTensor, which then lies as it does."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.autograd import api
from mindtorch.engine.sharding.placements import Partial, Placement, Replicate
from mindtorch.engine.sharding.redistribute import redistribute_local
from mindtorch.engine.sharding.sharded import (
    Sharding,
    is_sharded,
    local_part,
    sharded_aval,
    sharded_tensor,
)

from ..._tensor.tensor import Tensor
from ..._tensor.tensor_classes import implements, torch
from ...functions.creation import made_like
from ...functions.random import generator_of
from ._random import draw_part, make_alike
from ._tensor import DTensor

__all__: list[str] = []


def _whole_terms(placements: tuple[Placement, ...]) -> tuple[Placement, ...]:
    """What are terms is everywhere."""
    return tuple([Replicate() if isinstance(p, Partial) else p for p in placements])


def _finished(part: Any, whole: Any, sharding: Sharding, requires_grad: bool) -> Any:
    made = sharded_tensor(part, sharded_aval(whole, sharding))
    return api.track(made) if requires_grad else made


@implements(DTensor, torch.zeros_like, torch.ones_like, torch.empty_like, torch.full_like)
def _like(
    function: Any, input: Any, *args: Any, dtype: Any = None, device: Any = None,  # noqa: A002
    requires_grad: bool = False, memory_format: Any = None, **options: Any,
) -> Any:  # fmt: skip
    if not is_sharded(getattr(input, "aval", None)):
        return NotImplemented
    whole = made_like(input, dtype, device, memory_format)
    sharding = Sharding(input.device_mesh, _whole_terms(input.placements))
    made = function(local_part(input), *args, dtype=dtype, device=device, **options)
    return _finished(made, whole, sharding, requires_grad)


@implements(DTensor, torch.rand_like, torch.randn_like)
def _drawn_like(
    function: Any, input: Any, *, generator: Any = None, dtype: Any = None,  # noqa: A002
    device: Any = None, requires_grad: bool = False, memory_format: Any = None, **options: Any,
) -> Any:  # fmt: skip
    whole = made_like(input, dtype, device, memory_format)
    sharding = Sharding(input.device_mesh, _whole_terms(input.placements))
    sampler, arguments = {
        "rand_like": ("uniform", (0.0, 1.0)), "randn_like": ("normal", (0.0, 1.0)),
    }[function.__name__]  # fmt: skip
    draws = getattr(generator_of(generator), sampler)
    part = draw_part(whole, sharding, lambda array: draws(array, *arguments))
    return _finished(part, whole, sharding, requires_grad)


@implements(
    DTensor, Tensor.new_zeros, Tensor.new_ones, Tensor.new_empty, Tensor.new_full
)
def _new(function: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """Everywhere; where the shape is the tensor's own it lies as that does."""
    made = function(local_part(self), *args, **kwargs)
    mesh = self.device_mesh
    sharding = Sharding(mesh, (Replicate(),) * mesh.ndim)
    whole = made.aval
    requires_grad = bool(kwargs.get("requires_grad", False))
    if whole.shape == self.aval.shape and not any(isinstance(p, Partial) for p in self.placements):
        lies = Sharding(mesh, self.placements)
        made = redistribute_local(made.detach(), whole.shape, sharding, lies)
        sharding = lies
    return _finished(made.detach(), whole, sharding, requires_grad)


@implements(DTensor, torch.bernoulli, torch.multinomial, torch.normal, torch.poisson)
def _drawn_by(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Drawn by what all processes have of the arguments: everywhere, or cut as the first is."""
    given = [x for x in (*args, *kwargs.values()) if isinstance(x, DTensor)]
    if kwargs.get("out") is not None or not given:
        return NotImplemented
    first = given[0]
    mesh = first.device_mesh
    make_alike(mesh)

    def whole(value: Any) -> Any:
        return value.detach().full_tensor() if isinstance(value, DTensor) else value

    made = function(*map(whole, args), **{name: whole(value) for name, value in kwargs.items()})
    everywhere = Sharding(mesh, (Replicate(),) * mesh.ndim)
    lies = everywhere
    if made.aval.shape == first.aval.shape:
        lies = Sharding(mesh, _whole_terms(first.placements))
    part = redistribute_local(made.detach(), made.aval.shape, everywhere, lies)
    return sharded_tensor(part, sharded_aval(made.aval, lies))
