"""Forward-mode differentiation: tensors that carry a tangent through what is computed from them.

The tape records what dual tensors go through, and a tangent is computed when it is asked for: the
product J t is the transpose of the transposed product, g -> J^T g, which is linear in g.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mindtorch.engine.autograd import api, tape
from mindtorch.engine.autograd.inplace import same_memory
from mindtorch.engine.dispatch import state
from mindtorch.engine.ops.movement import alias_view
from mindtorch.engine.tensor import Tensor, akin, alias, full_flat
from mindtorch.torch.autograd._forward_levels import ancestors, current, levels

from .grad_mode import BlockMode

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent."""

    primal: Any
    tangent: Any


class Level:
    """The dual tensors of one level.

    Attributes:
        duals: by ``id`` of the dual tensor: what it was before any write to it, the primal it was
            made of, its tangent, and itself.
        made: by ``id`` of the dual tensor, its node then.
        tangents: by ``id``, the nodes of tangents, beyond which nothing is dual.
        grad_enabled: whether gradients were recorded around the level.
    """

    def __init__(self) -> None:
        self.duals: dict[int, tuple[Tensor, Tensor, Any, Tensor]] = {}
        self.made: dict[int, Any] = {}
        self.tangents: dict[int, Any] = {}
        self.grad_enabled = state.grad_enabled

    def make(self, primal: Tensor, tangent: Any) -> Tensor:
        follow = self.grad_enabled and tape.requires_grad(primal)
        root = alias_view(primal) if follow else api.track(alias(primal))
        dual = root if follow else same_memory(root)
        if follow:
            root = alias(dual)
            root._node, root._output_index = tape.node_of(dual), dual._output_index
        dual = akin(dual, primal)
        self.duals[id(dual)] = (root, primal, tangent, dual)
        self.made[id(dual)] = tape.node_of(dual)
        return dual

    def given(self, tensor: Tensor) -> Any:
        """(root, primal, tangent, dual) where this is a dual tensor that nobody wrote to."""
        found = self.duals.get(id(tensor))
        return found if found and tape.node_of(tensor) is self.made[id(tensor)] else None

    def tangent_of(self, tensor: Tensor) -> Any:
        """The tangent of ``tensor``, None where it depends on no dual tensor."""
        own = self.given(tensor)
        if own is not None:
            return own[2]
        rows = list(self.duals.values())
        for _, primal, _, dual in rows:
            if tape.requires_grad(primal) and tape.node_of(dual) is not self.made[id(dual)]:
                raise NotImplementedError(
                    "tangents where somebody wrote to a dual tensor whose primal requires "
                    "gradients: make the dual tensor of a clone"
                )
        if not self.moves(tensor):
            return None
        with api.grad_mode(True):
            probe = api.track(full_flat(tensor.aval.shape, tensor.aval.dtype, 1))
            pulled = api.gradients(
                [tensor], [root for root, *_ in rows], [probe], retain_graph=True,
                create_graph=True, allow_unused=True,
            )  # fmt: skip
        used = [(p, t) for p, (_, _, t, _) in zip(pulled, rows, strict=True) if p is not None]
        if not used:
            return None
        moving = [(p, t) for p, t in used if tape.requires_grad(p)]
        found = None
        if moving:
            (found,) = api.gradients(
                [p for p, _ in moving], [probe], [t for _, t in moving], retain_graph=True,
                create_graph=self.grad_enabled and self.followed(tensor), allow_unused=True,
            )  # fmt: skip
        if found is None:
            found = full_flat(tensor.aval.shape, tensor.aval.dtype, 0)
        if tape.requires_grad(found):
            found = alias_view(found)
            self.tangents[id(tape.node_of(found))] = tape.node_of(found)
        return akin(found, tensor)

    def followed(self, tensor: Tensor) -> bool:
        """Whether the graph of ``tensor`` or a tangent has leaves that are no dual tensors."""
        own = {id(tape.node_of(root)) for root, primal, *_ in self.duals.values()
               if not tape.requires_grad(primal)}  # fmt: skip
        roots = [tensor, *(t for _, _, t, _ in self.duals.values())]
        return any(
            type(node) is tape.AccumulateGrad and id(node) not in own for node in ancestors(roots)
        )

    def moves(self, tensor: Tensor) -> bool:
        """Whether ``tensor`` is computed from a dual tensor."""
        own = {id(tape.node_of(root)) for root, *_ in self.duals.values()}
        return any(id(node) in own for node in ancestors([tensor], self.tangents))


def enter_dual_level() -> int:
    """Begin a level, whose number is the result; what is recorded in it is recorded for tangents,
    under ``no_grad`` too."""
    if levels():
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    levels().append(Level())
    state.update(grad=True)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: its tangents are gone."""
    if not levels():
        raise RuntimeError("Dual level must be a positive number.")
    if level not in (None, len(levels()) - 1):
        raise RuntimeError(
            f"Trying to exit a forward AD level that was not the last one that was created. "
            f"Expected level {len(levels()) - 1} but got {level}."
        )
    state.update(grad=levels().pop().grad_enabled)


class dual_level(BlockMode):  # noqa: N801
    """A block in which tensors can have tangents."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()

    def _fresh(self) -> Any:
        return dual_level()


def _require_real(tensor: Any, what: str) -> None:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(
            f"Expected {what} to be floating point or complex, but got: {tensor.dtype}"
        )


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A view of ``tensor`` (n, ...) with ``tangent`` of the same shape.

    Raises:
        RuntimeError: outside of a level, for another shape, or where there is a tangent already.
    """
    found = current()
    if found is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    _require_real(tensor, "primal")
    _require_real(tangent, "tangent")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}."
        )
    if found.tangent_of(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level 0 is not supported."
        )
    return found.make(tensor, tangent)


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """(the tensor without its tangent, its tangent or None)."""
    found = current()
    if found is None:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(
            "_unpack_dual(): argument 'dual' (position 1) must be Tensor, not "
            f"{type(tensor).__name__}"
        )
    tangent = found.tangent_of(tensor)
    if tangent is None:
        return UnpackedDualTensor(tensor, None)
    own = found.given(tensor)
    if own is not None:
        return UnpackedDualTensor(own[1], tangent)
    plain = alias_view(tensor) if found.grad_enabled and found.followed(tensor) else alias(tensor)
    return UnpackedDualTensor(akin(plain, tensor), tangent)


def __getattr__(name: str) -> Any:
    """``_current_level``: the number of the open level, -1 outside of all."""
    if name == "_current_level":
        return len(levels()) - 1
    raise AttributeError(f"module 'torch.autograd.forward_ad' has no attribute '{name}'")
