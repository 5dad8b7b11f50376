"""Tensors that a module registers when they are assigned to it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.aval import aval
from mindtorch.engine.devices.device import Device
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import change_class

from .._api.arguments import as_device, as_dtype, as_shape
from .._api.invalid_arguments import type_name
from .._api.torch_function_mode import disabled_torch_function_impl
from .._tensor import shared_memory
from .._tensor.rebuild import rebuilder, set_state, user_state
from .._tensor.tensor import Tensor, TensorMeta
from ..functions.creation import new_empty

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"]


class MarkedMeta(TensorMeta):
    """Counts tensors with a mark, the class's own ``_mark``, among its instances: they keep another
    class, which answers for ops."""

    def __instancecheck__(cls, instance: Any) -> bool:
        mark = cls.__dict__.get("_mark")  # not those of its subclasses
        return super().__instancecheck__(instance) or bool(
            mark and isinstance(instance, Tensor) and getattr(instance, mark, False)
        )


class Parameter(Tensor, metaclass=MarkedMeta):
    """A tensor that is learned.

    Assigned to an attribute of a module it appears in the module's ``parameters()``.

    Args:
        data: the tensor whose memory it shares.
        requires_grad: whether it collects gradients.
    """

    __slots__ = ()
    _mark = "_is_param"
    __torch_function__ = disabled_torch_function_impl  # type: ignore[assignment]

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = Tensor()
        if not isinstance(data, EngineTensor):
            raise AttributeError(f"'{_type_name(data)}' object has no attribute 'detach'")
        if cls is Parameter:
            if data.aval.answered or data._sparse:
                return _of_its_class(data, requires_grad)
            cls = getattr(data, "parameter_type", cls)
        return Tensor._make_subclass(cls, data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        result = type(self)(self.data.clone(), self.requires_grad)
        memo[id(self)] = result
        return result

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__(tensor_contents=tensor_contents)  # type: ignore[call-arg]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduce_parameter(self)


def _of_its_class(data: Any, requires_grad: bool) -> Any:
    """A parameter that stays an object of the class that answers for it."""
    made = data.detach().requires_grad_(requires_grad)
    if type(made) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that "
            f"detach() returns an instance of the same type, but return type "
            f"{type(made).__name__} was found instead. To use the type as a Parameter, please "
            "correct the detach() semantics defined by its __torch_dispatch__() implementation."
        )
    made._is_param = True
    return made


shared_memory.KINDS.append(Parameter)


@rebuilder
def _rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any) -> Any:
    """``Parameter(data, requires_grad)``."""
    del backward_hooks
    if not isinstance(data, EngineTensor):
        raise TypeError(f"expected a tensor, got {type(data).__name__}")
    return Parameter(data, bool(requires_grad))


@rebuilder
def _rebuild_parameter_with_state(
    data: Any, requires_grad: bool, backward_hooks: Any, state: Any
) -> Any:
    """A parameter to which Python attributes had been given."""
    return set_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def reduce_parameter(parameter: Any) -> tuple[Any, tuple[Any, ...]]:
    """What ``Parameter.__reduce_ex__`` gives."""
    state = user_state(parameter)
    facts: tuple[Any, ...] = (parameter.data, bool(parameter.requires_grad), OrderedDict())
    if not state:
        return _rebuild_parameter, facts
    return _rebuild_parameter_with_state, (*facts, state)


class Buffer(Tensor, metaclass=MarkedMeta):
    """A tensor that belongs to a module's state but is not learned.

    What is made is a plain tensor that remembers what it is.

    Args:
        data: the tensor whose memory it shares.
        persistent: whether ``state_dict`` holds it.
    """

    __slots__ = ()
    _mark = "_is_buffer"

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = Tensor()
        result = data.detach().requires_grad_(data.requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        return result


def _type_name(data: Any) -> str:
    kind = type(data)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def check_place(device: Any, dtype: Any) -> None:
    """torch's errors of arguments that are no device and no type, which its ``empty`` says."""
    if dtype is not None:
        as_dtype(dtype, "empty")
    if device is not None and (
        isinstance(device, bool) or not isinstance(device, (Device, str, int))
    ):
        raise TypeError(f"empty(): argument 'device' must be torch.device, not {type_name(device)}")


class UninitializedTensorMixin:
    """What the two kinds of uninitialised tensors share."""

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary (uninitialised) tensor of this shape."""
        dtype = self.aval.dtype if dtype is None else as_dtype(dtype)
        device = self.aval.device if device is None else as_device(device)
        shape = as_shape((shape,), "empty")
        made = new_empty(aval(shape, dtype, None, device))
        self.data = made
        change_class(self, self.cls_to_become)

    @property
    def shape(self: Any) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one. Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def __repr__(self: Any, *, tensor_contents: Any = None) -> str:
        return f"<{type(self).__name__}>"

    def share_memory_(self: Any) -> Any:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to "
            "initialize the parameters before calling `module.share_memory()`."
        )


def _still_lazy(name: str) -> Any:
    """A conversion of a lazy tensor's type or device, which leaves it lazy."""

    def convert(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = getattr(Tensor, name)(self, *args, **kwargs)
        if type(found) is type(self):
            return found
        return type(self)(self.requires_grad, found.aval.device, found.aval.dtype)

    convert.__name__ = convert.__qualname__ = name
    return convert


def _refused(name: str) -> Any:
    """A method of tensors that torch does not let lazy tensors have."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            f"Attempted to use an uninitialized parameter in <method '{name}' of "
            "'torch._C.TensorBase' objects>. This error happens when you are using a `LazyModule` "
            f"or explicitly manipulating `torch.nn.parameter.{type(self).__name__}` objects. When "
            "using LazyModules Call `forward` with a dummy batch to initialize the parameters "
            "before calling torch functions"
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


for _name in ("char", "cpu", "cuda", "double", "float", "half", "int", "long", "short", "to"):
    setattr(UninitializedTensorMixin, _name, _still_lazy(_name))
for _name in (
    "bfloat16", "clone", "contiguous", "data_ptr", "detach", "dim", "element_size", "is_contiguous",
    "item", "numel", "numpy", "requires_grad_", "stride", "sum", "tolist", "type",
    "untyped_storage", "zero_",
):  # fmt: skip
    setattr(UninitializedTensorMixin, _name, _refused(_name))


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape the first forward call decides."""

    __slots__ = ()
    cls_to_become = Parameter
    reduces_itself = True

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        check_place(device, dtype)
        chosen = dtypes.default if dtype is None else as_dtype(dtype)
        data = new_empty(aval((0,), chosen, None, as_device(device)))
        return Tensor._make_subclass(cls, data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.aval.device, self.aval.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return UninitializedParameter, (self.requires_grad,)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer whose shape the first forward call decides."""

    __slots__ = ()
    persistent: bool
    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        check_place(device, dtype)
        chosen = dtypes.default if dtype is None else as_dtype(dtype)
        data = new_empty(aval((0,), chosen, None, as_device(device)))
        result = Tensor._make_subclass(cls, data, requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        return result

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(
                self.requires_grad, self.aval.device, self.aval.dtype, self.persistent
            )
        return memo[id(self)]


def is_lazy(value: Any) -> bool:
    """Whether a tensor has no shape yet."""
    return isinstance(value, UninitializedTensorMixin)
