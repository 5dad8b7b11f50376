"""Calls of overloads that autograd sees first: it records them and passes them on."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.autograd import tape
from mindtorch.engine.aval import aval, unanswered
from mindtorch.engine.devices.device import meta
from mindtorch.engine.dispatch import GRAD, state
from mindtorch.engine.op import OPS, Plan

from ..functions.creation import new_empty
from .dispatcher import attached, outside_modes
from .formulas import Formula
from .formulas_layers import FORMULAS
from .lowerings import call
from .overloads import OpOverload, below, by_its_body, route
from .schemas import bind, tensors_in

__all__ = ["COMPOSITES", "NOT_MADE", "above"]

# what a function says that cannot be told in overloads for these arguments
NOT_MADE: Any = object()

# what torch makes of overloads that it decomposes, by name; see :mod:`.composites`
COMPOSITES: dict[str, Any] = {}


def above(func: OpOverload, args: Any, kwargs: Any) -> Any:
    """``func(*args, **kwargs)`` where a mode, or the class of a tensor, is to be asked."""
    if func.composite and not state.inference:
        made = COMPOSITES.get(func._opname)
        result = NOT_MADE if made is None else made(*args, **kwargs)
        return by_its_body(func, args, kwargs) if result is NOT_MADE else result
    if func._operator is not None:
        return func.kernel(*args, **kwargs)  # whose own autograd hands it on
    tracked = state.mode & GRAD and any(
        x._node is not None and tape.requires_grad(x) for x in tensors_in((*args, *kwargs.values()))
    )
    if not tracked or func.without_gradient:
        with below():
            return route(func, args, kwargs)
    formula = FORMULAS.get(_key(func))
    if formula is not None:
        return _recorded(formula, func, args, kwargs)
    if func.is_view:
        return _viewed(func, args, kwargs)
    return by_its_body(func, args, kwargs)


OpOverload.above = staticmethod(above)


def _key(func: OpOverload) -> str:
    name = func.__name__
    return name.removesuffix(".default")


def _recorded(formula: Formula, func: OpOverload, args: Any, kwargs: Any) -> Any:
    values = bind(formula.schema, args, kwargs, numbers=True)
    if values is None:
        return by_its_body(func, args, kwargs)
    single, listed = formula.names
    inputs: list[Any] = []
    for name in single:
        value = values[name]
        if value is not None and not hasattr(value, "aval"):  # a number stands for a tensor
            return _with_number(formula, func, args, kwargs, values)
        inputs.append(value)
    for name in listed:
        inputs.extend(values[name])
    params = {name: value for name, value in values.items() if name in formula.defaults}
    with below():
        result = route(func, args, kwargs)
    return attached(_Recorded(formula, result, inputs), inputs, params, result)


class _Recorded:
    """A formula as the op of one node, whose results are known."""

    view = None

    def __init__(self, formula: Formula, result: Any, inputs: Any) -> None:
        self.formula = formula
        self.result = result
        self.rules: Any = formula.rules
        self.name = formula.name
        self.defaults = formula.defaults
        self.keeps_from = formula.keeps_from
        self.node_name = formula.node_name
        self.plain = formula.plain

    def plan_without_kernel(self, inputs: Any, params: Any) -> Plan:
        results = self.result if isinstance(self.result, (tuple, list)) else (self.result,)
        del self.result
        plan = Plan(
            tuple(unanswered(x.aval) for x in results),
            tuple(None if x is None else unanswered(x.aval) for x in inputs),
        )
        plan.differentiable = tuple(
            d and i not in self.plain for i, d in enumerate(plan.differentiable)
        )
        return plan


# of functions of two tensors, where the second is a number: the gradient of the first
_NUMBER_RULES: dict[str, Any] = {
    "add.Tensor": lambda g, other, alpha: g,
    "sub.Tensor": lambda g, other, alpha: g,
    "mul.Tensor": lambda g, other: call("mul.Tensor", g, other),
    "div.Tensor": lambda g, other: call("div.Tensor", g, other),
}


def _with_number(
    formula: Formula, func: OpOverload, args: Any, kwargs: Any, values: dict[str, Any]
) -> Any:
    rule = _NUMBER_RULES.get(formula.name)
    if rule is None:
        return by_its_body(func, args, kwargs)
    params = {name: value for name, value in values.items() if name != "self"}
    with below():
        result = route(func, args, kwargs)
    return attached(_Scaled(formula, rule, result), (values["self"],), params, result)


class _Scaled(_Recorded):
    """An operation of a tensor and a number."""

    def __init__(self, formula: Formula, rule: Any, result: Any) -> None:
        super().__init__(formula, result, ())
        self.input_names = ("self",)
        self.variadic = False
        self.defaults = {"other": None, "alpha": 1}
        self.rules = tape.bind_rules(self, (rule,))


def _viewed(func: OpOverload, args: Any, kwargs: Any) -> Any:
    """A view: the engine's own node, named as torch's."""
    with below():
        result = route(func, args, kwargs)
    source = args[0]
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    for view in results:
        history = view._node
        if type(history) is not tape.ViewHistory or history.parent is not source:
            return _like_a_view(func, args, kwargs, result)
        history.in_grad_mode = True
        tape.enter_view(history, source._node, GRAD)
        if history.node is not None:
            history.node.label = _node_name(func)
    if len(results) > 1 or result is not results[0]:
        _share_node(func, args, results)
    return result


def _like_a_view(func: OpOverload, args: Any, kwargs: Any, result: Any) -> Any:
    """What a mode or a class gave in place of a view: its gradient is the view's."""
    source = args[0]
    whole = unanswered(source.aval)
    elsewhere = aval(whole.shape, whole.dtype, whole.strides, meta)
    with outside_modes():
        shown = func.kernel(new_empty(elsewhere), *args[1:], **kwargs)
    if isinstance(shown, (tuple, list)):
        raise NotImplementedError(f"the gradient of {func}, whose results are no views")
    steps = []
    while type(shown._node) is tape.ViewHistory:
        steps.append(shown._node)
        shown = shown._node.parent
    edge: Any = tape.node_of(source), source._output_index
    for step in reversed(steps):
        edge = tape.Node(step.op, step.plan, step.params, (edge,)), 0
    if len(steps) == 1:
        edge[0].label = _node_name(func)
    result._node = edge[0]
    return result


def _share_node(func: OpOverload, args: Any, views: Any) -> None:
    """Make all views of a call the results of one node, as in torch."""
    source = args[0]
    if func._opname == "unbind":
        axis = (args[1] if len(args) > 1 else 0) % source.aval.ndim
        tape.several_views(views, "Unbind", OPS["unbind"], {"axis": axis})
        return
    axis = (args[2] if len(args) > 2 else 0) % source.aval.ndim
    sizes = tuple(x.aval.shape[axis] for x in views)
    name = _node_name(func).removesuffix("Backward0")
    tape.several_views(views, name, OPS["split"], {"axis": axis, "sizes": sizes})


def _node_name(func: OpOverload) -> str:
    """What torch calls the node of a view."""
    words = func._opname.strip("_").split("_")
    number = {"dim": 1, "dims": 2}.get(func._overloadname, 0)
    return "".join(w[:1].upper() + w[1:] for w in words) + f"Backward{number}"
