"""Sharding rules of products, and of layers: normalisation, convolution, pooling, attention,
embedding, losses."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from ..ops import (
    attention,
    convolution,
    embedding,
    linear_algebra,
    loss,
    normalization,
    pooling,
    resizing,
    softmax,
)
from ..ops.comparison import less, where
from ..ops.elementwise import divide, subtract
from ..ops.movement import unsqueeze
from ..tensor import Tensor, constant, full_flat
from . import class_parallel
from .placements import Partial, Placement, Shard
from .rules import WHOLE, Call, Run, Way, cuts, local_params_of, moved, own_shape, rule_for

_SUM = Partial("sum")

# --- products -------------------------------------------------------------------------------------


@rule_for(linear_algebra.linear)
def _linear(call: Call, axis: int) -> Iterable[Way]:
    """y = x w' + b: rows of x, rows of w (columns of y), or the axis that is summed over."""
    x, _, _ = call.ins
    last = x.ndim - 1
    now = call.now(axis)
    for place, cut in cuts(call, axis):
        if place == 0 and cut.dim != last:
            yield call.way((cut,), cut)
        elif place == 1 and cut.dim == 0:
            yield call.way((None, cut, moved(cut, 0)), moved(cut, last))
        elif place == 2:
            yield call.way((None, moved(cut, 0), cut), moved(cut, last))
        elif cut.dim == (last if place == 0 else 1):
            bias = None if call.ins[2] is None else _SUM
            yield call.way((moved(cut, last), moved(cut, 1), bias), _SUM)
    if now[0] == _SUM or now[1] == _SUM:
        bias = None if call.ins[2] is None else _SUM
        yield call.way((_SUM, None, bias), _SUM)
        yield call.way((None, _SUM, bias), _SUM)


@rule_for(linear_algebra.matmul)
def _matmul(call: Call, axis: int) -> Iterable[Way]:
    """Batches, rows of the first, columns of the second, or the axis that is summed over."""
    x, y = call.ins
    (out,) = call.outs
    rank = out.ndim
    for place, cut in cuts(call, axis):
        own = call.ins[place]
        from_end = cut.dim - own.ndim
        if from_end < -2:
            dim = rank + from_end
            if own.shape[cut.dim] != out.shape[dim]:
                continue
            ins: list[Placement] = [
                moved(cut, a.ndim + from_end)
                if a.ndim + from_end >= 0 and a.shape[from_end] == out.shape[dim] else WHOLE
                for a in (x, y)
            ]
            yield call.way(ins, moved(cut, dim))
        elif place == 0 and from_end == -2:
            yield call.way((cut,), moved(cut, rank - 2))
        elif place == 1 and from_end == -1:
            yield call.way((None, cut), moved(cut, rank - 1))
        else:
            yield call.way((moved(cut, x.ndim - 1), moved(cut, y.ndim - 2)), _SUM)
    now = call.now(axis)
    if now[0] == _SUM:
        yield call.way((_SUM,), _SUM)
    if now[1] == _SUM:
        yield call.way((None, _SUM), _SUM)


# --- over samples ---------------------------------------------------------------------------------


def _samples(call: Call, axis: int, ins: Sequence[int], limit: int = 1) -> Iterable[Shard]:
    """The cuts of these inputs along axes before ``limit``."""
    return [cut for place, cut in cuts(call, axis) if place in ins and cut.dim < limit]


@rule_for(normalization.layer_norm, normalization.rms_norm)
def _layer_norm(call: Call, axis: int) -> Iterable[Way]:
    limit = call.ins[0].ndim - call.params["normalized_ndim"]
    for cut in _samples(call, axis, (0,), limit):
        yield call.way((cut,), *[cut] * len(call.outs))


@rule_for(normalization.layer_norm_gradient, normalization.rms_norm_gradient)
def _layer_norm_gradient(call: Call, axis: int) -> Iterable[Way]:
    limit = call.ins[0].ndim - call.params["normalized_ndim"]
    for cut in _samples(call, axis, (0, 1), limit):
        statistics = [cut] * (len(call.ins) - 3)
        yield call.way((cut, cut, None, *statistics), cut, *[_SUM] * (len(call.outs) - 1))


@rule_for(normalization.group_norm, normalization.batch_norm_inference)
def _group_norm(call: Call, axis: int) -> Iterable[Way]:
    for cut in _samples(call, axis, (0,)):
        yield call.way((cut,), *[cut] * len(call.outs))


@rule_for(normalization.group_norm_gradient)
def _group_norm_gradient(call: Call, axis: int) -> Iterable[Way]:
    for cut in _samples(call, axis, (0, 1)):
        yield call.way((cut, cut, None, cut, cut), cut, _SUM, _SUM)


@rule_for(
    normalization.batch_norm_training, normalization.batch_norm_gradient, normalization.move_average
)
def _batch_norm(call: Call, axis: int) -> Iterable[Way]:
    """The statistics are those of all samples, which are gathered."""
    return ()


@rule_for(convolution.convolution)
def _convolution(call: Call, axis: int) -> Iterable[Way]:
    for cut in _samples(call, axis, (0,)):
        yield call.way((cut,), cut)


@rule_for(convolution.convolution_input_gradient)
def _input_gradient(call: Call, axis: int) -> Iterable[Way]:
    for cut in _samples(call, axis, (0,)):
        yield call.way((cut,), cut)


@rule_for(convolution.convolution_weight_gradient)
def _weight_gradient(call: Call, axis: int) -> Iterable[Way]:
    for cut in _samples(call, axis, (0, 1)):
        yield call.way((cut, cut), _SUM)


@rule_for(convolution.channel_sum)
def _channel_sum(call: Call, axis: int) -> Iterable[Way]:
    for cut in _samples(call, axis, (0,)):
        yield call.way((cut,), _SUM)


@rule_for(
    pooling.max_pool, pooling.max_pool_gradient, pooling.avg_pool, pooling.avg_pool_gradient,
    pooling.adaptive_avg_pool, pooling.adaptive_avg_pool_gradient, pooling.adaptive_max_pool,
    resizing.resize, resizing.resize_gradient,
)  # fmt: skip
def _pool(call: Call, axis: int) -> Iterable[Way]:
    """Each channel of each sample by itself."""
    for cut in _samples(call, axis, range(len(call.ins)), 2):
        yield Way((cut,) * len(call.ins), (cut,) * len(call.outs))


local_params_of(
    convolution.convolution_input_gradient, convolution.convolution_weight_gradient,
    pooling.max_pool_gradient, pooling.avg_pool_gradient, pooling.adaptive_avg_pool_gradient,
    resizing.resize_gradient,
)(own_shape)  # fmt: skip


@rule_for(attention.attention, attention.attention_gradient)
def _attention(call: Call, axis: int) -> Iterable[Way]:
    """Each head of each sample by itself: all axes but the last two."""
    first = 0 if call.op is attention.attention else 1
    mask = call.ins[first + 3]
    leading = call.ins[first].ndim - 2
    same = {a.shape[:leading] for a in call.ins[first : first + 3]}
    for _, cut in cuts(call, axis):
        if cut.dim >= leading or len(same) != 1:
            continue
        ins: list[Placement] = [cut] * len(call.ins)
        if mask is not None:
            own = cut.dim + mask.ndim - leading - 2
            broadcast = own < 0 or mask.shape[own] == 1
            ins[first + 3] = WHOLE if broadcast else moved(cut, own)
        yield Way(tuple(ins), (cut,) * len(call.outs))


# --- embedding ------------------------------------------------------------------------------------


def _own_rows(call: Call) -> Run:
    """Looks up those rows that this process has; 0 for others."""

    def run(ins: Sequence[Any], local: Sequence[Any], params: dict[str, Any]) -> Tensor:
        weight, index = local
        rows = call.ins[0].shape[0]
        start, count = ins[0].local_range((rows,), call.mesh.get_coordinate())[0]
        if not count:
            shape = (*index.aval.shape, weight.aval.shape[1])
            return full_flat(shape, weight.aval.dtype, 0, weight.aval.device)
        own = subtract(index, constant(start))
        absent = _outside(own, count)
        safe = where(absent, constant(0), own)
        found = call.op(weight, safe, **params)
        return where(unsqueeze(absent, axis=absent.aval.ndim), constant(0.0), found)

    return run


def _outside(index: Tensor, count: int) -> Tensor:
    """Where an index is not in [0, count)."""
    low = less(index, constant(0))
    high = less(constant(count - 1), index)
    found: Tensor = where(low, low, high)
    return found


@rule_for(embedding.embedding)
def _embedding(call: Call, axis: int) -> Iterable[Way]:
    last = call.ins[1].ndim
    for place, cut in cuts(call, axis):
        if place == 1:
            yield call.way((None, cut), cut)
        elif cut.dim == 1:
            yield call.way((cut,), moved(cut, last))
        elif call.shardings[0] is not None and len(call.shardings[0].order[0]) == 1:
            yield call.way((cut,), _SUM, run=_own_rows(call))


@rule_for(embedding.embedding_gradient)
def _embedding_gradient(call: Call, axis: int) -> Iterable[Way]:
    last = call.ins[1].ndim
    for _, cut in cuts(call, axis):
        if cut.dim < last:
            yield call.way((cut, cut), _SUM)
        else:
            yield call.way((cut,), moved(cut, 1))
    if call.now(axis)[0] == _SUM:
        yield call.way((_SUM,), _SUM)


# --- losses ---------------------------------------------------------------------------------------


@rule_for(loss.nll)
def _nll(call: Call, axis: int) -> Iterable[Way]:
    for cut in _samples(call, axis, (0, 1)):
        yield call.way((cut, cut), cut)


@rule_for(loss.nll_gradient)
def _nll_gradient(call: Call, axis: int) -> Iterable[Way]:
    for cut in _samples(call, axis, (0, 1)):
        yield call.way((cut, cut), cut)


local_params_of(loss.nll_gradient)(own_shape)


def _mean_of_all(call: Call) -> Run:
    """The terms of a mean over all processes' samples: their sums, by the number of all."""

    def run(ins: Sequence[Any], local: Sequence[Any], params: dict[str, Any]) -> Any:
        total, shifts, logs, count = call.op(*local, **{**params, "reduction": "sum"})
        for axis, placement in enumerate(ins[1].placements):
            if isinstance(placement, Shard):
                count = call.mesh.reduce_along(axis, count, "sum")
        return divide(total, count), shifts, logs, count

    return run


@rule_for(loss.cross_entropy)
def _cross_entropy(call: Call, axis: int) -> Iterable[Way]:
    reduction = call.params["reduction"]
    classes_cut = class_parallel.setting.active and call.pieces(0, 1) > 1
    whole = functools.partial(class_parallel.cross_entropy, call.ins[0].shape[1])
    for place, cut in cuts(call, axis):
        if place == 0 and cut.dim == 1 and classes_cut:
            yield call.way((cut,), run=whole)
        if place > 1 or cut.dim != 0:
            continue
        mean = reduction == "mean"
        run = whole if classes_cut else _mean_of_all(call) if mean else None
        loss_lies: Placement = cut if reduction == "none" else _SUM
        count: Placement = WHOLE if mean or classes_cut else _SUM
        yield call.way((cut, cut), loss_lies, cut, cut, count, run=run)


@rule_for(loss.cross_entropy_gradient)
def _cross_entropy_gradient(call: Call, axis: int) -> Iterable[Way]:
    """Gradient of the loss, input, maxima, logarithms, number, targets, weights of classes."""
    slope = call.params["reduction"] == "none"
    classes_cut = class_parallel.setting.active and call.pieces(1, 1) > 1
    whole = functools.partial(class_parallel.cross_entropy_gradient, call.ins[1].shape[1])
    run = whole if classes_cut else None
    for place, cut in cuts(call, axis):
        if place == 1 and cut.dim == 1 and classes_cut:
            yield call.way((None, cut), cut, run=run)
        elif place in (1, 5) and cut.dim == 0:
            ins = (cut if slope else None, cut, cut, cut, None, cut)
            yield call.way(ins, cut, run=run)


# --- along classes --------------------------------------------------------------------------------


def _softmax(call: Call, axis: int, run: Run) -> Iterable[Way]:
    """Along axes that it does not sum over; in a block of ``loss_parallel`` along that one, too."""
    for place, cut in cuts(call, axis):
        if cut.dim != call.params["axis"]:
            yield Way((cut,) * len(call.ins), (cut,))
        elif class_parallel.setting.active and place == len(call.ins) - 1:
            yield Way((cut,) * len(call.ins), (cut,), run)


for _op, _run in (
    (softmax.softmax, class_parallel.softmax),
    (softmax.log_softmax, class_parallel.log_softmax),
    (softmax.softmax_gradient, class_parallel.softmax_gradient),
    (softmax.log_softmax_gradient, class_parallel.log_softmax_gradient),
):
    rule_for(_op)(functools.partial(_softmax, run=_run))
