"""numpy's functions of shapes, places, choices and truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.engine.tensor import Tensor as EngineTensor

from ._values import BOOL, axes_of, floating, public, tensor_of, type_of

__all__ = [
    "append", "apply_along_axis", "apply_over_axes", "argwhere", "array_equal", "array_equiv",
    "array_split", "array_str", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays",
    "broadcast_to", "choose", "column_stack", "concatenate", "dsplit", "dstack", "expand_dims",
    "flip", "fliplr", "flipud", "hsplit", "hstack", "in1d", "intersect1d", "isin", "isscalar",
    "moveaxis", "pad", "piecewise", "promote_types", "ravel", "ravel_multi_index", "repeat",
    "reshape", "result_type", "roll", "rollaxis", "rot90", "searchsorted", "select", "setdiff1d",
    "size", "sometrue", "split", "squeeze", "stack", "swapaxes", "take", "take_along_axis",
    "tile", "transpose", "unique", "unravel_index", "vsplit", "vstack", "where",
]  # fmt: skip


@public
def reshape(x: Any, new_shape: Any) -> Any:
    """The elements in the shape ``new_shape``; -1 stands for what is left."""
    return tensor_of(x).reshape(new_shape)


@public
def ravel(x: Any) -> Any:
    """All elements in a row."""
    return tensor_of(x).reshape(-1)


@public
def transpose(a: Any, axes: Any = None) -> Any:
    """The axes in another order, reversed without ``axes``."""
    given = tensor_of(a)
    return given.permute(tuple(reversed(range(given.ndim))) if axes is None else axes_of(axes))


@public
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged."""
    return torch.transpose(tensor_of(x), axis1, axis2)


@public
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """The axes ``source`` moved to the places ``destination``.

    Args:
        source, destination: an axis, or as many.
    """
    return torch.movedim(tensor_of(a), axes_of(source), axes_of(destination))


@public
def rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    """``axis`` goes before what is axis ``start`` now."""
    given = tensor_of(x)
    axis, start = axis % given.ndim, start + given.ndim if start < 0 else start
    return torch.movedim(given, axis, start - (axis < start))


@public
def expand_dims(a: Any, axis: Any) -> Any:
    """A new axis of length 1 at ``axis``, or at several."""
    given = tensor_of(a)
    new = (axis,) if isinstance(axis, int) else tuple(axis)
    for place in sorted(p % (given.ndim + len(new)) for p in new):
        given = given.unsqueeze(place)
    return given


@public
def squeeze(a: Any, axis: Any = None) -> Any:
    """Without the axes of length 1, or without ``axis``."""
    given = tensor_of(a)
    if axis is None:
        return given.squeeze()
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for place in axes:
        if given.shape[place] != 1:
            raise ValueError("Cannot select an axis to squeeze out which has size not equal to one")
    return given.squeeze(axes)


def _at_least(count: int) -> Callable[..., Any]:
    def call(*arys: Any) -> Any:
        made = [_grown(tensor_of(a), count) for a in arys]
        return made[0] if len(made) == 1 else made

    call.__name__ = f"atleast_{count}d"
    call.__doc__ = f"Tensors of {count} dimensions at least."
    return public(call)


def _grown(a: Any, count: int) -> Any:
    if count == 3 and a.ndim == 2:
        return a.unsqueeze(-1)
    if count == 3 and a.ndim == 1:
        return a.reshape(1, -1, 1)
    return a.reshape((1,) * (count - a.ndim) + tuple(a.shape)) if a.ndim < count else a


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


# --- joining and dividing -----------------------------------------------------------------------


def _common(arrays: Any) -> list[Any]:
    made = [tensor_of(a) for a in arrays]
    kind = made[0].dtype
    for tensor in made[1:]:
        kind = torch.promote_types(kind, tensor.dtype)
    return [tensor.to(kind) for tensor in made]


@public
def concatenate(arrays: Any, axis: int | None = 0) -> Any:
    """One after another along ``axis``; None: all elements in a row."""
    made = _common(arrays)
    return torch.cat([m.reshape(-1) for m in made]) if axis is None else torch.cat(made, axis)


@public
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """``values`` behind ``arr`` along ``axis``; without one, all elements in a row."""
    return concatenate((arr, values), axis)


@public
def stack(arrays: Any, axis: int = 0) -> Any:
    """Along a new axis."""
    return torch.stack(_common(arrays), axis)


@public
def hstack(tup: Any) -> Any:
    """Along the second axis, vectors along their only one."""
    return torch.hstack(_common(tup))


@public
def vstack(tup: Any) -> Any:
    """Along the first axis, vectors being rows."""
    return torch.vstack(_common(tup))


@public
def dstack(tup: Any) -> Any:
    """Along the third axis, vectors and matrices being given one."""
    return torch.dstack(_common(tup))


@public
def column_stack(tup: Any) -> Any:
    """Vectors as columns, and matrices, beside each other."""
    return torch.column_stack(_common(tup))


@public
def split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Equal parts, or parts between places along ``axis``."""
    given = tensor_of(x)
    if isinstance(indices_or_sections, int) and given.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return _parts(given, indices_or_sections, axis)


@public
def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """:func:`split` whose first parts may be longer by one."""
    return _parts(tensor_of(x), indices_or_sections, axis)


def _parts(x: Any, places: Any, axis: int) -> Any:
    return list(torch.tensor_split(x, places if isinstance(places, int) else tuple(places), axis))


@public
def hsplit(x: Any, indices_or_sections: Any) -> Any:
    """Parts along the second axis, of a vector along its only one."""
    given = tensor_of(x)
    return split(given, indices_or_sections, 1 if given.ndim > 1 else 0)


@public
def vsplit(x: Any, indices_or_sections: Any) -> Any:
    """Parts along the first axis."""
    return split(x, indices_or_sections, 0)


@public
def dsplit(x: Any, indices_or_sections: Any) -> Any:
    """Parts along the third axis."""
    return split(x, indices_or_sections, 2)


@public
def tile(a: Any, reps: Any) -> Any:
    """The tensor repeated ``reps`` times along each axis.

    Args:
        reps: a number for each axis, or for the last one.
    """
    return torch.tile(tensor_of(a), (reps,) if isinstance(reps, int) else tuple(reps))


@public
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element as often as ``repeats`` says, in a row without ``axis``."""
    given = tensor_of(a)
    count = repeats if isinstance(repeats, int) else tensor_of(repeats).long()
    if axis is None:
        given, axis = given.reshape(-1), 0
    return torch.repeat_interleave(given, count, axis)


@public
def flip(m: Any, axis: Any = None) -> Any:
    """The reverse order along ``axis``, along all without one."""
    given = tensor_of(m)
    axes = range(given.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return torch.flip(given, tuple(axes))


@public
def fliplr(m: Any) -> Any:
    """The reverse order along the second axis."""
    return torch.flip(tensor_of(m), (1,))


@public
def flipud(m: Any) -> Any:
    """The reverse order along the first axis."""
    return torch.flip(tensor_of(m), (0,))


@public
def rot90(a: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Turned by ``k`` quarters from the first of ``axes`` towards the second."""
    return torch.rot90(tensor_of(a), k, tuple(axes))


@public
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Shifted by ``shift`` places along ``axis``, wrapping round; in a row without one."""
    return torch.roll(tensor_of(a), shift, axes_of(axis))


@public
def broadcast_to(array: Any, shape: Any) -> Any:
    """``array`` spread to ``shape`` without copying."""
    return torch.broadcast_to(tensor_of(array), tuple(shape))


@public
def broadcast_arrays(*args: Any) -> Any:
    """The tensors, each spread to the shape that all have in common."""
    return list(torch.broadcast_tensors(*[tensor_of(a) for a in args]))


@public
def pad(
    arr: Any, pad_width: Any, mode: str = "constant", stat_length: Any = None,
    constant_values: Any = 0, end_values: Any = 0, reflect_type: str = "even", **kwargs: Any,
) -> Any:  # fmt: skip
    """Elements before and after each axis: constants, the edge, or the tensor mirrored or again.

    Args:
        pad_width: how many before and after, for all axes or for each.
        mode: "constant", "empty", "edge", "reflect", "symmetric" or "wrap".
        constant_values: before and after, for all axes or for each.
        stat_length, end_values, reflect_type: of other modes, which are refused.

    Raises:
        NotImplementedError: another mode.
    """
    if stat_length is not None or reflect_type != "even" or kwargs or mode not in (
        "constant", "empty", "edge", "reflect", "symmetric", "wrap"
    ):  # fmt: skip
        raise NotImplementedError(f"mindspore.numpy.pad(mode={mode!r}) with these arguments")
    given = tensor_of(arr)
    widths = np.broadcast_to(np.asarray(pad_width), (given.ndim, 2)).tolist()
    values = np.broadcast_to(np.asarray(constant_values), (given.ndim, 2)).tolist()
    for axis, ((before, after), (first, last)) in enumerate(zip(widths, values, strict=True)):
        if mode in ("constant", "empty"):
            shape = list(given.shape)
            parts = []
            for count, value in ((before, first), (after, last)):
                shape[axis] = count
                parts.append(torch.full(shape, value, dtype=given.dtype))
            given = torch.cat([parts[0], given, parts[1]], axis)
        else:
            places = np.pad(np.arange(given.shape[axis]), (before, after), mode=mode)  # type: ignore
            given = torch.index_select(given, axis, torch.from_numpy(places))
    return given


# --- choosing -----------------------------------------------------------------------------------


@public
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """``x`` where the condition holds, ``y`` elsewhere."""
    chosen, other = _common((x, y))
    return torch.where(tensor_of(condition).to(BOOL), chosen, other)


@public
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The first choice whose condition holds, else ``default``.

    Args:
        choicelist: as many tensors.
    """
    choices = _common([*choicelist, default])
    found = choices.pop()
    for condition, choice in reversed(list(zip(condlist, choices, strict=True))):
        found = torch.where(tensor_of(condition).to(BOOL), choice, found)
    return found


@public
def choose(a: Any, choices: Any, mode: str = "clip") -> Any:
    """Element by element the choice that ``a`` names; places outside by ``mode``.

    Args:
        choices: tensors, one for each number.
    """
    given = torch.broadcast_tensors(*_common(choices))
    places, count = tensor_of(a).long(), len(given)
    if mode not in ("clip", "wrap"):
        raise ValueError('choose: mode must be "clip" or "wrap"')
    places = places.clamp(0, count - 1) if mode == "clip" else places % count
    whole = torch.stack(list(given))
    places, _ = torch.broadcast_tensors(places, given[0])
    return torch.gather(whole.expand((count, *places.shape)), 0, places.unsqueeze(0)).squeeze(0)


@public
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Functions, or constants, of ``x``, each where its condition holds.

    Args:
        funclist: functions or constants; one more than conditions is for the rest.
        kw: passed on to the functions.
    """
    given = tensor_of(x)
    conditions = [tensor_of(c).to(BOOL) for c in condlist]
    results = [f(given, *args, **kw) if callable(f) else tensor_of(f).expand(given.shape)
               for f in funclist]  # fmt: skip
    rest = results.pop() if len(results) > len(conditions) else torch.zeros_like(results[0])
    return select(list(reversed(conditions)), list(reversed(results)), rest)


def _in_range(places: Any, count: int, mode: str) -> Any:
    whole = tensor_of(places).long()
    if mode == "wrap":
        return whole % count
    return torch.where(whole < 0, whole + count, whole).clamp(0, count - 1)


@public
def take(a: Any, indices: Any, axis: int | None = None, mode: str = "clip") -> Any:
    """Elements by their places along ``axis``, in a row without it."""
    given = tensor_of(a)
    if axis is None:
        given, axis = given.reshape(-1), 0
    axis %= given.ndim
    places = _in_range(indices, given.shape[axis], mode)
    found = torch.index_select(given, axis, places.reshape(-1))
    return found.reshape((*given.shape[:axis], *places.shape, *given.shape[axis + 1 :]))


@public
def take_along_axis(arr: Any, indices: Any, axis: int | None) -> Any:
    """The elements at ``indices`` along ``axis``, line by line."""
    given, places = tensor_of(arr), tensor_of(indices).long()
    if axis is None:
        given, axis = given.reshape(-1), 0
    return torch.take_along_dim(given, places, axis)


@public
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where ``v`` would be put so that ``a`` stays sorted."""
    if side not in ("left", "right"):
        raise ValueError(f'invalid value for keyword "side": {side}')
    given = tensor_of(a)
    if sorter is not None:
        given = given[tensor_of(sorter).long()]
    found = torch.searchsorted(given, tensor_of(v).to(given.dtype), right=side == "right")
    return found.to(torch.int32)


@public
def unique(x: Any, return_inverse: bool = False) -> Any:
    """What occurs in ``x``, in the order of its first places, as in MindSpore.

    Args:
        return_inverse: also where each element went.
    """
    flat = tensor_of(x).reshape(-1)
    ordered, inverse = torch.unique(flat, return_inverse=True)
    places = torch.full((len(ordered),), len(flat), dtype=torch.int64)
    first = places.scatter_reduce(0, inverse, torch.arange(len(flat)), "amin")
    order = torch.argsort(first)
    back = torch.argsort(order)[inverse].to(flat.dtype)
    return (ordered[order], back) if return_inverse else ordered[order]


@public
def argwhere(a: Any) -> Any:
    """The places of the elements that are not 0, one row each."""
    return torch.argwhere(tensor_of(a))


@public
def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """What both hold, sorted; with ``return_indices`` also its first places in each."""
    left, right = (tensor_of(a).reshape(-1) for a in (ar1, ar2))
    found, one, two = np.intersect1d(left.numpy(), right.numpy(), assume_unique, True)
    common = torch.from_numpy(found)
    places = tuple(torch.from_numpy(p).to(torch.int32) for p in (one, two))
    return (common, *places) if return_indices else common


@public
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """What the first holds and the second does not, sorted unless it is unique by assumption."""
    first = tensor_of(ar1).reshape(-1)
    first = first if assume_unique else torch.unique(first)
    return first[~torch.isin(first, tensor_of(ar2))]


@public
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Places along each axis of places in a row."""
    found = np.unravel_index(tensor_of(indices).numpy(), shape, order)  # type: ignore[call-overload]
    return tuple(torch.tensor(np.asarray(f).tolist(), dtype=torch.int32) for f in found)


@public
def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "clip", order: str = "C") -> Any:
    """Places in a row, as MindSpore's float32.

    Args:
        multi_index: places along each axis.
        dims: the lengths of the axes.
    """
    places = tuple(tensor_of(p).numpy().astype(np.int64) for p in multi_index)
    found = np.ravel_multi_index(places, dims, mode, order)  # type: ignore[call-overload]
    return torch.from_numpy(np.asarray(found)).to(torch.float32)


# --- truth, types and functions of functions ----------------------------------------------------


@public
def isin(element: Any, test_elements: Any, invert: bool = False) -> Any:
    """Whether each element is among ``test_elements``."""
    return torch.isin(tensor_of(element), tensor_of(test_elements), invert=invert)


@public
def in1d(ar1: Any, ar2: Any, invert: bool = False) -> Any:
    """Whether each element of ``ar1``, in a row, is in ``ar2``."""
    return torch.isin(tensor_of(ar1).reshape(-1), tensor_of(ar2), invert=invert)


@public
def sometrue(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether some element over ``axis`` is true."""
    given = tensor_of(a).to(BOOL)
    return torch.any(given, tuple(range(given.ndim)) if axis is None else axes_of(axis), keepdims)


@public
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether shapes and elements are equal, as a tensor of bool."""
    left, right = tensor_of(a1), tensor_of(a2)
    if left.shape != right.shape:
        return torch.tensor(False)
    same = left == right
    if equal_nan:
        same = same | (torch.isnan(floating(left)) & torch.isnan(floating(right)))
    return torch.all(same)


@public
def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether both are equal when one is spread to the other's shape."""
    left, right = tensor_of(a1), tensor_of(a2)
    try:
        return torch.all(left == right)
    except RuntimeError:
        return torch.tensor(False)


def array_str(a: Any) -> str:
    """The elements as numpy prints them."""
    return np.array_str(tensor_of(a).numpy())


def isscalar(element: Any) -> bool:
    """Whether it is a number, a truth value or text, and no tensor."""
    return isinstance(element, (bool, int, float, complex, str, np.generic))


def size(a: Any, axis: int | None = None) -> int:
    """How many elements there are, or along ``axis``."""
    given = tensor_of(a)
    return int(given.numel()) if axis is None else int(given.shape[axis])


def promote_types(type1: Any, type2: Any) -> Any:
    """The smallest type that holds the values of both."""
    return torch.promote_types(type_of(type1), type_of(type2))


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The type of the result of arithmetic with all of these.

    Args:
        arrays_and_dtypes: tensors, numbers and types.
    """
    kinds = [tensor_of(a).dtype if isinstance(a, (EngineTensor, int, float, bool, list, tuple))
             else type_of(a) for a in arrays_and_dtypes]  # fmt: skip
    found = kinds[0]
    for kind in kinds[1:]:
        found = torch.promote_types(found, kind)
    return found


@public
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of vectors, of all vectors along an axis.

    Args:
        func1d: a function of a vector.
    """
    given = torch.movedim(tensor_of(arr), axis, -1)
    rows = [tensor_of(func1d(row, *args, **kwargs)) for row in given.reshape(-1, given.shape[-1])]
    found = torch.stack(rows).reshape((*given.shape[:-1], *rows[0].shape))
    for place in range(rows[0].ndim):
        source = given.ndim - 1 + place
        found = torch.movedim(found, source, axis % given.ndim + place)
    return found


@public
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """``func(a, axis)`` for one axis after another; dimensions that it drops come back as 1.

    Args:
        axes: the axes, one or several.
    """
    given = tensor_of(a)
    for axis in (axes,) if isinstance(axes, int) else axes:
        found = tensor_of(func(given, axis))
        given = found if found.ndim == given.ndim else found.unsqueeze(axis)
    return given
