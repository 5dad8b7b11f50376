"""Changing all of a module at once: its place, types, mode and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.aval import aval
from mindtorch.engine.compile.guards.module_changes import module_changed
from mindtorch.engine.devices.device import meta
from mindtorch.engine.sharding.sharded import local_part, sharded_aval, sharded_tensor

from ... import __future__
from ..._api.arguments import as_device
from ..._tensor.conversion import parse_to
from ...autograd.grad_mode import no_grad
from ...functions.creation import new_empty
from ...utils._swap import swap_tensors
from ..parameter import Parameter, is_lazy
from ._tree import TreeMixin

T = TypeVar("T", bound="ChangesMixin")


def change_class(module: Any, kind: type) -> None:
    """Make a module an object of another class, with the attributes that it has.

    Properties live on classes: who gives them to one module gives it a class of its own.
    """
    module.__class__ = kind


class ChangesMixin(TreeMixin):
    """``to``, ``train``, ``zero_grad`` and their like, over the whole tree."""

    training: bool
    _get_name: Callable[[], str]

    def _apply(self: T, function: Callable[[Any], Any], recurse: bool = True) -> T:
        """Replace every parameter, gradient and buffer by ``function`` of it."""
        if recurse:
            for module in self.children():
                module._apply(function)
        for name, parameter in list(self._parameters.items()):
            if parameter is not None:
                self._convert(name, parameter, function)
        for name, value in self._buffers.items():
            if value is not None:
                self._buffers[name] = function(value)
                module_changed()
        return self

    def _convert(self, name: str, parameter: Any, function: Callable[[Any], Any]) -> None:
        """Make the parameter of this name, and its gradient, what ``function`` says."""
        with no_grad():
            applied = function(parameter)
        gradient = parameter._grad
        if __future__.get_swap_module_params_on_conversion():
            self._swap(name, parameter, applied, function)
            return
        if __future__.get_overwrite_module_params_on_conversion() or applied._sparse:
            made = Parameter(applied, parameter.requires_grad)
            self._parameters[name] = made
            module_changed()
        else:
            made = parameter
            if applied is not parameter:
                parameter.data = applied
        if gradient is not None:
            with no_grad():
                changed = function(gradient)
            made._grad = changed.requires_grad_(gradient.requires_grad)

    def _swap(
        self, name: str, parameter: Any, applied: Any, function: Callable[[Any], Any]
    ) -> None:
        """The same, under ``torch.__future__.set_swap_module_params_on_conversion``."""
        gradient, parameter._grad = parameter._grad, None
        try:
            swap_tensors(parameter, Parameter(applied, parameter.requires_grad))
        except Exception as error:
            parameter._grad = gradient
            raise RuntimeError(f"_apply(): Couldn't swap {self._get_name()}.{name}") from error
        if gradient is not None:
            with no_grad():
                changed = function(gradient)
            try:
                swap_tensors(gradient, changed.requires_grad_(gradient.requires_grad))
            except Exception as error:
                raise RuntimeError(
                    f"_apply(): Couldn't swap {self._get_name()}.{name}.grad"
                ) from error
            parameter._grad = gradient

    def apply(self: T, fn: Callable[[Any], Any]) -> T:
        """Call ``fn`` on every module below, then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self: T, *args: Any, **kwargs: Any) -> T:
        """Move or cast parameters and buffers in place; dtypes reach only floating-point ones."""
        if "tensor" in kwargs:
            args = (kwargs.pop("tensor"), *args)
        dtype, device, copy_, memory_format = parse_to(args, kwargs)
        if copy_:
            raise RuntimeError(".to() does not accept copy argument")
        if dtype is not None and dtype.category < dtypes.FLOAT:
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype!r}"
            )

        def convert(t: Any) -> Any:
            options: dict[str, Any] = {}
            if dtype is not None and t.aval.dtype.category >= dtypes.FLOAT:
                options["dtype"] = dtype
            if device is not None:
                options["device"] = device
            if memory_format is not None and not is_lazy(t) and t.aval.ndim in (4, 5):
                options["memory_format"] = memory_format
            if options.get("device") not in (None, meta) and t.aval.device is meta:
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use "
                    "torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving "
                    "module from meta to a different device."
                )
            return t.to(**options) if options else t

        return self._apply(convert)

    def type(self: T, dst_type: Any) -> T:
        """Cast all parameters and buffers."""
        return self._apply(lambda t: t.type(dst_type))

    def _cast_floats(self: T, dtype: Any) -> T:
        return self._apply(
            lambda t: t.to(dtype) if t.aval.dtype.category == dtypes.FLOAT else t
        )

    def float(self: T) -> T:
        """Cast floating-point parameters and buffers to float32."""
        return self._cast_floats(dtypes.float32)

    def double(self: T) -> T:
        """Cast floating-point parameters and buffers to float64."""
        return self._cast_floats(dtypes.float64)

    def half(self: T) -> T:
        """Cast floating-point parameters and buffers to float16."""
        return self._cast_floats(dtypes.float16)

    def bfloat16(self: T) -> T:
        """Cast floating-point parameters and buffers to bfloat16."""
        return self._apply(
            lambda t: t.bfloat16() if t.aval.dtype.category == dtypes.FLOAT else t
        )

    def cuda(self: T, device: Any = None) -> T:
        """Move everything to a GPU."""
        return self._apply(lambda t: t.cuda(device))

    def ipu(self: T, device: Any = None) -> T:
        """Raises, as torch does where the device is not."""
        return self._apply(lambda t: t.to("ipu" if device is None else f"ipu:{device}"))

    def xpu(self: T, device: Any = None) -> T:
        """Raises, as torch does where the device is not."""
        return self._apply(lambda t: t.to("xpu" if device is None else f"xpu:{device}"))

    def mtia(self: T, device: Any = None) -> T:
        """Raises, as torch does where the device is not."""
        return self._apply(lambda t: t.to("mtia" if device is None else f"mtia:{device}"))

    def cpu(self: T) -> T:
        """Move everything to the CPU."""
        return self._apply(lambda t: t.cpu())

    def to_empty(self: T, *, device: Any, recurse: bool = True) -> T:
        """Move to a device without copying: the values are then undefined."""
        target = as_device(device)
        return self._apply(lambda t: _empty_on(target, t), recurse)

    def share_memory(self: T) -> T:
        """Move storages to shared memory."""
        return self._apply(lambda t: t.share_memory_())

    def train(self: T, mode: bool = True) -> T:
        """Put this module and all below it into training mode (or evaluation mode)."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def set_train(self: T, mode: bool = True) -> T:
        """MindSpore's name for :meth:`train`."""
        return self.train(mode)

    def eval(self: T) -> T:
        """``train(False)``."""
        return self.train(False)

    def requires_grad_(self: T, requires_grad: bool = True) -> T:
        """Set whether the parameters collect gradients."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or set them to zero."""
        for parameter in self.parameters():
            tape.note_leaf(parameter, False)
            if parameter._grad is not None:
                if set_to_none:
                    parameter._grad = None
                else:
                    parameter._grad = parameter._grad.detach()
                    parameter._grad.zero_()


def _empty_on(device: Any, tensor: Any) -> Any:
    """Memory like a tensor's; of one over several processes like that of its part."""
    described = tensor.aval
    if described.sharded:
        whole = aval(described.shape, described.dtype, described.strides, device)
        part = _empty_on(device, local_part(tensor))
        return sharded_tensor(part, sharded_aval(whole, described.sharding))
    return new_empty(aval(described.shape, described.dtype, described.strides, device))
