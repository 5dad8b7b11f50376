"""Sums and other reductions in calls of overloads, as torch decomposes them."""

from __future__ import annotations

from typing import Any

from .._api.arguments import as_dtype
from .composites import BY_PLACE, NOT_MADE, public
from .lowerings import call

__all__: list[str] = []


def _total(name: str, along: str) -> None:
    """A sum or a mean; ``along``: the overload for some axes."""

    def body(
        input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,  # noqa: A002
        axis: Any = None,
    ) -> Any:  # fmt: skip
        dim = axis if dim is None else dim
        named = {} if dtype is None else {"dtype": as_dtype(dtype)}
        if dim is None and not keepdim:
            return call(name, input, **named)
        axes = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
        return call(f"{name}.{along}", input, axes, keepdim, **named)

    public(name)(body)


_total("sum", "dim_IntList")
_total("mean", "dim")


def _spread(name: str) -> None:
    def body(
        input: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,  # noqa: A002
        correction: Any = None,
    ) -> Any:  # fmt: skip
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = int(unbiased)
        axes = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
        if correction is None and dim is not None:
            correction = 1
        named = {} if correction is None else {"correction": correction}
        return call(
            f"{name}.correction", input, *([axes] if axes else []), **named,
            **({"keepdim": True} if keepdim else {}),
        )  # fmt: skip

    BY_PLACE[name] = body


_spread("std")
_spread("var")


@public("norm")
def _norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, **named: Any) -> Any:  # noqa: A002
    if named or not isinstance(p, (int, float, str)) or p == "nuc":
        return NOT_MADE
    axes = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    order = 2 if p == "fro" else p
    return call(
        "linalg_vector_norm", input, order, *([axes, keepdim] if axes or keepdim else [])
    )


@public("logsumexp")
def _logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:  # noqa: A002
    axes = [dim] if isinstance(dim, int) else list(dim)
    return call("logsumexp", input, axes, *([True] if keepdim else []))


@public("amax")
def _amax(input: Any, dim: Any = (), keepdim: bool = False) -> Any:  # noqa: A002
    axes = [dim] if isinstance(dim, int) else list(dim)
    return call("amax", input, *([axes] if axes else []), *([True] if keepdim else []))


@public("argsort")
def _argsort(input: Any, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:  # noqa: A002
    if stable:
        return call("sort.stable", input, stable=True, dim=dim, descending=descending)[1]
    return call("sort", input, dim, descending)[1]


@public("nonzero")
def _nonzero(input: Any, *, as_tuple: bool = False) -> Any:  # noqa: A002
    found = call("nonzero", input)
    return tuple(found.unbind(1)) if as_tuple else found


@public("unique")
def _unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,  # noqa: A002
    dim: Any = None,
) -> Any:  # fmt: skip
    if dim is not None:
        return NOT_MADE
    named = {
        k: v for k, v in (("return_inverse", return_inverse), ("return_counts", return_counts)) if v
    }
    values, inverse, counts = call("_unique2", input, sorted, **named)
    made = [values, *([inverse] if return_inverse else []), *([counts] if return_counts else [])]
    return made[0] if len(made) == 1 else tuple(made)
