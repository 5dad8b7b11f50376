"""All parameters of a module as one vector, of which each process has an equal part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mindtorch.engine.aval import aval
from mindtorch.engine.compile.guards.module_changes import module_changed
from mindtorch.engine.dispatch import state
from mindtorch.engine.tensor import from_array, make

from ...autograd.function import Function
from ...nn.parameter import Parameter
from ._parameter_group import ParameterGroup
from ._placing import Placing
from ._policies import MixedPrecisionPolicy
from ._sharded_parameter import ShardedParameter

__all__ = ["FlatGroup", "Piece"]


@dataclass
class Piece:
    """A parameter's place in the vector.

    Args:
        owners: (module, name) wherever it is registered.
        parameter: as it was; where original parameters are used, this process's part of it.
        start: its first element.
        shape: of the whole.
    """

    owners: list[tuple[Any, str]]
    parameter: Any
    start: int
    shape: tuple[int, ...]

    @property
    def end(self) -> int:
        """One after its last element."""
        return self.start + int(np.prod(self.shape))

    @cached_property
    def stand_in(self) -> Any:
        """What a module shows while the vector is in parts: type and shape, and no elements."""
        return self.parameter.detach().new_empty(self.shape, device="meta")

    def part(self, shard: ShardedParameter) -> slice:
        """The elements of this process's part of the vector that belong to the parameter."""
        first, last = shard.start, shard.start + shard.length
        start = min(max(self.start, first), last) - first
        return slice(start, max(min(self.end, last) - first, start))


class _Unflatten(Function):
    """Views of the vector, one for each parameter; backward puts gradients one after another."""

    @staticmethod
    def forward(ctx: Any, vector: Any, shard: FlatShard) -> Any:
        ctx.shard = shard
        ctx.set_materialize_grads(False)
        views = shard.views()
        ctx.mark_non_differentiable(
            *[v for v, p in zip(views, shard.pieces, strict=True) if not p.parameter.requires_grad]
        )
        return tuple(views)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        shard = ctx.shard
        whole = np.zeros(shard.shape, shard.unsharded.aval.dtype.np)
        for piece, gradient in zip(shard.pieces, gradients, strict=True):
            if gradient is not None:
                whole[piece.start : piece.end] = gradient.detach().array().reshape(-1)
        return from_array(whole), None


class FlatShard(ShardedParameter):
    """The vector; its owners are the :class:`Piece`\\ s, whose modules get views of it."""

    original = False

    @property
    def pieces(self) -> list[Piece]:
        found: Any = self.owners
        return found

    def views(self) -> list[Any]:
        """The parameters in the vector's memory, without history."""
        dtype, flat = self.unsharded.aval.dtype, self.unsharded.flat
        return [
            make(flat[p.start : p.end], aval(p.shape, dtype), self.storage) for p in self.pieces
        ]

    def register(self, parameter: Any) -> None:
        """Show the wholes where the vector is whole, else the parts."""
        if parameter is self.unsharded and parameter is not None:
            self.show()
            return
        for piece in self.pieces:
            for module, name in piece.owners:
                module.__dict__.pop(name, None)
                if self.original:
                    module._parameters[name] = piece.parameter
                else:
                    module._parameters.pop(name, None)
                    module.__dict__[name] = piece.stand_in
        module_changed()

    def refresh(self) -> None:
        """The parts are always those of the vector."""

    def show(self) -> None:
        """Give the modules views of the whole vector, as far as gradients are recorded."""
        if state.grad_enabled and self.unsharded.requires_grad:
            views = _Unflatten.apply(self.unsharded, self)
        else:
            views = self.views()
        for piece, view in zip(self.pieces, views, strict=True):
            for module, name in piece.owners:
                if self.original:
                    module._parameters[name] = view
                else:
                    module.__dict__[name] = view
        module_changed()

    def use_originals(self) -> None:
        """Let the original parameters be views of this process's part of the vector."""
        self.original = True
        flat = self.sharded.flat
        for piece in self.pieces:
            piece.parameter.data = from_array(flat[piece.part(self)])
        self.register(self.sharded)

    def take(self, reduced: Any) -> None:
        if not self.original:
            super().take(reduced)
            return
        for piece in self.pieces:
            if not piece.parameter.requires_grad:
                continue
            part = from_array(reduced[piece.part(self)])
            if not part.aval.size:
                continue
            if piece.parameter._grad is None:
                piece.parameter._grad = part
            else:
                piece.parameter._grad.detach().add_(part)

    def local_gradient(self) -> Any:
        """This process's part of the gradient, as an array; None where there is none."""
        if not self.original:
            return None if self.sharded._grad is None else self.sharded._grad.detach().array()
        found = [(p.part(self), p.parameter._grad) for p in self.pieces]
        if all(g is None for _, g in found):
            return None
        whole = np.zeros(self.length, self.dtype.np)
        for place, gradient in found:
            if gradient is not None:
                whole[place] = gradient.detach().array()
        return whole


class FlatGroup(ParameterGroup):
    """A :class:`ParameterGroup` of one vector.

    Args:
        pieces: the parameters, one after another in it, of one type.
        original: whether modules keep their parameters, as views of this process's part.
        holder: who has the vector as its parameter ``_flat_param`` where they do not.
    """

    kind = FlatShard

    def __init__(
        self, pieces: list[Piece], placing: Placing, policy: MixedPrecisionPolicy, reshards: bool,
        original: bool, holder: Any,
    ) -> None:  # fmt: skip
        whole = np.concatenate([p.parameter.detach().array().reshape(-1) for p in pieces])
        trained = [p.parameter.requires_grad for p in pieces]
        if not original and len(set(trained)) > 1:
            raise ValueError("Must flatten tensors with uniform `requires_grad` when "
                             "`use_orig_params=False`")
        vector = Parameter(from_array(whole), any(trained))
        owners: Any = pieces
        super().__init__([(vector, owners, 0, "_flat_param")], placing, policy, reshards, None)
        shard: Any = self.parameters[0]
        self.shard: FlatShard = shard
        self.holder = holder
        if original:
            self.shard.use_originals()
        else:
            holder._parameters["_flat_param"] = self.shard.sharded

    def show_wholes(self) -> None:
        self.shard.show()

    @property
    def pieces(self) -> list[Piece]:
        return self.shard.pieces

    @contextmanager
    def whole_parameters(
        self, writeback: bool, with_grads: bool, hidden: bool = False
    ) -> Iterator[None]:
        """A block in which the modules have whole parameters, in the parts' own type.

        Args:
            writeback: take over what was written to them.
            with_grads: they have whole gradients, too.
            hidden: they are gathered for the other processes alone.
        """
        whole = self.gather_vector(self.shard.sharded.detach().array())
        gradient = self.shard.local_gradient() if with_grads else None
        whole_gradient = None if gradient is None else self.gather_vector(gradient)
        if hidden:
            yield
            return
        self.holder._parameters.pop("_flat_param", None)
        for piece in self.pieces:
            place = slice(piece.start, piece.end)
            shown = Parameter(
                from_array(whole[place].reshape(piece.shape)), piece.parameter.requires_grad
            )
            if whole_gradient is not None and piece.parameter.requires_grad:
                shown.grad = from_array(whole_gradient[place].reshape(piece.shape))
            for module, name in piece.owners:
                module.__dict__.pop(name, None)
                module._parameters[name] = shown
        module_changed()
        try:
            yield
        finally:
            self._end_whole(whole, whole_gradient, writeback)

    def _end_whole(self, whole: Any, gradient: Any, writeback: bool) -> None:
        shard = self.shard
        if writeback:
            for piece in self.pieces:
                module, name = piece.owners[0]
                shown = module._parameters[name]
                whole[piece.start : piece.end] = shown.detach().array().reshape(-1)
                if gradient is not None and shown.grad is not None:
                    gradient[piece.start : piece.end] = shown.grad.detach().array().reshape(-1)
            own = slice(shard.start, shard.start + shard.length)
            shard.sharded.detach().copy_(from_array(whole[own]))
            if gradient is not None:
                self._replace_gradient(gradient[own])
        shard.register(shard.sharded)
        if not shard.original:
            self.holder._parameters["_flat_param"] = shard.sharded
        if self.unsharded:
            shard.show()

    def _replace_gradient(self, own: Any) -> None:
        shard = self.shard
        if not shard.original:
            shard.sharded._grad = from_array(own.copy())
            return
        for piece in self.pieces:
            if piece.parameter._grad is not None:
                piece.parameter._grad = from_array(own[piece.part(shard)].copy())

    def gather_vector(self, local: Any) -> Any:
        """The whole of a vector of which every process has a part like the parameters'."""
        shard, group = self.shard, self.placing.group
        size = shard.shape[0]
        if self.placing.shards == 1:
            return local.copy()
        padded = np.zeros(shard.padded, local.dtype)
        padded[: local.size] = local
        whole = np.empty(shard.padded * group.size(), local.dtype)
        group.run(lambda: group.all_gather_into(whole, padded)).result()
        return whole[:size]
