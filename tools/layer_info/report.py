"""Print what every layer of a model is given and makes, to compare two libraries by eye."""

import functools
import importlib
import os
import warnings
from typing import Any

import numpy as np

from mindtorch.module_hooker import real_torch

from . import torch_counterpart
from .torch_counterpart import LayerDifference, compare_with_torch, print_differences

__all__ = ["LayerInfoHandle", "debug_layer_info"]

FRAMES = ("mindtorch", "pytorch")

# The frames whose header of the layers' section has been printed in this process.
_announced: set[str] = set()


class LayerInfoHandle:
    """What `debug_layer_info` returns: `remove()` ends the printing."""

    def __init__(self, handles: list[Any]) -> None:
        self._handles = handles
        self.differences: list[LayerDifference] | None = None

    def remove(self) -> None:
        """Take all hooks off the model. May be called again."""
        while self._handles:
            self._handles.pop().remove()


def _namespace(frame: str) -> Any:
    if frame == "mindtorch":
        return importlib.import_module("mindtorch.torch")
    with real_torch():
        return importlib.import_module("torch")


def _numpy_of(torch: Any, tensor: Any) -> tuple[np.ndarray, str]:
    """The values, and NumPy's name of the dtype (which has none for bfloat16)."""
    tensor = tensor.detach().cpu()
    if tensor.dtype == torch.bfloat16:
        return tensor.to(torch.float32).numpy(), "bfloat16"
    array = np.asarray(tensor.numpy())
    return array, str(array.dtype)


def _number(value: Any) -> str:
    """Four places behind the point, and for numbers that those do not show four digits."""
    size = abs(float(value))
    return f"{value:.4f}" if size == 0 or 1e-3 <= size < 1e7 else f"{value:.3e}"


def _statistics(prefix: str, array: np.ndarray) -> str:
    """`The max value in ...` of an array that has elements and is not complex; and how many
    elements are NaN, infinite or zero, where some are."""
    if array.dtype == np.bool_:
        return f"The max value in {prefix} is {array.max()}, min value is {array.min()}."
    finite = array[np.isfinite(array)]
    counts = (
        (int(np.isnan(array).sum()), "NaN"),
        (int(np.isinf(array).sum()), "infinite"),
        (int((array == 0).sum()), "zero"),
    )
    said = ", ".join(f"{count} {word}" for count, word in counts if count)
    text = f" Of {array.size} elements {said}." if said else ""
    if not finite.size:
        return text.strip()
    mean = finite.mean(dtype=np.float64)
    if abs(mean) <= np.finfo(np.float32).eps * np.abs(finite).max():
        mean = 0.0  # elements that cancel leave rounding, which is another in each library
    return (
        f"The max value in {prefix} is {_number(finite.max())}, min value is "
        f"{_number(finite.min())}, mean value is {_number(mean)}.{text}"
    )


def _print_parameter(torch: Any, name: str, tensor: Any) -> None:
    array, dtype = _numpy_of(torch, tensor)
    print(f"'{name}' with shape: {array.shape}, and type: {dtype}.")
    if np.iscomplexobj(array) or array.size == 0:
        return
    print(f"{name} is {array}." if array.ndim == 0 else _statistics(f"'{name}'", array))


def _items(values: Any, before: str = "") -> list[tuple[str, Any]]:
    """The items of a tuple or a dict, and of those within, each with where it stands: [1][0]."""
    pairs = values.items() if isinstance(values, dict) else enumerate(values)
    found: list[tuple[str, Any]] = []
    for key, value in pairs:
        place = f"{before}[{key!r}]"
        inner = isinstance(value, (tuple, list, dict))
        found += _items(value, place) if inner else [(place, value)]
    return found


class _Printer:
    """Prints the tensors of one model's layers."""

    def __init__(self, torch: Any, frame: str, type_info: bool, tensor_info: bool) -> None:
        self.torch = torch
        self.frame = frame
        self.type_info = type_info
        self.tensor_info = tensor_info
        self.quiet = False

    def banner(self, direction: str, name: str) -> None:
        print(f"{'-' * 30} [{direction}]:{name} {'-' * 30}")

    def show(self, prefix: str, value: Any) -> None:
        """One tensor, as far as the switches ask for it; of other values only the type."""
        if self.type_info:
            print(f"The {prefix} is a {type(value)}.")
        if not isinstance(value, self.torch.Tensor):
            self.warn_of_engine_tensor(prefix, value)
            return
        if not self.tensor_info:
            return
        array, dtype = _numpy_of(self.torch, value)
        print(f"The {prefix} is a tensor with shape: {array.shape}, and type: {dtype}.")
        if np.iscomplexobj(array) or array.size == 0:
            return
        print(f"The {prefix} is {array}." if array.ndim == 0 else _statistics(prefix, array))

    def warn_of_engine_tensor(self, prefix: str, value: Any) -> None:
        """A tensor of the engine that the namespace has not taken over."""
        if self.frame != "mindtorch":
            return
        engine = importlib.import_module("mindtorch.engine.tensor")
        if isinstance(value, engine.Tensor):
            warnings.warn(
                f"The {prefix} is a {type(value)}, please use "
                "'x = torch.cast_to_adapter_tensor(x)' convert to torch.Tensor.",
                stacklevel=2,
            )

    def show_all(self, kind: str, items: list[tuple[str, Any]]) -> None:
        for place, value in items:
            self.show(f"{kind}{place}", value)

    def named_outputs(self, module: Any, output: Any) -> list[tuple[str, Any]]:
        """The outputs with where each stands, and what torch's pages call it."""
        inner = isinstance(output, (tuple, list, dict))
        items = _items(output if inner else (output,))
        if isinstance(module, self.torch.nn.RNNBase):
            names = ("output", "h_n", "c_n")
            return [(f"{at} ({x})", y) for (at, y), x in zip(items, names, strict=False)]
        return items

    def watch_gradients(self, name: str, items: list[tuple[str, Any]]) -> None:
        for position, (place, value) in enumerate(items):
            if isinstance(value, self.torch.Tensor) and value.requires_grad:
                value.register_hook(functools.partial(self.show_gradient, name, position, place))

    def show_gradient(self, name: str, position: int, place: str, gradient: Any) -> None:
        if position == 0:
            self.banner("backward", name)
        self.show(f"outputs{place}", gradient)

    def forward_hook(self, name: str, module: Any, inputs: Any, output: Any) -> None:
        if self.quiet:
            return
        if self.frame not in _announced:
            _announced.add(self.frame)
            print(f"\n>>> layer input and output info from {self.frame} :")
        outputs = self.named_outputs(module, output)
        self.banner("forward", name)
        self.show_all("inputs", _items(inputs))
        self.show_all("outputs", outputs)
        self.watch_gradients(name, outputs)


def debug_layer_info(
    model: Any,
    frame: str = "mindtorch",
    type_info: bool = False,
    tensor_info: bool = True,
    params_info: bool = True,
    *,
    against: str | None = None,
    inputs: Any = None,
    factory: Any = None,
) -> LayerInfoHandle:
    """Print the parameters of `model`, and its layers' inputs, outputs and gradients as it runs;
    with `against` first the table of the layers' differences.

    Run the script once under each library and compare the two texts: with `frame="pytorch"` under
    real PyTorch, with `frame="mindtorch"` under us. Of a tensor are printed its shape, NumPy's name
    of its dtype, the greatest, least and mean of the finite values, and how many elements are NaN,
    infinite or zero; in the backward direction those of the gradient with respect to the layer's
    output. Parts of an output have their places, `outputs[1][0]`, those of recurrent layers also
    their names.

    Args:
        model: an `nn.Module` of the frame's library.
        frame: 'mindtorch' or 'pytorch'.
        type_info: also print the type of each input and output.
        tensor_info: print the tensors; without it only the order of the layers is seen.
        params_info: print parameters, then buffers.
        against: 'pytorch' compares the layers with those of a real PyTorch counterpart, which is
            made in a process of its own with the model's parameters and buffers, in the same modes
            and with the same random state: the table of differences is printed for `inputs` now,
            or, without them, for the first call of the model.
        inputs: a tensor, or a tuple of what the model is called with; only with `against`.
        factory: what makes the counterpart: a function, 'module:name' or 'file.py:name'; without
            it the model's class, called without arguments. The file must not train when it is
            imported.

    Returns:
        A handle; `remove()` ends the printing. `handle.differences` is the table's rows.

    Raises:
        ValueError: `model` is no Module, or `frame` or `against` is not one of those.
        CounterpartError: the counterpart could not be made or run.
    """
    if torch_counterpart.in_counterpart:
        raise torch_counterpart.ModelReached
    if frame not in FRAMES:
        raise ValueError(f"For debug_layer_info, `frame` must be one of {FRAMES}, got {frame!r}.")
    torch = _namespace(frame)
    if not isinstance(model, torch.nn.Module):
        raise ValueError(
            f"For debug_layer_info, `model` must be a nn.Module, but get a {type(model)} type."
        )
    if against not in (None, "pytorch"):
        raise ValueError(f"For debug_layer_info, `against` must be 'pytorch', got {against!r}.")
    if against is not None and frame != "mindtorch":
        raise ValueError("For debug_layer_info, `against` needs a model of the frame 'mindtorch'.")
    if against is None and (inputs is not None or factory is not None):
        raise ValueError("For debug_layer_info, `inputs` and `factory` go with `against`.")
    if frame == "mindtorch":
        os.environ["MSA_LOG"] = "2"  # as the original does: no log lines between ours
    printer = _Printer(torch, frame, type_info, tensor_info)
    handle = LayerInfoHandle([])
    if against is not None and inputs is not None:
        args = inputs if isinstance(inputs, tuple) else (inputs,)
        _show_differences(handle, model, args, {}, factory)
    if params_info:
        print(f"\n>>> parameter and buffer info from {frame} :")
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            _print_parameter(torch, name, tensor)
    handle._handles += [
        module.register_forward_hook(functools.partial(printer.forward_hook, name))
        for name, module in model.named_modules()
    ]
    if against is not None and inputs is None:
        _compare_first_call(handle, printer, model, factory)
    return handle


def _show_differences(
    handle: LayerInfoHandle, model: Any, args: Any, kwargs: Any, factory: Any
) -> None:
    handle.differences = compare_with_torch(model, args, kwargs, factory)
    print_differences(handle.differences)


def _compare_first_call(
    handle: LayerInfoHandle, printer: _Printer, model: Any, factory: Any
) -> None:
    """Before the model's first call, run it and its counterpart on what that call is given."""

    def hook(module: Any, args: Any, kwargs: Any) -> None:
        first.remove()
        printer.quiet = True
        try:
            _show_differences(handle, model, args, kwargs, factory)
        finally:
            printer.quiet = False

    first = model.register_forward_pre_hook(hook, with_kwargs=True)
    handle._handles.append(first)
