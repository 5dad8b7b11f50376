"""Losses of class scores: negative log likelihood, and it with log_softmax (cross entropy)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .cat_flip_roll_pad import dense
from .scalar_math.float32_math import exp_falling, log32
from .scalar_math.float64_math import exp64, log64
from .softmax import largest
from .threads.thread_pool import parallel_for
from .vectors.float_bits import add_any_order, greater
from .via_float32 import flat, in_float32, optional


@kernel
def _pick(out: Any, x: Any, target: Any, weight: Any, rows: int, classes: int, inner: int,
          ignored: int) -> None:  # fmt: skip
    for r in range(rows):
        for j in range(inner):
            t = target[r * inner + j]
            at = r * inner + j
            if t == ignored:
                out[at] = 0
                continue
            value = x[(r * classes + t) * inner + j]
            out[at] = -value * weight[t] if weight.size else -value


@kernel
def _spread(gx: Any, g: Any, target: Any, weight: Any, rows: int, classes: int, inner: int,
            ignored: int) -> None:  # fmt: skip
    for i in range(gx.size):
        gx[i] = 0
    for r in range(rows):
        for j in range(inner):
            t = target[r * inner + j]
            if t == ignored:
                continue
            slope = g[r * inner + j]
            gx[(r * classes + t) * inner + j] = -slope * weight[t] if weight.size else -slope


def _sizes(x: Any) -> tuple[int, int, int]:
    return x.shape[0], x.shape[1], math.prod(x.shape[2:])


_NONE, _MEAN, _SUM = range(3)
_REDUCTIONS = {"none": _NONE, "mean": _MEAN, "sum": _SUM}


@kernel
def _settle(loss: Any, count: Any, total: float, weights: float, reduction: int) -> None:
    count[0] = weights
    if reduction == _MEAN:
        loss[0] = total / weights if weights != 0 else np.nan
    elif reduction == _SUM:
        loss[0] = total


@kernel
def _reduced(
    loss: Any, count: Any, losses: Any, target: Any, weight: Any, ignored: int, reduction: int
) -> None:
    """``count`` = the sum of the targets' weights, ``loss`` = the losses' mean or sum."""
    total, weights = 0.0, 0.0
    for i in range(target.size):
        if target[i] != ignored:
            total += losses[i]
            weights += weight[target[i]] if weight.size else 1.0
    _settle(loss, count, total, weights, reduction)


@kernel
def _first_wrong(target: Any, classes: int, ignored: int) -> int:
    """The first place with a class that there is not, or -1."""
    for i in range(target.size):
        t = target[i]
        if t != ignored and not 0 <= t < classes:
            return i
    return -1


def checked_targets(target: Any, classes: int, ignore_index: int) -> Any:
    """The targets flat; IndexError, as torch's, for a class outside of ``range(classes)``."""
    found = flat(target)
    if found.dtype != np.int64:
        found = found.astype(np.int64)
    wrong = _first_wrong(found, classes, ignore_index)
    if wrong >= 0:
        raise IndexError(f"Target {found[wrong]} is out of bounds.")
    return found


@in_float32
def nll(out: Any, x: Any, target: Any, weight: Any = None, *, ignore_index: int = -100) -> None:
    """``out[n, ...] = -weight[t] * x[n, t, ...]``; 0 where the target is ignored."""
    wanted = checked_targets(target, x.shape[1], ignore_index)
    _pick(out.reshape(-1), flat(x), wanted, optional(weight, x.dtype), *_sizes(x), ignore_index)


@in_float32
def nll_gradient(
    out: Any, g: Any, target: Any, weight: Any = None, *, ignore_index: int = -100
) -> None:
    """The gradient of :func:`nll` for ``x`` (shape of ``out``)."""
    _spread(out.reshape(-1), flat(g), flat(target), optional(weight, out.dtype), *_sizes(out),
            ignore_index)  # fmt: skip


def _dense_type(outs: Any, ins: Any) -> str | None:
    """numba's name for the type of operands in C order, targets (ins[1]) aside; else None."""
    given = [*outs, *(x for i, x in enumerate(ins) if x is not None and i != 1)]
    kind = given[0].dtype
    if kind not in (np.float32, np.float64) or ins[1].dtype != np.int64:
        return None
    return kind.name if all(x.dtype == kind for x in given) and all(
        dense(x) for x in (*given, ins[1])
    ) else None  # fmt: skip


def _nll_plan(outs: Any, ins: Any, *, ignore_index: int = -100) -> Any:
    name, sizes = _dense_type(outs, ins), _sizes(ins[0])
    if name is None:
        return None
    first_wrong = entry_point(_first_wrong, "int64(int64[::1], int64, int64)")
    vector = f"{name}[::1]"
    pick = entry_point(
        _pick, f"void({vector}, {vector}, int64[::1], {vector}, int64, int64, int64, int64)"
    )
    none = np.empty(0, name)

    def run(out: Any, x: Any, target: Any, weight: Any = None) -> None:
        if first_wrong(target, sizes[1], ignore_index) >= 0:
            checked_targets(target, sizes[1], ignore_index)
        pick(out, x, target, none if weight is None else weight, *sizes, ignore_index)

    return run


def _nll_gradient_plan(outs: Any, ins: Any, *, ignore_index: int = -100) -> Any:
    name, sizes = _dense_type(outs, ins), _sizes(outs[0])
    if name is None:
        return None
    vector = f"{name}[::1]"
    spread = entry_point(
        _spread, f"void({vector}, {vector}, int64[::1], {vector}, int64, int64, int64, int64)"
    )
    none = np.empty(0, name)
    return lambda out, g, target, weight=None: spread(
        out, g, target, none if weight is None else weight, *sizes, ignore_index
    )


nll.plan, nll_gradient.plan = _nll_plan, _nll_gradient_plan


# --- cross entropy: log_softmax and nll at once, without the array of logarithms -------------

_PIECE = 65536  # elements that are worth a thread
_BLOCK = 256  # exponentials that are added in their own type


def _statistics(exponential: Any, logarithm: Any) -> tuple[Any, Any]:
    """Maxima and logarithms of sums of exponentials: of a row, and of columns side by side."""

    @kernel
    def row_statistics(row: Any) -> tuple[Any, Any]:
        """The maximum of a row and log(sum(exp(row - maximum)))."""
        shift = largest(row)
        sums = 0.0
        for begin in range(0, row.size, _BLOCK):
            part = row[begin : begin + _BLOCK]
            partial = row.dtype.type(0)
            for i in range(part.size):
                partial = add_any_order(partial, exponential(part[i] - shift))
            sums += partial
        return shift, row.dtype.type(np.log(sums))

    @kernel
    def column_statistics(
        shifts: Any, logs: Any, x: Any, classes: int, inner: int, at: int
    ) -> None:
        for j in range(shifts.size):
            shifts[j] = x[at + j]
            logs[j] = 0
        for k in range(1, classes):
            row = x[at + k * inner :]
            for j in range(shifts.size):
                shifts[j] = greater(row[j], shifts[j])
        for k in range(classes):
            row = x[at + k * inner :]
            for j in range(shifts.size):
                logs[j] += exponential(row[j] - shifts[j])
        for j in range(logs.size):
            logs[j] = logarithm(logs[j])

    return row_statistics, column_statistics


def _forward(exponential: Any, logarithm: Any) -> tuple[Any, Any]:
    """(losses of some rows, all of forward) for rows of ``[rows, classes, inner]``."""
    row_statistics, column_statistics = _statistics(exponential, logarithm)

    @kernel
    def forward(
        losses: Any, shifts: Any, logs: Any, x: Any, target: Any, weight: Any, classes: int,
        inner: int, ignored: int, smoothing: float, start: int, stop: int,
    ) -> None:  # fmt: skip
        for r in range(start, stop):
            at = r * classes * inner
            if inner == 1:
                row = x[at : at + classes]
                shifts[r], logs[r] = row_statistics(row)
            else:
                places = slice(r * inner, (r + 1) * inner)
                column_statistics(shifts[places], logs[places], x, classes, inner, at)
            for j in range(inner):
                place = r * inner + j
                t = target[place]
                if t == ignored:
                    losses[place] = 0
                    continue
                own = logs[place] - (x[at + t * inner + j] - shifts[place])
                loss = own * (weight[t] if weight.size else x.dtype.type(1)) * (1 - smoothing)
                if smoothing > 0:
                    spread = 0.0
                    for k in range(classes):
                        part = logs[place] - (x[at + k * inner + j] - shifts[place])
                        spread += part * (weight[k] if weight.size else 1)
                    loss += spread * (smoothing / classes)
                losses[place] = loss

    @kernel
    def whole(
        loss: Any, shifts: Any, logs: Any, count: Any, x: Any, target: Any, weight: Any,
        rows: int, classes: int, inner: int, ignored: int, smoothing: float, reduction: int,
    ) -> int:  # fmt: skip
        """All of :func:`cross_entropy`; the place of a class that there is not, or -1."""
        wrong = _first_wrong(target, classes, ignored)
        if wrong >= 0:
            return wrong
        losses = loss if reduction == _NONE else np.empty(target.size, x.dtype)
        forward(
            losses, shifts, logs, x, target, weight, classes, inner, ignored, smoothing, 0, rows
        )
        _reduced(loss, count, losses, target, weight, ignored, reduction)
        return -1

    return forward, whole


def _backward(exponential: Any) -> Any:
    """The gradient of the losses of some rows, from what :func:`_forward` left of them."""

    @kernel
    def row_gradient(out: Any, row: Any, shift: Any, log: Any, slope: Any) -> None:
        for k in range(row.size):
            out[k] = exponential(row[k] - shift - log) * slope

    @kernel
    def backward(
        gx: Any, g: Any, x: Any, shifts: Any, logs: Any, target: Any, weight: Any, classes: int,
        inner: int, ignored: int, smoothing: float, step: int, scale: float, start: int, stop: int,
    ) -> None:  # fmt: skip
        kind = gx.dtype.type
        whole = 0.0
        for k in range(weight.size):
            whole += weight[k]
        share = smoothing / classes
        through = share * (whole if weight.size else classes)
        own, all_ = np.empty(inner, gx.dtype), np.empty(inner, gx.dtype)
        even = np.empty(inner, gx.dtype)
        for r in range(start, stop):
            first = r * inner
            for j in range(inner):
                t = target[first + j]
                slope = kind(0) if t == ignored else kind(g[(first + j) * step] * scale)
                factor = kind(1) if t == ignored or not weight.size else weight[t]
                own[j] = kind(slope * factor * (1 - smoothing))
                all_[j] = kind(own[j] + slope * through)
                even[j] = kind(slope * share)
            for k in range(classes if inner > 1 else 0):
                at = (r * classes + k) * inner
                row, result = x[at : at + inner], gx[at : at + inner]
                shift, log = shifts[first : first + inner], logs[first : first + inner]
                for j in range(inner):
                    result[j] = exponential(row[j] - shift[j] - log[j]) * all_[j]
            if inner == 1:
                here = slice(r * classes, (r + 1) * classes)
                row_gradient(gx[here], x[here], shifts[r], logs[r], all_[0])
            if smoothing > 0:
                for k in range(classes):
                    at = (r * classes + k) * inner
                    factor = weight[k] if weight.size else kind(1)
                    for j in range(inner):
                        gx[at + j] -= even[j] * factor
            for j in range(inner):
                t = target[first + j]
                if t != ignored:
                    gx[(r * classes + t) * inner + j] -= own[j]

    return backward


def _plain(exponential: Any, logarithm: Any) -> tuple[Any, Any]:
    """All of forward and backward for rows of classes, without weights and smoothing: as the loops
    above, in a third of the time to compile."""
    row_statistics, _ = _statistics(exponential, logarithm)

    @kernel
    def forward(
        loss: Any, shifts: Any, logs: Any, count: Any, x: Any, target: Any, rows: int,
        classes: int, ignored: int, reduction: int,
    ) -> int:  # fmt: skip
        """The place of a class that there is not, or -1."""
        total, weights = 0.0, 0.0
        for r in range(rows):
            t = target[r]
            if t != ignored and not 0 <= t < classes:
                return r
            row = x[r * classes : (r + 1) * classes]
            shift, log = row_statistics(row)
            shifts[r], logs[r] = shift, log
            own = x.dtype.type(0)
            if t != ignored:
                own = log - (row[t] - shift)
                weights += 1.0
            total += own
            if reduction == _NONE:
                loss[r] = own
        _settle(loss, count, total, weights, reduction)
        return -1

    @kernel
    def backward(
        gx: Any, g: Any, x: Any, shifts: Any, logs: Any, target: Any, rows: int, classes: int,
        ignored: int, step: int, scale: float,
    ) -> None:  # fmt: skip
        kind = gx.dtype.type
        for r in range(rows):
            out, row = gx[r * classes : (r + 1) * classes], x[r * classes : (r + 1) * classes]
            t, shift, log = target[r], shifts[r], logs[r]
            slope = kind(0) if t == ignored else kind(g[r * step] * scale)
            for k in range(classes):
                out[k] = exponential(row[k] - shift - log) * slope
            if t != ignored:
                out[t] -= slope

    return forward, backward


def _loops(exponential: Any, logarithm: Any) -> dict[str, Any]:
    """The loops with the ``exp`` and ``log`` of an element type."""
    forward, whole = _forward(exponential, logarithm)
    plain, plain_backward = _plain(exponential, logarithm)
    return {
        "forward": forward, "backward": _backward(exponential), "whole": whole, "plain": plain,
        "plain backward": plain_backward,
    }  # fmt: skip


_BY_TYPE = {
    np.dtype(np.float32): _loops(exp_falling, log32),
    np.dtype(np.float64): _loops(exp64, log64),
}


def _over_rows(loop: Any, arrays: Any, x: Any, *numbers: Any) -> None:
    rows, classes, inner = _sizes(x)

    def part(start: int, stop: int) -> None:
        loop(*arrays, classes, inner, *numbers, start, stop)

    parallel_for(rows, part, smallest=max(1, _PIECE // max(classes * inner, 1)))


def _fits(x: Any, target: Any, *others: Any) -> bool:
    """Whether one thread's loop over flat arrays does it."""
    if x.dtype not in _BY_TYPE or target.dtype != np.int64 or math.prod(x.shape) >= 2 * _PIECE:
        return False
    return all(a is None or (dense(a) and a.dtype == x.dtype) for a in (x, *others)) and (
        dense(target)
    )


def _is_plain(inner: int, weight: Any, smoothing: float) -> bool:
    """Whether the loops for rows, without weights and smoothing, do it."""
    return inner == 1 and weight is None and smoothing == 0


def _bound(name: str, dtype: Any, arrays: str, numbers: str) -> Any:
    """A loop called without checks; ``arrays`` has t for the type's arrays and i for int64's."""
    kinds = {"t": f"{np.dtype(dtype).name}[::1]", "i": "int64[::1]", "n": "int64", "f": "float64"}
    signature = ", ".join(kinds[k] for k in arrays + numbers)
    returned = "int64" if name in ("whole", "plain") else "void"
    return entry_point(_BY_TYPE[dtype][name], f"{returned}({signature})")


@in_float32
def cross_entropy(
    outs: Any, x: Any, target: Any, weight: Any = None, *, ignore_index: int, reduction: str,
    smoothing: float,
) -> None:  # fmt: skip
    """``outs`` = loss, maxima, log(sum(exp(x - maximum))), the sum of the targets' weights."""
    loss, shifts, logs, count = outs
    wanted = checked_targets(target, x.shape[1], ignore_index)
    factors = optional(weight, x.dtype)
    losses = loss.reshape(-1) if reduction == "none" else np.empty(wanted.size, x.dtype)
    arrays = (losses, shifts.reshape(-1), logs.reshape(-1), flat(x), wanted, factors)
    _over_rows(_BY_TYPE[x.dtype]["forward"], arrays, x, ignore_index, float(smoothing))
    _reduced(
        loss.reshape(-1), count.reshape(-1), losses, wanted, factors, ignore_index,
        _REDUCTIONS[reduction],
    )  # fmt: skip


def _plan(
    outs: Any, ins: Any, *, ignore_index: int, reduction: str, smoothing: float
) -> Any:
    """For small dense arrays: one call."""
    x, target, weight = (*ins, None)[:3]
    if not _fits(x, target, weight):
        return None
    rows, classes, inner = _sizes(x)
    numbers: tuple[Any, ...] = (rows, classes, ignore_index, _REDUCTIONS[reduction])
    more: tuple[Any, ...] = ()
    if _is_plain(inner, weight, smoothing):
        run = _bound("plain", x.dtype, "ttttti", "nnnn")
    else:
        run = _bound("whole", x.dtype, "tttttit", "nnnnfn")
        numbers = (*numbers[:2], inner, ignore_index, float(smoothing), _REDUCTIONS[reduction])
        more = (np.empty(0, x.dtype),)

    def forward(
        loss: Any, shifts: Any, logs: Any, count: Any, x: Any, target: Any, weight: Any = None
    ) -> None:
        factors = more if weight is None else (weight,)
        wrong = run(loss, shifts, logs, count, x, target, *factors, *numbers)
        if wrong >= 0:
            raise IndexError(f"Target {target[wrong]} is out of bounds.")

    return forward


cross_entropy.plan = _plan


@in_float32
def cross_entropy_gradient(
    out: Any, g: Any, x: Any, shifts: Any, logs: Any, count: Any, target: Any, weight: Any = None,
    *, ignore_index: int, reduction: str, smoothing: float,
) -> None:  # fmt: skip
    """The gradient of :func:`cross_entropy` for ``x``."""
    step, scale = (1, 1.0) if reduction == "none" else (0, 1.0)
    if reduction == "mean":
        scale = 1.0 / float(count) if count else np.nan
    wanted = flat(target).astype(np.int64, copy=False)
    factors = optional(weight, x.dtype)
    arrays = (out.reshape(-1), flat(g), flat(x), flat(shifts), flat(logs), wanted, factors)
    loop = _BY_TYPE[x.dtype]["backward"]
    _over_rows(loop, arrays, x, ignore_index, float(smoothing), step, scale)


def _gradient_plan(
    outs: Any, ins: Any, *, ignore_index: int, reduction: str, smoothing: float
) -> Any:
    """For small dense arrays: one call."""
    g, x, shifts, logs, count, target, weight = (*ins, None)[:7]
    if not _fits(x, target, g if reduction == "none" else None, shifts, logs, count, weight):
        return None
    rows, classes, inner = _sizes(x)
    step = int(reduction == "none")
    plain = _is_plain(inner, weight, smoothing)
    if plain:
        run = _bound("plain backward", x.dtype, "ttttti", "nnnnf")
    else:
        run = _bound("backward", x.dtype, "tttttit", "nnnfnfnn")
    none = np.empty(0, x.dtype)

    def backward(
        gx: Any, g: Any, x: Any, shifts: Any, logs: Any, count: Any, target: Any,
        weight: Any = None,
    ) -> None:  # fmt: skip
        scale = 1.0
        if reduction == "mean":
            whole = count.item()
            scale = 1.0 / whole if whole else np.nan
        if plain:
            run(gx, g, x, shifts, logs, target, rows, classes, ignore_index, step, scale)
            return
        factors = none if weight is None else weight
        run(
            gx, g, x, shifts, logs, target, factors, classes, inner, ignore_index,
            float(smoothing), step, scale, 0, rows,
        )  # fmt: skip

    return backward


cross_entropy_gradient.plan = _gradient_plan
