"""Gradients compared with differences: ``gradcheck``, and ``gradgradcheck`` for second ones.

For a real output ``y`` and an input ``x`` the Jacobian holds ``dy/dx``, or for complex ``x`` what
a backward pass gives, ``dy/dRe(x) + i dy/dIm(x)``; rows are elements of ``x``, columns of ``y``.
The real and imaginary parts of complex outputs are checked one after the other.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.publish import FUNCTIONS
from ..functions.comparison import allclose
from ..functions.complex_numbers import view_as_complex
from ..functions.parts import stack
from ..functions.queries import promote_types
from . import forward_ad
from ._gradients import grad
from .function import Function

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

Tensors = tuple[Any, ...]


class GradcheckError(RuntimeError):
    """A gradient is not what it should be."""


def _as_tuple(value: Any) -> Tensors:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _differentiable(value: Any) -> Tensors:
    return tuple(o for o in _as_tuple(value) if o.requires_grad)


def _tracked(inputs: Tensors) -> list[Any]:
    return [x for x in inputs if isinstance(x, EngineTensor) and x.requires_grad]


# --- Jacobians ----------------------------------------------------------------------------------


def _positions(x: Any) -> Iterator[tuple[int, ...]]:
    """The index of every element, the last axis fastest."""
    index = [0] * x.dim()
    for number in range(x.numel()):
        for axis in reversed(range(x.dim())):
            number, index[axis] = divmod(number, x.shape[axis])
        yield tuple(index)


def _values(value: Any) -> list[Any]:
    """Copies of floating-point outputs, detached."""
    kept = [o for o in _as_tuple(value) if o.is_floating_point() or o.is_complex()]
    return [o.detach().clone() for o in kept]


def _by_elements(
    func: Callable[..., Any], inputs: Tensors, x: Any, along: Callable[..., list[Any]]
) -> list[Any]:
    """The Jacobian of each output for ``x``, one of ``inputs``, from its rows.

    Args:
        along: ``along(position, step)``: the derivative of each output, flat, by the element there;
            ``step`` is 1, and for complex elements 1j besides.
    """
    columns = []
    for position in _positions(x):
        parts = [along(position, step) for step in ((1, 1j) if x.is_complex() else (1,))]
        whole = parts[0]
        if len(parts) == 2:
            whole = [FUNCTIONS["complex"](re, im) for re, im in zip(*parts, strict=True)]
        columns.append(whole)
    if not columns:
        return [o.new_zeros(0, o.numel()) for o in _values(func(*inputs))]
    return [stack(rows) for rows in zip(*columns, strict=True)]


def _numerical(func: Callable[..., Any], inputs: Tensors, x: Any, eps: float) -> list[Any]:
    """The Jacobian of each output for ``x``, one of ``inputs``, by central differences."""
    data = x.data

    def along(position: Any, step: complex) -> list[Any]:
        original = data[position].item()
        data[position] = original - step * eps
        below = _values(func(*inputs))
        data[position] = original + step * eps
        above = _values(func(*inputs))
        data[position] = original
        return [_slope(a, b, eps) for a, b in zip(above, below, strict=True)]

    return _by_elements(func, inputs, x, along)


def _slope(above: Any, below: Any, eps: float) -> Any:
    for what in ("shape", "dtype"):
        first, second = getattr(below, what), getattr(above, what)
        if first != second:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are "
                f"perturbed by {eps}, but got: {what}s {first} and {second}."
            )
    return ((above - below) / (2 * eps)).reshape(-1)


def _analytical(output: Any, inputs: list[Any], check_dtypes: bool) -> list[Any]:
    """The Jacobian of one output for each input, from a backward pass for each element."""
    columns: list[list[Any]] = [[] for _ in inputs]
    for position in _positions(output):
        weight = output.new_zeros(output.shape)
        weight[position] = 1
        found = grad(output, inputs, weight, retain_graph=True, allow_unused=True)
        for column, x, gradient in zip(columns, inputs, found, strict=True):
            if gradient is None:
                gradient = x.new_zeros(x.shape)
            if check_dtypes and gradient.dtype != x.dtype:
                raise GradcheckError("Gradient has dtype mismatch")
            if gradient.shape != x.shape:
                raise GradcheckError("Analytical gradient has incorrect size")
            column.append(gradient.detach().reshape(-1))
    empty = [x.new_zeros(x.numel(), 0) for x in inputs]
    return [stack(c, 1) if c else e for c, e in zip(columns, empty, strict=True)]


def _pushed(func: Callable[..., Any], inputs: Tensors, x: Any) -> list[Any]:
    """The Jacobian of each output for ``x``, one of ``inputs``, from a tangent per element."""

    def along(position: Any, step: complex) -> list[Any]:
        tangent = FUNCTIONS["zeros_like"](x, requires_grad=False)
        tangent[position] = step
        with forward_ad.dual_level():
            given = tuple(forward_ad.make_dual(i, tangent) if i is x else i for i in inputs)
            made = [o for o in _as_tuple(func(*given)) if o.is_floating_point()]
            found = [forward_ad.unpack_dual(o).tangent for o in made]
        return [o.new_zeros(o.numel()) if t is None else t.detach().reshape(-1)
                for o, t in zip(made, found, strict=True)]  # fmt: skip

    return _by_elements(func, inputs, x, along)


def _check_forward(
    func: Callable[..., Any], inputs: Tensors, numerical: list[list[Any]], options: dict[str, Any]
) -> None:
    """Compare what tangents are pushed to with the numerical Jacobians."""
    for j, x in enumerate(_tracked(inputs)):
        for i, (a, n) in enumerate(zip(_pushed(func, inputs, x), numerical[j], strict=True)):
            if not _close(a, n, options["rtol"], options["atol"]):
                raise GradcheckError(
                    f"Jacobian computed with forward mode mismatch for output {i} with respect to "
                    f"input {j},\nnumerical:{n}\nanalytical:{a}\n"
                )


def _close(a: Any, b: Any, rtol: float, atol: float) -> bool:
    kind = promote_types(a.dtype, b.dtype)
    return bool(allclose(a.to(kind), b.to(kind), rtol, atol))


def _check_jacobians(
    func: Callable[..., Any],
    inputs: Tensors,
    part: str,
    complex_outputs: list[int],
    options: dict[str, Any],
) -> None:
    """Compare both kinds of Jacobians of ``func``, whose outputs are real."""
    returned = _as_tuple(func(*inputs))
    outputs, tracked = _differentiable(returned), _tracked(inputs)
    numerical = [_numerical(func, inputs, x, options["eps"]) for x in tracked]
    if options["check_forward_ad"]:
        _check_forward(func, inputs, numerical, options)
    if not options["check_backward_ad"]:
        return
    if not outputs:
        if any(bool((j != 0).any()) for each in numerical for j in each):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    floating = [o for o in returned if o.is_floating_point() or o.is_complex()]
    places = [k for k, o in enumerate(floating) if o.requires_grad]
    for i, (output, place) in enumerate(zip(outputs, places, strict=True)):
        first = _analytical(output, tracked, options["check_grad_dtypes"])
        again = _analytical(output, tracked, options["check_grad_dtypes"])
        tolerance = options["nondet_tol"]
        for a, b in zip(first, again, strict=True):
            if a.numel() and bool((a - b).abs().max() > tolerance):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and "
                    "grad_output multiple times gives different values, although analytical "
                    "gradient matches numerical gradient.The tolerance for nondeterminism was "
                    f"{tolerance}."
                )
        for j, a in enumerate(first):
            n = numerical[j][place]
            if not _close(a, n, options["rtol"], options["atol"]):
                only = f"While considering the {part} part of complex outputs only, "
                raise GradcheckError(
                    (only if i in complex_outputs else "")
                    + f"Jacobian mismatch for output {i} with respect to input {j},\n"
                    f"numerical:{n}\nanalytical:{a}\n"
                )


# --- further checks -----------------------------------------------------------------------------


def _check_inputs(inputs: Tensors) -> None:
    for number, x in enumerate(inputs):
        if not (isinstance(x, EngineTensor) and x.requires_grad):
            continue
        if x.dtype not in (dtypes.float64, dtypes.complex128):
            warnings.warn(
                f"Input #{number} requires gradient and is not a double precision floating point "
                "or complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. ",
                stacklevel=4,
            )
        if any(s == 0 and n > 1 for s, n in zip(x.stride(), x.size(), strict=True)):
            raise RuntimeError(
                f"The {number}th input has a dimension with stride 0. gradcheck only supports "
                "inputs that are non-overlapping to be able to compute the numerical gradients "
                "correctly. You should call .contiguous on the input before passing it to "
                "gradcheck."
            )
    if not _tracked(inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )


def _check_zero_weights(outputs: Tensors, inputs: list[Any]) -> None:
    """A backward pass is linear: weights of zero give gradients of zero."""
    zeros = [FUNCTIONS["zeros_like"](o) for o in outputs]
    found = grad(outputs, inputs, zeros, retain_graph=True, allow_unused=True)
    for gradient, x in zip(found, inputs, strict=True):
        if gradient is None:
            continue
        if not bool((gradient == 0).all()):
            raise GradcheckError("backward not multiplied by grad_output")
        if gradient.dtype != x.dtype:
            raise GradcheckError("grad is incorrect type")
        if gradient.size() != x.size():
            raise GradcheckError("grad is incorrect size")


class _Undefined(Function):
    """The identity whose input gets no gradient at all."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> None:
        return None


def _check_undefined(func: Callable[..., Any], inputs: Tensors, count: int) -> None:
    """Outputs that get no gradient, all or one of them, count as ones that get zeros."""
    for left_out in (None, *(range(count) if count > 1 else ())):
        outputs = [
            _Undefined.apply(o) if left_out in (None, number) else o
            for number, o in enumerate(_differentiable(func(*inputs)))
        ]
        zeros = [FUNCTIONS["zeros_like"](o) for o in outputs]
        try:
            found = grad(outputs, _tracked(inputs), zeros, allow_unused=True)
        except RuntimeError as error:
            _refuse("Expected backward function to handle undefined output grads.", error)
        if any(g is not None and not bool((g == 0).all()) for g in found):
            _refuse(
                "Expected all input grads to be undefined or zero when all output grads are "
                "undefined or zero.",
                None,
            )


def _refuse(text: str, cause: Exception | None) -> NoReturn:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by "
        "default, but it may break existing callers of this function. If this is true for you, "
        'you can call this function with "check_undefined_grad=False" to disable the feature',
        stacklevel=5,
    )
    notes = '"Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
    raise GradcheckError(f"{text} Please look at {notes}") from cause


def _check_batched(outputs: Tensors, inputs: list[Any]) -> None:
    """Gradients mapped over two weights are those of one after the other."""
    for i, output in enumerate(outputs):
        weights = stack([FUNCTIONS["randn_like"](output) for _ in range(2)])

        def gradients(weight: Any, batched: bool, output: Any = output) -> Any:
            return grad(
                output, inputs, weight, retain_graph=True, is_grads_batched=batched,
                materialize_grads=True,
            )  # fmt: skip

        singly = zip(*(gradients(w, False) for w in weights), strict=True)
        expected = [stack(each) for each in singly]
        for j, (mine, wanted) in enumerate(zip(gradients(weights, True), expected, strict=True)):
            if not allclose(mine, wanted):
                raise GradcheckError(
                    f"For output {i} and input {j}: batched gradients are not those of one weight "
                    f"at a time\nGot:\n{mine}\n\nExpected:\n{wanted}"
                )


# --- the two functions --------------------------------------------------------------------------


def _check(func: Callable[..., Any], inputs: Tensors, options: dict[str, Any]) -> None:
    _check_inputs(inputs)
    outputs = _differentiable(func(*inputs))
    complex_outputs = [i for i, o in enumerate(outputs) if o.is_complex()]
    for part in ("imag", "real") if complex_outputs else ("real",):

        def real(*given: Any, part: str = part) -> Tensors:
            floating = [o for o in _as_tuple(func(*given)) if isinstance(o, EngineTensor)]
            return tuple(getattr(o, part) if o.is_complex() else o for o in floating)

        name = {"imag": "imaginary", "real": "real"}[part]
        _check_jacobians(real, inputs, name, complex_outputs, options)
    if options["check_batched_grad"]:
        _check_batched(outputs, _tracked(inputs))
    if not outputs or not options["check_backward_ad"]:
        return
    _check_zero_weights(outputs, _tracked(inputs))
    if options["check_undefined_grad"]:
        _check_undefined(func, inputs, len(outputs))


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of ``func`` are those of ``(f(x + eps) - f(x - eps)) / (2 eps)``.

    Args:
        func: a function of tensors that returns a tensor or a tuple of them.
        inputs: its arguments; those that require gradients are varied, element for element.
        eps, atol, rtol: the step, and what ``allclose`` allows between both Jacobians.
        raise_exception: raise GradcheckError where they differ, instead of returning False.
        nondet_tol: by how much two backward passes may differ.
        check_undefined_grad: check that outputs without a gradient count as zeros.
        check_grad_dtypes: a gradient must have its input's dtype.
        check_batched_grad: check gradients for a batch of weights too.
        check_forward_ad, check_backward_ad: compare the Jacobians of ``autograd.forward_ad`` and
            those of backward passes.
        fast_mode: what it would compare, projections of the Jacobians, is implied by the
            comparison of the whole ones, which is made in any case.
        masked: concerns sparse tensors, which there are none of.
        check_backward_ad: look at backward's derivatives; this or ``check_forward_ad`` is True.

    ``check_batched_forward_grad`` raises NotImplementedError.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    for flag, needed, names in (
        (check_undefined_grad, check_backward_ad, ("undefined_grad", "backward_ad")),
        (check_batched_grad, check_backward_ad, ("batched_grad", "backward_ad")),
        (check_batched_forward_grad, check_forward_ad, ("batched_forward_grad", "forward_ad")),
    ):
        if flag and not needed:
            raise AssertionError(
                f"Setting check_{names[0]}=True requires check_{names[1]} to be True"
            )
    if check_batched_forward_grad:
        raise NotImplementedError("gradcheck(check_batched_forward_grad=True) is not supported")
    options = {
        "eps": eps, "atol": atol, "rtol": rtol, "nondet_tol": nondet_tol,
        "check_undefined_grad": check_undefined_grad, "check_grad_dtypes": check_grad_dtypes,
        "check_batched_grad": check_batched_grad, "check_forward_ad": check_forward_ad,
        "check_backward_ad": check_backward_ad,
    }  # fmt: skip
    tolerated = contextlib.nullcontext() if raise_exception else contextlib.suppress(RuntimeError)
    with tolerated:
        _check(func, _as_tuple(inputs), options)
        return True
    return False


def _random_weight(output: Any, non_contiguous: bool) -> Any:
    """Numbers from -1 to 1 in the output's shape and type, drawn in torch's order."""
    shape = output.shape
    sparse = non_contiguous and output.numel() > 1
    if sparse:
        shape = (*shape[:-1], 2 * shape[-1])
    if output.is_complex():
        parts = output.real.new_empty(*shape, 2).uniform_(-1, 1)
        weight = view_as_complex(parts)
    else:
        weight = output.new_empty(shape).uniform_(-1, 1)
    return (weight[..., 1::2] if sparse else weight).requires_grad_()


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """:func:`gradcheck` of the gradients of ``func``, as a function of its inputs and weights.

    ``grad_outputs`` are the weights of the outputs, random ones (non-contiguous with
    ``gen_non_contig_grad_outputs``) where they are not given; the rest is as in gradcheck.

    Args:
        eps, atol, rtol, raise_exception, nondet_tol, fast_mode, masked: as of :func:`gradcheck`.
        check_undefined_grad, check_grad_dtypes, check_batched_grad: as of :func:`gradcheck`.
        check_fwd_over_rev, check_rev_over_rev: as of :func:`gradcheck`.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    for flag, name in ((check_undefined_grad, "undefined"), (check_batched_grad, "batched")):
        if flag and not check_rev_over_rev:
            raise AssertionError(
                f"Setting check_{name}_grad=True requires check_rev_over_rev to be True"
            )
    given = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable(func(*given))
        weights = tuple(_random_weight(o, gen_non_contig_grad_outputs) for o in outputs)
    else:
        weights = _as_tuple(grad_outputs)

    def gradients(*arguments: Any) -> Tensors:
        own = arguments[: len(given)]
        found = grad(
            _differentiable(func(*own)), _tracked(own), arguments[len(given) :],
            create_graph=True, allow_unused=True,
        )  # fmt: skip
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients, given + weights, eps=eps, atol=atol, rtol=rtol,
        raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev, fast_mode=fast_mode, masked=masked,
    )  # fmt: skip
