"""torch.special: special functions, most of them under torch's own name too."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mindtorch.engine import dtypes
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import elementwise_special as ops
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant
from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._api.shared_docs import TEXTS as _TEXTS

from ._api.out_rules import ANY, Out
from ._api.public import Public
from ._api.publish import FUNCTIONS, check_numbers, operand, store_out, under_other_name
from ._api.shown_signature import ShownSignature

for _name in ("logit", "logsumexp", "polygamma", "round", "softmax", "log_softmax"):
    globals()[_name] = under_other_name(f"special_{_name}", FUNCTIONS[_name])
multigammaln = under_other_name("special_multigammaln", FUNCTIONS["mvlgamma"])
_SCALARS = (int, float, bool, complex)
_Call = Callable[..., Any]


def _named(call: _Call, name: str, formula: str) -> _Call:
    call.__doc__ = formula
    return Public(f"special_{name}", call).as_function(f"special_{name}", __name__)


_UNTRACKED = Out(untracked=True)


def _of_tensor(name: str, op: _Call, formula: str, rule: Out = ANY) -> _Call:
    """A function of one tensor; TypeError for anything else."""

    def call(input: Any, *, out: Any = None) -> Any:  # noqa: A002
        if not isinstance(input, EngineTensor):
            raise TypeError(
                f"special_{name}(): argument 'input' (position 1) must be Tensor, not "
                f"{type(input).__name__}"
            )
        result = op(input)
        return result if out is None else store_out(
            result, out, f"special_{name}", (input,), rule
        )

    return _named(call, name, formula)


def _of_two(name: str, op: _Call, formula: str, numbers: str = "one") -> _Call:
    """A function of two tensors, one of which may be a number."""

    def call(input: Any, other: Any, *, out: Any = None) -> Any:  # noqa: A002
        check_numbers(f"special_{name}", numbers, input, other)
        result = op(operand(input, name, "input"), operand(other, name, "other"))
        return result if out is None else store_out(
            result, out, f"special_{name}", (input, other)
        )

    return _named(call, name, formula)


_OF_DEGREE = ShownSignature(lambda input, n: None, out=True)


def _polynomial(name: str, op: _Call) -> _Call:
    """Values have no derivative, as in torch."""

    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        given = dict(zip(("input", "n"), args, strict=False), **kwargs)
        x, n = given.get("input", given.get("x")), given.get("n")
        tensors = [isinstance(each, EngineTensor) for each in (x, n)]
        known = all(isinstance(each, (EngineTensor, *_SCALARS)) for each in (x, n))
        if len(given) != 2 or len(args) > 2 or not known or not any(tensors):
            kinds = ", ".join(type(each).__name__ for each in (*args, *kwargs.values()))
            forms = ("Tensor x, Tensor n", "Number x, Tensor n", "Tensor x, Number n")
            lines = "".join(f" * ({form}, *, Tensor out = None)\n" for form in forms)
            raise TypeError(
                f"special_{name}() received an invalid combination of arguments - got ({kinds}), "
                f"but expected one of:\n{lines}"
            )
        result = op(_plain(x), _plain(n))
        return result if out is None else store_out(
            result, out, f"special_{name}", (x, n), _UNTRACKED
        )

    call.__signature__ = _OF_DEGREE  # type: ignore[attr-defined]
    return call


def _plain(x: Any) -> Any:
    return x.detach() if isinstance(x, EngineTensor) else constant(x)


def _underived(op: _Call) -> _Call:
    return lambda x: op(x.detach())


_check_zeta = ops.lacks("zeta_cpu")


def _zeta(x: Any, y: Any) -> Any:
    _check_zeta(dtypes.result_type((x.aval, y.aval)))
    return ops.zeta(x, y)


for _name, _op, _formula in (
    ("digamma", ops.digamma, "The derivative of log gamma."),
    ("psi", ops.digamma, "The derivative of log gamma."),
    ("entr", ops.entr, "``-x log(x)``: 0 at 0 and -inf below."),
    ("erf", ops.erf, "``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x."),
    ("erfc", ops.erfc, "``1 - erf(x)``."),
    ("erfcx", ops.erfcx, "``exp(x**2) erfc(x)``."),
    ("erfinv", ops.erfinv, "The inverse of erf."),
    ("exp2", el.exp2, "``2**x``."),
    ("expit", el.sigmoid, "``1 / (1 + exp(-x))``."),
    ("expm1", el.expm1, "``exp(x) - 1``."),
    ("gammaln", ops.lgamma, "The logarithm of the absolute value of gamma."),
    ("i0", ops.i0, "The modified Bessel function of the first kind of order 0."),
    ("i0e", ops.i0e, "``exp(-|x|) i0(x)``."),
    ("i1", ops.i1, "The modified Bessel function of the first kind of order 1."),
    ("i1e", ops.i1e, "``exp(-|x|) i1(x)``."),
    ("log1p", el.log1p, "``log(1 + x)``."),
    ("log_ndtr", ops.log_ndtr, "The logarithm of the normal distribution function."),
    ("ndtri", ops.ndtri, "The inverse of the normal distribution function."),
    ("sinc", ops.sinc, "``sin(pi x) / (pi x)``, 1 at 0."),
):
    globals()[_name] = _of_tensor(_name, _op, _formula)
ndtr = _of_tensor(
    "ndtr", ops.ndtr, "The normal distribution function, ``(1 + erf(x / sqrt(2))) / 2``.",
    Out(recorded=True),
)  # fmt: skip
for _name, _formula in (
    ("airy_ai", "The Airy function Ai."),
    ("bessel_j0", "The Bessel function of the first kind of order 0."),
    ("bessel_j1", "The Bessel function of the first kind of order 1."),
    ("bessel_y0", "The Bessel function of the second kind of order 0."),
    ("bessel_y1", "The Bessel function of the second kind of order 1."),
    ("modified_bessel_i0", "The modified Bessel function of the first kind of order 0."),
    ("modified_bessel_i1", "The modified Bessel function of the first kind of order 1."),
    ("modified_bessel_k0", "The modified Bessel function of the second kind of order 0."),
    ("modified_bessel_k1", "The modified Bessel function of the second kind of order 1."),
    ("scaled_modified_bessel_k0", "``exp(x)`` times modified_bessel_k0."),
    ("scaled_modified_bessel_k1", "``exp(x)`` times modified_bessel_k1."),
    ("spherical_bessel_j0", "``sin(x) / x``, 1 at 0."),
):
    globals()[_name] = _of_tensor(_name, _underived(getattr(ops, _name)), _formula, _UNTRACKED)
for _name, _pair, _formula, _numbers in (
    ("xlogy", ops.xlogy, "``input * log(other)``, 0 where ``input`` is 0.", "one"),
    ("xlog1py", ops.xlog1py, "``input * log(1 + other)``, 0 where ``input`` is 0.", "one"),
    ("zeta", _zeta, "The sum of ``(other + k) ** -input`` over k = 0, 1, ...", "one"),
    ("gammainc", ops.igamma,
     "``1 / gamma(a)`` times the integral of ``t**(a-1) exp(-t)`` from 0 to ``other``.", "none"),
    ("gammaincc", ops.igammac,
     "``1 / gamma(a)`` times the integral of ``t**(a-1) exp(-t)`` from ``other`` on.", "none"),
):  # fmt: skip
    globals()[_name] = _of_two(_name, _pair, _formula, _numbers)
for _name in (
    *(f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"),
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p",
):  # fmt: skip
    _op = getattr(ops, _name.replace("_polynomial", ""))
    globals()[_name] = _named(
        _polynomial(_name, _op),
        _name,
        f"The {_name.replace('_', ' ')} of degree ``n`` at ``input``: 0 for ``n`` below 0, "
        "``n`` cut to a whole number.",
    )

_TEXTS.add_to(globals().values())
if TYPE_CHECKING:
    from ._special import *  # noqa: F403

_own_names(globals())
