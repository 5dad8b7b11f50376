"""Making a batch of samples."""

from __future__ import annotations

import collections.abc
import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch._tensor.shared_memory import stacked
from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.functions.from_data import as_tensor, from_numpy, tensor
from mindtorch.torch.functions.parts import stack

from ._worker_info import LARGE, get_worker_info

NOT_NUMERIC = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_convert(data: Any) -> Any:
    """Arrays in ``data`` (nested) as tensors; everything else as it is."""
    kind = type(data)
    if isinstance(data, EngineTensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        if isinstance(data, np.ndarray) and NOT_NUMERIC.search(data.dtype.str):
            return data
        return as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _mapping_like(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*(default_convert(d) for d in data))
    if isinstance(data, tuple):
        return [default_convert(d) for d in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return [default_convert(d) for d in data]
    return data


def collate(batch: Any, *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """A batch of samples, by the functions that ``collate_fn_map`` has for their type."""
    element = batch[0]
    kind = type(element)
    if collate_fn_map is not None:
        for known, function in collate_fn_map.items():
            if isinstance(element, known):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(element, collections.abc.Mapping):
        merged = {
            key: collate([d[key] for d in batch], collate_fn_map=collate_fn_map) for key in element
        }
        return _mapping_like(element, merged)
    if isinstance(element, tuple) and hasattr(element, "_fields"):
        return kind(*(collate(s, collate_fn_map=collate_fn_map) for s in zip(*batch, strict=True)))
    if isinstance(element, collections.abc.Sequence):
        return _collate_sequences(batch, element, kind, collate_fn_map)
    raise TypeError(default_collate_err_msg_format.format(kind))


def _mapping_like(given: Any, content: dict[Any, Any]) -> Any:
    """A mapping of the given one's type where that can be made, a dict where it cannot."""
    try:
        if isinstance(given, collections.abc.MutableMapping):
            clone = copy.copy(given)
            clone.update(content)
            return clone
        return type(given)(content)
    except TypeError:
        return content


def _collate_sequences(batch: Any, element: Any, kind: Any, collate_fn_map: Any) -> Any:
    size = len(element)
    if not all(len(sample) == size for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = list(zip(*batch, strict=True))
    if isinstance(element, tuple):
        return [collate(column, collate_fn_map=collate_fn_map) for column in columns]
    try:
        return kind([collate(column, collate_fn_map=collate_fn_map) for column in columns])
    except TypeError:
        return [collate(column, collate_fn_map=collate_fn_map) for column in columns]


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    if batch[0]._sparse:
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn; "
            "please provide a custom collate_fn to handle them appropriately."
        )
    if get_worker_info() is not None and _can_be_shared(batch):
        return stacked(batch)
    return stack(batch, 0)


def _can_be_shared(batch: Any) -> bool:
    """Whether the batch of a worker is large, and its rows are plain numbers of one shape."""
    first = batch[0].aval
    if first.size * first.dtype.itemsize * len(batch) < LARGE or first.dtype.np.kind not in "biuf":
        return False
    return all(
        type(x) is Tensor and not x.requires_grad and x.device.type == "cpu"
        and x.aval.shape == first.shape and x.aval.dtype is first.dtype
        for x in batch
    )  # fmt: skip


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    if NOT_NUMERIC.search(batch[0].dtype.str):
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return from_numpy(np.array(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return tensor(batch, dtype=dtypes.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return batch


default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    EngineTensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Samples stacked: tensors and numbers along a new first axis, containers element by
    element.

    Args:
        batch: a list of samples.
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
