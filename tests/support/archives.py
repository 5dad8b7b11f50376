"""Files and objects that the tests of serialization share."""

from __future__ import annotations

import collections
import io
import zipfile
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from mindtorch.engine import tensor as engine
from mindtorch.engine.devices.device import Device
from mindtorch.torch import serialization
from mindtorch.torch._tensor import size_and_formats

torch = pytest.importorskip("torch")

ZIP = {"_use_new_zipfile_serialization": True}
LEGACY = {"_use_new_zipfile_serialization": False}
DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
WITHOUT_CLASS = ("uint16", "uint32", "uint64")


def torch_file(obj: Any, **options: Any) -> io.BytesIO:
    buffer = io.BytesIO()
    torch.save(obj, buffer, **options)
    buffer.seek(0)
    return buffer


def our_file(obj: Any, **options: Any) -> io.BytesIO:
    buffer = io.BytesIO()
    serialization.save(obj, buffer, **options)
    buffer.seek(0)
    return buffer


def to_numpy(tensor: Any) -> np.ndarray[Any, Any]:
    """The values of a tensor, ours or PyTorch's."""
    if isinstance(tensor, engine.Tensor):
        return np.array(tensor.array())
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def ours_like(tensor: Any) -> engine.Tensor:
    """Our tensor with the values of PyTorch's."""
    return engine.from_array(to_numpy(tensor).copy())


def assert_same(ours: Any, theirs: Any) -> None:
    """Values, type and layout agree."""
    assert isinstance(ours, engine.Tensor)
    assert str(ours.aval.dtype) == str(theirs.dtype)
    assert ours.aval.shape == tuple(theirs.shape)
    assert ours.aval.strides == theirs.stride()
    assert ours._offset == theirs.storage_offset()
    assert to_numpy(ours).tobytes() == to_numpy(theirs).tobytes()


def sample(dtype: str, shape: tuple[int, ...] = (3, 4)) -> Any:
    values = torch.arange(int(np.prod(shape))).reshape(shape) - 2 * (dtype[0] != "u")
    tensor = values.to(getattr(torch, dtype))
    return tensor * (1 + 2j) if dtype.startswith("complex") else tensor


def plain_objects(torch_like: Any) -> dict[str, Any]:
    """Everything besides tensors that a restricted load accepts."""
    return {
        "numbers": [0, 1, -1, 255, 256, 65535, 65536, -(2**31), 2**31, 2**70, -(2**70), 1.5, 1e300],
        "constants": (None, True, False, ()),
        "text": ["", "ascii", "grüße \ud800", "x" * 300],
        "nested": {"a": {"b": [{"c": (1, (2, (3, 4, 5)))}]}, 7: "int key", (1, 2): "tuple key"},
        "bytes": [b"abc\xff\x00", bytearray(b"xyz\x80")],
        "complex": 1 - 2j,
        "sets": [set(), {1, 2, 3}],
        "ordered": collections.OrderedDict([("z", 1), ("a", 2)]),
        "counter": collections.Counter("hello"),
        "size": torch_like.Size([2, 3]),
        "dtypes": [getattr(torch_like, name) for name in DTYPES],
        "devices": [torch_like.device("cpu"), torch_like.device("cuda", 1)],
        "layout": torch_like.strided,
    }


class OurNames:
    """The few names of our namespace that `plain_objects` needs."""

    Size = size_and_formats.Size
    device = Device
    strided = size_and_formats.strided


for _name in DTYPES:
    from mindtorch.engine import dtypes as _dtypes

    setattr(OurNames, _name, _dtypes.by_name(_name))


class Plain:
    """A user's class."""

    def __init__(self) -> None:
        self.value = 3


def error_of(function: Callable[..., Any], *args: Any) -> BaseException:
    """What ``function(*args)`` raises; AssertionError if it does not."""
    try:
        function(*args)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def patched_pickle(old: bytes, new: bytes) -> bytes:
    """A file of one 2x3 tensor, with one place of its pickle changed."""
    raw = torch_file({"a": torch.arange(6.0).reshape(2, 3)}).getvalue()
    records = records_of(raw)
    assert records["archive/data.pkl"].count(old) >= 1
    records["archive/data.pkl"] = records["archive/data.pkl"].replace(old, new, 1)
    return zipped(records)


def records_of(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(records: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in records.items():
            archive.writestr(name, data)
    return buffer.getvalue()


GOOD = {"a": np.arange(6, dtype=np.float32).reshape(2, 3)}


def good() -> bytes:
    return our_file({"a": engine.from_array(GOOD["a"])}).getvalue()
