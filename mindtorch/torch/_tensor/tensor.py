"""The Tensor class: its making and Python's protocols, over the parts in ``_tensor_*``.

Methods that are also functions come from the registry (``functions/``) when the namespace is
imported; the parts hold those that only a tensor has.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from mindtorch._module_names import is_ours
from mindtorch.engine import dtypes, stored_types
from mindtorch.engine.autograd import api, tape
from mindtorch.engine.aval import answered, aval, unanswered
from mindtorch.engine.devices.device import cpu
from mindtorch.engine.dispatch import in_frames_as
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import (
    NEW_LEAF,
    WRAPPER,
    Attributes,
    Storage,
    alias,
    check_made_here,
    note_shared,
    own_slots,
    set_result_type,
    typed_buffer,
)
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.transforms import vmap

from .._api.arguments import as_device, as_shape, refuse_other_device
from .._api.deprecations import warn_of_number
from .._api.public import explained
from .._api.public_names import is_public
from .._api.signatures import wrong_call
from .._api.torch_function_mode import (
    DisableTorchFunctionSubclass,
    disabled_torch_dispatch_impl,
)
from .._tensor_str import tensor_repr
from ..autograd._forward_levels import current
from ..functions.creation import new_empty
from ..functions.from_data import (
    FIRST_ARGUMENT,
    is_storage,
    lengths_or_data,
    of_old_constructor,
    of_storage,
)
from . import shared_memory
from . import short_methods as short_methods  # registers them
from .autograd import Gradients
from .conversion import Conversions
from .inplace import Writing
from .metadata import Description
from .operators import NUMBERS, Operators
from .rebuild import reduce_tensor
from .size_and_formats import Size

if TYPE_CHECKING:
    from ._methods import Methods
else:
    Methods = object  # the methods are attached when the namespace is imported


_WHOLE_BELOW = 2.0**62


def _as_class(result: Any, cls: type) -> Any:
    """Plain tensors in a result as tensors of ``cls``."""
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        made = [_as_class(each, cls) for each in result]
        return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)
    return result


def answers_for_ops(cls: Any) -> bool:
    """Whether a class of tensors has a ``__torch_dispatch__`` of its own."""
    found = getattr(cls, "__torch_dispatch__", None)
    return found is not None and found is not disabled_torch_dispatch_impl


class TensorMeta(type):
    """The class of tensors' classes, which print under their names in torch."""

    def __init__(cls, name: str, bases: Any, fields: Any, **options: Any) -> None:
        super().__init__(name, bases, fields)
        if not is_ours(cls.__module__):
            import importlib

            functions = importlib.import_module("mindtorch.torch._api.torch_function")
            if not cls.__module__.startswith("torchvision."):  # whose classes may stay unused
                functions.needed_by(cls)
            if answers_for_ops(cls):
                cls._by_methods = True
                importlib.import_module("mindtorch.torch._aten.stage").start_classes()

    def __repr__(cls) -> str:
        module = cls.__module__.removeprefix("mindtorch.").removesuffix("._tensor.tensor")
        return f"<class '{module}.{cls.__qualname__}'>"


class Tensor(
    Description, Gradients, Conversions, Writing, Operators, Methods, metaclass=TensorMeta
):
    """A multi-dimensional array of elements of one type, with torch's methods.

    ``Tensor(2, 3)`` is uninitialised, ``Tensor([1, 2])`` holds the numbers, both of the default
    type. :func:`torch.tensor` is the usual way to make one.
    """

    __slots__ = ()
    __array_priority__ = 1000
    if TYPE_CHECKING:
        # for mypy the engine's tensors have any attribute; these have the ones above
        __getattr__: None  # type: ignore[assignment, misc]
        __getitem__ = Methods.__getitem__

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """``func(*args, **kwargs)`` for arguments of this class: tensors are of it, too."""
        if not all(issubclass(cls, each) for each in types):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            return _as_class(func(*args, **(kwargs or {})), cls)

    __torch_dispatch__: Any = staticmethod(disabled_torch_dispatch_impl)

    def __new__(cls, *data: Any, device: Any = None, **options: Any) -> Any:
        if options:
            raise wrong_call("new", data, options, method=True) or TypeError(f"new(): {options}")
        refuse_other_device(device)
        data = lengths_or_data(data)
        if len(data) == 1 and isinstance(data[0], EngineTensor):
            if device is not None:
                raise RuntimeError(
                    "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is "
                    "not supported.  Use torch.tensor(...) or torch.as_tensor(...) instead."
                )
            made: Any = alias(data[0])
        elif len(data) == 1 and is_storage(data[0]):
            made = of_storage(data[0], dtypes.default, FIRST_ARGUMENT)
        elif len(data) == 1 and not isinstance(data[0], (int, Size)):
            made = of_old_constructor(data[0], dtypes.default)
        else:
            if len(data) > 1 and not isinstance(data[0], int):
                raise wrong_call("new", data, {}, method=True) or TypeError("no sizes, no data")
            shape = as_shape(data, "new") if data else (0,)
            made = new_empty(aval(shape, dtypes.default, None, as_device(device)))
        if cls is not Tensor:
            made = cls._make_subclass(cls, made)
        return made

    @staticmethod
    def _make_subclass(cls: Any, data: Any, requires_grad: bool = False) -> Any:
        """A tensor of class ``cls`` over the memory of ``data``, without history."""
        if cls.__module__.startswith("torchvision."):
            from .._api.torch_function import needed_by

            needed_by(cls)
        result = object.__new__(cls)
        described = unanswered(data.aval)
        if answers_for_ops(cls):
            described = answered(described)
        result.flat, result.aval, result._node = data.flat, described, None
        result._storage = data._shared
        if data._offset:
            result._offset = data._offset
        note_shared(result)
        if not requires_grad:
            return result
        check_made_here(result, NEW_LEAF)
        return api.track(result)

    @staticmethod
    def _make_wrapper_subclass(
        cls: Any, size: Any, strides: Any = None, storage_offset: Any = None,
        memory_format: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
        pin_memory: bool = False, requires_grad: bool = False,
        dispatch_sizes_strides_policy: Any = None, dispatch_device: bool = False,
        dispatch_layout: bool = False, **others: Any,
    ) -> Any:  # fmt: skip
        """A tensor of class ``cls`` without memory, whose ``__torch_dispatch__`` answers for ops.

        Args:
            size, strides, dtype, device: what it says of itself; C order, the default type and the
                CPU unless told otherwise.
            storage_offset, pin_memory, dispatch_sizes_strides_policy, dispatch_device,
                dispatch_layout: taken; sizes and the device are those given here, unless the class
                defines the properties itself.
        """
        if not answers_for_ops(cls):
            raise RuntimeError(
                f"{cls.__name__} must define __torch_dispatch__ to be made a wrapper"
            )
        if memory_format is not None or others:
            given = next(iter(others), "memory_format")
            raise NotImplementedError(f"_make_wrapper_subclass({given}=...)")
        whole = aval(
            tuple(size), dtypes.default if dtype is None else dtype,
            None if strides is None else tuple(strides), as_device(device),
        )  # fmt: skip
        result = object.__new__(cls)
        result.flat, result.aval, result._node = WRAPPER, answered(whole), None
        result._storage = Storage(WRAPPER, whole.device)
        return api.track(result) if requires_grad else result

    def as_subclass(self, cls: Any) -> Any:
        """The same tensor, history included, as an object of ``cls``."""
        if not isinstance(cls, type):
            raise TypeError(f"cls must be a type (got {type(cls).__name__})")
        result = Tensor._make_subclass(cls, movement.alias_view(self))
        result._node = tape.node_of(self)
        result._output_index = self._output_index
        return result

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.aval.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.aval.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (EngineTensor, *NUMBERS)):
            return bool((self == element).any())
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )

    def __bool__(self) -> bool:
        if self.aval.size != 1:
            many = "more than one value" if self.aval.size else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
        if self.flat.__class__ is not np.ndarray:
            vmap.refuse_branch(self)
        return bool(self.item())

    def __int__(self) -> int:
        number = self.item() if self.aval.size == 1 else _only_element(self)
        if number.__class__ is float and -_WHOLE_BELOW < number < _WHOLE_BELOW:
            return int(number)
        return number if number.__class__ is int else int(_real(number, "int64_t"))

    def __float__(self) -> float:
        if self._node is not None:
            warn_of_number(self)
        number = self.item() if self.aval.size == 1 else _only_element(self)
        return number if number.__class__ is float else float(_real(number, "double"))

    def __complex__(self) -> complex:
        if self._node is not None:
            warn_of_number(self)
        return complex(_only_element(self))

    def __index__(self) -> int:
        if self.aval.size != 1 or self.aval.dtype.category > dtypes.INTEGER:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __reversed__(self) -> Any:
        return self.flip(0) if self.aval.ndim else self

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        if vmap.is_mapped(self):
            return vmap.shown(self)
        device = self.aval.device
        node = tape.node_of(self)
        level = current()
        tangent = None if level is None else level.tangent_of(self)
        if tangent is not None and not level.followed(self):
            node = None
        leaf = node is None or type(node) is tape.AccumulateGrad
        contents = self.detach().array() if device.type != "meta" else None
        if contents is not None and self.aval.dtype in dtypes.STORED:
            contents = stored_types.widened(contents)
        ours = is_ours(type(self).__module__)
        return tensor_repr(
            contents,
            self.aval.shape,
            repr(self.aval.dtype),
            default_dtype=repr(dtypes.default),
            device=None if device is cpu else str(device),
            requires_grad=node is not None,
            grad_fn=None if leaf else node.name().rpartition(":")[2],  # type: ignore[union-attr]
            tangent=None if tangent is None else repr(tangent),
            contents=tensor_contents,
            class_name="tensor" if ours else type(self).__name__,
        )

    def __format__(self, specification: str) -> str:
        if not self.aval.shape and type(self) is Tensor and self.aval.device.type != "meta":
            return format(self.item(), specification)
        return object.__format__(self, specification)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
                "because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) in memo:
            return memo[id(self)]
        storage = copy.deepcopy(self.untyped_storage(), memo)._storage
        buffer = storage.buffer
        if buffer.dtype != self.aval.dtype.np:
            buffer = typed_buffer(storage, self.aval.dtype)
        result = object.__new__(type(self))
        result.flat, result.aval, result._node = buffer[self._offset :], self.aval, None
        result._storage, result._offset = storage, self._offset
        memo[id(self)] = result
        for name, value in {**Attributes(self), **own_slots(self)}.items():
            setattr(result, name, copy.deepcopy(value, memo))
        if self.requires_grad:
            api.track(result)
        if self._grad is not None:
            result._grad = copy.deepcopy(self._grad, memo)
        return result

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduce_tensor(self)

    def __setstate__(self, state_: Any) -> None:
        self.__dict__.update(state_)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self)})


def _only_element(x: Any) -> Any:
    """The only element; torch's error of float(x) and int(x) otherwise."""
    if x.aval.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return x.item()


def _real(value: Any, kind: str) -> Any:
    """A complex number without an imaginary part as a real one; torch's error otherwise."""
    if not isinstance(value, complex):
        return value
    if value.imag:
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    return value.real


PARTS = (Tensor, Description, Gradients, Conversions, Writing, Operators)
set_result_type(Tensor)
shared_memory.KINDS.append(Tensor)


def attach_methods(methods: dict[str, Any]) -> None:
    """Give the class the registered methods that it does not define itself."""
    for name, method in methods.items():
        if not any(name in part.__dict__ for part in PARTS):
            setattr(Tensor, name, method)


# methods of the parts that do more than look at what the tensor has: a wrapper around them is not
# felt, and says errors in torch's words
_EXPLAINED = """
apply_ as_subclass cpu cuda data_ptr detach detach_ element_size get_device ipu is_complex is_conj
is_floating_point is_inference is_neg is_pinned is_shared is_signed item mtia numpy pin_memory
requires_grad_ resize_ resize_as_ retain_grad set_ share_memory_ storage storage_offset storage_type
tolist type type_as untyped_storage xpu
ccol_indices coalesce col_indices crow_indices indices is_coalesced row_indices values
""".split()
# the same of those that are registered as they are
_EXPLAINED_OTHERS = """
const_data_ptr contiguous eig lstsq lu module_load resize_as solve sparse_resize_
sparse_resize_and_clear_ symeig
""".split()


def explain_methods() -> None:
    """Have the errors of wrong calls of the parts' own methods from torch's signatures."""
    for part in PARTS:
        for name in _EXPLAINED:
            method = vars(part).get(name)
            if type(method) is FunctionType:
                setattr(part, name, explained(method))
    for name in _EXPLAINED_OTHERS:
        method = getattr(Tensor, name)
        if name != method.__name__:
            in_frames_as(name, method)
        setattr(Tensor, name, explained(method))


def guard_properties() -> None:
    """Say what torch says where a property of a tensor that is only read is set or deleted."""
    for part in PARTS:
        for name, found in list(vars(part).items()):
            if type(found) is property and found.fset is None:
                refuse = _refuse_to_write(name)
                setattr(part, name, property(found.fget, refuse, refuse, found.__doc__))


def _refuse_to_write(name: str) -> Callable[..., None]:
    def refuse(self: Any, value: Any = None) -> None:
        raise AttributeError(
            f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable"
        )

    return refuse


def name_methods() -> None:
    """Let the methods say that they are the class's, whatever file and part they are written in."""
    for part in PARTS:
        for name, method in vars(part).items():
            if type(method) is not FunctionType or is_public(method.__module__):
                continue
            method.__module__ = "mindtorch.torch"
            if "." in method.__qualname__:  # others have their name alone in errors
                method.__qualname__ = f"Tensor.{name}"
