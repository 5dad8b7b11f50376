"""torch.special: special functions, most of them under torch's own name too."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.ops import elementwise_special as ops

from ._registry import FUNCTIONS, operand

_NAMES = {
    "digamma": "digamma", "psi": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv",
    "exp2": "exp2", "expit": "sigmoid", "expm1": "expm1", "gammaln": "lgamma", "i0": "i0",
    "log1p": "log1p", "logit": "logit", "logsumexp": "logsumexp", "multigammaln": "mvlgamma",
    "polygamma": "polygamma", "round": "round", "sinc": "sinc", "xlogy": "xlogy",
}  # fmt: skip
globals().update({own: FUNCTIONS[name] for own, name in _NAMES.items()})


def xlog1py(input: Any, other: Any) -> Any:  # noqa: A002
    """``input * log(1 + other)``, 0 where ``input`` is 0."""
    return ops.xlog1py(operand(input, "xlog1py", "input"), operand(other, "xlog1py", "other"))


def zeta(input: Any, other: Any) -> Any:  # noqa: A002
    """The sum of ``(other + k) ** -input`` over k = 0, 1, ..."""
    return ops.zeta(operand(input, "zeta", "input"), operand(other, "zeta", "other"))


def i1(input: Any) -> Any:  # noqa: A002
    """The modified Bessel function of order 1."""
    return ops.i1(input)
