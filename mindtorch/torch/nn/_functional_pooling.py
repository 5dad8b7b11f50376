"""Pooling."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.ops import activations as activation_ops
from mindtorch.engine.ops import elementwise as pointwise
from mindtorch.engine.ops import movement
from mindtorch.engine.ops import pooling as ops
from mindtorch.engine.symbolic_sizes import as_index
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant as c
from mindtorch.engine.transforms.autocast import FULL

from .._api.arguments import require_tensor
from .._api.kernel_signatures import Kernel
from .._api.meta_kernels import lacks_elements
from .._api.out_rules import EXACT, Out
from .._api.publish import FUNCTIONAL, functional
from .._api.signatures import wrong_call

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool1d_with_indices",
    "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
    "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip


def _ints(value: Any, count: int, name: str, function: str) -> tuple[int, ...]:
    if isinstance(value, (tuple, list)):
        listed = tuple(as_index(v) for v in value)
        if len(listed) == 1:
            return listed * count
        if len(listed) != count:
            what = (
                "a single int"
                if count == 1
                else f"a single int, or a tuple of {_WORDS[count]} ints"
            )
            raise RuntimeError(f"{function}: {name} must either be {what}")
        return listed
    return (as_index(value),) * count


_WORDS = {2: "two", 3: "three"}


def _windows(
    kernel_size: Any, stride: Any, spatial: int, name: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and steps of windows; without steps they stand side by side."""
    kernel = _ints(kernel_size, spatial, "kernel_size", name)
    if stride is None or (isinstance(stride, (list, tuple)) and not stride):
        return kernel, kernel
    return kernel, _ints(stride, spatial, "stride", name)


def _check_line(kernel: int, stride: int, padding: int, dilation: int, length: int) -> None:
    """torch's own checks of max_pool1d."""
    for what, value in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {value}")
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


def _batched(x: Any, spatial: int, message: str) -> tuple[Any, bool]:
    if x.aval.ndim == spatial + 2:
        return x, True
    if x.aval.ndim == spatial + 1:
        return movement.unsqueeze(x, axis=0), False
    raise RuntimeError(message)


def _unbatch(x: Any, batched: bool) -> Any:
    return x if batched else movement.squeeze(x, axes=(0,))


def _pooled(x: Any, batched: bool, spatial: int, kind: str) -> Any:
    """Without the batch's axis where the input had none; torch pools lines as planes."""
    label = "SqueezeBackward1" if spatial == 1 else f"{kind.format(spatial)}Backward0"
    return tape.named(_unbatch(x, batched), label)


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
    pads = _ints(padding, spatial, "padding", name)
    dilations = _ints(dilation, spatial, "dilation", name)
    around = zip(pads, kernel, dilations, strict=True)
    if all(0 <= 2 * p <= d * (k - 1) + 1 for p, k, d in around):
        _check_full(spatial, x.aval.shape)
    x, batched = _batched(x, spatial, message)
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
    return values, _unbatch(places, batched)


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
    x, batched = _batched(
        x, spatial,
        f"non-empty {spatial + 1}D or {spatial + 2}D (batch mode) tensor expected for input",
    )  # fmt: skip
    result = ops.avg_pool(
        x, kernel_size=kernel, stride=strides, padding=_ints(padding, spatial, "padding", name),
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
    if isinstance(output_size, (tuple, list)):
        _check_output_size(name, spatial, output_size, x)
        wanted: Any = output_size
    else:
        wanted = (output_size,) * spatial
    colon = ":" if "max" in name else ""
    message = (
        f"{name}(): Expected {spatial + 1}D or {spatial + 2}D tensor, but got{colon} "
        f"{list(x.aval.shape)}"
    )
    if spatial == 1 and "avg" in name:
        message = (
            f"Expected 2 to 3 dimensions, but got {x.aval.ndim}-dimensional tensor for argument "
            f"#1 'self' (while checking arguments for {name})"
        )
    for i in range(1, x.aval.ndim):
        if x.aval.shape[i] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {list(x.aval.shape)} with dimension {i} being empty"
            )
    x, batched = _batched(x, spatial, message)
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
    return op(x, output_size=size), batched


def _define_adaptive_avg(spatial: int) -> Any:
    name = f"adaptive_avg_pool{spatial}d"

    def pool(input: Any, output_size: Any) -> Any:  # noqa: A002
        x, batched = _adaptive(ops.adaptive_avg_pool, name, spatial, input, output_size)
        if spatial > 1 and x.aval.shape[2:] == (1,) * spatial:  # torch takes the mean
            return tape.named(_unbatch(x, batched), "MeanBackward1")
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
        return values, _unbatch(pair[1], batched)

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


_INFINITE = (float("inf"), -float("inf"))


def _lp_pool(
    spatial: int, x: Any, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: bool
) -> Any:
    """(sum of x ** p) ** (1 / p) over each window: the mean times the window's size.

    For an infinite p it is the largest, or with a minus the smallest, of their sizes.
    """
    if spatial == 1 and isinstance(kernel_size, (tuple, list)):
        kind = type(kernel_size).__name__
        raise TypeError(f"mul(): argument 'other' (position 1) must be Tensor, not {kind}")
    if isinstance(norm_type, float) and norm_type in _INFINITE:
        pool = (max_pool1d, max_pool2d, max_pool3d)[spatial - 1]
        sizes, least = pointwise.absolute(x), norm_type < 0
        sizes = pointwise.negative(sizes) if least else sizes
        largest = pool(sizes, kernel_size, stride, 0, 1, ceil_mode)
        return pointwise.negative(largest) if least else largest
    kernel = _ints(kernel_size, spatial, "kernel_size", f"lp_pool{spatial}d")
    count = 1
    for k in kernel:
        count *= k
    if isinstance(norm_type, EngineTensor):
        exponent, root = norm_type, pointwise.divide(c(1.0), norm_type)
    else:
        exponent, root = c(norm_type), c(1.0 / norm_type)
    powers = pointwise.power(x, exponent)
    mean = _avg_pool(spatial, powers, kernel, stride, 0, ceil_mode, True, None)
    positive = pointwise.multiply(
        pointwise.sign(mean), activation_ops.relu(pointwise.absolute(mean))
    )
    total = pointwise.multiply(positive, c(float(count)))
    return pointwise.power(total, root)


@functional(cacheable=True)
def lp_pool1d(
    input: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False  # noqa: A002
) -> Any:
    """(sum of x ** p) ** (1 / p) over each window of (N, C, L).

    Args:
        input: x, (N, C, L) or (C, L).
        norm_type: p.
        kernel_size, stride, ceil_mode: as in :func:`avg_pool1d`.
    """
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@functional(cacheable=True)
def lp_pool2d(
    input: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False  # noqa: A002
) -> Any:
    """(sum of x ** p) ** (1 / p) over each window of (N, C, H, W).

    Args:
        input: x, (N, C, H, W) or (C, H, W).
        norm_type: p.
        kernel_size, stride, ceil_mode: as in :func:`avg_pool2d`.
    """
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False  # noqa: A002
) -> Any:
    """(sum of x ** p) ** (1 / p) over each window of (N, C, D, H, W).

    Args:
        input: x, (N, C, D, H, W) or (C, D, H, W).
        norm_type: p.
        kernel_size, stride, ceil_mode: as in :func:`avg_pool3d`.
    """
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def _unpool_size(
    x: Any, kernel: Any, stride: Any, padding: Any, output_size: Any
) -> tuple[int, ...]:
    spatial = len(kernel)
    default = tuple(
        (n - 1) * s + k - 2 * p
        for n, s, k, p in zip(x.aval.shape[-spatial:], stride, kernel, padding, strict=True)
    )
    if output_size is None:
        return default
    wanted = tuple(output_size)
    if len(wanted) == spatial + 2:
        wanted = wanted[2:]
    if len(wanted) != spatial:
        raise ValueError(
            "output_size should be a sequence containing "
            f"{spatial} or {spatial + 2} elements, but it has a length of '{len(wanted)}'"
        )
    for d in range(spatial):
        low, high = default[d] - stride[d], default[d] + stride[d]
        if not low < wanted[d] < high:
            raise ValueError(
                f"invalid output_size '{list(wanted)}' (dim {d} must be between {low} and {high})"
            )
    return wanted


def _unpool(
    spatial: int, x: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any,
    output_size: Any,
) -> Any:  # fmt: skip
    name = f"max_unpool{spatial}d"
    kernel = _ints(kernel_size, spatial, "kernel_size", name)
    strides = kernel if stride is None else _ints(stride, spatial, "stride", name)
    pads = _ints(padding, spatial, "padding", name)
    if indices.aval.shape != x.aval.shape:
        more = [1] if spatial == 1 else []  # torch pools with one more axis, of length 1
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({[*x.aval.shape, *more]}) but got indices tensor with shape: "
            f"{[*indices.aval.shape, *more]}"
        )
    size = _unpool_size(x, kernel, strides, pads, output_size)
    if indices.aval.dtype is not dtypes.int64:
        raise RuntimeError(
            "elements in indices should be type int64 but got: "
            f"{dtypes.scalar_type_name(indices.aval.dtype)}"
        )
    x, batched = _batched(
        x, spatial,
        f"Input to {name} should be a {spatial + 1}d or {spatial + 2}d Tensor, but got a tensor "
        f"with {x.aval.ndim} dimensions.",
    )  # fmt: skip
    indices, _ = _batched(indices, spatial, "indices and input have different ranks")
    refuse_kinds(f"max_unpool{max(spatial, 2)}d", x.aval, "bool whole complex")
    count = 1
    for n in size:
        count *= n
    places = None if lacks_elements(indices) else indices.array()
    wrong = None if places is None else places[(places < 0) | (places >= count)]
    if wrong is not None and wrong.size:
        volume = "x".join(map(str, (*size, 1) if spatial == 1 else size))
        raise RuntimeError(
            f"Found an invalid max index: {wrong[0]} (output volumes are of size {volume})"
        )
    shape = (*x.aval.shape[:2], *size)
    return _unbatch(ops.unpool(x, indices, shape=shape), batched)


def max_unpool1d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,  # noqa: A002
    output_size: Any = None,
) -> Any:  # fmt: skip
    """The inverse of max_pool1d: elements at their places, zeros elsewhere.

    Args:
        input: what was pooled, (N, C, L) or (C, L).
        indices: int64 of the same shape, as ``max_pool1d(..., return_indices=True)`` gives them.
        kernel_size, stride, padding: those of the pooling.
        output_size: the lengths of the result, which the pooling's arguments tell only to within a
            stride; (length - 1) stride + kernel - 2 padding where it is None.

    Raises:
        ValueError: for an ``output_size`` that such a pooling does not have.
        RuntimeError: for other indices.
    """
    found = _unpool(1, input, indices, kernel_size, stride, padding, output_size)
    return tape.named(found, "SqueezeBackward1")


@functional(autocast=FULL)
def max_unpool2d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,  # noqa: A002
    output_size: Any = None,
) -> Any:  # fmt: skip
    """The inverse of max_pool2d: elements at their places, zeros elsewhere.

    Args:
        input: what was pooled, (N, C, H, W) or (C, H, W).
        indices: int64 of the same shape, as ``max_pool2d(..., return_indices=True)`` gives them.
        kernel_size, stride, padding: those of the pooling.
        output_size: the lengths of the result, which the pooling's arguments tell only to within a
            stride; (length - 1) stride + kernel - 2 padding where it is None.

    Raises:
        ValueError: for an ``output_size`` that such a pooling does not have.
        RuntimeError: for other indices.
    """
    found = _unpool(2, input, indices, kernel_size, stride, padding, output_size)
    return tape.named(found, "MaxUnpool2DBackward0")


@functional(autocast=FULL)
def max_unpool3d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,  # noqa: A002
    output_size: Any = None,
) -> Any:  # fmt: skip
    """The inverse of max_pool3d: elements at their places, zeros elsewhere.

    Args:
        input: what was pooled, (N, C, D, H, W) or (C, D, H, W).
        indices: int64 of the same shape, as ``max_pool3d(..., return_indices=True)`` gives them.
        kernel_size, stride, padding: those of the pooling.
        output_size: the lengths of the result, which the pooling's arguments tell only to within a
            stride; (length - 1) stride + kernel - 2 padding where it is None.

    Raises:
        ValueError: for an ``output_size`` that such a pooling does not have.
        RuntimeError: for other indices.
    """
    found = _unpool(3, input, indices, kernel_size, stride, padding, output_size)
    return tape.named(found, "MaxUnpool3DBackward0")


# torch chooses between a function with indices and one without: errors have the latter's name
for _name in (
    "max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "fractional_max_pool2d", "fractional_max_pool3d",
):  # fmt: skip
    FUNCTIONAL[_name].__wrapped__.__qualname__ = f"_{_name}"  # type: ignore[attr-defined]
