"""Names of torch's namespaces for MindSpore's tensors, made when they are first used."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch.nn.modules.module import Module

from .common.tensor import adopting
from .nn.cell import Cell

# int32 is MindSpore's usual type of labels and places
_INDEXED = {
    "cross_entropy", "nll_loss", "embedding", "one_hot", "gather", "scatter", "scatter_add",
    "index_select", "index_add", "take", "multi_margin_loss",
}  # fmt: skip


def _long(value: Any) -> Any:
    whole = isinstance(value, EngineTensor) and value.aval.dtype is dtypes.int32
    return value.long() if whole else value


def adopted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of torch's whose results are MindSpore's tensors."""
    if name == "meshgrid":  # torch warns of the default that it has
        function = functools.partial(function, indexing="ij")
    call = adopting(function)
    if name not in _INDEXED:
        return call

    @functools.wraps(function, updated=())
    def with_places(*args: Any, **kwargs: Any) -> Any:
        return call(*map(_long, args), **{key: _long(value) for key, value in kwargs.items()})

    return with_places


def as_cell(theirs: type[Module]) -> type[Cell]:
    """A module of torch's that is a cell: outside of training at first, its parameters named."""

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return adopted(theirs.__name__, functools.partial(theirs.forward, self))(*args, **kwargs)

    fields = {"forward": forward, "construct": forward, "__doc__": theirs.__doc__}
    return type(theirs.__name__, (theirs, Cell), {**fields, "__module__": __name__})


class Names:
    """``names[name]``: a function or class of one of torch's namespaces, for these tensors.

    Args:
        owner: the module that offers the names.
        spaces: where they are, the first that has one counts.
    """

    def __init__(self, owner: str, *spaces: Any) -> None:
        self.owner, self.spaces = owner, spaces
        self.made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.made:
            found = next((s for s in self.spaces if hasattr(s, name)), None)
            if found is None or name.startswith("_"):
                raise AttributeError(f"module {self.owner!r} has no attribute {name!r}")
            value = getattr(found, name)
            if isinstance(value, type) and issubclass(value, Module):
                value = as_cell(value)
            elif callable(value) and not isinstance(value, type):
                value = adopted(name, value)
            self.made[name] = value
        return self.made[name]
