"""torch.signal.windows: functions of M places that weigh a piece of a signal.

Every function takes ``sym`` (symmetric, or one period of a periodic window), ``dtype`` (float32 or
float64), ``layout``, ``device`` and ``requires_grad``. ``n`` counts the places from 0, and ``N`` is
``M - 1`` where the window is symmetric, else ``M``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.torch._api.shared_docs import TEXTS as _TEXTS

from .._api.arguments import as_dtype
from .._api.publish import FUNCTIONS as torch
from .._tensor.size_and_formats import strided

__path__: list[str] = []  # of modules that _compat/inner_modules.txt names


def _options(name: str, places: int, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a factory function; torch's errors for those that windows do not have."""
    known = {"dtype": None, "layout": strided, "device": None, "requires_grad": False}
    for each in options:
        if each not in known:
            raise TypeError(f"{name}() got an unexpected keyword argument '{each}'")
    found = {**known, **options}
    dtype = dtypes.default if found["dtype"] is None else as_dtype(found["dtype"])
    if places < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={places}")
    if found["layout"] is not strided:
        raise ValueError(
            f"{name} is implemented for strided tensors only, got: {found['layout']}"
        )
    if dtype not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return {**found, "dtype": dtype}


def _steps(places: int, first: float, step: float, options: dict[str, Any]) -> Any:
    """``first + n * step``."""
    last = first + (places - 1) * step
    return torch["linspace"](first, last, places, **options)


def _period(places: int, sym: bool) -> int:
    return places - 1 if sym or places <= 1 else places


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any  # noqa: N803
) -> Any:
    """``exp(-abs(n - center) / tau)``; the centre is ``N / 2`` unless given."""
    options = _options("exponential", M, options)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return torch["empty"]((0,), **options)
    if center is None:
        center = _period(M, sym) / 2.0
    # the ends as torch rounds them
    scale = 1 / tau
    ends = -center * scale, (-center + (M - 1)) * scale
    return torch["exp"](-torch["abs"](torch["linspace"](*ends, M, **options)))


def cosine(M: int, *, sym: bool = True, **options: Any) -> Any:  # noqa: N803
    """``sin(pi (n + 1/2) / (N + 1))``."""
    options = _options("cosine", M, options)
    if M == 0:
        return torch["empty"]((0,), **options)
    scale = math.pi / (_period(M, sym) + 1 if M > 1 else M)
    return torch["sin"](torch["linspace"](0.5 * scale, (0.5 + (M - 1)) * scale, M, **options))


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Any:  # noqa: N803
    """``exp(-((n - N / 2) / std)^2 / 2)``."""
    options = _options("gaussian", M, options)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return torch["empty"]((0,), **options)
    start, scale = -_period(M, sym) / 2.0, 1 / (std * math.sqrt(2))
    k = torch["linspace"](start * scale, (start + (M - 1)) * scale, M, **options)
    return torch["exp"](-(k**2))


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Any:  # noqa: N803
    """``i0(beta sqrt(1 - (2 n / N - 1)^2)) / i0(beta)``."""
    options = _options("kaiser", M, options)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return torch["ones"]((M,), **options)
    fixed = torch["tensor"](beta, dtype=options["dtype"], device=options["device"])
    step = 2.0 * fixed / _period(M, sym)
    end = torch["minimum"](fixed, -fixed + (M - 1) * step)
    k = torch["linspace"]((-fixed).item(), end.item(), M, **options)
    return torch["i0"](torch["sqrt"](fixed * fixed - k**2)) / torch["i0"](fixed)


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Any:  # noqa: N803
    """``1 - abs(2 n / N - 1)``."""
    options = _options("bartlett", M, options)
    if M < 2:
        return torch["ones"]((M,), **options)
    return 1 - torch["abs"](_steps(M, -1, 2 / _period(M, sym), options))


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Any:  # noqa: N803
    """The sum of ``(-1)^i a[i] cos(2 pi i n / N)``."""
    options = _options("general_cosine", M, options)
    if M < 2:
        return torch["ones"]((M,), **options)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    signed = [(-1) ** i * weight for i, weight in enumerate(a)]
    if not signed:
        raise ValueError("Coefficients cannot be empty")
    k = _steps(M, 0, 2 * math.pi / _period(M, sym), options)
    plain = {name: options[name] for name in ("dtype", "device")}
    weights = torch["tensor"](signed, **plain, requires_grad=options["requires_grad"])
    i = torch["arange"](len(signed), **plain)
    return (weights.unsqueeze(-1) * torch["cos"](i.unsqueeze(-1) * k)).sum(0)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Any:  # noqa: N803
    """``alpha - (1 - alpha) cos(2 pi n / N)``."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Any:  # noqa: N803
    """:func:`general_hamming` of 0.54."""
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Any:  # noqa: N803
    """:func:`general_hamming` of 0.5."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Any:  # noqa: N803
    """:func:`general_cosine` of 0.42, 0.5 and 0.08."""
    _options("blackman", M, options)
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Any:  # noqa: N803
    """:func:`general_cosine` of Nuttall's four weights."""
    return general_cosine(
        M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options
    )

_TEXTS.add_to(globals().values())
