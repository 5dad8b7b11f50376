"""Dense layers, embeddings, dropout and what reshapes."""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine import dtypes

from ..common.dtype import text_of
from ..common.initializer import HeUniform, Uniform, initializer
from ..common.parameter import Parameter
from ..common.tensor import F, as_tensor, t
from ..ops import neural
from ._half import in_type_of
from .activation import get_activation
from .cell import Cell

__all__ = [
    "ClipByNorm", "Dense", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "Embedding", "Flatten",
    "Identity", "Norm", "OneHot", "Pad", "PixelShuffle", "Unflatten", "Upsample",
]  # fmt: skip


class Dense(Cell):
    """activation(x W^T + b), on the last axis.

    Args:
        weight_init: HeUniform(sqrt(5)) when None.
        bias_init: uniform up to 1 / sqrt(in_channels) when None.
        activation: None, a name, a cell or a function.
    """

    def __init__(
        self, in_channels: int, out_channels: int, weight_init: Any = None, bias_init: Any = None,
        has_bias: bool = True, activation: Any = None, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        for name, value in (("in_channels", in_channels), ("out_channels", out_channels)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"For 'Dense', '{name}' should be a positive int, got {value}.")
        if not isinstance(has_bias, bool):
            raise TypeError(f"For 'Dense', 'has_bias' must be bool, got {has_bias!r}.")
        self.in_channels, self.out_channels, self.has_bias = in_channels, out_channels, has_bias
        weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(
            initializer(weight_init, (out_channels, in_channels), dtype), "weight"
        )
        self.bias: Any = None
        if has_bias:
            bias_init = Uniform(1 / math.sqrt(in_channels)) if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (out_channels,), dtype), "bias")
        self.activation = get_activation(activation) if isinstance(activation, str) else activation

    @property
    def in_features(self) -> int:
        """``in_channels`` under torch's name."""
        return self.in_channels

    @property
    def out_features(self) -> int:
        """``out_channels`` under torch's name."""
        return self.out_channels

    def construct(self, x: Any) -> Any:
        result = F.linear(x, *in_type_of(x, self.weight, self.bias))
        return result if self.activation is None else self.activation(result)

    def extend_repr(self) -> str:
        activation = "" if self.activation is None else f", activation={self.activation}"
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"has_bias={self.has_bias}{activation}"
        )


class Embedding(Cell):
    """Rows of ``embedding_table`` at indices.

    Args:
        use_one_hot: compute by a product with one-hot rows.
        padding_idx: a row that starts as zeros and is not trained.
        vocab_size, embedding_size: rows and columns of the table.
    """

    def __init__(
        self, vocab_size: int, embedding_size: int, use_one_hot: bool = False,
        embedding_table: Any = "normal", dtype: Any = dtypes.float32, padding_idx: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.vocab_size, self.embedding_size = vocab_size, embedding_size
        self.use_one_hot, self.padding_idx = use_one_hot, padding_idx
        table = initializer(embedding_table, (vocab_size, embedding_size), dtype)
        self.embedding_table = Parameter(table, "embedding_table")
        if padding_idx is not None:
            if not 0 <= padding_idx < vocab_size:
                raise ValueError(
                    f"For 'Embedding', the 'padding_idx' must be in [0, {vocab_size}), but got "
                    f"{padding_idx}."
                )
            rows = self.embedding_table.asnumpy()
            rows[padding_idx] = 0
            self.embedding_table.assign_value(rows)

    def construct(self, ids: Any) -> Any:
        ids = as_tensor(ids).long()
        if self.use_one_hot:
            table = self.embedding_table
            return t.matmul(F.one_hot(ids, self.vocab_size).to(table.dtype), table)
        return F.embedding(ids, self.embedding_table, self.padding_idx)

    def extend_repr(self) -> str:
        return (
            f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, "
            f"use_one_hot={self.use_one_hot}, embedding_table={self.embedding_table}, "
            f"dtype={text_of(self.embedding_table.aval.dtype)}, padding_idx={self.padding_idx}"
        )


class _Dropout(Cell):
    function = "dropout"

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(
                f"For '{type(self).__name__}', the 'p' must be a number in range [0, 1), but got "
                f"{p}."
            )
        self.p = p

    def construct(self, x: Any) -> Any:
        if not self.training or self.p == 0:
            return x
        return getattr(F, self.function)(x, self.p, True)

    def extend_repr(self) -> str:
        return f"p={self.p}"


class Dropout(_Dropout):
    """Zero each element with probability ``p``, and divide the others by 1 - p, in training.

    Args:
        keep_prob: 1 - p, for scripts that say it this way; ``p`` goes before it.
        p: the share that is dropped.
        dtype: of the input, as MindSpore has it; any floating type is taken.
    """

    def __init__(
        self, keep_prob: float = 0.5, p: float | None = None, dtype: Any = dtypes.float32
    ) -> None:
        if p is None and not 0 < keep_prob <= 1:
            raise ValueError(
                "For 'Dropout', the 'keep_prob' must be a number in range (0, 1], but got "
                f"{keep_prob}."
            )
        super().__init__(1 - keep_prob if p is None else p)
        self.keep_prob = 1 - self.p


class Dropout1d(_Dropout):
    """Zero whole channels of (batch, channels, length)."""

    function = "dropout1d"


class Dropout2d(_Dropout):
    """Zero whole channels of (batch, channels, height, width)."""

    function = "dropout2d"


class Dropout3d(_Dropout):
    """Zero whole channels of (batch, channels, depth, height, width)."""

    function = "dropout3d"


class Flatten(Cell):
    """The axes from ``start_dim`` to ``end_dim`` as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Any) -> Any:
        return t.flatten(x, self.start_dim, self.end_dim)


class Unflatten(Cell):
    """One axis as several."""

    def __init__(self, axis: int, unflattened_size: Any) -> None:
        super().__init__()
        self.axis, self.unflattened_size = axis, tuple(unflattened_size)

    def construct(self, x: Any) -> Any:
        return t.unflatten(x, self.axis, self.unflattened_size)


class Identity(Cell):
    """The input as it is."""

    def construct(self, x: Any) -> Any:
        return x


class Norm(Cell):
    """The Euclidean norm along ``axis``."""

    def __init__(self, axis: Any = (), keep_dims: bool = False) -> None:
        super().__init__()
        self.axis, self.keep_dims = axis, keep_dims

    def construct(self, x: Any) -> Any:
        return x.square().sum(self.axis, keepdims=self.keep_dims).sqrt()


class OneHot(Cell):
    """``on_value`` at each index along a new axis, ``off_value`` elsewhere.

    Args:
        depth: length of the new axis.
    """

    def __init__(
        self, axis: int = -1, depth: int = 1, on_value: float = 1.0, off_value: float = 0.0,
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.axis, self.depth, self.dtype = axis, depth, dtype
        self.on_value, self.off_value = on_value, off_value

    def construct(self, indices: Any) -> Any:
        from ..ops.function import one_hot

        on, off = (as_tensor(v).to(self.dtype) for v in (self.on_value, self.off_value))
        return one_hot(indices, self.depth, on, off, self.axis)


class Pad(Cell):
    """Elements before and after each axis: ``paddings`` has a pair for each.

    Args:
        mode: "CONSTANT" (zeros), "REFLECT", or "SYMMETRIC" (the edge is repeated as well).
    """

    def __init__(self, paddings: Any, mode: str = "CONSTANT") -> None:
        super().__init__()
        if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
            raise ValueError(
                f"For 'Pad', the 'mode' must be 'CONSTANT', 'REFLECT' or 'SYMMETRIC', got {mode!r}"
            )
        self.paddings, self.mode = tuple(map(tuple, paddings)), mode

    def construct(self, x: Any) -> Any:
        if self.mode != "CONSTANT":
            return neural.mirror_pad(x, self.paddings, self.mode)
        return F.pad(x, [n for pair in reversed(self.paddings) for n in pair])


class PixelShuffle(Cell):
    """Channels rearranged into an image ``upscale_factor`` times as high and wide."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def construct(self, x: Any) -> Any:
        return F.pixel_shuffle(x, self.upscale_factor)


class Upsample(Cell):
    """Images of another size, or ``scale_factor`` times as large.

    Args:
        mode: how to interpolate, as :func:`ops.interpolate` has it.
    """

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
        align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.options = {
            "size": size, "scale_factor": scale_factor, "mode": mode,
            "align_corners": align_corners, "recompute_scale_factor": recompute_scale_factor,
        }  # fmt: skip

    def construct(self, x: Any) -> Any:
        return F.interpolate(x, **self.options)


class ClipByNorm(Cell):
    """x, scaled down so that its norm is at most ``clip_norm``."""

    def __init__(self, axis: Any = None) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Any, clip_norm: Any) -> Any:
        norm = x.square().sum(self.axis, keepdims=self.axis is not None).sqrt()
        limit = as_tensor(clip_norm).to(x.dtype)
        return x * limit / t.maximum(norm, limit)
