"""Rules of vmap for the ops of networks: examples become channels, groups or samples.

Registered by :mod:`.batching_rules`, which says how rules are called.
"""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..op import Op
from ..ops import attention, convolution, embedding, loss, movement, normalization, sampling
from ..ops.comparison import equal, not_equal, where
from ..ops.elementwise import add, divide, multiply, subtract
from ..ops.indexing import index
from ..ops.reduction import sum_
from ..tensor import Tensor, constant, full_flat
from .batch import detach
from .batching_rules import counted, everywhere, rule_for, with_rank


def _samples(x: Tensor) -> Tensor:
    """(batch, n, ...) as (batch * n, ...)."""
    first, second, *rest = x.aval.shape
    return movement.reshape(x, (first * second, *rest))


def _from_samples(x: Tensor, size: int) -> Tensor:
    first, *rest = x.aval.shape
    return movement.reshape(x, (size, first // size, *rest))


def _channels(x: Tensor) -> Tensor:
    """(batch, n, c, ...) as (n, batch * c, ...)."""
    order = (1, 0, *range(2, x.aval.ndim))
    size, n, c, *rest = x.aval.shape
    return movement.reshape(movement.permute(x, axes=order), (n, size * c, *rest))


def _from_channels(x: Tensor, size: int) -> Tensor:
    n, c, *rest = x.aval.shape
    apart = movement.reshape(x, (n, size, c // size, *rest))
    return movement.permute(apart, axes=(1, 0, *range(2, apart.aval.ndim)))


def _along_channels(x: Tensor, rank: int) -> Tensor:
    """Parameters ([batch,] c) to be combined with examples (n, c, *spatial) of ``rank`` axes."""
    *batch, c = x.aval.shape
    return movement.reshape(x, (*batch, 1, c, *(1,) * (rank - 2)))


def _all(batched: Any, inputs: Any, size: int) -> list[Any]:
    return [
        None if x is None else everywhere(x, b, size) for x, b in zip(inputs, batched, strict=True)
    ]


# --- convolution --------------------------------------------------------------------------------


@rule_for(convolution.convolution)
def _convolution(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """Without a weight for each example a longer batch, else a group for each example."""
    x, weight, bias = inputs
    own_bias = None if bias is None or not (batched[1] or batched[2]) else bias
    plain = None if own_bias is not None else bias
    if not batched[1]:
        found = _from_samples(op(_samples(everywhere(x, batched[0], size)), weight, plain,
                                 **params), size)  # fmt: skip
    else:
        groups = params["groups"]
        shared = not batched[0] and groups == 1
        images = x if shared else _channels(everywhere(x, batched[0], size))
        many = {**params, "groups": 1 if shared else size * groups}
        found = _from_channels(op(images, _samples(weight), plain, **many), size)
    if own_bias is None:
        return found
    return add(found, _along_channels(own_bias, found.aval.ndim - 1))


@rule_for(convolution.convolution_input_gradient)
def _convolution_input(
    op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int
) -> Any:
    y = everywhere(inputs[0], batched[0], size)
    n, c, *spatial = params["shape"]
    if not batched[1]:
        longer = {**params, "shape": (size * n, c, *spatial)}
        return _from_samples(op(_samples(y), inputs[1], **longer), size)
    wider = {**params, "shape": (n, size * c, *spatial), "groups": size * params["groups"]}
    return _from_channels(op(_channels(y), _samples(inputs[1]), **wider), size)


@rule_for(convolution.convolution_weight_gradient)
def _convolution_weight(
    op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int
) -> Any:
    y, x = _all(batched, inputs, size)
    c, *rest = params["shape"]
    shared = not batched[1] and params["groups"] == 1
    groups = 1 if shared else size * params["groups"]
    wider = {**params, "shape": (size * c, *rest), "groups": groups}
    found = op(_channels(y), inputs[1] if shared else _channels(x), **wider)
    return _from_samples(found, size)


# --- normalisation ------------------------------------------------------------------------------


@rule_for(normalization.batch_norm_training)
def _batch_norm(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    x, weight, bias = _all(batched, inputs, size)
    out, *statistics = op(
        _channels(x),
        None if weight is None else _samples(weight),
        None if bias is None else _samples(bias),
        **params,
    )
    return (_from_channels(out, size), *[_from_samples(each, size) for each in statistics])


@rule_for(normalization.batch_norm_inference)
def _batch_norm_inference(
    op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int
) -> Any:
    x, *parameters = _all(batched, inputs, size)
    given = [None if p is None else _samples(p) for p in parameters]
    return _from_channels(op(_channels(x), *given, **params), size)


@rule_for(normalization.move_average)
def _move_average(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    return op(*_all(batched, inputs, size), **params)


@rule_for(normalization.batch_norm_gradient)
def _batch_norm_gradient(
    op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int
) -> Any:
    y, x, *parameters = _all(batched, inputs, size)
    to_x, *rest = op(
        _channels(y), _channels(x), *[None if p is None else _samples(p) for p in parameters],
        **params,
    )  # fmt: skip
    return (_from_channels(to_x, size), *[_from_samples(g, size) for g in rest])


def _affine(x: Tensor, weight: Any, bias: Any) -> Tensor:
    x = x if weight is None else multiply(x, weight)
    return x if bias is None else add(x, bias)


@rule_for(normalization.group_norm)
def _group_norm(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    x = _samples(everywhere(inputs[0], batched[0], size))
    own = batched[1] or batched[2]
    given = (None, None) if own else inputs[1:]
    out, mean, deviation = (_from_samples(r, size) for r in op(x, *given, **params))
    if own:
        rank = x.aval.ndim
        out = _affine(out, *[None if p is None else _along_channels(p, rank) for p in inputs[1:]])
    return out, mean, deviation


@rule_for(normalization.group_norm_gradient)
def _group_norm_gradient(
    op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int
) -> Any:
    """The gradients of weight and bias are sums of each example's own."""
    y, x, _, mean, deviation = _all(batched, inputs, size)
    rank = x.aval.ndim - 1
    weight = inputs[2]
    scaled = y if weight is None else multiply(y, _along_channels(weight, rank))
    to_x, *_ = op(*[_samples(each) for each in (scaled, x)], None, _samples(mean),
                  _samples(deviation), **params)  # fmt: skip
    n, c, *spatial = x.aval.shape[1:]
    groups = params["groups"]
    grouped = movement.reshape(x, (size, n, groups, c // groups, *spatial))
    ones = (1,) * (grouped.aval.ndim - 3)
    mean, deviation = (movement.reshape(s, (size, n, groups, *ones)) for s in (mean, deviation))
    normal = movement.reshape(multiply(subtract(grouped, mean), deviation), x.aval.shape)
    axes = (1, *range(3, x.aval.ndim))
    return (
        _from_samples(to_x, size),
        sum_(multiply(y, normal), axis=axes, keepdims=False),
        sum_(y, axis=axes, keepdims=False),
    )


@rule_for(normalization.layer_norm, normalization.rms_norm)
def _last_axes(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """The normalised axes are the last ones."""
    if not any(batched[1:]):
        return op(*inputs, **params)
    out, *statistics = op(inputs[0], *[None] * (len(inputs) - 1), **params)
    statistics = [everywhere(s, batched[0], size) for s in statistics]
    rank = inputs[0].aval.ndim - int(batched[0])
    affine = [
        with_rank(p, rank) if b else p for p, b in zip(inputs[1:], batched[1:], strict=True)
    ]
    return (_affine(out, *affine, *[None] * (2 - len(affine))), *statistics)


@rule_for(normalization.layer_norm_gradient, normalization.rms_norm_gradient)
def _last_axes_gradient(
    op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int
) -> Any:
    """The gradients of weight and bias are sums over each example's own axes."""
    y, x, _, *statistics = _all(batched, inputs, size)
    rank = x.aval.ndim - 1
    weight = inputs[2]
    if weight is not None:
        scaled = multiply(y, with_rank(weight, rank) if batched[2] else weight)
    else:
        scaled = y
    to_x = op(scaled, x, None, *statistics, **params)[0]
    wide = [
        movement.reshape(s, (*s.aval.shape, *(1,) * params["normalized_ndim"])) for s in statistics
    ]
    centred = subtract(x, wide[0]) if len(wide) == 2 else x
    normal = multiply(centred, wide[-1])
    axes = tuple(range(1, 1 + rank - params["normalized_ndim"]))
    gradients = [multiply(y, normal), y][: len(statistics)]
    if axes:
        gradients = [sum_(g, axis=axes, keepdims=False) for g in gradients]
    return (to_x, *gradients)


# --- attention, losses, lookups -----------------------------------------------------------------


@rule_for(attention.attention, attention.attention_gradient)
def _attention(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """Attention has one axis of samples and one of heads; a mask is broadcast to them."""
    mask = 3 if len(inputs) == 4 else 4
    first = mask - 3
    wholes = _all(batched, inputs, size)
    if any(x.aval.ndim != 5 for x in wholes[first:mask]):
        return NotImplemented
    if wholes[mask] is not None:
        samples = wholes[first].aval.shape[1]
        aligned = with_rank(wholes[mask], 4)
        wholes[mask] = movement.expand(aligned, shape=(size, samples, *aligned.aval.shape[2:]))
    found = op(*[None if x is None else _samples(x) for x in wholes], **params)
    return tuple(_from_samples(r, size) for r in found)


@rule_for(loss.nll, loss.nll_gradient)
def _nll(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    if batched[2]:
        return NotImplemented
    wholes = _all(batched[:2], inputs[:2], size)
    if "shape" in params:
        n, *rest = params["shape"]
        params = {**params, "shape": (size * n, *rest)}
    elif wholes[0].aval.ndim < 3:
        return NotImplemented
    return _from_samples(op(*[_samples(x) for x in wholes], inputs[2], **params), size)


def _count(target: Tensor, weight: Any, like: Tensor, ignore_index: int) -> Tensor:
    """For each example the sum of the weights of its targets that are not ignored."""
    known = not_equal(target, constant(ignore_index))
    each = movement.cast(known, dtype=like.aval.dtype)
    if weight is not None:
        places = where(known, target, constant(0))
        each = multiply(each, index(weight, movement.cast(places, dtype=dtypes.int64)))
    return sum_(each, axis=tuple(range(1, each.aval.ndim)), keepdims=False)


@rule_for(loss.cross_entropy)
def _cross_entropy(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """The loss of each target, reduced within its example."""
    if batched[2]:
        return NotImplemented
    x, target = _all(batched[:2], inputs[:2], size)
    found = op(_samples(x), _samples(target), inputs[2], **{**params, "reduction": "none"})
    losses, shifts, logs = (_from_samples(r, size) for r in found[:3])
    count = _count(target, inputs[2], x, params["ignore_index"])
    if params["reduction"] != "none":
        losses = sum_(losses, axis=tuple(range(1, losses.aval.ndim)), keepdims=False)
    if params["reduction"] == "mean":
        losses = divide(losses, count)
    return losses, shifts, logs, count


@rule_for(loss.cross_entropy_gradient)
def _cross_entropy_gradient(
    op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int
) -> Any:
    if batched[6]:
        return NotImplemented
    y, x, shifts, logs, count, target = _all(batched[:6], inputs[:6], size)
    if params["reduction"] == "mean":
        y = divide(y, count)
    if params["reduction"] != "none":
        y = movement.expand(with_rank(y, target.aval.ndim - 1), shape=target.aval.shape)
    folded = [_samples(each) for each in (y, x, shifts, logs)]
    one = full_flat((), x.aval.dtype, 1)
    found = op(*folded, one, _samples(target), inputs[6], **{**params, "reduction": "none"})
    return _from_samples(found, size)


@rule_for(embedding.embedding)
def _embedding(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """Tables of all examples below each other."""
    if params.get("scale_by_frequency"):
        return NotImplemented
    if not batched[0]:
        return op(*inputs, **params)
    weight, places = _all(batched, inputs, size)
    rows = weight.aval.shape[1]
    below = add(places, multiply(counted(size, places.aval.ndim - 1), constant(rows)))
    found = op(_samples(weight), below, **{**params, "padding_idx": None})
    if params["padding_idx"] is None:
        return found
    padded = equal(places, constant(params["padding_idx"]))
    return where(movement.reshape(padded, (*padded.aval.shape, 1)), detach(found), found)


@rule_for(embedding.embedding_gradient)
def _embedding_gradient(
    op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int
) -> Any:
    y, places = _all(batched, inputs, size)
    rows, padding = params["rows"], params["padding_idx"]
    if padding is not None:
        kept = not_equal(places, constant(padding))
        y = where(movement.reshape(kept, (*kept.aval.shape, 1)), y, constant(0))
    below = add(places, multiply(counted(size, places.aval.ndim - 1), constant(rows)))
    return _from_samples(op(y, below, rows=size * rows, padding_idx=None), size)


@rule_for(sampling.grid_sample, sampling.grid_spread, sampling.grid_slopes)
def _sampled(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """Examples of a batch of images, each with its grid, are images of a longer batch."""
    if "shape" in params:
        count, *rest = params["shape"]
        params = {**params, "shape": (size * count, *rest)}
    folded = [_samples(x) for x in _all(batched, inputs, size)]
    return _from_samples(op(*folded, **params), size)
