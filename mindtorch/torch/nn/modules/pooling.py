"""Pooling."""

from __future__ import annotations

from typing import Any

from .. import functional as F  # noqa: N812
from .module import Module
from .utils import ntuple

_RANKS = (1, 2, 3)


class _MaxPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    _spatial = 0

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Any) -> Any:  # noqa: A002
        """The largest element of each window (and its place)."""
        return getattr(F, f"max_pool{self._spatial}d")(
            input, self.kernel_size, self.stride, self.padding, self.dilation,
            ceil_mode=self.ceil_mode, return_indices=self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The arguments."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    _spatial = 0

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        each = ntuple(1) if self._spatial == 1 else (lambda v: v)
        self.kernel_size = each(kernel_size)
        self.stride = each(stride if stride is not None else kernel_size)
        self.padding = each(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        if self._spatial > 1:
            self.divisor_override = divisor_override
        elif divisor_override is not None:
            raise TypeError(
                "AvgPool1d.__init__() got an unexpected keyword argument 'divisor_override'"
            )

    def forward(self, input: Any) -> Any:  # noqa: A002
        """The mean of each window."""
        extra = () if self._spatial == 1 else (self.divisor_override,)
        return getattr(F, f"avg_pool{self._spatial}d")(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, *extra,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The arguments."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AdaptiveAvgPoolNd(Module):
    __constants__ = ["output_size"]
    _spatial = 0

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Means over as many windows as ``output_size`` says."""
        return getattr(F, f"adaptive_avg_pool{self._spatial}d")(input, self.output_size)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(Module):
    __constants__ = ["output_size", "return_indices"]
    _spatial = 0

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Any) -> Any:  # noqa: A002
        """The largest elements of as many windows as ``output_size`` says."""
        return getattr(F, f"adaptive_max_pool{self._spatial}d")(
            input, self.output_size, self.return_indices
        )

    def extra_repr(self) -> str:
        """The arguments."""
        return f"output_size={self.output_size}"


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    _spatial = 0

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Any) -> Any:  # noqa: A002
        """(sum of x ** p) ** (1 / p) over each window."""
        return getattr(F, f"lp_pool{self._spatial}d")(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )

    def extra_repr(self) -> str:
        """The arguments."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class _MaxUnpoolNd(Module):
    _spatial = 0

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        each = ntuple(self._spatial)
        self.kernel_size = each(kernel_size)
        self.stride = each(stride if stride is not None else kernel_size)
        self.padding = each(padding)

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:  # noqa: A002
        """Elements at their places, zeros elsewhere."""
        return getattr(F, f"max_unpool{self._spatial}d")(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self) -> str:
        """The arguments."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


_KINDS: dict[str, tuple[Any, str]] = {
    "MaxPool": (_MaxPoolNd, "The largest element of each window"),
    "AvgPool": (_AvgPoolNd, "The mean of each window"),
    "AdaptiveAvgPool": (_AdaptiveAvgPoolNd, "Means over a given number of windows"),
    "AdaptiveMaxPool": (_AdaptiveMaxPoolNd, "Largest elements of a given number of windows"),
    "LPPool": (_LPPoolNd, "The p-norm of each window"),
    "MaxUnpool": (_MaxUnpoolNd, "The inverse of max pooling"),
}


def _define() -> list[str]:
    """MaxPool1d ... MaxUnpool3d: one class for each kind and number of spatial axes."""
    names = []
    for kind, (base, text) in _KINDS.items():
        for spatial in _RANKS:
            name = f"{kind}{spatial}d"
            fields = {
                "_spatial": spatial, "__module__": __name__, "__qualname__": name,
                "__doc__": f"{text}, over {spatial} spatial axes.",
            }  # fmt: skip
            if kind == "AvgPool" and spatial > 1:
                fields["__constants__"] = [*base.__constants__, "divisor_override"]
            globals()[name] = type(name, (base,), fields)
            names.append(name)
    return names


__all__ = _define()  # noqa: PLE0605
