"""Functions of torch's that take MindSpore's tensors, and whose results become such."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mindtorch import torch
from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch._api.torch_function import asking

__all__ = [
    "OURS", "F", "T", "TorchTensor", "adopt", "adopt_as", "adopting", "difference", "t",
]  # fmt: skip

TorchTensor = torch.Tensor
OURS: set[type] = set()  # MindSpore's classes of tensors
_result_class: Any = TorchTensor


def adopt_as(kind: type) -> None:
    """Make ``kind`` the class that tensors of torch's get."""
    global _result_class
    _result_class = kind
    OURS.add(kind)


def adopt(result: Any) -> Any:
    """``result``, its tensors (also those in tuples and lists) as MindSpore's."""
    kind = type(result)
    if kind is TorchTensor:
        result.__class__ = _result_class
    elif issubclass(kind, (tuple, list)):
        for each in result:
            adopt(each)
    return result


def _lend(values: Any, lent: list[Any]) -> bool:
    """Make MindSpore's tensors among ``values`` torch's, and note them with their class.

    Returns:
        whether there are tensors of torch's among them.
    """
    foreign = False
    for value in values:
        kind = type(value)
        if kind in OURS:
            lent.append((value, kind))
            value.__class__ = TorchTensor
        elif kind is list or kind is tuple:
            foreign |= _lend(value, lent)
        elif not foreign and isinstance(value, EngineTensor):
            foreign = all(value is not each for each, _ in lent)
    return foreign


def adopting(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of torch's, which sees its arguments as torch's tensors (it may call their
    methods) and whose results become MindSpore's, unless all arguments are torch's."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        lent: list[Any] = []
        foreign = _lend(args, lent)
        if kwargs:
            foreign |= _lend(kwargs.values(), lent)
        chosen = asking.get(function, function) if asking else function
        try:
            result = chosen(*args, **kwargs)
        finally:
            for tensor, kind in lent:
                tensor.__class__ = kind
        return result if foreign and not lent else adopt(result)

    return call


class Adopted:
    """The functions of a namespace of torch's, :func:`adopting`."""

    def __init__(self, namespace: Any) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        function = adopting(getattr(self._namespace, name))
        self.__dict__[name] = function
        return function


T = Adopted(TorchTensor)
F = Adopted(torch.nn.functional)
t = Adopted(torch)


def difference(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    """``x - alpha * y``; bool, which torch refuses, is 0 and 1 here, and of two of them the
    difference is whether they differ."""
    of_bool = [
        v.dtype is dtypes.bool_ if isinstance(v, EngineTensor) else isinstance(v, bool)
        for v in (x, y)
    ]
    if all(of_bool):
        return torch.ne(x, y)
    if any(of_bool):
        kind = torch.result_type(x, y)
        x, y = (
            (v.to(kind) if isinstance(v, EngineTensor) else int(v)) if is_bool else v
            for v, is_bool in zip((x, y), of_bool, strict=True)
        )
    return torch.sub(x, y, alpha=alpha)


for _namespace in (t, T):
    vars(_namespace).update(dict.fromkeys(("sub", "subtract"), adopting(difference)))
