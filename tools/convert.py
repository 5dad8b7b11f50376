"""Values of PyTorch's programs as MindSpore's tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import mindtorch.mindspore as ms
from mindtorch.engine.tensor import Tensor as EngineTensor

__all__ = ["convert_to_ms_tensor"]


def convert_to_ms_tensor(data: Any) -> Any:
    """``data`` with MindSpore's tensors for real PyTorch's, for arrays and for numbers.

    Fractions become float32, whole numbers int64. Mappings and namedtuples keep their class,
    other sequences become lists; text, arrays of text or objects, and tensors of ours stay.

    Raises:
        TypeError: anything else.
    """
    if isinstance(data, (EngineTensor, str, bytes)):
        return data
    if type(data).__module__.partition(".")[0] == "torch" and hasattr(data, "detach"):
        return _of_torch(data)
    if isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
        return data if array.dtype.kind in "OSU" else ms.Tensor(array)
    if isinstance(data, bool):
        return ms.Tensor(data)
    if isinstance(data, float):
        return ms.Tensor(data, dtype=ms.float32)
    if isinstance(data, int):
        return ms.Tensor(data, dtype=ms.int64)
    if isinstance(data, Mapping):
        return {key: convert_to_ms_tensor(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(convert_to_ms_tensor, data))
    if isinstance(data, Sequence):
        return [convert_to_ms_tensor(value) for value in data]
    raise TypeError(
        f"data must be tensor, numpy arrays, numbers, dicts or lists; but got {type(data)}"
    )


def _of_torch(tensor: Any) -> ms.Tensor:
    """A tensor of real PyTorch; numpy has no bfloat16, so that goes by float32."""
    tensor = tensor.detach().cpu()
    if str(tensor.dtype) == "torch.bfloat16":
        return ms.Tensor(tensor.float().numpy()).astype(ms.bfloat16)
    return ms.Tensor(tensor.numpy())
