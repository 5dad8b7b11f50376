"""Writes to tensors that a differentiated function closes over, which torch refuses.

The methods in place get a check in front when a function is differentiated for the first time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mindtorch.engine.autograd.inplace import check_captured
from mindtorch.engine.dispatch import state
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch._tensor.operators import NUMBERS
from mindtorch.torch._tensor.tensor import Tensor

from .._api.namespace import NAMESPACE
from .._api.signatures import forms_of
from .._api.torch_function import wrap_plain

__all__ = ["refuse_writes"]

# what is no operator of torch's, or has an error of its own
_FREE = frozenset({"requires_grad_", "share_memory_", "apply_", "map_", "coalesced_"})
_OPERATORS = {
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_",
    "__idiv__": "div_", "__ifloordiv__": "floor_divide_", "__imod__": "remainder_",
    "__ipow__": "pow_", "__iand__": "bitwise_and_", "__ior__": "bitwise_or_",
    "__ixor__": "bitwise_xor_", "__ilshift__": "__ilshift__", "__irshift__": "__irshift__",
}  # fmt: skip
# of these torch makes a tensor of a number
_OF_TENSORS = frozenset({
    "add_", "sub_", "mul_", "div_", "multiply_", "subtract_", "divide_", "true_divide_",
    "floor_divide_",
})  # fmt: skip
# a few of the methods that check: as many as tell whether somebody has put back the others
_OFTEN_PUT_BACK = ("add_", "zero_", "pow_", "copy_", "__setitem__")
_LAST = {
    "lerp_": "{}", "masked_fill_": "{}", "index_fill_": "int_{}",
}  # fmt: skip


@functools.cache
def _takes_either(name: str) -> bool:
    """Whether a method has two signatures: of one tensor, and of one number."""
    forms, _ = forms_of(name, method=True)
    kinds = [[each.kind for each in form.parameters] for form in forms]
    return sorted(kinds) == [["Number"], ["Tensor"]] or name in ("__ilshift__", "__irshift__")


def _overload(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """torch's name of the operator that the method calls."""
    given = [*args, *kwargs.values()]
    kind = "Tensor" if any(isinstance(x, EngineTensor) for x in given) else "Scalar"
    last = "Tensor" if given and isinstance(given[-1], EngineTensor) else "Scalar"
    if name == "__setitem__":
        return _assignment(*args)
    name = _OPERATORS.get(name, name)
    if name in _OF_TENSORS:
        return f"{name}.Tensor_mode" if kwargs.get("rounding_mode") else f"{name}.Tensor"
    if name.startswith("clamp_"):
        return f"{name}.Tensor" if kind == "Tensor" else name
    if name == "xlogy_" and kind == "Scalar":
        return "xlogy_.Scalar_Other"
    if _takes_either(name):
        return f"{name}.{kind}"
    if name in _LAST:
        return f"{name}.{_LAST[name].format(last)}"
    if name == "scatter_":
        return f"scatter_.{'src' if last == 'Tensor' else 'value'}"
    if name == "scatter_reduce_":
        return "scatter_reduce_.two"
    if name == "bernoulli_":
        return f"bernoulli_.{'Tensor' if kind == 'Tensor' else 'float'}"
    if name == "set_" and given:
        return "set_.source_Tensor" if kind == "Tensor" else "set_.source_Storage"
    if name == "squeeze_" and given:
        return "squeeze_.dim"
    return "round_.decimals" if name == "round_" and given else name


def _assignment(key: Any, value: Any) -> str:
    keys = key if isinstance(key, tuple) else (key,)
    if any(isinstance(k, (EngineTensor, list)) for k in keys):
        return "index_put_"
    whole = all(k is Ellipsis or k == slice(None) for k in keys)
    number = type(value) in NUMBERS or not getattr(value, "ndim", 1)
    return "fill_.Tensor" if whole and number else "copy_"


def _checked(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        if state.level:
            target = args[0] if args else kwargs.get("input")
            if isinstance(target, EngineTensor) and state.captured(target):
                check_captured(target, _overload(name, args[1:], kwargs))
        return method(*args, **kwargs)

    call.__dict__["refuses_captured"] = True
    return call


def _checks(function: Any) -> bool:
    """Whether a method, or one that it wraps, checks what it writes to."""
    while function is not None and not hasattr(function, "refuses_captured"):
        function = getattr(function, "__wrapped__", None)
    return function is not None


def refuse_writes() -> None:
    """Let the methods in place check what they write to, from now on; also where somebody has put
    back what was there before (a recording, a test)."""
    if all(_checks(vars(Tensor).get(name)) for name in _OFTEN_PUT_BACK):
        return
    torch: Any = NAMESPACE
    names = [
        (Tensor, name)
        for name in dir(Tensor)
        if (name.endswith("_") and not name.startswith("_") and name not in _FREE)
        or name in _OPERATORS or name == "__setitem__"
    ]  # fmt: skip
    for module in (torch, torch.nn.functional):
        functions = [name for name in vars(module) if name.endswith("_") and name[0] != "_"]
        names += [(module, name) for name in functions if callable(getattr(module, name))]
    for owner, name in names:
        if not _checks(getattr(owner, name)):
            wrap_plain(owner, name, functools.partial(_checked, name))
