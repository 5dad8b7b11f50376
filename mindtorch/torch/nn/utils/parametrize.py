"""Parametrizations: a tensor of a module becomes a function of other parameters.

``register_parametrization(module, "weight", f)`` moves ``module.weight`` to
``module.parametrizations.weight.original``; reading ``module.weight`` computes ``f(original)``.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from ...autograd.grad_mode import no_grad
from ..modules._changes import change_class
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization",
    "remove_parametrizations", "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]  # fmt: skip


class _Cache:
    """Parametrized tensors of modules, kept while some :func:`cached` block runs."""

    def __init__(self) -> None:
        self.depth = 0
        self.held: dict[tuple[int, str], Any] = {}

    def get(self, module: Module, name: str, compute: Any) -> Any:
        if self.depth == 0:
            return compute()
        key = (id(module), name)
        if key not in self.held:
            self.held[key] = compute()
        return self.held[key]


_cache = _Cache()


@contextmanager
def cached() -> Iterator[None]:
    """In this block a parametrized tensor is computed once, when it is first read."""
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if _cache.depth == 0:
            _cache.held.clear()


def _register(module: Module, name: str, tensor: Any) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _put(target: Any, source: Any) -> None:
    """Make ``target`` hold the values of ``source``, whatever its shape was."""
    target.data = source.detach()


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, EngineTensor))


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and what they are computed from.

    Holds ``original``, or ``original0``, ``original1``, ... when the last ``right_inverse`` gives
    a sequence; calling it applies the parametrizations one after another.

    Args:
        modules: the parametrizations, the first applied first.
        original: the tensor that is parametrized.
        unsafe: allow a result of other shape or type than ``original``.

    Raises:
        ValueError: when a parametrization or its inverse gives something that does not fit.
    """

    def __init__(self, modules: Sequence[Module], original: Any, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new = self._inverse_of(original)
        self.is_tensor = isinstance(new, EngineTensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            self._keep_one(original, new)
        else:
            self._keep_many(original, new)
        if not self.unsafe:
            self._check_result(shape, dtype)

    def _inverse_of(self, original: Any) -> Any:
        new = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, EngineTensor) and not _is_list(new):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        return new

    def _keep_one(self, original: Any, new: Any) -> None:
        for what in ("dtype", "device"):
            before, after = getattr(original, what), getattr(new, what)
            if before != after:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {before}\nright_inverse(original).{what}: {after}"
                )
        _put(original, new)
        _register(self, "original", original)

    def _keep_many(self, original: Any, new: Any) -> None:
        for i, each in enumerate(new):
            if not isinstance(each, EngineTensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                    f"tuple...). Got element {i} of the sequence with type {type(each).__name__}."
                )
            if isinstance(original, Parameter):
                each = Parameter(each, original.requires_grad)
            each.requires_grad_(original.requires_grad)
            _register(self, f"original{i}", each)

    def _check_result(self, shape: Any, dtype: Any) -> None:
        result = self()
        if not isinstance(result, EngineTensor):
            raise ValueError(
                f"A parametrization must return a tensor. Got {type(result).__name__}."
            )
        for what, before in (("dtype", dtype), ("shape", shape)):
            after = getattr(result, what)
            if after != before:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, "
                    f"unless `unsafe` flag is enabled.\nunparametrized {what}: {before}\n"
                    f"parametrized {what}: {after}"
                )

    def right_inverse(self, value: Any) -> None:
        """Change the originals so that the parametrized tensor becomes ``value``."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement "
                        "right_inverse."
                    )
                value = module.right_inverse(value)
            if self.is_tensor:
                self._assign_one(value)
            else:
                self._assign_many(value)

    def _assign_one(self, value: Any) -> None:
        if not isinstance(value, EngineTensor):
            raise ValueError(
                f"`right_inverse` should return a tensor. Got {type(value).__name__}"
            )
        if value.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} while "
                f"`original` has dtype {self.original.dtype}"
            )
        _put(self.original, value)

    def _assign_many(self, value: Any) -> None:
        if not _is_list(value):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}."
            )
        if len(value) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(value)}."
            )
        for i, each in enumerate(value):
            original = getattr(self, f"original{i}")
            if not isinstance(each, EngineTensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type "
                    f"opaques. Got element {i} of type {type(each).__name__}."
                )
            if original.dtype != each.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {each.dtype} while "
                    f"`original{i}` has dtype {original.dtype}"
                )
            _put(original, each)

    def forward(self) -> Any:
        """The parametrized tensor."""
        if self.is_tensor:
            result = self[0](self.original)
        else:
            result = self[0](*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in list(self)[1:]:
            result = module(result)
        return result


def _deepcopy_module(self: Any, memo: dict[int, Any]) -> Any:
    held = memo.get(id(self))
    if held is not None:
        return held
    replica = self.__new__(type(self))
    memo[id(self)] = replica
    replica.__dict__ = deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(replica, slot, deepcopy(getattr(self, slot), memo))
    return replica


def _refuse_pickling(self: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _make_class_of_its_own(module: Module) -> None:
    """Properties live on classes: give the module a subclass of its class."""
    kind = type(module)
    fields: dict[str, Any] = {"__getstate__": _refuse_pickling}
    if not hasattr(kind, "__deepcopy__"):
        fields["__deepcopy__"] = _deepcopy_module
    change_class(module, type(f"Parametrized{kind.__name__}", (kind,), fields))


def _make_property(module: Module, name: str) -> None:
    def read(self: Any) -> Any:
        return _cache.get(self, name, self.parametrizations[name])

    def write(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make ``module.<tensor_name>`` the result of ``parametrization``.

    On a tensor that has parametrizations, this is applied after them.

    Args:
        module: holds the parameter or buffer.
        tensor_name: its name.
        parametrization: computes the tensor; its method ``right_inverse``, where there is one,
            computes the original from the tensor.
        unsafe: allow a change of shape or type.

    Raises:
        ValueError: where there is no such tensor, or the parametrization does not fit.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(module, tensor_name, parametrization)
        held = module.parametrizations[tensor_name]
        held.append(parametrization)
        held.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        listed = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _make_class_of_its_own(module)
            module.parametrizations = ModuleDict()
        _make_property(module, tensor_name)
        module.parametrizations[tensor_name] = listed
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_next(module: Module, name: str, parametrization: Any) -> None:
    """What a further parametrization must keep: shape and type, there and back."""
    before = getattr(module, name)
    after = parametrization(before)
    if not isinstance(after, EngineTensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for what in ("dtype", "shape"):
        one, other = getattr(before, what), getattr(after, what)
        if one != other:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless "
                f"the `unsafe` flag is enabled.\nmodule.{name}.{what}: {one}\n"
                f"parametrization(module.{name}).{what}: {other}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(back, EngineTensor):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}"
        )
    for what in ("dtype", "shape"):
        one, other = getattr(before, what), getattr(back, what)
        if one != other:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} "
                f"as module.{name}, unless the `unsafe` flag is enabled.\n"
                f"module.{name}.{what}: {one}\nreturned {what}: {other}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module, or its tensor of that name, has parametrizations."""
    held = getattr(module, "parametrizations", None)
    if not isinstance(held, ModuleDict):
        return False
    return len(held) > 0 if tensor_name is None else tensor_name in held


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make ``module.<tensor_name>`` a tensor of its own again.

    Args:
        module, tensor_name: which.
        leave_parametrized: whether it keeps the computed value, or gets the original back.

    Raises:
        ValueError: where there is no parametrization, or no single original to get back.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    held = module.parametrizations[tensor_name]
    if held.is_tensor:
        tensor = held.original
        if leave_parametrized:
            with no_grad():
                value = getattr(module, tensor_name)
            _put(tensor, value)
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        tensor = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, tensor)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        change_class(module, type(module).__bases__[0])
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that the module was made of."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give ``to_module`` the parametrizations of ``from_module`` and their originals.

    Args:
        tensor_name: of this tensor only.
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for each in source:
            register_parametrization(to_module, name, each)
        target = to_module.parametrizations[name]
        if source.is_tensor:
            target.original = source.original
        else:
            for i in range(source.ntensors):
                setattr(target, f"original{i}", getattr(source, f"original{i}"))
    return to_module
