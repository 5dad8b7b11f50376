"""Products with Jacobians and Hessians, as functions of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.engine import autodiff
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import full_flat


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _tracked(inputs: Any) -> tuple[Any, ...]:
    return tuple(x.detach().requires_grad_() for x in inputs)


def _like(given: Any, single: bool) -> Any:
    return given[0] if single else tuple(given)


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """(func(inputs), v times the Jacobian)."""
    single = isinstance(inputs, EngineTensor)
    with autodiff.grad_mode(True):
        tracked = _tracked(_tuple(inputs)) if not create_graph else tuple(
            x.view_as(x) if x.requires_grad else x.detach().requires_grad_()
            for x in _tuple(inputs)
        )
        outputs = func(*tracked)
        many = _tuple(outputs)
        weights = [None] * len(many) if v is None else list(_tuple(v))
        found = autodiff.gradients(
            many, tracked, weights, create_graph=create_graph, allow_unused=not strict,
            materialize=not strict,
        )  # fmt: skip
    if not create_graph:
        outputs = _like([x.detach() for x in many], isinstance(outputs, EngineTensor))
    return outputs, _like(found, single)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian: for each output and input a tensor of shape (output shape, input shape)."""
    if strategy != "reverse-mode":
        raise NotImplementedError(f"jacobian(strategy={strategy!r}) is not supported yet")
    single_in = isinstance(inputs, EngineTensor)
    with autodiff.grad_mode(True):
        tracked = tuple(
            x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_()
            for x in _tuple(inputs)
        )
        outputs = func(*tracked)
        rows = [_jacobian_of(y, tracked, create_graph, strict) for y in _tuple(outputs)]
    result = [_like(row, single_in) for row in rows]
    return _like(result, isinstance(outputs, EngineTensor))


def _jacobian_of(output: Any, inputs: Any, create_graph: bool, strict: bool) -> list[Any]:
    from ..functions.shape import stack

    flat = output.reshape(-1)
    columns: list[list[Any]] = [[] for _ in inputs]
    for i in range(flat.numel()):
        if not flat.requires_grad:
            found: Any = [full_flat(x.aval.shape, x.aval.dtype, 0) for x in inputs]
        else:
            found = autodiff.gradients(
                [flat[i]], inputs, [None], retain_graph=True, create_graph=create_graph,
                allow_unused=not strict, materialize=not strict,
            )  # fmt: skip
        for column, gradient in zip(columns, found, strict=True):
            column.append(gradient)
    return [
        stack(column).reshape(tuple(output.shape) + tuple(x.shape))
        if column
        else full_flat(tuple(output.shape) + tuple(x.shape), x.aval.dtype, 0)
        for column, x in zip(columns, inputs, strict=True)
    ]


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function with one number as its result."""
    single = isinstance(inputs, EngineTensor)

    def gradient(*xs: Any) -> Any:
        found = jacobian(func, xs, create_graph=True)
        return tuple(f.reshape(x.shape) for f, x in zip(found, xs, strict=True))

    result = jacobian(gradient, _tuple(inputs), create_graph=create_graph, strict=strict)
    return result[0][0] if single else result


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """(func(inputs), the Jacobian times v), by differentiating the transposed product."""
    single = isinstance(inputs, EngineTensor)
    with autodiff.grad_mode(True):
        tracked = _tracked(_tuple(inputs))
        outputs = func(*tracked)
        many = _tuple(outputs)
        weights = [full_flat(y.aval.shape, y.aval.dtype, 0).requires_grad_() for y in many]
        transposed = autodiff.gradients(
            many, tracked, weights, create_graph=True, allow_unused=True, materialize=True
        )
        directions = [None] * len(tracked) if v is None else list(_tuple(v))
        found = autodiff.gradients(
            transposed, weights, directions, create_graph=create_graph, allow_unused=True,  # type: ignore[arg-type]
            materialize=True,
        )  # fmt: skip
    del single
    alone = isinstance(outputs, EngineTensor)
    return _like([y.detach() for y in many], alone), _like(found, alone)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
    strict: bool = False,
) -> Any:  # fmt: skip
    """(func(inputs), the Hessian times v)."""
    single = isinstance(inputs, EngineTensor)
    with autodiff.grad_mode(True):
        tracked = _tracked(_tuple(inputs))
        output = func(*tracked)
        first = autodiff.gradients([output], tracked, [None], create_graph=True)
        directions = [None] * len(tracked) if v is None else list(_tuple(v))
        found = autodiff.gradients(
            first, tracked, directions, create_graph=create_graph, allow_unused=True,  # type: ignore[arg-type]
            materialize=True,
        )  # fmt: skip
    return output.detach(), _like(found, single)


vhp = hvp
