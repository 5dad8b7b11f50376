"""Pooling."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.autograd import tape
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.ops import movement
from mindtorch.engine.ops import pooling as ops
from mindtorch.engine.symbolic_sizes import as_index
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.transforms.autocast import FULL

from .._api.arguments import as_shape, require_tensor
from .._api.invalid_arguments import type_name
from .._api.kernel_signatures import Kernel
from .._api.out_rules import EXACT, Out
from .._api.publish import FUNCTIONAL, functional
from .._api.signatures import wrong_call

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "max_pool1d", "max_pool1d_with_indices", "max_pool2d",
    "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
]  # fmt: skip


_PLACES = {"kernel_size": 2, "stride": 3, "padding": 4, "dilation": 5}


def ints_of_axes(value: Any, count: int, name: str, function: str) -> tuple[int, ...]:
    if isinstance(value, bool):
        raise TypeError(
            f"{function}(): argument '{name}' (position {_PLACES[name]}) must be tuple of ints, "
            "not bool"
        )
    if isinstance(value, (tuple, list)):
        listed = tuple(as_index(v) for v in value)
        if len(listed) == 1:
            return listed * count
        if len(listed) != count:
            raise RuntimeError(_wrong_count(function, name, count, len(listed)))
        return listed
    return (as_index(value),) * count


def _wrong_count(function: str, name: str, count: int, given: int) -> str:
    """torch's texts for a list of another length than there are axes."""
    if count > 1:
        must = "must" if function == "avg_pool3d" else "must either"
        omitted = "omitted, " if name == "stride" else ""
        return (
            f"{function}: {name} {must} be {omitted}a single int, or a tuple of {_WORDS[count]} "
            "ints"
        )
    if function == "avg_pool1d":
        return f"avg_pool1d() argument '{name}' should contain one int (got {given})"
    omitted = "None, " if name == "stride" else ""
    comma = "" if name == "kernel_size" else ","
    return (
        f"{function}() {name} must be {omitted}an int, list of ints{comma} or tuple of ints of "
        f"size 1 but got size {given}"
    )


_WORDS = {2: "two", 3: "three"}


def _windows(
    kernel_size: Any, stride: Any, spatial: int, name: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and steps of windows; without steps they stand side by side."""
    kernel = ints_of_axes(kernel_size, spatial, "kernel_size", name)
    if stride is None or (isinstance(stride, (list, tuple)) and not stride):
        return kernel, kernel
    return kernel, ints_of_axes(stride, spatial, "stride", name)


def _check_line(kernel: int, stride: int, padding: int, dilation: int, length: int) -> None:
    """torch's own checks of max_pool1d."""
    for what, value in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {value}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if dilation == 1 and 2 * padding > kernel:
        raise RuntimeError(
            "max_pool1d() padding should be at most half of kernel size, but got "
            f"padding={padding} and kernel_size={kernel}"
        )
    if padding >= 0 and 2 * padding <= dilation * (kernel - 1) + 1:
        size = (length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
        if size < 1:
            raise RuntimeError(f"max_pool1d() Invalid computed output size: {size}")


def _check_full(spatial: int, shape: tuple[int, ...]) -> None:
    """Only the batch may be empty."""
    if spatial == 3 and len(shape) in (4, 5):
        for n in shape[-4:]:
            if n == 0:
                raise RuntimeError(
                    "max_pool3d_with_indices_out_cpu_template(): Expected input's non-batch "
                    f"dimensions to have positive length, but input has a shape of {list(shape)} "
                    "and non-batch dimension 0 has length zero!"
                )
    batched = len(shape) == spatial + 2
    if spatial < 3 and (batched or len(shape) == spatial + 1) and 0 in shape[int(batched) :]:
        name = "max_pool1d: " if spatial == 1 else ""
        raise RuntimeError(
            f"{name}Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor with optional 0 "
            f"dim batch size for input, but got:{list(shape)}"
        )


def with_batch(x: Any, spatial: int, message: str) -> tuple[Any, bool]:
    if x.aval.ndim == spatial + 2:
        return x, True
    if x.aval.ndim == spatial + 1:
        return movement.unsqueeze(x, axis=0), False
    raise RuntimeError(message)


def without_batch(x: Any, batched: bool) -> Any:
    return x if batched else movement.squeeze(x, axes=(0,))


def _pooled(x: Any, batched: bool, spatial: int, kind: str) -> Any:
    """Without the batch's axis where the input had none; torch pools lines as planes."""
    label = "SqueezeBackward1" if spatial == 1 else f"{kind.format(spatial)}Backward0"
    return tape.named(without_batch(x, batched), label)


def _max_pool(
    spatial: int, x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, places_too: bool,
) -> tuple[Any, Any]:  # fmt: skip
    name = f"max_pool{spatial}d"
    require_tensor(x, name, "input", 1)
    kernel, strides = _windows(kernel_size, stride, spatial, name)
    message = f"non-empty {spatial + 1}D or {spatial + 2}D (batch mode) tensor expected for input"
    if spatial == 1:
        message = (
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
            f"input, but got:{list(x.aval.shape)}"
        )
    pads = ints_of_axes(padding, spatial, "padding", name)
    dilations = ints_of_axes(dilation, spatial, "dilation", name)
    if not isinstance(ceil_mode, bool):
        raise TypeError(
            f"{name}(): argument 'ceil_mode' (position 6) must be bool, not {type_name(ceil_mode)}"
        )
    around = zip(pads, kernel, dilations, strict=True)
    if all(0 <= 2 * p <= d * (k - 1) + 1 for p, k, d in around):
        _check_full(spatial, x.aval.shape)
    x, batched = with_batch(x, spatial, message)
    if spatial == 1 and not ceil_mode:
        _check_line(kernel[0], strides[0], pads[0], dilations[0], x.aval.shape[-1])
    flat = spatial == 1 and places_too and not x.aval.dtype.is_floating_point
    if flat:  # torch looks for places in planes, and does so in those of whole numbers
        x, kernel, strides = movement.unsqueeze(x, axis=2), (1, *kernel), (1, *strides)
        pads, dilations = (0, *pads), (1, *dilations)
    values, places = ops.max_pool(
        x, kernel_size=kernel, stride=strides, padding=pads, dilation=dilations,
        ceil_mode=bool(ceil_mode),
    )  # fmt: skip
    if flat:
        values, places = (movement.squeeze(each, axes=(2,)) for each in (values, places))
    values = _pooled(values, batched, spatial, "MaxPool{}DWithIndices")
    return values, without_batch(places, batched)


def _define_max_pool(spatial: int) -> tuple[Any, Any]:
    def with_indices(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,  # noqa: A002
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        return _max_pool(spatial, input, kernel_size, stride, padding, dilation, ceil_mode, True)

    def pool(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,  # noqa: A002
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        given = input, kernel_size, stride, padding, dilation, ceil_mode
        try:
            pair = _max_pool(spatial, *given, return_indices)
        except TypeError as error:
            raise wrong_call(f"max_pool{spatial}d", given, {}) or error from None
        return pair if return_indices else pair[0]

    about = "The largest element of each window"
    _named(with_indices, f"max_pool{spatial}d_with_indices", (
        f"{about}, and its place within the spatial axes."
    ))  # fmt: skip
    _named(pool, f"max_pool{spatial}d", f"{about}.")
    functional(cacheable=True, autocast=FULL if spatial == 3 else None)(pool)
    return with_indices, pool


def _named(function: Any, name: str, doc: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc


max_pool1d_with_indices, max_pool1d = _define_max_pool(1)
max_pool2d_with_indices, max_pool2d = _define_max_pool(2)
max_pool3d_with_indices, max_pool3d = _define_max_pool(3)


def _check_averaged(spatial: int, shape: tuple[int, ...]) -> None:
    """torch's errors for shapes that averages over windows are not taken of."""
    ndim = len(shape)
    if spatial == 2 and ndim < 3:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, "
            f"{max(ndim, 1) - 1}], but got -3)"
        )
    if spatial == 3 and ndim in (4, 5):
        if 0 in shape[-4:]:
            raise RuntimeError(
                "avg_pool3d(): Expected input's non-batch dimensions to have positive length, "
                f"but input has a shape of {list(shape)} and non-batch dimension 0 has length "
                "zero!"
            )
    batched = ndim == spatial + 2
    if spatial < 3 and (not (batched or ndim == spatial + 1) or 0 in shape[int(batched) :]):
        full = [*shape[:-1], 1, shape[-1]] if spatial == 1 else list(shape)  # a plane of one row
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{full}"
        )


def _avg_pool(
    spatial: int, x: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: Any,
) -> Any:  # fmt: skip
    name = f"avg_pool{spatial}d"
    require_tensor(x, name, "input", 1)
    kernel, strides = _windows(kernel_size, stride, spatial, name)
    if spatial == 1 and x.aval.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {x.aval.ndim}-dimensional tensor for argument "
            "#1 'self' (while checking arguments for avg_pool1d)"
        )
    pads = ints_of_axes(padding, spatial, "padding", name)
    _check_averaged(spatial, x.aval.shape)
    x, batched = with_batch(
        x, spatial,
        f"non-empty {spatial + 1}D or {spatial + 2}D (batch mode) tensor expected for input",
    )  # fmt: skip
    result = ops.avg_pool(
        x, kernel_size=kernel, stride=strides, padding=pads,
        ceil_mode=bool(ceil_mode), count_include_pad=bool(count_include_pad),
        divisor_override=divisor_override,
    )  # fmt: skip
    return _pooled(result, batched, spatial, "AvgPool{}D")


@functional(cacheable=True, explained=True)
def avg_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,  # noqa: A002
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of each window of (N, C, L) or (C, L).

    Args:
        input: (N, C, L) or (C, L).
        kernel_size: the window, K, one number.
        stride: its steps; the window itself where it is None.
        padding: zeros on both sides, at most half of the window.
        ceil_mode: count a last window that begins within the input and ends beyond it.
        count_include_pad: divide by the size of the whole window, not by what of it is input.

    Raises:
        RuntimeError: for other shapes, and where no window fits.
    """
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@functional(out=Out(EXACT), cacheable=True, explained=True)
def avg_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,  # noqa: A002
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None,
) -> Any:  # fmt: skip
    """The mean of each window of (N, C, H, W) or (C, H, W).

    Args:
        input: (N, C, H, W) or (C, H, W).
        kernel_size: the window, one number or one for each axis.
        stride: its steps; the window itself where it is None.
        padding: zeros on both sides, at most half of the window.
        ceil_mode: count a last window that begins within the input and ends beyond it.
        count_include_pad: divide by the size of the whole window, not by what of it is input.
        divisor_override: divide by this instead.

    Raises:
        RuntimeError: for other shapes, and where no window fits.
    """
    return _avg_pool(
        2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@functional(out=Out(EXACT), cacheable=True, autocast=FULL, explained=True)
def avg_pool3d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,  # noqa: A002
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None,
) -> Any:  # fmt: skip
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W).

    Args:
        input: (N, C, D, H, W) or (C, D, H, W).
        kernel_size: the window, one number or one for each axis.
        stride: its steps; the window itself where it is None.
        padding: zeros on both sides, at most half of the window.
        ceil_mode: count a last window that begins within the input and ends beyond it.
        count_include_pad: divide by the size of the whole window, not by what of it is input.
        divisor_override: divide by this instead.

    Raises:
        RuntimeError: for other shapes, and where no window fits.
    """
    refuse_kinds("avg_pool3d_out_frame", input.aval, "short")
    return _avg_pool(
        3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def _check_output_size(name: str, spatial: int, output_size: Any, x: Any) -> None:
    if spatial == 1 and len(output_size) != 1:
        raise RuntimeError(
            f"{name}() argument 'output_size' should contain one int (got {len(output_size)})"
        )
    if spatial > 1 and x.aval.ndim <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if len(output_size) != spatial:
        what = "internal error: output_size.size()" if "max" in name else "output_size"
        call = f"{name}()" if "max" in name else name
        raise RuntimeError(f"{call}: {what} must be {spatial}")


def _adaptive(op: Any, name: str, spatial: int, x: Any, output_size: Any) -> tuple[Any, bool]:
    require_tensor(x, name, "input", 1)
    if isinstance(output_size, (tuple, list)) or (
        spatial > 1 and not hasattr(output_size, "__index__")
    ) or (isinstance(output_size, EngineTensor) and spatial > 1):
        _check_output_size(name, spatial, output_size, x)
        wanted: Any = list(output_size)
        as_shape(([0 if n is None else n for n in wanted],), name, "output_size")
    else:
        wanted = (output_size,) * spatial
    colon = ":" if "max" in name else ""
    message = (
        f"{name}(): Expected {spatial + 1}D or {spatial + 2}D tensor, but got{colon} "
        f"{list(x.aval.shape)}"
    )
    if spatial == 1:
        message = (
            f"Expected 2 to 3 dimensions, but got {x.aval.ndim}-dimensional tensor for argument "
            f"#1 'self' (while checking arguments for {name})"
        )
    fits = x.aval.ndim in (spatial + 1, spatial + 2)
    first = 1 if "max" in name else max(1, x.aval.ndim - spatial)
    for i in range(first, x.aval.ndim if fits else 0):
        if x.aval.shape[i] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {list(x.aval.shape)} with dimension {i} being empty"
            )
    x, batched = with_batch(x, spatial, message)
    lengths = zip(wanted, x.aval.shape[2:], strict=True)
    size = tuple(n if w is None else as_index(w) for w, n in lengths)
    if any(n < 0 for n in size):
        if "max" in name:
            more = (1,) if spatial == 1 else ()
            full = (*(x.aval.shape if batched else x.aval.shape[1:])[:-spatial], *more, *size)
            first = next(n for n in size if n < 0)
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {first}: {list(full)}"
            )
        listed = {1: "1, {}", 2: "{}, {}", 3: "{}, {},{}"}[spatial].format(*size)
        raise RuntimeError(
            f"adaptive_avg_pool{max(spatial, 2)}d: elements of output_size must be greater than or "
            f"equal to 0 but received {{{listed}}}"
        )
    if op is ops.adaptive_avg_pool and set(size) == {1} and not x.aval.dtype.is_floating_point:
        return x.mean(tuple(range(2, spatial + 2)), keepdim=True), batched
    return op(x, output_size=size), batched


def _define_adaptive_avg(spatial: int) -> Any:
    name = f"adaptive_avg_pool{spatial}d"

    def pool(input: Any, output_size: Any) -> Any:  # noqa: A002
        x, batched = _adaptive(ops.adaptive_avg_pool, name, spatial, input, output_size)
        if spatial > 1 and x.aval.shape[2:] == (1,) * spatial:  # torch takes the mean
            return tape.named(without_batch(x, batched), "MeanBackward1")
        return _pooled(x, batched, spatial, "AdaptiveAvgPool{}D")

    _named(pool, name, "Means over as many windows as ``output_size`` says.")
    if spatial == 1:
        return functional(cacheable=True, explained=True)(pool)
    kernel = Kernel(name, "input output_size", asked="size")
    return functional(cacheable=True, autocast=FULL if spatial == 3 else None, kernel=kernel)(pool)


adaptive_avg_pool1d = _define_adaptive_avg(1)
adaptive_avg_pool2d = _define_adaptive_avg(2)
adaptive_avg_pool3d = _define_adaptive_avg(3)


def _define_adaptive_max(spatial: int) -> tuple[Any, Any]:
    name = f"adaptive_max_pool{spatial}d"

    def with_indices(input: Any, output_size: Any, return_indices: bool = False) -> Any:  # noqa: A002
        pair, batched = _adaptive(ops.adaptive_max_pool, name, spatial, input, output_size)
        values = _pooled(pair[0], batched, spatial, "AdaptiveMaxPool{}D")
        return values, without_batch(pair[1], batched)

    def pool(input: Any, output_size: Any, return_indices: bool = False) -> Any:  # noqa: A002
        pair = with_indices(input, output_size)
        return pair if return_indices else pair[0]

    about = "The largest elements of as many windows as ``output_size`` says"
    _named(with_indices, f"{name}_with_indices", f"{about}, and their places.")
    _named(pool, name, f"{about}.")
    autocast = FULL if spatial == 3 else None
    kernel = Kernel(name, "input output_size", asked=None if spatial == 1 else "size")
    functional(autocast=autocast, kernel=kernel)(with_indices)
    functional(cacheable=True, autocast=autocast, kernel=kernel)(pool)
    return with_indices, pool


adaptive_max_pool1d_with_indices, adaptive_max_pool1d = _define_adaptive_max(1)
adaptive_max_pool2d_with_indices, adaptive_max_pool2d = _define_adaptive_max(2)
adaptive_max_pool3d_with_indices, adaptive_max_pool3d = _define_adaptive_max(3)


# torch chooses between a function with indices and one without: errors have the latter's name
for _name in (
    "max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "fractional_max_pool2d", "fractional_max_pool3d",
):  # fmt: skip
    FUNCTIONAL[_name].__wrapped__.__qualname__ = f"_{_name}"  # type: ignore[attr-defined]
