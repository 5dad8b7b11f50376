"""The class of tensors that lie over several processes.

Their elements are the engine's concern (``mindtorch.engine.sharding``); here is what torch's class
has besides the functions of tensors.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from mindtorch.engine.autograd import api, tape
from mindtorch.engine.aval import aval
from mindtorch.engine.dispatch import state
from mindtorch.engine.ops.movement import clone
from mindtorch.engine.sharding import dispatch as dispatch  # whose ops are called from here on
from mindtorch.engine.sharding.across import from_local, redistribute, to_local
from mindtorch.engine.sharding.placements import Partial, Placement, Replicate, Shard, StridedShard
from mindtorch.engine.sharding.sharded import (
    Sharding,
    is_sharded,
    local_part,
    result_kind,
    sharded_aval,
    sharded_tensor,
)
from mindtorch.engine.tensor import akin, alias, from_array

from ..._api.arguments import as_dtype
from ..._tensor.rebuild import user_state
from ..._tensor.size_and_formats import Size
from ..._tensor.tensor import Tensor
from ...nn.parameter import Parameter
from ...serialization import add_safe_globals
from .. import device_mesh as meshes
from ..device_mesh import DeviceMesh, rebuilt_mesh
from ._dtensor_spec import DTensorSpec, TensorMeta

__all__ = ["DTensor", "checked_placements", "current_mesh", "whole_of"]

_MIXED_TERMS = "Mixed Partial reduce types are not supported: placements {} have {}"


def current_mesh(mesh: DeviceMesh | None) -> DeviceMesh:
    """``mesh``, or that of the block."""
    return mesh or meshes._mesh_resources.get_current_mesh()


def checked_placements(
    placements: Sequence[Placement] | None, mesh: DeviceMesh, ndim: int
) -> tuple[Placement, ...]:
    """Placements with axes counted from the front; everything everywhere for None."""
    if placements is None:
        return (Replicate(),) * mesh.ndim
    found: list[Placement] = []
    for each in placements:
        if isinstance(each, StridedShard) and each.dim < 0:
            each = StridedShard(each.dim + ndim, each.split_factor)
        elif isinstance(each, Shard) and each.dim < 0:
            each = Shard(each.dim + ndim)
        found.append(each)
        if isinstance(each, (Shard, StridedShard)) and each.dim < 0:
            raise AssertionError(
                f"Shard dim {each.dim} in placements {tuple(found)} must be normalized"
            )
    terms = {p.reduce_op for p in found if isinstance(p, Partial)}
    if len(terms) > 1:
        raise ValueError(_MIXED_TERMS.format(found, sorted(terms)))
    return tuple(found)


def whole_of(local: Any, sharding: Sharding) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of the whole, where all parts are like this one."""
    shape, strides = list(local.aval.shape), list(local.aval.strides)
    for dim, axes in sharding.order.items():
        if dim >= len(shape):
            raise RuntimeError(
                f"Sharding dim {dim} greater than tensor ndim {len(shape)}"
            )
        for axis in axes:
            count = sharding.mesh.shape[axis]
            own = strides[dim]
            strides = [
                s * count if i != dim and s >= own and s > 0 and shape[dim] * own <= s else s
                for i, s in enumerate(strides)
            ]
            shape[dim] *= count
    return tuple(shape), tuple(strides)


class DTensor(Tensor):
    """A tensor that lies over the processes of a mesh.

    Made by :meth:`from_local` and ``distribute_tensor``. Functions of tensors work on it as a
    whole: each process computes its part, and exchanges what it needs.

    Args:
        local_tensor: this process's part.
        spec: mesh, placements and description of the whole.
        requires_grad: whether it collects gradients.
    """

    __slots__ = ()
    reduces_itself = True  # it has no storage for files to refer to

    def __new__(
        cls, local_tensor: Any, spec: DTensorSpec, *, requires_grad: bool = False
    ) -> Any:
        shape, stride, dtype = spec._meta
        whole = aval(tuple(shape), dtype, tuple(stride), local_tensor.aval.device)
        sharding = Sharding(spec.mesh, spec.placements)
        made: Any = sharded_tensor(alias(local_tensor), sharded_aval(whole, sharding))
        return api.track(made) if requires_grad else made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """What it is given is taken by ``__new__``."""

    # --- description -------------------------------------------------------------------------

    @property
    def device_mesh(self) -> DeviceMesh:
        """The processes that it lies over."""
        mesh: DeviceMesh = self.aval.sharding.mesh  # type: ignore[attr-defined]
        return mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How it lies along each axis of the mesh."""
        found: tuple[Placement, ...] = self.aval.sharding.placements  # type: ignore[attr-defined]
        return found

    @property
    def _local_tensor(self) -> Any:
        return local_part(self)

    @property
    def _spec(self) -> DTensorSpec:
        meta = TensorMeta(Size(self.aval.shape), self.aval.strides, self.aval.dtype)
        return DTensorSpec(self.device_mesh, self.placements, meta)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return (
            f"DTensor(local_tensor={local_part(self)}, device_mesh={self.device_mesh}, "
            f"placements={self.placements})"
        )

    def __format__(self, specification: str) -> str:
        return object.__format__(self, specification)

    # --- to and from plain tensors -----------------------------------------------------------

    @staticmethod
    def from_local(
        local_tensor: Any, device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None, *, run_check: bool = False,
        shape: Any = None, stride: Any = None, grad_placements: Sequence[Placement] | None = None,
    ) -> DTensor:  # fmt: skip
        """The tensor of which ``local_tensor`` is this process's part. Gradients flow to it.

        Args:
            device_mesh: the processes; that of the block when None.
            placements: one for each axis of the mesh; everything everywhere when None.
            run_check: check that the parts fit together, and take those of the first process where
                they are to be alike.
            shape, stride: of the whole, where parts differ in length; both or neither.
            grad_placements: how the gradient is to lie before it becomes a plain tensor.

        Raises:
            RuntimeError: it is a DTensor already; ``shape`` without ``stride``; parts that do not
                fit together; a cut along an axis that there is not.
            ValueError: placements with several kinds of terms.
        """
        if is_sharded(local_tensor.aval):
            raise RuntimeError(
                f"the local_tensor argument only accepts torch.Tensor but got "
                f"{type(local_tensor)} value."
            )
        mesh = current_mesh(device_mesh)
        if local_tensor.device.type not in (mesh.device_type, "meta"):
            local_tensor = local_tensor.to(mesh.device_type)
        chosen = checked_placements(placements, mesh, local_tensor.aval.ndim)
        for i, each in enumerate(chosen):
            if isinstance(each, Shard) and each.dim >= local_tensor.aval.ndim:
                raise RuntimeError(
                    f"Sharding dim {each.dim} greater than tensor ndim {local_tensor.aval.ndim} "
                    f"for placement number {i}"
                )
        sharding = Sharding(mesh, chosen)
        if bool(shape) != bool(stride):
            raise RuntimeError(
                f"Found shape:{shape}, stride:{stride}.",
                "Please pass both shape and stride at the same time.",
            )
        if shape is None:
            shape, stride = whole_of(local_tensor, sharding)
        if run_check:
            local_tensor = _checked_parts(local_tensor, sharding)
        place = local_tensor.aval.device
        whole = aval(tuple(shape), local_tensor.aval.dtype, tuple(stride), place)
        wanted = None if grad_placements is None else tuple(grad_placements)
        made: DTensor = from_local(
            local_tensor, whole=whole, sharding=sharding, grad_placements=wanted
        )
        return made

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """This process's part, which shares its memory. Gradients flow back.

        Args:
            grad_placements: how the parts' gradients lie as one; as the tensor does when None.
        """
        if not state.grad_enabled:
            return local_part(self)  # type: ignore[return-value]
        wanted = None if grad_placements is None else tuple(grad_placements)
        found: Tensor = to_local(self, grad_placements=wanted)
        return found

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The whole, in each process. All processes of the mesh must call it.

        Args:
            grad_placements: how the gradients of the copies lie as one; alike in all when None.
        """
        everywhere = Sharding(self.device_mesh, (Replicate(),) * self.device_mesh.ndim)
        wanted = None if grad_placements is None else tuple(grad_placements)
        whole: Tensor = to_local(
            redistribute(self, sharding=everywhere), grad_placements=wanted
        )
        return whole

    def redistribute(
        self, device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None, *, async_op: bool = False,
        forward_dtype: Any = None, backward_dtype: Any = None,
    ) -> DTensor:  # fmt: skip
        """The same tensor lying in another way: pieces are gathered, exchanged, cut or summed.

        Args:
            device_mesh: its own mesh, or None.
            placements: one for each axis of the mesh.
            async_op: whether the caller would go on meanwhile; it is done on return either way.
            forward_dtype: a type to send it in, which the result has; its own when None.
            backward_dtype: a type to send the gradient in; its own when None.

        Raises:
            RuntimeError: no placements, or terms where there are none.
            NotImplementedError: another mesh.
        """
        if device_mesh is not None and device_mesh != self.device_mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        mesh = self.device_mesh
        wanted = checked_placements(placements, mesh, self.aval.ndim)
        if len(wanted) != mesh.ndim:
            raise ValueError(f"{len(wanted)} placements for a mesh of {mesh.ndim} axes")
        for before, after in zip(self.placements, wanted, strict=True):
            if after.is_partial() and before != after:
                raise RuntimeError(
                    f"Can not redistribute from {before} to {after}, "
                    "redistributing to Partial is for internal use only!"
                )
        params: dict[str, Any] = {"sharding": Sharding(mesh, wanted)}
        if forward_dtype is not None:
            params["dtype"] = as_dtype(forward_dtype)
        if backward_dtype is not None:
            params["back_dtype"] = as_dtype(backward_dtype)
        made: DTensor = redistribute(self, **params)
        return made

    # --- what is asked of one number or of all -----------------------------------------------

    def item(self) -> Any:
        """The only element, as a Python number; of a tensor that is cut, all processes call it."""
        return self.detach().full_tensor().item()

    def tolist(self) -> NoReturn:
        """Raise: the elements are in several processes."""
        raise RuntimeError(".tolist() is not supported for tensor subclasses, got DTensor")

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Raise: the elements are in several processes."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def array(self) -> NoReturn:
        """Raise: the elements are in several processes."""
        raise RuntimeError(_MEMORY)

    # --- autodiff ----------------------------------------------------------------------------

    def detach(self) -> Any:
        """The same memory without history."""
        return akin(alias(self), result_kind)

    @property
    def data(self) -> Any:
        """The same memory without history and with a version counter of its own."""
        return akin(_data.__get__(self), result_kind)

    @data.setter
    def data(self, value: Any) -> None:
        _data.__set__(self, value)  # type: ignore[attr-defined]

    @property
    def grad(self) -> Any:
        """The gradient; a DTensor."""
        found = _grad.__get__(self)
        return found if found is None or not is_sharded(found.aval) else akin(found, result_kind)

    @grad.setter
    def grad(self, value: Any) -> None:
        _grad.__set__(self, value)  # type: ignore[attr-defined]

    @grad.deleter
    def grad(self) -> None:
        _grad.__delete__(self)  # type: ignore[attr-defined]

    # --- copies and files --------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        if not tape.is_leaf(self):
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
                "because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001"
            )
        part = local_part(self)
        made: Any = sharded_tensor(clone(part, strides=None), self.aval)  # type: ignore[arg-type]
        if isinstance(self, Parameter):
            made = Parameter(made, self.requires_grad)
        elif self.requires_grad:
            api.track(made)
        memo[id(self)] = made
        for name, value in (user_state(self) or {}).items():
            setattr(made, name, copy.deepcopy(value, memo))
        if self._grad is not None:
            made._grad = copy.deepcopy(self.grad, memo)
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        facts = (local_part(self), self._spec, self.requires_grad, isinstance(self, Parameter))
        return _rebuild_dtensor, facts


_data, _grad = Tensor.data, Tensor.grad
_MEMORY = (
    "this reads a tensor's elements, and a DTensor's lie in several processes; use to_local() or "
    "full_tensor() first"
)


def _checked_parts(local: Any, sharding: Sharding) -> Any:
    """``local``, as the first process has it where all are to have the same."""
    mesh: Any = sharding.mesh
    facts = [*local.aval.shape, *local.aval.strides]
    for axis, placement in enumerate(sharding.placements):
        own = from_array(np.asarray(facts, np.int64))
        low, high = (mesh.reduce_along(axis, own, how) for how in ("min", "max"))
        if (low.array() != high.array()).any():
            raise ValueError("All parts must have the same shape and strides along the mesh.")
        if isinstance(placement, Replicate):
            local = mesh.broadcast_along(axis, local, 0)
    return local


class DTensorParameter(DTensor, Parameter):  # type: ignore[misc]
    """A parameter that lies over several processes."""

    __slots__ = ()


DTensorParameter.__name__ = "DTensor"  # which PyTorch shows
DTensor.parameter_type = DTensorParameter  # type: ignore[attr-defined]
result_kind.result_type = DTensor


def _rebuild_dtensor(local: Any, spec: DTensorSpec, requires_grad: bool, parameter: bool) -> Any:
    """A tensor over several processes, from this one's part."""
    made = DTensor(local, spec)
    if parameter:
        return Parameter(made, requires_grad)
    return made.requires_grad_(requires_grad)


# what files of DTensors name besides
add_safe_globals([
    DeviceMesh, DTensorSpec, TensorMeta, Size, Partial, Replicate, Shard, StridedShard,
    _rebuild_dtensor, rebuilt_mesh,
])
