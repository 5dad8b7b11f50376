"""Fractional max pooling."""

from __future__ import annotations

from typing import Any

from .. import functional as F  # noqa: N812
from .module import Module
from .utils import _pair, _triple

__all__ = ["FractionalMaxPool2d", "FractionalMaxPool3d"]


class _FractionalMaxPool(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    def __init__(
        self, expand: Any, kernel_size: Any, output_size: Any, output_ratio: Any,
        return_indices: bool, samples: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = expand(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", samples)
        self.output_size = None if output_size is None else expand(output_size)
        self.output_ratio = None if output_ratio is None else expand(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{type(self).__name__} requires specifying either an output size, or a pooling "
                "ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _run(self, function: Any, x: Any) -> Any:
        return function(
            x, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima of windows at pseudo-random places; see :func:`functional.fractional_max_pool2d`."""

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            _pair, kernel_size, output_size, output_ratio, return_indices, _random_samples
        )

    def forward(self, input: Any) -> Any:  # noqa: A002
        """(N, C, H, W) or (C, H, W) -> the maxima; with their places when asked for."""
        return self._run(F.fractional_max_pool2d, input)


class FractionalMaxPool3d(_FractionalMaxPool):
    """:class:`FractionalMaxPool2d` with three axes."""

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Any = None,
    ) -> None:  # fmt: skip
        sizes = (kernel_size,) if isinstance(kernel_size, int) else tuple(kernel_size)
        if not all(k > 0 for k in sizes):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        super().__init__(
            _triple, kernel_size, output_size, output_ratio, return_indices, _random_samples
        )

    def forward(self, input: Any) -> Any:  # noqa: A002
        """(N, C, T, H, W) or (C, T, H, W) -> the maxima; with their places when asked for."""
        return self._run(F.fractional_max_pool3d, input)
