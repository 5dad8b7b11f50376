"""The arguments of a call that is exported, and the tensors in them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from mindtorch.engine.tensor import Tensor
from mindtorch.torch.utils._pytree import tree_map_only

from .errors import ExportError

__all__ = ["Arguments", "tensors_in"]


def tensors_in(value: Any, path: str = "") -> Iterator[tuple[str, Tensor]]:
    """The tensors in containers, and what each may be called."""
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from tensors_in(each, f"{path}_{key}" if path else str(key))
    elif isinstance(value, (tuple, list)):
        for i, each in enumerate(value):
            yield from tensors_in(each, f"{path}_{i}" if path else str(i))


class Arguments:
    """The arguments of a call that is exported.

    Args:
        call: the function that is called, whose parameters name the tensors.
        args, kwargs: what it is called with.

    Attributes:
        names: of the tensors in them, those of the parameters that they are given for.
        tensors: in the order of the names.
        arguments: by name.

    Raises:
        ExportError: they do not fit the function.
    """

    def __init__(self, call: Any, args: Any, kwargs: dict[str, Any]) -> None:
        try:
            bound = inspect.signature(call).bind(*args, **kwargs)
        except TypeError as error:
            raise ExportError(f"the arguments do not fit the model: {error}") from None
        self._bound = bound
        found: list[tuple[str, Tensor]] = []
        for name, value in bound.arguments.items():
            kind = bound.signature.parameters[name].kind
            found += tensors_in(value, "" if kind is inspect.Parameter.VAR_KEYWORD else name)
        self.arguments: dict[str, Any] = dict(bound.arguments)
        self.names = [name for name, _ in found]
        self.tensors = [tensor for _, tensor in found]

    def call(self, model: Any, tensors: Any) -> Any:
        """``model`` of the same arguments with other tensors."""
        given = iter(tensors)
        arguments = tree_map_only(Tensor, lambda _: next(given), dict(self.arguments))
        bound = inspect.BoundArguments(self._bound.signature, arguments)
        return model(*bound.args, **bound.kwargs)
