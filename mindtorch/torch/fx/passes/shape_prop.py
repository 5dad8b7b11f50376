"""Shapes of the values of a graph, found by running it."""

from __future__ import annotations

from typing import Any, NamedTuple

from mindtorch.engine.dtypes import DType
from mindtorch.torch._tensor.size_and_formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
)
from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.utils import _pytree as pytree

from ..interpreter import Interpreter
from ..node import Node

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor: its shape, type, history, strides and order in memory."""

    shape: Any
    dtype: DType
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Any, include_contiguity: bool = True) -> TensorMetadata:
    """The description of a tensor."""
    order = None
    for each in (contiguous_format, channels_last, channels_last_3d):
        if include_contiguity and order is None and result.is_contiguous(memory_format=each):
            order = each
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), order, False, {}
    )


class ShapeProp(Interpreter):
    """Runs a graph and leaves at each node `meta["tensor_meta"]` and `meta["type"]`.

    Args:
        gm: the module.
        fake_mode: of torch's compiler; must be None here.
    """

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        if fake_mode is not None:
            raise NotImplementedError("ShapeProp(fake_mode=...) is not available in mindtorch")
        super().__init__(gm)

    def run_node(self, n: Node) -> Any:
        """Run a node and describe its result."""
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from error
        leaves = pytree.tree_leaves(result)
        if any(isinstance(leaf, Tensor) for leaf in leaves):
            n.meta["tensor_meta"] = pytree.tree_map(
                lambda leaf: _extract_tensor_metadata(leaf) if isinstance(leaf, Tensor) else leaf,
                result,
            )
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the module, and give its result.

        Args:
            args: its inputs.
        """
        return super().run(*args)
