"""Operators that put several elements into one, or sort them; losses."""

from __future__ import annotations

from typing import Any

from mindtorch import torch
from mindtorch.torch import nn

from .registry import Numbers, operator
from .values import number, numbers

F = nn.functional


def _reduction(name: str, reduce: Any, by_input: int = 18) -> None:
    """A reduction whose axes are an attribute up to an opset, and an input from it on."""

    def run(x: Any, axes: Any, keepdims: int) -> Any:
        chosen = tuple(a % x.ndim for a in axes) if axes else tuple(range(x.ndim))
        return reduce(x, chosen, bool(keepdims))

    def by_attribute(x: Any, *, axes: Any = None, keepdims: int = 1) -> Any:
        return run(x, axes, keepdims)

    def with_axes(
        x: Any, axes: Numbers = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Any:
        chosen = None if axes is None else numbers(axes)
        if not chosen and noop_with_empty_axes:
            return reduce(x, (), True)
        return run(x, chosen, keepdims)

    operator(name, 1, by_input - 1)(by_attribute)
    operator(name, by_input)(with_axes)


def _total(x: Any, axes: Any, kept: bool) -> Any:
    return torch.sum(x, axes, keepdim=kept, dtype=x.dtype) if axes else x


def _product(x: Any, axes: Any, kept: bool) -> Any:
    for axis in sorted(axes, reverse=True):
        x = torch.prod(x, axis, keepdim=kept, dtype=x.dtype)
    return x


def _mean(x: Any, axes: Any, kept: bool) -> Any:
    if not axes:
        return x
    if x.dtype.is_floating_point:
        return torch.mean(x, axes, keepdim=kept)
    return torch.mean(x.to(torch.float64), axes, keepdim=kept).to(x.dtype)


def _largest(x: Any, axes: Any, kept: bool) -> Any:
    if not x.numel():
        return torch.full(_kept_shape(x, axes, kept), _lowest(x.dtype), dtype=x.dtype)
    if x.dtype == torch.bool:
        return torch.any(x, axes, keepdim=kept) if axes else x
    return torch.amax(x, axes, keepdim=kept) if axes else x


def _smallest(x: Any, axes: Any, kept: bool) -> Any:
    if not x.numel():
        most = True if x.dtype == torch.bool else -_lowest(x.dtype)
        return torch.full(_kept_shape(x, axes, kept), most, dtype=x.dtype)
    if x.dtype == torch.bool:
        return torch.all(x, axes, keepdim=kept) if axes else x
    return torch.amin(x, axes, keepdim=kept) if axes else x


def _kept_shape(x: Any, axes: Any, kept: bool) -> list[int]:
    return [1 if i in axes else n for i, n in enumerate(x.shape) if kept or i not in axes]


def _lowest(kind: Any) -> Any:
    if kind == torch.bool:
        return False
    return -float("inf") if kind.is_floating_point else torch.iinfo(kind).min


def _log_of_sum(x: Any, axes: Any, kept: bool) -> Any:
    if not x.numel():
        return torch.log(_total(x, axes, kept))
    return torch.logsumexp(x, axes, keepdim=kept) if axes else x


_reduction("ReduceSum", _total, 13)
_reduction("ReduceMean", _mean)
_reduction("ReduceProd", _product)
_reduction("ReduceMax", _largest)
_reduction("ReduceMin", _smallest)
_reduction("ReduceL1", lambda x, axes, kept: _total(torch.abs(x), axes, kept))
_reduction("ReduceL2", lambda x, axes, kept: torch.sqrt(_total(x * x, axes, kept)))
_reduction("ReduceSumSquare", lambda x, axes, kept: _total(x * x, axes, kept))
_reduction("ReduceLogSum", lambda x, axes, kept: torch.log(_total(x, axes, kept)))
_reduction("ReduceLogSumExp", _log_of_sum)


def _argument(name: str, find: Any) -> None:
    def run(x: Any, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Any:
        if not select_last_index:
            return find(x, axis, keepdim=bool(keepdims))
        return x.shape[axis] - 1 - find(torch.flip(x, (axis,)), axis, keepdim=bool(keepdims))

    operator(name)(run)


_argument("ArgMax", torch.argmax)
_argument("ArgMin", torch.argmin)


@operator("TopK", 1, 9)
def _top_k_by_attribute(x: Any, *, k: int, axis: int = -1) -> Any:
    return tuple(torch.topk(x, k, axis))


@operator("TopK", 10)
def _top_k(x: Any, k: Numbers, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:  # noqa: A002
    count = number(k)
    values, places = torch.sort(x, dim=axis, descending=bool(largest), stable=True)
    return torch.narrow(values, axis, 0, count), torch.narrow(places, axis, 0, count)


@operator("CumSum")
def _cumsum(x: Any, axis: Numbers, *, exclusive: int = 0, reverse: int = 0) -> Any:
    at = number(axis)
    x = torch.flip(x, (at,)) if reverse else x
    made = torch.cumsum(x, at).to(x.dtype)
    made = made - x if exclusive else made
    return torch.flip(made, (at,)) if reverse else made


@operator("CumProd")
def _cumprod(x: Any, axis: Numbers, *, exclusive: int = 0, reverse: int = 0) -> Any:
    at = number(axis)
    x = torch.flip(x, (at,)) if reverse else x
    if exclusive:
        ones = torch.ones_like(torch.narrow(x, at, 0, 1))
        x = torch.cat([ones, torch.narrow(x, at, 0, x.shape[at] - 1)], at)
    made = torch.cumprod(x, at).to(x.dtype)
    return torch.flip(made, (at,)) if reverse else made


@operator("Hardmax", 13)
def _hardmax(x: Any, *, axis: int = -1) -> Any:
    places = torch.argmax(x, axis, keepdim=True)
    return torch.zeros_like(x).scatter(axis, places, torch.ones_like(x))


def _softmax(name: str, function: Any) -> None:
    def as_matrix(x: Any, *, axis: int = 1) -> Any:
        axis = axis % max(x.ndim, 1)
        rows = x.reshape([*x.shape[:axis], -1])  # all axes from this one on together
        return function(rows, -1).reshape(list(x.shape))

    operator(name, 1, 12)(as_matrix)
    operator(name, 13)(lambda x, *, axis=-1: function(x, axis))


_softmax("Softmax", F.softmax)
_softmax("LogSoftmax", F.log_softmax)


def _nll(scores: Any, target: Any, weight: Any, reduction: str, ignore: Any) -> Any:
    target = target.to(torch.int64)
    skipped = -100 if ignore is None else ignore
    return F.nll_loss(scores, target, weight, ignore_index=skipped, reduction=reduction)


@operator("NegativeLogLikelihoodLoss")
def _negative_log_likelihood(
    x: Any, target: Any, weight: Any = None, *, reduction: str = "mean", ignore_index: Any = None
) -> Any:
    return _nll(x, target, weight, reduction, ignore_index)


@operator("SoftmaxCrossEntropyLoss")
def _softmax_cross_entropy(
    x: Any, target: Any, weight: Any = None, *, reduction: str = "mean", ignore_index: Any = None,
    outputs: int,
) -> Any:  # fmt: skip
    scores = F.log_softmax(x, 1)
    return (_nll(scores, target, weight, reduction, ignore_index), scores)[:outputs]
