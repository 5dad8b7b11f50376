"""Products with Jacobians and Hessians, as functions of functions.

``func`` takes and returns tensors or tuples of them. With ``create_graph`` the results can be
differentiated; with ``strict`` an output that does not depend on an input raises RuntimeError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mindtorch.engine.autograd import api, tape
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import full_flat

from ..functions.parts import stack
from ._gradients import grad

Tensors = tuple[Any, ...]


# --- arguments and checks -----------------------------------------------------------------------


def _as_tuple(value: Any, what: str, function: str) -> tuple[bool, Tensors]:
    """(whether it was a tuple, the tuple)."""
    given = value if isinstance(value, tuple) else (value,)
    for index, each in enumerate(given):
        if isinstance(each, EngineTensor):
            continue
        where = f"value at index {index}" if isinstance(value, tuple) else f"given {what}"
        raise TypeError(
            f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the "
            f"{where} has type {type(each)}."
        )
    return isinstance(value, tuple), given


def _tracked(inputs: Tensors, create_graph: bool) -> Tensors:
    return tuple(
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_()
        for x in inputs
    )


def _left(values: Any, create_graph: bool, several: bool) -> Any:
    """What the caller gets: without history unless it is asked for."""
    kept = tuple(x if create_graph else x.detach() for x in values)
    return kept if several else kept[0]


def _directions(v: Any, like: Tensors, several: bool, function: str, what: str) -> Any:
    """``v`` as a tuple that fits ``like``; None where one number stands for it."""
    if v is None:
        if len(like) != 1 or like[0].aval.size != 1:
            raise RuntimeError(
                f"The vector v can only be None if {what} a single Tensor with a single element."
            )
        return None
    given = tuple(x.detach() if not x.requires_grad else x for x in _as_tuple(v, "v", function)[1])
    if len(given) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}."
            if several
            else "The given v should contain a single Tensor."
        )
    for index, (mine, other) in enumerate(zip(given, like, strict=True)):
        if mine.aval.shape != other.aval.shape:
            entry = f"Entry {index} in " if several else ""
            raise RuntimeError(
                f"{entry}v has invalid size: should be {other.size()} but got {mine.size()}."
            )
    return given


_INPUT_UNUSED = (
    "The output of the user-provided function is independent of input {}. This is not allowed in "
    "strict mode."
)
# what is wrong when a tensor of each kind has no history in strict mode
_UNTRACKED = {
    "outputs": "Output {} of the user-provided function does not require gradients. The outputs "
    "must be computed in a differentiable manner from the input when running in strict mode.",
    "grad_inputs": "The gradient with respect to input {} is independent of the inputs of the "
    "user-provided function. This is not allowed in strict mode.",
    "jacobian": "While computing the hessian, found that the jacobian of the user-provided "
    "function with respect to input {} is independent of the input. This is not allowed in strict "
    "mode. You should ensure that your function is twice differentiable and that the jacobian "
    "depends on the inputs (this would be violated by a linear function for example).",
    "hessian": "The hessian of the user-provided function with respect to input {} is independent "
    "of the input. This is not allowed in strict mode. You should ensure that your function is "
    "thrice differentiable and that the hessian depends on the inputs.",
}
# what is wrong when a gradient is missing in strict mode
_MISSING = {
    "back": _INPUT_UNUSED,
    "back_trick": "The gradient with respect to the input is independent of entry {} in the "
    "grad_outputs when using the double backward trick to compute forward mode gradients. This is "
    "not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {}. This "
    "is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in "
    "the grad_jacobian. This is not allowed in strict mode as it prevents from using the double "
    "backward trick to replace forward mode AD.",
}


def _require_tracked(values: Sequence[Any], kind: str, strict: bool) -> None:
    if not strict:
        return
    for index, x in enumerate(values):
        if x is None:
            raise RuntimeError(_INPUT_UNUSED.format(index))
        if not x.requires_grad:
            raise RuntimeError(_UNTRACKED[kind].format(index))


def _zeros(x: Any) -> Any:
    return full_flat(x.aval.shape, x.aval.dtype, 0)


def _filled(
    gradients: Sequence[Any], like: Tensors, strict: bool, create_graph: bool, stage: str
) -> Tensors:
    """``gradients`` with zeros for those that are missing."""
    for index, g in enumerate(gradients):
        if strict and g is None:
            raise RuntimeError(_MISSING[stage].format(index))
        if strict and create_graph and not g.requires_grad:
            what = "hessian" if "double" in stage else "jacobian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {index}. This "
                "is not allowed in strict mode when create_graph=True."
            )
    return tuple(_zeros(x) if g is None else g for g, x in zip(gradients, like, strict=True))


def _gradients(
    outputs: Sequence[Any], inputs: Tensors, weights: Any = None, create_graph: bool = False,
    retain_graph: bool | None = None,
) -> list[Any]:  # fmt: skip
    """Gradients of those outputs that have a history; None where there is no path."""
    given = [None] * len(outputs) if weights is None else weights
    rows = [(o, w) for o, w in zip(outputs, given, strict=True)
            if o is not None and tape.requires_grad(o)]  # fmt: skip
    if not rows:
        return [None] * len(inputs)
    return api.gradients(
        [o for o, _ in rows], inputs, [w for _, w in rows], retain_graph=retain_graph,
        create_graph=create_graph, allow_unused=True,
    )  # fmt: skip


# --- products -----------------------------------------------------------------------------------


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> Any:  # fmt: skip
    """(func(inputs), v J); ``v`` may be left out where the output is one number."""
    with api.grad_mode(True):
        several, given = _as_tuple(inputs, "inputs", "vjp")
        tracked = _tracked(given, create_graph)
        several_out, outputs = _as_tuple(
            func(*tracked), "outputs of the user-provided function", "vjp"
        )
        _require_tracked(outputs, "outputs", strict)
        weights = _directions(v, outputs, several_out, "vjp", "the user-provided function returns")
        found = _gradients(outputs, tracked, weights, create_graph)
        product = _filled(found, tracked, strict, create_graph, "back")
    return _left(outputs, create_graph, several_out), _left(product, create_graph, several)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> Any:  # fmt: skip
    """(func(inputs), J v): the transpose of the transposed product."""
    with api.grad_mode(True):
        several, given = _as_tuple(inputs, "inputs", "jvp")
        tracked = _tracked(given, create_graph)
        what = "the input to the user-provided function is"
        tangents = _directions(v, given, several, "jvp", what)
        several_out, outputs = _as_tuple(
            func(*tracked), "outputs of the user-provided function", "jvp"
        )
        _require_tracked(outputs, "outputs", strict)
        probes = tuple(api.track(_zeros(y)) for y in outputs)
        transposed = _gradients(outputs, tracked, probes, create_graph=True)
        _require_tracked(transposed, "grad_inputs", strict)
        found = _gradients(transposed, probes, tangents, create_graph)
        product = _filled(found, outputs, strict, create_graph, "back_trick")
    return _left(outputs, create_graph, several_out), _left(product, create_graph, several_out)


def _number(func: Callable[..., Any], inputs: Tensors, strict: bool, function: str) -> Any:
    """The single number that ``func`` returns."""
    output = func(*inputs)
    several, outputs = _as_tuple(output, "outputs of the user-provided function", function)
    _require_tracked(outputs, "outputs", strict)
    if several:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if output.aval.size != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {function} should contain a single "
            "element"
        )
    return output


def _hessian_product(
    func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool, function: str
) -> Any:
    with api.grad_mode(True):
        several, given = _as_tuple(inputs, "inputs", function)
        tracked = _tracked(given, create_graph)
        what = "the input to the user-provided function is"
        directions = _directions(v, given, several, function, what)
        output = _number(func, tracked, strict, function)
        first = _gradients([output], tracked, create_graph=True)
        _require_tracked(first, "jacobian", strict)
        if function == "vhp":
            found = _gradients(first, tracked, directions, create_graph)
            stage = "double_back"
        else:
            probes = tuple(api.track(_zeros(x)) for x in tracked)
            second = _gradients(first, tracked, probes, create_graph=True)
            _require_tracked(second, "hessian", strict)
            found = _gradients(second, probes, directions, create_graph)
            stage = "double_back_trick"
        product = _filled(found, tracked, strict, create_graph, stage)
    return _left([output], create_graph, False), _left(product, create_graph, several)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> Any:  # fmt: skip
    """(func(inputs), v H) of a function with one number as its result."""
    return _hessian_product(func, inputs, v, create_graph, strict, "vhp")


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> Any:  # fmt: skip
    """(func(inputs), H v) of a function with one number as its result."""
    return _hessian_product(func, inputs, v, create_graph, strict, "hvp")


# --- whole matrices -----------------------------------------------------------------------------


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian: for each output and input a tensor of shape (output shape, input shape).

    Args:
        vectorize: all rows at once, by ``vmap``, instead of one after another.
        strategy: "reverse-mode", or (with ``vectorize``) "forward-mode", column by column.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        return _by_columns(func, inputs, create_graph, strict, vectorize)
    with api.grad_mode(True):
        several, given = _as_tuple(inputs, "inputs", "jacobian")
        tracked = _tracked(given, create_graph)
        several_out, outputs = _as_tuple(
            func(*tracked), "outputs of the user-provided function", "jacobian"
        )
        _require_tracked(outputs, "outputs", strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                "supported together. Please either set `strict=False` or `vectorize=False`."
            )
        if vectorize:
            rows = _all_rows(outputs, tracked, create_graph)
        else:
            rows = [_each_row(i, y, tracked, create_graph, strict)
                    for i, y in enumerate(outputs)]  # fmt: skip
    left = [_left(row, create_graph, several) for row in rows]
    return tuple(left) if several_out else left[0]


def _each_row(
    position: int, output: Any, inputs: Tensors, create_graph: bool, strict: bool
) -> list[Any]:
    flat = output.reshape(-1)
    columns: list[list[Any]] = [[] for _ in inputs]
    for row in range(flat.numel()):
        found = _gradients([flat[row]], inputs, create_graph=create_graph, retain_graph=True)
        for index, (column, g, x) in enumerate(zip(columns, found, inputs, strict=True)):
            if strict and g is None:
                raise RuntimeError(
                    f"Output {position} of the user-provided function is independent of input "
                    f"{index}. This is not allowed in strict mode."
                )
            if strict and create_graph and not g.requires_grad:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input "
                    f"{position}. This is not allowed in strict mode when create_graph=True."
                )
            column.append(_zeros(x) if g is None else g)
    shape = tuple(output.shape)
    return [
        stack(column).reshape(shape + tuple(x.shape))
        if column
        else full_flat(shape + tuple(x.shape), x.aval.dtype, 0)
        for column, x in zip(columns, inputs, strict=True)
    ]


def _all_rows(outputs: Tensors, inputs: Tensors, create_graph: bool) -> list[list[Any]]:
    from ..func._derivatives import split_rows, standard_basis

    total = sum(y.aval.size for y in outputs)
    rows = [(y, b) for y, b in zip(outputs, standard_basis(list(outputs)), strict=True)
            if tape.requires_grad(y)]  # fmt: skip
    found: Any = [None] * len(inputs)
    if rows:
        found = grad(
            [y for y, _ in rows], inputs, [b for _, b in rows], create_graph=create_graph,
            allow_unused=True, is_grads_batched=True,
        )  # fmt: skip
    columns = [
        split_rows(
            full_flat((total, *x.aval.shape), x.aval.dtype, 0) if g is None else g,
            list(outputs), 0,
        )
        for g, x in zip(found, inputs, strict=True)
    ]  # fmt: skip
    return [list(row) for row in zip(*columns, strict=True)]


def _by_columns(
    func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool, vectorize: bool
) -> Any:
    from ..func._derivatives import jacfwd

    for name, refused, error in (
        ("create_graph", create_graph, NotImplementedError), ("strict", strict, RuntimeError),
    ):  # fmt: skip
        if refused:
            raise error(
                f"torch.autograd.functional.jacobian: `{name}=True` and "
                '`strategy="forward-mode"` are not supported together (yet). Please either set '
                f'`{name}=False` or `strategy="reverse-mode"`.'
            )
    several, given_inputs = _as_tuple(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
            "implemented for `vectorize=True`."
        )

    def checked(*xs: Any) -> Any:
        result = func(*xs)
        _as_tuple(result, "outputs", "None")
        return result

    if not several:
        return jacfwd(checked, 0)(*given_inputs)
    rows = list(jacfwd(checked, tuple(range(len(given_inputs))))(*given_inputs))
    return [list(row) if isinstance(row, tuple) else row for row in rows]  # torch's are lists here


def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The second derivatives of a function with one number as its result.

    Args:
        vectorize, outer_jacobian_strategy: how the gradient is differentiated, as in
            :func:`jacobian`.
    """
    several, given = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def number(*xs: Any) -> Any:
        return _number(func, xs, strict, "hessian").squeeze()

    def gradient(*xs: Any) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            xs = tuple(x if x.requires_grad else x.requires_grad_() for x in xs)
        found = jacobian(number, xs, create_graph=True)
        _require_tracked(found, "jacobian", strict)
        return found

    found = jacobian(
        gradient, given, create_graph=create_graph, strict=strict, vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )  # fmt: skip
    return found if several else found[0][0]
