"""Operators of ``torch.ops.aten`` that no function of ``torch`` stands for.

They are declared when ``torch.ops.aten`` is first used, and are called as torch's are:
``torch.ops.aten.slice.Tensor(x, 0, 1, 3)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..functions.comparison import where
from ..functions.copies import sliced_along
from ..library._custom_operators import OPERATORS, Operator, parse_schema
from ..nn import functional as F  # noqa: N812
from .native_norms import (
    native_batch_norm,
    native_dropout,
    native_dropout_backward,
    native_group_norm,
    native_layer_norm,
)

__all__ = ["declare"]

_KERNELS: dict[str, Callable[..., Any]] = {}


def _declared(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def keep(body: Callable[..., Any]) -> Callable[..., Any]:
        _KERNELS[schema] = body
        return body

    return keep


@_declared("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
def _safe_softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    """Softmax along ``dim``; zeros where every element is -inf."""
    hidden = (x == float("-inf")).all(dim, keepdim=True)
    return where(hidden, 0.0, F.softmax(where(hidden, 0.0, x), dim, dtype=dtype))


_KERNELS |= {
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, "
    "SymInt step=1) -> Tensor(a)": sliced_along,
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool training, float momentum, float eps) -> "
    "(Tensor, Tensor, Tensor)": native_batch_norm,
    "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)": native_dropout,
    "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor":
        native_dropout_backward,
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, "
    "SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)": native_group_norm,
    "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, "
    "float eps) -> (Tensor, Tensor, Tensor)": native_layer_norm,
}  # fmt: skip


def declare() -> None:
    """Put them into the table of operators, but for those that a user has declared already."""
    for text, body in _KERNELS.items():
        schema = parse_schema(text, "aten")
        operator = OPERATORS.setdefault(schema.name, Operator(schema.name))
        if operator.schema is None:
            operator.schema = schema
            operator.kernels.setdefault("CompositeImplicitAutograd", body)
