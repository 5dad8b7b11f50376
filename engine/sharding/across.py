"""Ops between plain tensors and those that lie over several processes, with their gradients.

They differ from other ops in that their kernels are collectives.
"""

from __future__ import annotations

from typing import Any

from ..dispatch import GRAD, recorded, state
from ..op import Op, Plan
from ..ops.copies import cast
from ..tensor import Tensor, alias
from .placements import Partial, Placement, Replicate
from .redistribute import redistribute_local
from .sharded import Sharding, local_part, sharded_aval, sharded_tensor

__all__ = ["from_local", "lying_as", "redistribute", "to_local"]


class _Across(Op):
    """An op that has no kernel, and no plan but its avals."""

    def in_mode(self, mode: int, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """An interpreter sees the ops on local parts."""
        return self._first(None, mode & GRAD, inputs, params)

    def _first(
        self, key: Any, mode: int, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> Any:
        if state.recorder is not None:
            state.recorder.repeatable = False
        result = self.result(inputs[0], **params)
        plan = Plan((result.aval,), (inputs[0].aval,))
        return recorded(self, plan, mode, inputs, params, (result,))[0]

    def result(self, x: Tensor, **params: Any) -> Tensor:
        """What it makes of ``x``, without history."""
        raise NotImplementedError


def _of_gradient(placements: tuple[Placement, ...]) -> tuple[Placement, ...]:
    """How the gradient of what lies so lies: that of a term is the same for all terms."""
    return tuple([Replicate() if isinstance(p, Partial) else p for p in placements])


class _FromLocal(_Across):
    def result(self, x: Tensor, **params: Any) -> Tensor:
        return sharded_tensor(alias(x), sharded_aval(params["whole"], params["sharding"]))


def _from_local_vjp(g: Tensor, sharding: Sharding, grad_placements: Any) -> Tensor:
    wanted = grad_placements or _of_gradient(sharding.placements)
    back = redistribute(g, sharding=Sharding(sharding.mesh, wanted))
    return to_local(back, grad_placements=None)


# a tensor over several processes, of which the input is this one's part
from_local: Any = _FromLocal(
    "from_local",
    lambda x, *, whole, sharding, grad_placements: sharded_aval(whole, sharding),
    vjp=(_from_local_vjp,),
    grad_name="_FromTorchTensorBackward",
)


class _ToLocal(_Across):
    def result(self, x: Tensor, **params: Any) -> Tensor:
        return alias(local_part(x))


def _to_local_vjp(g: Tensor, avals: Any, grad_placements: Any) -> Tensor:
    described = avals[0]
    sharding = described.sharding
    wanted = grad_placements or _of_gradient(sharding.placements)
    made: Tensor = from_local(
        g, whole=described.whole, sharding=Sharding(sharding.mesh, wanted), grad_placements=None
    )
    return made


# this process's part, which shares the memory
to_local: Any = _ToLocal(
    "to_local", lambda x, *, grad_placements: x, vjp=(_to_local_vjp,),
    grad_name="_ToTorchTensorBackward",
)  # fmt: skip


class _Redistribute(_Across):
    def result(self, x: Tensor, **params: Any) -> Tensor:
        now: Any = x.aval
        sharding, dtype = params["sharding"], params.get("dtype")
        local, whole = local_part(x), now.whole
        if dtype is not None and dtype is not whole.dtype:
            local, whole = cast(local, dtype=dtype), cast.aval(whole, dtype=dtype)
        part = redistribute_local(local, now.shape, now.sharding, sharding)
        if part is local_part(x):
            part = alias(part)
        return sharded_tensor(part, sharded_aval(whole, sharding))


def _redistribute_vjp(g: Any, avals: Any, back_dtype: Any) -> Tensor:
    before, now = avals[0].sharding, g.aval.sharding
    wanted = tuple([
        Replicate() if isinstance(b, Partial) and b != n else b
        for b, n in zip(before.placements, now.placements, strict=True)
    ])
    back = redistribute(g, sharding=Sharding(before.mesh, wanted), dtype=back_dtype)
    return back if back_dtype is None else cast(back, dtype=avals[0].dtype)


# the same tensor lying in another way
redistribute: Any = _Redistribute(
    "redistribute",
    lambda x, *, sharding, dtype=None, back_dtype=None: sharded_aval(x.whole, sharding),
    vjp=(_redistribute_vjp,),
    grad_name="RedistributeBackward",
)


def lying_as(x: Tensor, like: Tensor) -> Tensor:
    """``x`` as ``like`` lies; a tensor that is plain, or beside a plain one, as it is."""
    if not (x.aval.sharded and like.aval.sharded):
        return x
    wanted: Any = like.aval
    have: Any = x.aval
    if have.sharding == wanted.sharding:
        return x
    found: Tensor = redistribute(x, sharding=wanted.sharding)
    return found
