"""A pass: a function from a GraphModule to what became of it."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple

from ...graph_module import GraphModule

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The module after a pass, and whether it was changed."""

    graph_module: GraphModule
    modified: bool


class PassBase(abc.ABC):
    """A pass is called with a module: `requires`, `call` and `ensures` follow one another."""

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """What the pass does.

        Args:
            graph_module: the module, which may be changed in place.
        """

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Raise where the module is not as the pass needs it.

        Args:
            graph_module: before the pass.
        """

    def ensures(self, graph_module: Any) -> None:  # noqa: B027
        """Raise where the module is not as the pass should leave it.

        Args:
            graph_module: after the pass.
        """
