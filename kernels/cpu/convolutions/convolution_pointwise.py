"""Convolutions of windows of one place, and their gradients, as matrix products
(:mod:`..matrix_products.products`).

No operand is copied, but every second pixel or so where there is a stride: of planes, pixels are
the columns of a product whose left operand is the weight as it lies; with channels last they are
its rows. Sums are in the products' order, as in PyTorch, which calls MKL for such windows; those of
the gradient for the weight image by image.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.support.workspace import workspace

from ..matrix_products import products
from ..matrix_products.products import Batch, Matrix
from ..strided_copy import assign
from ..vectors.simd import lanes

_FILLED = 0.75  # of the lanes of vectors, at least
_WIDE = 128  # pixels of an image; of smaller ones
_FEW = 512  # pixels of all images, at most: for more, a weight's packing counts little

Run = Callable[..., None]


class _Sizes:
    """What a product needs to know of a case: shapes of image, window and result, and so on."""

    def __init__(self, case: Any, last: bool) -> None:
        self.image, window, self.result, self.stride, padding, _, self.groups = case
        self.images, self.pixels = self.image[0], int(np.prod(self.result[2:]))
        self.outer, self.inner = window[0] // self.groups, window[1]
        self.has_steps = any(n != 1 for n in self.stride)
        self.is_ours = (
            products.enabled()
            and all(n == 1 for n in window[2:])
            and not any(padding)
            and not (last and (self.groups > 1 or self.has_steps))
        )

    def fills_vectors(self, dtype: Any) -> bool:
        """Whether images are large enough for pixels to lie along vectors."""
        width = lanes(dtype)
        filled = self.pixels / (-(-self.pixels // width) * width)
        return self.pixels >= _WIDE or (
            filled >= _FILLED and self.pixels * self.images <= _FEW and self.pixels >= width
        )

    def _met(self, images: Any) -> Any:
        """The pixels of images that results are of."""
        steps = tuple(slice(None, None, n) for n in self.stride)
        return images.reshape(self.image)[(slice(None), slice(None), *steps)]

    def dense(self, x: Any) -> Any:
        """These pixels of flat images, side by side."""
        if not self.has_steps:
            return x
        shape = (*self.image[:2], *self.result[2:])
        made = workspace(int(np.prod(shape)), x.dtype, "padded")
        assign(made.reshape(shape), self._met(x))
        return made

    def spread(self, out: Any, made: Any) -> None:
        """The inverse: other pixels are 0."""
        out[:] = 0
        met = self._met(out)
        met[...] = made.reshape(met.shape)


def _letter(dtype: Any, m: int, n: int, k: int, a: Matrix, b: Matrix) -> str:
    """The form that the table has, or one of ours; a left operand that is turned is packed."""
    letter = products.chosen(dtype, m, n, k, a, b)
    letter = letter if letter != "b" else "r" if b.across == 1 else "p"
    return letter if a.across == 1 else letter.upper()


def _of_planes(
    dtype: Any, sizes: _Sizes, m: int, k: int, weight: Matrix, has_bias: bool
) -> Run | None:
    """``run(out, source, weight, bias)`` for dense planes of pixels: ``m`` from ``k``."""
    right, width = Matrix(sizes.pixels, 1), products.panel_width(dtype)
    batch = Batch(
        (sizes.images, sizes.groups), (0, sizes.outer * sizes.inner),
        (sizes.groups * k * sizes.pixels, k * sizes.pixels),
    )  # fmt: skip
    made = products.plan(
        dtype, (m, sizes.pixels, k), weight, right,
        start=Matrix(width, 0) if has_bias else None,
        batch=None if sizes.images * sizes.groups == 1 else batch,
        letter=_letter(dtype, m, sizes.pixels, k, weight, right),
    )  # fmt: skip
    if made is None:
        return None

    def run(out: Any, source: Any, factors: Any, bias: Any = None) -> None:
        if bias is None:
            made(out, factors, source)
        else:
            made(out, factors, source, np.repeat(bias, width))

    return run


def correlation(dtype: Any, case: Any, last: bool, has_bias: bool, inward: bool) -> Run | None:
    """``run(out, source, weight, bias)``, on flat arrays, ``bias`` being None for none.

    Args:
        case: shapes of the images, the window and the results, then stride, padding, dilation and
            groups.
        last: whether channels lie last.
        has_bias: whether a number is added to all results of a channel.
        inward: whether ``out`` is the gradient for the images.

    Returns:
        None for what is not one of ours, or is slower.
    """
    sizes = _Sizes(case, last)
    if not sizes.is_ours or (has_bias and sizes.groups > 1):
        return None
    m, k = (sizes.inner, sizes.outer) if inward else (sizes.outer, sizes.inner)
    weight = Matrix(1, sizes.inner) if inward else Matrix(sizes.inner, 1)
    if last:
        size = sizes.images * sizes.pixels, m, k
        left, right = Matrix(k, 1), Matrix(weight.across, weight.down)
        run = products.plan(
            dtype, size, left, right, start=Matrix(0, 1) if has_bias else None,
            letter=_letter(dtype, *size, left, right),
        )  # fmt: skip
        return None if run is None else _optional(run)
    planes = _of_planes(dtype, sizes, m, k, weight, has_bias)
    if planes is None or not sizes.fills_vectors(dtype):
        return None
    if not sizes.has_steps:
        return planes
    if not inward:
        return lambda out, source, *rest: planes(out, sizes.dense(source), *rest)

    def spread(out: Any, source: Any, factors: Any) -> None:
        count = sizes.images * sizes.groups * m * sizes.pixels
        made = workspace(count, out.dtype, "padded")
        planes(made, source, factors)
        sizes.spread(out, made)

    return spread


def _optional(run: Run) -> Run:
    """The same with a bias that may be None."""

    def optional(out: Any, source: Any, weight: Any, bias: Any = None) -> None:
        run(out, source, weight, *([] if bias is None else [bias]))

    return optional


def weight_gradient(dtype: Any, case: Any, last: bool) -> Run | None:
    """``run(out, g, x)``, on flat arrays; None as above."""
    sizes = _Sizes(case, last)
    if not sizes.is_ours:
        return None
    outer, inner, pixels, groups = sizes.outer, sizes.inner, sizes.pixels, sizes.groups
    if last:
        terms = sizes.images * pixels
        left, right = Matrix(1, outer), Matrix(inner, 1)
        letter = _letter(dtype, outer, inner, terms, left, right)
        return products.plan(dtype, (outer, inner, terms), left, right, letter=letter)
    if not sizes.fills_vectors(dtype):
        return None
    left, right = Matrix(pixels, 1), Matrix(1, pixels)
    letter = _letter(dtype, outer, inner, pixels, left, right)
    first, further = (
        products.plan(dtype, (outer, inner, pixels), left, right, start=start, letter=letter)
        for start in (None, Matrix(inner, 1))
    )
    if first is None or further is None:
        return None

    def run(out: Any, g: Any, x: Any) -> None:
        given = sizes.dense(x)
        for group in range(groups):
            made = out[group * outer * inner :]
            for image in range(sizes.images):
                at = (image * groups + group) * pixels
                if image == 0:
                    first(made, g[at * outer :], given[at * inner :])
                else:
                    further(made, g[at * outer :], given[at * inner :], made)

    return run
