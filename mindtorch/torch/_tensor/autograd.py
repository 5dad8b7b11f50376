"""What a tensor has to do with gradients."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import api, inplace, tape
from mindtorch.engine.dispatch import GRAD, state, tensor_of
from mindtorch.engine.ops import elementwise as pointwise
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import (
    NEW_LEAF,
    DetachedStorage,
    alias,
    captures,
    check_made_here,
    fields_of,
    note_looked_at,
    note_shared,
)  # fmt: skip
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.transforms import vmap
from mindtorch.torch._api.deprecations import warn_of_create_graph

from ..autograd._forward_levels import only_pushed
from ..utils.hooks import RemovableHandle


def retain_grads(inputs: Any) -> None:
    """What backward does to those of its ``inputs`` that are no leaves."""
    for x in inputs or ():
        if x.requires_grad:
            x.retain_grad()


def _gradient_type(tensor: Any) -> Any:
    """The type that the tensor's gradient has to have; None for any."""
    known = fields_of(tensor).get("_grad_dtype")
    return tensor.aval.dtype if known is None else known[0]


class Gradients(EngineTensor):
    """requires_grad, grad, hooks, backward, detach and data."""

    __slots__ = ()

    @property
    def requires_grad(self) -> bool:
        return self._node is not None and tape.requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if value and self.aval.dtype.category < dtypes.FLOAT:
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        self._require(value)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Make the tensor a leaf that collects gradients, or one that does not."""
        if requires_grad is False and self._node is None and state.mode <= GRAD:
            return self
        if state.level or vmap.innermost() is not None:
            raise RuntimeError(vmap.REQUIRES_GRAD)
        return self._require(requires_grad)

    def _require(self, requires_grad: Any) -> Any:
        if not isinstance(requires_grad, bool):
            kind = type(requires_grad).__name__
            raise TypeError(
                f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {kind}"
            )
        if requires_grad and self.aval.dtype.category < dtypes.FLOAT:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if not tape.is_leaf(self):
            if requires_grad:
                return self
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if requires_grad:
            if not tape.requires_grad(self):
                check_made_here(self, NEW_LEAF)
                api.track(self)
        elif type(self._node) is tape.AccumulateGrad:
            self._node = None
        return self

    @property
    def is_leaf(self) -> bool:
        return tape.is_leaf(self)

    @property
    def grad_fn(self) -> Any:
        node = tape.node_of(self)
        if node is None or type(node) is tape.AccumulateGrad:
            return None
        note_looked_at(self, "grad_fn")
        return tape.shown(node)

    @property
    def output_nr(self) -> int:
        note_looked_at(self, "output_nr")
        return self._output_index

    @property
    def grad(self) -> Any:
        if self._grad is None and not tape.is_leaf(self) and not self.retains_grad:
            import warnings

            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                ".grad attribute won't be populated during autograd.backward(). If you indeed want "
                "the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
                "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you "
                "access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for "
                "more information.",
                UserWarning,
                stacklevel=2,
            )
        tape.note_leaf(self, True)
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            if not isinstance(value, EngineTensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type "
                    f"{type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            allowed = _gradient_type(self)
            if allowed is not None and value.aval.dtype is not allowed:
                raise RuntimeError(
                    "attempting to assign a gradient with dtype "
                    f"'{dtypes.c_name(value.aval.dtype)}' to a tensor with grad_dtype "
                    f"'{dtypes.scalar_type_name(allowed)}'. The gradient must match the "
                    "tensor's grad_dtype (defaults to the tensor's dtype). You can set the "
                    "tensor's grad_dtype attribute with a specific dtype, or None to allow any "
                    "dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its "
                    "gradient may break downstream systems that assume they match."
                )
            if value.aval.shape != self.aval.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value.aval.shape)}' to a "
                    f"tensor of size '{list(self.aval.shape)}'. Please ensure that the gradient "
                    "and the tensor are the same size"
                )
        tape.note_leaf(self, False)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def grad_dtype(self) -> Any:
        """The type of :attr:`grad` of a leaf, to which gradients are cast; None for any type."""
        if not tape.is_leaf(self):
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return _gradient_type(self)

    @grad_dtype.setter
    def grad_dtype(self, value: Any) -> None:
        if not tape.is_leaf(self):
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        held = self._grad
        if held is not None and value is not None and held.aval.dtype is not value:
            raise RuntimeError(
                f"Cannot set grad_dtype to '{dtypes.scalar_type_name(value)}' because there is "
                f"already a gradient with dtype '{dtypes.c_name(held.aval.dtype)}'. Please clear "
                "the gradient (.grad = None) before changing grad_dtype, or ensure the new "
                "grad_dtype matches the existing gradient's dtype."
            )
        known = fields_of(self).pop("_grad_dtype", None)
        if known is not None:
            known[1].remove()
        if value is self.aval.dtype:
            return
        if not self.requires_grad:
            raise NotImplementedError(
                "mindtorch has grad_dtype of tensors that require gradients: call "
                "requires_grad_() first"
            )

        def cast(gradient: Any) -> Any:
            return gradient if value is None else movement.cast(gradient, dtype=value)

        cast.runs_last = True  # type: ignore[attr-defined]
        self._grad_dtype = (value, tape.add_hook(tape.node_of(self), self._output_index, cast))

    @property
    def retains_grad(self) -> bool:
        return bool(fields_of(self).get("_retains_grad", False))

    def retain_grad(self) -> None:
        """Fill ``grad`` of a tensor that is not a leaf, too."""
        if state.level and not state.forward:
            text = vmap.REQUIRES_GRAD.replace("requires_grad_()", "retain_grad()")
            raise RuntimeError(
                text.replace("(or perhaps using torch.autograd.functional.* APIs) ", "")
            )
        if not self.requires_grad or only_pushed(self):
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.is_leaf or self.retains_grad:
            return
        reference = weakref.ref(self)

        def keep(gradient: Any) -> None:
            tensor = reference()
            if tensor is not None:
                held = tensor._grad
                with api.grad_mode(state.grad_enabled):
                    tensor._grad = (
                        movement.clone(gradient) if held is None else pointwise.add(held, gradient)
                    )

        keep.runs_last = True  # type: ignore[attr-defined]
        handle = tape.add_hook(tape.node_of(self), self._output_index, keep)
        self._retains_grad = (handle, keep)  # inplace.rebase takes it along

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Call ``hook(gradient)`` when the gradient is known; what it returns takes its place."""
        if not self.requires_grad or only_pushed(self):
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return RemovableHandle.of(
            tape.add_hook(tape.node_of(self), self._output_index, hook)
        )

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Call ``hook(tensor)`` after a backward pass has added to ``grad`` of this leaf."""
        if not (self.requires_grad and self.is_leaf):
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
                if self.requires_grad
                else "cannot register a hook on a tensor that doesn't require gradient"
            )
        return RemovableHandle.of(tape.add_hook(self._node, "accumulated", hook))

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add to ``grad`` of the leaves the gradient of this tensor."""
        if inputs is not None and not isinstance(inputs, (list, tuple)):
            inputs = [inputs]
        given = gradient is None or isinstance(gradient, EngineTensor)
        gradients = [gradient] if given else list(gradient)
        for each in () if given else gradients:
            if not (each is None or isinstance(each, EngineTensor)):
                raise TypeError(
                    f"gradients can be either Tensors or None, but got {type(each).__name__}"
                )
        if create_graph:
            warn_of_create_graph()
        if inputs is not None:
            retain_grads(inputs)
        api.backward([self], gradients, retain_graph, create_graph, inputs)

    def detach(self) -> Any:
        """The same storage without history."""
        return vmap.detach(self) if state.interpreters else alias(self)

    def detach_(self) -> Any:
        """Cut the tensor off from what it was computed from."""
        if self._is_view():
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
                "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
                "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
                "function in torch/optim/optimizer.py as the solution."
            )
        self._node = None
        self._output_index = 0
        return self

    @property
    def data(self) -> Any:
        """The same memory without history and with a version counter of its own."""
        result: Any = tensor_of(self.flat, self.aval)
        result._storage = DetachedStorage(self._storage or self._shared)
        if self._offset:
            result._offset = self._offset
        if captures:
            note_shared(result)
        return result

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, EngineTensor):
            raise TypeError(
                f"Variable data has to be a tensor, but got {type(value).__name__}"
            )
        if self.requires_grad and value.aval.dtype.category < dtypes.FLOAT:
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                "dtype"
            )
        inplace.set_data(self, value)

    @property
    def _base(self) -> Any:
        history = self._view_history()
        return None if history is None else history.base

    def _is_view(self) -> bool:
        return self._view_history() is not None

    def _view_history(self) -> Any:
        note_looked_at(self, "base")
        node = self._node
        if type(node) is tape.AccumulateGrad:
            return node.view
        return node if type(node) is tape.ViewHistory else None
