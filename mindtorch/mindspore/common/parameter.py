"""MindSpore's Parameter: a named tensor that a network learns, or keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import api, inplace
from mindtorch.engine.tensor import from_array
from mindtorch.torch.nn.parameter import MarkedMeta
from mindtorch.torch.nn.parameter import Parameter as TorchParameter
from mindtorch.torch.optim._parameter_tuple import ParameterTuple, copy_of_parameter

from ._adopting import OURS, TorchTensor, adopt
from .dtype import text_of
from .tensor import AnyTensor, Tensor, as_tensor

__all__ = ["Parameter", "ParameterTuple"]

DEFAULT_NAME = "Parameter"


class _AnyParameter(AnyTensor, MarkedMeta):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, TorchParameter)


class Parameter(Tensor, TorchParameter, metaclass=_AnyParameter):
    """A tensor with a name, which cells register when it is assigned to them.

    Args:
        default_input: a tensor, array, number or list; its elements are copied.
        name: in checkpoints; a cell gives the attribute's name where none is given.
        requires_grad: whether it is trained.
        layerwise_parallel: its gradient is not reduced over processes.

    Attributes:
        elsewhere: whether it is of another process's pipeline stage, and empty here.
        layout: where it is this process's part of a tensor, the processes and the placements.
    """

    __slots__ = ()
    layerwise_parallel = False
    parallel_optimizer = True
    elsewhere = False
    layout: Any = None

    def __new__(
        cls, default_input: Any = None, name: str | None = None, requires_grad: bool = True,
        layerwise_parallel: bool = False, parallel_optimizer: bool = True, storage_format: str = "",
    ) -> Any:  # fmt: skip
        if default_input is None:
            raise TypeError("Parameter() needs 'default_input'")
        if storage_format:
            raise ValueError("storage_format: parameters are dense arrays in row order")
        if name is not None and not isinstance(name, str):
            raise ValueError(
                f"The type of the Parameter's name should be 'string' or 'None', but got {name!r}."
            )
        whole = type(default_input) is int  # which is int32 for a parameter, int64 for a tensor
        tensor = Tensor(default_input, dtypes.int32) if whole else as_tensor(default_input)
        data = from_array(np.array(tensor.array(), order="C"))
        result = TorchTensor._make_subclass(cls, data)
        result.name = DEFAULT_NAME if name is None else name
        result.requires_grad = bool(requires_grad)
        if layerwise_parallel:
            result.layerwise_parallel = True
        if not parallel_optimizer:
            result.parallel_optimizer = False
        return result

    @property
    def requires_grad(self) -> bool:
        """Whether it is trained. Whole numbers may say so, and have gradients of zeros."""
        return bool(self.__dict__.get("_trained", self._node is not None))

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(
                f"The 'requires_grad' of Parameter should be bool, but got {type(value).__name__}"
            )
        self.__dict__["_trained"] = value
        if self.aval.dtype.category >= dtypes.FLOAT:
            TorchTensor.requires_grad_(self, value)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        self.requires_grad = requires_grad
        return self

    @property
    def is_init(self) -> bool:
        return True

    def value(self) -> Any:
        """A tensor of the same elements."""
        return adopt(self.detach())

    def set_data(self, data: Any, slice_shape: bool = False) -> Any:
        """Take over the elements of ``data``.

        Raises:
            ValueError: another shape (unless ``slice_shape``).
            TypeError: elements of a type that this one does not hold.
        """
        given = as_tensor(data)
        if given.aval.shape != self.aval.shape:
            if not slice_shape:
                raise ValueError(
                    f"Can not change the shape of Parameter which has been initialized. Current "
                    f"shape is {self.aval.shape}, and incoming is {given.aval.shape}."
                )
            self.data = given.to(self.aval.dtype).clone()
            return self
        if given.aval.dtype.category > self.aval.dtype.category:
            raise TypeError(
                f"Data type of parameter is {text_of(self.aval.dtype)}, data of type "
                f"{text_of(given.aval.dtype)} do not fit."
            )
        return self.assign_value(given)

    def assign_value(self, value: Any) -> Any:
        """Overwrite the elements."""
        with api.grad_mode(False):
            inplace.copy_(self, as_tensor(value))
        return self

    def __setitem__(self, item: Any, value: Any) -> None:
        with api.grad_mode(False):
            Tensor.__setitem__(self, item, value)

    def clone(self, init: Any = "same") -> Any:
        """Another parameter of this name, shape and type; see ``ParameterTuple.clone``."""
        copy = copy_of_parameter(self, init)
        copy.requires_grad = self.requires_grad
        return copy

    def copy(self) -> Any:
        return self.clone()

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return (
            f"Parameter (name={self.name}, shape={self.aval.shape}, "
            f"dtype={text_of(self.aval.dtype)}, requires_grad={self.requires_grad})"
        )

    def __str__(self) -> str:
        return repr(self)

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            copy = self.clone()
            memo[id(self)] = copy
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _restore, (self.asnumpy(), self.name, self.requires_grad)


OURS.add(Parameter)


def _restore(array: Any, name: str, requires_grad: bool) -> Any:
    return Parameter(array, name, requires_grad)
