"""How a row of the op table is run in a namespace: its inputs, results and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23}


def tensor_of(namespace: Any, array: Any, dtype: str) -> Any:
    """A tensor with the array's layout; index and mask arrays keep their own type."""
    kept = array.dtype.kind in "iub"
    values = array if kept else array.astype(dtype)
    if dtype in ("uint8", "bool") and not kept:
        values = np.abs(array).astype(dtype)
    flat = namespace.from_numpy(np.array(values.reshape(-1), order="C"))
    if array.ndim < 2 or array.size == 0 or array.flags.c_contiguous:
        return flat.reshape(array.shape)
    order = sorted(range(array.ndim), key=lambda i: -abs(array.strides[i]))
    stored = np.ascontiguousarray(values.transpose(order))
    whole = namespace.from_numpy(stored.reshape(-1).copy()).reshape(stored.shape)
    return whole.permute(*np.argsort(order).tolist())


def outputs_of(result: Any) -> list[Any]:
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    return [r for r in results if r is not None]


def differentiable(outputs: list[Any]) -> list[Any]:
    return [r for r in outputs if r.requires_grad]


def weights_of(namespace: Any, outputs: list[Any]) -> list[Any]:
    rng = np.random.default_rng(7)
    return [
        namespace.from_numpy(np.array(rng.uniform(0.5, 1.5, r.shape)).reshape(-1)).reshape(
            tuple(r.shape)
        ).to(r.dtype)
        for r in outputs
    ]


def gradient_of(namespace: Any, outputs: list[Any], leaves: list[Any], create: bool) -> list[Any]:
    if not outputs:
        return [None] * len(leaves)
    return list(
        namespace.autograd.grad(
            outputs, leaves, weights_of(namespace, outputs), create_graph=create, allow_unused=True
        )
    )


def array_of(x: Any) -> Any:
    return x.detach().resolve_conj().resolve_neg().numpy(force=True)
