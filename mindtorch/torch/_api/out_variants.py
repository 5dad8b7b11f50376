"""Results written to the tensors given as ``out=``, with torch's demands on them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import api, inplace, tape
from mindtorch.engine.aval import aval
from mindtorch.engine.devices.device import Device
from mindtorch.engine.dispatch import state
from mindtorch.engine.dtypes import c_name, scalar_type_name
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._tensor.size_and_formats import strided
from ..return_types import of_out
from .invalid_arguments import type_name
from .out_rules import ANY, CAT, NO_DERIVATIVE, Out
from .out_texts import (
    accepts_tracked_inputs,
    looks_at_memory,
    other_device,
    required_type,
    resized_quietly,
    shown_name,
)


def require_dtype(rule: Out, dtype: Any, out: Any) -> None:
    """torch's error for an ``out`` of another type than the argument ``dtype`` says."""
    if rule.of_dtype and isinstance(out, EngineTensor) and out.aval.dtype is not dtype:
        given = out.aval.dtype
        raise RuntimeError(rule.of_dtype.format(
            out=scalar_type_name(given), dtype=scalar_type_name(dtype), c_out=c_name(given),
            c_dtype=c_name(dtype),
        ))  # fmt: skip


def require_outs(body: Callable[..., Any], out: Any) -> None:
    """torch's error where one of several outs is no tensor."""
    for i, each in enumerate(out if isinstance(out, (tuple, list)) else (out,)):
        if not isinstance(each, EngineTensor):
            position = len(inspect.signature(body).parameters)
            raise TypeError(
                f"expected Tensor as element {i} in argument {position}, but got "
                f"{type_name(each)}"
            )


def store_out(
    result: Any, out: Any, name: str, inputs: Any = (), rule: Out = ANY
) -> Any:
    """Write ``result`` into the tensor(s) given as ``out=``, resized as torch does.

    Args:
        name: the function's, as torch's errors have it.
        inputs: what it was computed from, for the check of shared memory.
        rule: what torch demands of ``out``.
    """
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            count = len(out) if isinstance(out, (tuple, list)) else 0
            raise TypeError(f"expected tuple of {len(result)} elements but got {count}")
        values = [store_out(r, o, name, inputs, rule) for r, o in zip(result, out, strict=True)]
        return of_out(type(result))(*values) if hasattr(result, "_fields") else tuple(values)
    if not isinstance(out, EngineTensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(out)}")
    tracked = state.grad_enabled and not rule.untracked
    if tracked and not rule.recorded:
        followed = tape.requires_grad(result) and not accepts_tracked_inputs(name)
        if followed or out.requires_grad:
            raise RuntimeError(NO_DERIVATIVE.format(rule.shown or shown_name(name)))
    _check_type(result.aval.dtype, out.aval.dtype, name, rule)
    if out.aval.device.type != result.aval.device.type:
        raise other_device(name, result.aval.device.type, out.aval.device.type)
    if rule.no_overlap:
        inplace.check_overlap(out)
    looks = rule.no_overlap or looks_at_memory(name)
    if looks and result.aval.size >= out.aval.size:
        _check_memory(out, inputs, rule)
    as_result = result.aval.dense and not rule.c_order
    strides = result.aval.strides if as_result else None
    fit(out, result.aval.shape, strides, resized_quietly(name))
    if looks:
        _check_memory(out, inputs, rule)
    if tracked:
        inplace.copy_(out, result)
    else:
        with api.grad_mode(False):
            inplace.copy_(out, result)
    return out


def prepare_out(
    out: Any, name: str, shape: tuple[int, ...], dtype: Any = None, layout: Any = None,
    device: Any = None, shown: str | None = None,
) -> Any:  # fmt: skip
    """``out`` with the shape that a function which makes a tensor will fill.

    Args:
        dtype, layout, device: what the caller asked for; None for ``out``'s own.
        shown: the function that errors of autodiff name.
    """
    if not isinstance(out, EngineTensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(out)}")
    if dtype is not None and dtype is not out.aval.dtype:
        raise RuntimeError(
            f"dtype {scalar_type_name(dtype)} does not match dtype of out parameter "
            f"({scalar_type_name(out.aval.dtype)})"
        )
    if layout is not None and layout is not strided:
        kind = str(layout).removeprefix("torch.").partition("_")[0].capitalize()
        raise RuntimeError(f"layout {kind} does not match layout of out parameter (Strided)")
    if device is not None and Device(device).type != out.aval.device.type:
        raise RuntimeError(
            f"device type {Device(device).type} does not match device type of out parameter "
            f"({out.aval.device.type})"
        )
    if out.requires_grad and shown:
        raise RuntimeError(NO_DERIVATIVE.format(shown))
    if out.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    out.resize_(shape)
    return out


def _check_type(result: Any, out: Any, name: str, rule: Out) -> None:
    text = (rule.same or required_type(name)) if result is not out else None
    if text is None:
        if dtypes.can_cast(result, out):
            return
        text = rule.cast
    message = text.format(
        name=name.removeprefix("linalg_").removeprefix("fft_"), result=scalar_type_name(result),
        out=scalar_type_name(out), c_result=c_name(result), c_out=c_name(out),
    )  # fmt: skip
    raise TypeError(message) if text is CAT else RuntimeError(message)


def _check_memory(out: Any, given: Any, rule: Out) -> None:
    if isinstance(given, (tuple, list)):
        for x in given:
            _check_memory(out, x, rule)
    elif isinstance(given, EngineTensor):
        if rule.no_overlap:
            inplace.check_apart(out, given)
        else:
            inplace.check_partial_overlap(out, given)


def fit(
    out: Any, shape: tuple[int, ...], strides: tuple[int, ...] | None = None, quietly: bool = False
) -> None:
    """Give ``out`` the shape and strides of a result; torch's warning where it had elements, but
    ``quietly``."""
    if out.aval.shape == shape:
        return
    if out.aval.size and not quietly:
        warnings.warn(
            "An output with one or more elements was resized since it had shape "
            f"{list(out.aval.shape)}, which does not match the required output shape "
            f"{list(shape)}. This behavior is deprecated, and in a future PyTorch release outputs "
            "will not be resized unless they have zero elements. You can explicitly reuse an out "
            "tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            UserWarning,
            stacklevel=4,
        )
    out.resize_(shape)
    if strides is not None:
        out.aval = aval(shape, out.aval.dtype, strides, out.aval.device)
