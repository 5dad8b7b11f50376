"""Operators whose arguments in TorchScript's code differ from those of our public functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor

from ... import fft, linalg, special
from ..._compat import aten_private
from ...autograd import grad
from ...autograd.grad_mode import no_grad
from ...functions.creation import full
from ...functions.distances import cdist
from ...functions.from_data import tensor as make_tensor
from ...functions.linear_algebra import tensordot
from ...functions.parts import block_diag, cartesian_prod
from ...functions.pointwise import div
from ...functions.queries import broadcast_shapes
from ...functions.shape import broadcast_tensors
from ...functions.sorting import unique, unique_consecutive
from ...functions.spectral import stft
from ...nn import functional as F  # noqa: N812
from ...nn.utils import rnn
from .attention_forms import ATTENTION

__all__ = ["FORMS", "MODULES", "OLDER"]

_REDUCTIONS = ("none", "mean", "sum")
_Form = Callable[..., Any]


# ------------------------------------------------------------------------- what older files mean


def _is_whole(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not (value.is_floating_point() or value.is_complex())
    return isinstance(value, int)


def _div_before_4(a: Any, b: Any, **kwargs: Any) -> Any:
    """Tensors of whole numbers were divided without a rest."""
    if not kwargs and _is_whole(a) and _is_whole(b) and isinstance(a, Tensor):
        return div(a, b, rounding_mode="trunc")
    return div(a, b, **kwargs) if isinstance(a, Tensor) or isinstance(b, Tensor) else a / b


def _full_before_5(size: Any, fill_value: Any, **kwargs: Any) -> Any:
    """Without a type the result was of the default type."""
    typed = kwargs.get("dtype") is not None
    return full(size, fill_value if typed else float(fill_value), **kwargs)


# name -> (the first version without it, what files before that version mean)
OLDER: dict[str, tuple[int, _Form]] = {"div": (4, _div_before_4), "full": (5, _full_before_5)}


# ---------------------------------------------------------------------------------------- losses


def _loss(function: _Form, *names: str) -> _Form:
    """A loss whose reduction is a number, with the names of its arguments after the tensors."""
    tensors = 3 if names[0] == "margin" and function is not F.hinge_embedding_loss else 2
    tensors = 4 if function is F.ctc_loss else tensors

    def call(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args[tensors:], strict=False)), **kwargs}
        if type(given.get("reduction")) is int:
            given["reduction"] = _REDUCTIONS[given["reduction"]]
        return function(*args[:tensors], **given)

    return call


# --------------------------------------------------------------------- layers with other arguments


def _elu(x: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    if scale == 1 and input_scale == 1:
        return F.elu(x, alpha)
    return scale * F.elu(x * input_scale, alpha)


def _in_place(function: _Form) -> _Form:
    return lambda x, *args: function(x, *args, inplace=True)


def _padding(mode: str) -> _Form:
    return lambda x, padding, value=None: F.pad(x, padding, mode, value)


def _pad_enum(x: Any, padding: Any, mode: int, value: Any = None) -> Any:
    return F.pad(x, padding, ("constant", "reflect", "replicate", "circular")[mode], value)


def _upsample(mode: str, aligned: bool) -> _Form:
    """`upsample_*`: an output's size and scales, one by one or (``.vec``) in a list."""

    def call(x: Any, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        rest = list(args)
        align = kwargs.get("align_corners", rest.pop(0) if aligned and rest else False)
        scales: Any = rest[0] if rest and isinstance(rest[0], (list, tuple)) else rest
        scales = kwargs.get("scale_factors", scales)
        if not scales or any(each is None for each in scales):
            scales = None
        chosen = {"align_corners": align} if aligned else {}
        if scales is not None:
            made = F.interpolate(x, scale_factor=list(scales), mode=mode, **chosen)
            return _of_size(made, size)
        return F.interpolate(x, size, mode=mode, **chosen)

    return call


def _of_size(made: Any, size: Any) -> Any:
    """What was resized by scales, whose size must be the one that the code asks for."""
    if size is not None and list(made.shape[2:]) != list(size):
        raise NotImplementedError(
            f"mindtorch cannot resize to {list(size)} by scales that give {list(made.shape[2:])}"
        )
    return made


def _antialiased(function: _Form) -> _Form:
    """`_upsample_*_aa`, whose scales may come one by one."""

    def call(x: Any, size: Any, align_corners: bool, *scales: Any) -> Any:
        if len(scales) == 2 and None not in scales:
            return _of_size(function(x, None, align_corners, list(scales)), size)
        return function(x, size, align_corners, *(scales if len(scales) == 1 else ()))

    return call


def _with_indices(function: _Form) -> _Form:
    return lambda x, *args: function(x, *args, return_indices=True)


def _fractional(function: _Form) -> _Form:
    return lambda x, kernel, size, samples: function(
        x, kernel, size, return_indices=True, _random_samples=samples
    )


def _unpool(x: Any, indices: Any, size: Any, *_rest: Any) -> Any:
    """`max_unpool2d`, `max_unpool3d`: only the size of the result is asked."""
    axes = len(size)
    kept = x.shape[: x.ndim - axes]
    flat = x.new_zeros([*kept, _product(size)])
    made = flat.scatter(-1, indices.flatten(-axes), x.flatten(-axes))
    return made.reshape([*kept, *size])


def _product(sizes: Any) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _weight_norm(v: Any, g: Any, dim: int = 0) -> Any:
    """``v * (g / norm of v over the other axes)``."""
    axes = [axis for axis in range(v.ndim) if axis != dim % v.ndim] if dim != -1 else None
    norm = v.norm() if axes is None else linalg.vector_norm(v, 2, axes, keepdim=True)
    return v * (g / norm)


def _convolution_mode(
    x: Any, weight: Any, bias: Any, stride: Any, padding: str, dilation: Any, groups: int
) -> Any:
    convolve = (F.conv1d, F.conv2d, F.conv3d)[weight.ndim - 3]
    return convolve(x, weight, bias, stride, padding, dilation, groups)


def _pack(x: Any, lengths: Any, batch_first: bool) -> Any:
    packed = rnn.pack_padded_sequence(x, lengths, batch_first, enforce_sorted=True)
    return packed.data, packed.batch_sizes


def _unpack(
    data: Any, sizes: Any, batch_first: bool, padding_value: float, total_length: int
) -> Any:
    packed = rnn.PackedSequence(data, sizes)
    length = None if total_length <= 0 else total_length
    return rnn.pad_packed_sequence(packed, batch_first, padding_value, length)


def _pad_sequence(
    items: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Any:
    return rnn.pad_sequence(items, batch_first, padding_value, padding_side)


# ------------------------------------------------------------------------------ tensors in general


def _stft(x: Any, *args: Any, **kwargs: Any) -> Any:
    """The older of torch's two forms has no `center` and `pad_mode`."""
    if len(args) > 5 and not isinstance(args[5], str):
        names = ("normalized", "onesided", "return_complex", "align_to_window")
        named = dict(zip(names, args[4:], strict=False))
        return stft(x, *args[:4], center=False, **named, **kwargs)
    return stft(x, *args, **kwargs)


def _cdist(a: Any, b: Any, p: float = 2.0, compute_mode: int | None = None) -> Any:
    modes = (
        "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist",
        "donot_use_mm_for_euclid_dist",
    )  # fmt: skip
    return cdist(a, b, p, modes[compute_mode or 0])


def _unique2(
    x: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False  # noqa: A002
) -> Any:
    """Three tensors; those that were not asked for are empty."""
    made = list(unique(x, sorted, True, True))
    empty = x.new_zeros([0], dtype=dtypes.int64)
    return made[0], made[1] if return_inverse else empty, made[2] if return_counts else empty


def _unique_consecutive(
    x: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Three tensors; those that were not asked for are empty."""
    made = list(unique_consecutive(x, True, True, dim))
    empty = x.new_zeros([0], dtype=dtypes.int64)
    return made[0], made[1] if return_inverse else empty, made[2] if return_counts else empty


def _unique_dim(
    x: Any, dim: int, sorted: bool = True, return_inverse: bool = False,  # noqa: A002
    return_counts: bool = False,
) -> Any:  # fmt: skip
    """Three tensors; those that were not asked for are empty."""
    made = list(unique(x, sorted, True, True, dim))
    empty = x.new_zeros([0], dtype=dtypes.int64)
    return made[0], made[1] if return_inverse else empty, made[2] if return_counts else empty


def _cast(dtype: Any) -> _Form:
    return lambda x, non_blocking=False: x.to(dtype)


def _quietly(name: str) -> _Form:
    """A method that fills in place, of which no history is kept."""

    def call(x: Any, *args: Any, generator: Any = None) -> Any:
        given = [each for each in args if each is not None]
        with no_grad():
            return getattr(x, name)(*given)

    return call


def _spread(function: _Form) -> _Form:
    """A function of many tensors, which come in a list."""

    def call(items: Any) -> Any:
        return function(*items) if isinstance(items, (list, tuple)) else function(items)

    return call


def _lu(x: Any, pivot: bool = True, check_errors: bool = True) -> Any:
    return linalg.lu_factor_ex(x, pivot=pivot, check_errors=check_errors)


def _grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: Any = None,
    create_graph: bool = False, allow_unused: bool = False,
) -> Any:  # fmt: skip
    return list(grad(outputs, inputs, grad_outputs, retain_graph, create_graph,
                     allow_unused=allow_unused))  # fmt: skip


def _attribute(name: str) -> _Form:
    return lambda x: getattr(x, name)


def _method(name: str) -> _Form:
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def _same(x: Any, *_rest: Any) -> Any:
    return x


def _of_special() -> dict[str, _Form]:
    """`special_*`, which torch.special has without a list of its names."""
    own = "airy_ai bessel_ chebyshev_ digamma entr erf exp gammainc gammaln hermite_ i0 i1 "
    own += "laguerre_ legendre_ log logit logsumexp log_ modified_ multigammaln ndtr polygamma psi "
    own += "round scaled_ shifted_ sinc softmax spherical_ xlog zeta"
    return {
        name: getattr(special, name)
        for name in dir(special)
        if name.startswith(tuple(own.split())) and callable(getattr(special, name))
    }


# functions of modules, called `linalg_norm` there
MODULES: dict[str, dict[str, _Form]] = {
    "linalg_": {name: getattr(linalg, name) for name in linalg.__all__},
    "fft_": {name: getattr(fft, name) for name in fft.__all__},
    "special_": _of_special(),
}
_WEIGHTED = ("weight", "reduction")

FORMS: dict[str, _Form] = {
    **{
        name: _loss(getattr(F, name), "reduction")
        for name in ("l1_loss", "mse_loss", "soft_margin_loss", "multilabel_margin_loss")
    },
    "smooth_l1_loss": _loss(F.smooth_l1_loss, "reduction", "beta"),
    "huber_loss": _loss(F.huber_loss, "reduction", "delta"),
    "binary_cross_entropy": _loss(F.binary_cross_entropy, *_WEIGHTED),
    "nll_loss": _loss(F.nll_loss, *_WEIGHTED, "ignore_index"),
    "nll_loss2d": _loss(F.nll_loss, *_WEIGHTED, "ignore_index"),
    "nll_loss_nd": _loss(F.nll_loss, *_WEIGHTED, "ignore_index"),
    "cross_entropy_loss":
        _loss(F.cross_entropy, *_WEIGHTED, "ignore_index", "label_smoothing"),
    "multi_margin_loss": _loss(F.multi_margin_loss, "p", "margin", *_WEIGHTED),
    "binary_cross_entropy_with_logits":
        _loss(F.binary_cross_entropy_with_logits, "weight", "pos_weight", "reduction"),
    "hinge_embedding_loss": _loss(F.hinge_embedding_loss, "margin", "reduction"),
    "margin_ranking_loss": _loss(F.margin_ranking_loss, "margin", "reduction"),
    "cosine_embedding_loss": _loss(F.cosine_embedding_loss, "margin", "reduction"),
    "triplet_margin_loss":
        _loss(F.triplet_margin_loss, "margin", "p", "eps", "swap", "reduction"),
    "kl_div": _loss(F.kl_div, "reduction"),
    "ctc_loss": _loss(F.ctc_loss, "blank", "reduction", "zero_infinity"),
    "poisson_nll_loss": _loss(F.poisson_nll_loss, "log_input", "full", "eps", "reduction"),
    "elu": _elu, "elu_": lambda x, *args: x.copy_(_elu(x, *args)),
    **{
        f"{name}_": _in_place(getattr(F, name))
        for name in ("relu6", "silu", "mish", "hardsigmoid", "hardswish")
    },
    "log_sigmoid": F.logsigmoid,
    **{f"reflection_pad{n}d": _padding("reflect") for n in (1, 2, 3)},
    **{f"replication_pad{n}d": _padding("replicate") for n in (1, 2, 3)},
    "_pad_circular": _padding("circular"), "_pad_enum": _pad_enum,
    **{f"upsample_nearest{n}d": _upsample("nearest", False) for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d": _upsample("nearest-exact", False) for n in (1, 2, 3)},
    "upsample_linear1d": _upsample("linear", True),
    "upsample_bilinear2d": _upsample("bilinear", True),
    "upsample_bicubic2d": _upsample("bicubic", True),
    "upsample_trilinear3d": _upsample("trilinear", True),
    "_upsample_bilinear2d_aa": _antialiased(aten_private._upsample_bilinear2d_aa),
    "_upsample_bicubic2d_aa": _antialiased(aten_private._upsample_bicubic2d_aa),
    "adaptive_max_pool2d": _with_indices(F.adaptive_max_pool2d),
    "adaptive_max_pool3d": _with_indices(F.adaptive_max_pool3d),
    "fractional_max_pool2d": _fractional(F.fractional_max_pool2d),
    "fractional_max_pool3d": _fractional(F.fractional_max_pool3d),
    "max_unpool2d": _unpool, "max_unpool3d": _unpool,
    "im2col": lambda x, kernel, dilation, padding, stride:
        F.unfold(x, kernel, dilation, padding, stride),
    "col2im": lambda x, size, kernel, dilation, padding, stride:
        F.fold(x, size, kernel, dilation, padding, stride),
    "_softmax": lambda x, dim, half_to_float: F.softmax(x, dim),
    "_log_softmax": lambda x, dim, half_to_float: F.log_softmax(x, dim),
    "_weight_norm": _weight_norm, "_convolution_mode": _convolution_mode,
    "tensordot": lambda a, b, left, right: tensordot(a, b, (left, right)),
    "_pack_padded_sequence": _pack, "_pad_packed_sequence": _unpack, "pad_sequence": _pad_sequence,
    "stft": _stft, "cdist": _cdist, "_unique2": _unique2,
    "unique_consecutive": _unique_consecutive, "unique_dim": _unique_dim, "grad": _grad,
    **{
        f"_no_grad_{name}_": _quietly(f"{name}_") for name in ("uniform", "normal", "fill", "zero")
    },
    **{
        f"_cast_{name}": _cast(dtype)
        for name, dtype in {
            "Half": dtypes.float16, "Short": dtypes.int16, "Long": dtypes.int64,
            "Int": dtypes.int32, "Float": dtypes.float32, "Double": dtypes.float64,
            "Char": dtypes.int8, "Byte": dtypes.uint8,
        }.items()
    },
    **{
        name: _method(name)
        for name in ("cpu", "is_contiguous", "storage_offset", "element_size", "type_as",
                     "requires_grad_", "resize_", "pin_memory", "is_pinned", "retain_grad")
    },
    **{name: _attribute(name) for name in ("mT", "mH", "data", "is_leaf", "output_nr", "_version")},
    "numpy_T": _attribute("T"), "matrix_H": _attribute("H"),
    "_shape_as_tensor": lambda x: make_tensor(list(x.shape), dtype=dtypes.int64),
    "_unsafe_view": lambda x, size: x.view(size),
    "_reshape_alias": lambda x, size, stride: x.as_strided(size, stride, x.storage_offset()),
    "nonzero_numpy": lambda x: list(x.nonzero(as_tuple=True)),
    "_infer_size": lambda a, b: list(broadcast_shapes(a, b)),
    **dict.fromkeys(
        ("lift", "lift_fresh", "_autocast_to_full_precision", "_autocast_to_reduced_precision"),
        _same,
    ),
    **{
        function.__name__: _spread(function)
        for function in (block_diag, broadcast_tensors, cartesian_prod)
    }, "_lu_with_info": _lu,
    **ATTENTION,
}  # fmt: skip
