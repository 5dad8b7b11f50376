"""Convolution by cuDNN, where its library is found: PyTorch's wheels for GPUs bring it along.

    picture   one call for a convolution or a gradient. What cuDNN is to know of it (descriptors,
              the best of its deterministic algorithms by its own heuristics) is asked once
    memory    a workspace of at most ``WORKSPACE`` bytes for each call
    sync      on this thread's stream; a handle for each thread and device
    sizes     two or three spatial axes (one is taken for two); float16, bfloat16, float32, float64

cupy has no binding of cuDNN any more, so its functions are called by ``ctypes``: those of versions
8 and 9 that cudnn_cnn.h declares. What cuDNN refuses is computed otherwise (``convolution``).
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import threading
import warnings
from typing import Any

import ml_dtypes
import numpy as np

from mindtorch.kernels.support import precision

from . import graphs, memory, shared_library, streams

WORKSPACE = 1 << 30
_KINDS = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 9}
_NAMES = {
    np.dtype(np.float32): "float32", np.dtype(np.float64): "float64",
    np.dtype(np.float16): "float16", np.dtype(ml_dtypes.bfloat16): "bfloat16",
}  # fmt: skip
_CROSS_CORRELATION, _NCHW, _DETERMINISTIC = 1, 0, 1
_DEFAULT_MATH, _TENSOR_CORES, _FMA_MATH = 0, 1, 3
_MOST = 8  # algorithms that are asked for
FORWARD, INPUT, WEIGHT = "Forward", "BackwardData", "BackwardFilter"

_P, _I, _S = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
_ALGORITHMS = {
    kind: f"cudnnGetConvolution{kind}Algorithm_v7" for kind in (FORWARD, INPUT, WEIGHT)
}
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cudnnCreate": (_P,), "cudnnSetStream": (_P, _P), "cudnnCreateTensorDescriptor": (_P,),
    "cudnnDestroyTensorDescriptor": (_P,), "cudnnSetTensorNdDescriptor": (_P, _I, _I, _P, _P),
    "cudnnCreateFilterDescriptor": (_P,), "cudnnDestroyFilterDescriptor": (_P,),
    "cudnnSetFilterNdDescriptor": (_P, _I, _I, _I, _P), "cudnnCreateConvolutionDescriptor": (_P,),
    "cudnnDestroyConvolutionDescriptor": (_P,),
    "cudnnSetConvolutionNdDescriptor": (_P, _I, _P, _P, _P, _I, _I),
    "cudnnSetConvolutionGroupCount": (_P, _I), "cudnnSetConvolutionMathType": (_P, _I),
    **dict.fromkeys(_ALGORITHMS.values(), (_P, _P, _P, _P, _P, _I, _P, _P)),
    **{f"cudnnConvolution{kind}": (_P, _P, _P, _P, _P, _P, _P, _I, _P, _S, _P, _P, _P)
       for kind in _ALGORITHMS},
}  # fmt: skip


class Performance(ctypes.Structure):
    """What cuDNN says of an algorithm."""

    _fields_ = (
        ("algorithm", _I), ("status", _I), ("time", ctypes.c_float), ("memory", _S),
        ("determinism", _I), ("mathematics", _I), ("reserved", _I * 3),
    )  # fmt: skip


class Refused(Exception):
    """cuDNN does not compute this."""


def load() -> Any:
    """The library with the types of its functions; None where it is not found."""
    files = ("libcudnn.so.9", "libcudnn.so.8")
    found = shared_library.load("cudnn", "cudnn/lib/libcudnn.so.[89]", files, _SIGNATURES)
    if found is not None:
        found.cudnnGetVersion.restype = _S
    return found


@functools.cache
def library() -> Any:
    """The library; None where it is not found, and in the simulator."""
    return None if streams.SIMULATED else load()


def checked(status: int) -> None:
    """Raise :class:`Refused` for an answer that is not success."""
    if status:
        raise Refused(f"cuDNN answers {status}")


_handles = threading.local()


def handle(cudnn: Any) -> Any:
    """This thread's handle for the current device, on its current stream."""
    made = _handles.__dict__.setdefault("made", {})
    device = streams.device()
    if device not in made:
        made[device] = new(cudnn, "cudnnCreate")
    checked(cudnn.cudnnSetStream(made[device], streams.handle(streams.current())))
    return made[device]


def new(cudnn: Any, name: str) -> Any:
    """What a function of creation gives."""
    return shared_library.created(getattr(cudnn, name), checked)


def _ints(values: Any) -> Any:
    return (ctypes.c_int * len(values))(*values)


class Problem:
    """A convolution as cuDNN knows it.

    Args:
        kind: :data:`FORWARD`, :data:`INPUT` or :data:`WEIGHT`.
        x, weight, y: shapes of images, factors and results; all lie in order.
        axes: strides, paddings and dilations.
        dtype: name of the elements' type.
        tf32: float32 may be rounded to tf32 before it is multiplied.
    """

    def __init__(
        self, cudnn: Any, kind: str, x: Any, weight: Any, y: Any, axes: Any, groups: int,
        dtype: str, tf32: bool,
    ) -> None:  # fmt: skip
        self.cudnn, self.kind = cudnn, kind
        element = _KINDS[dtype]
        with contextlib.ExitStack() as undo:
            self.x, self.y = (self._tensor(undo, element, shape) for shape in (x, y))
            self.weight = self._made(undo, "Filter")
            checked(cudnn.cudnnSetFilterNdDescriptor(
                self.weight, element, _NCHW, len(weight), _ints(weight)))  # fmt: skip
            self.how = self._made(undo, "Convolution")
            strides, paddings, dilations = map(_ints, axes)
            checked(cudnn.cudnnSetConvolutionNdDescriptor(
                self.how, len(axes[0]), paddings, strides, dilations, _CROSS_CORRELATION,
                _KINDS["float64"] if dtype == "float64" else _KINDS["float32"]))  # fmt: skip
            checked(cudnn.cudnnSetConvolutionGroupCount(self.how, groups))
            mode = _FMA_MATH if dtype == "float32" and not tf32 else _DEFAULT_MATH
            mode = _TENSOR_CORES if dtype in ("float16", "bfloat16") else mode
            checked(cudnn.cudnnSetConvolutionMathType(self.how, mode))
            self.algorithm, self.bytes, meant = self._chosen()
            if mode != _FMA_MATH and meant != mode:  # what its workspace was told for
                checked(cudnn.cudnnSetConvolutionMathType(self.how, meant))
            self._undo = undo.pop_all()
        factor = ctypes.c_double if dtype == "float64" else ctypes.c_float
        self.one, self.zero = factor(1), factor(0)

    def _made(self, undo: Any, what: str) -> Any:
        made = new(self.cudnn, f"cudnnCreate{what}Descriptor")
        undo.callback(getattr(self.cudnn, f"cudnnDestroy{what}Descriptor"), made)
        return made

    def _tensor(self, undo: Any, element: int, shape: Any) -> Any:
        made = self._made(undo, "Tensor")
        steps = [1]
        for n in reversed(shape[1:]):
            steps.insert(0, steps[0] * n)
        checked(self.cudnn.cudnnSetTensorNdDescriptor(
            made, element, len(shape), _ints(shape), _ints(steps)))  # fmt: skip
        return made

    def _operands(self) -> tuple[Any, Any, Any]:
        """Descriptors of the two operands and of the result."""
        return {FORWARD: (self.x, self.weight, self.y), INPUT: (self.weight, self.y, self.x),
                WEIGHT: (self.x, self.y, self.weight)}[self.kind]  # fmt: skip

    def _chosen(self) -> tuple[int, int, int]:
        """(the best deterministic algorithm whose workspace is small enough, its bytes, its mode
        of arithmetic)."""
        left, right, out = self._operands()
        count, found = ctypes.c_int(), (Performance * _MOST)()
        ask = getattr(self.cudnn, _ALGORITHMS[self.kind])
        checked(ask(handle(self.cudnn), left, right, self.how, out, _MOST, ctypes.byref(count),
                    found))  # fmt: skip
        for each in found[: count.value]:
            if not each.status and each.determinism == _DETERMINISTIC and each.memory <= WORKSPACE:
                return int(each.algorithm), int(each.memory), int(each.mathematics)
        raise Refused("no deterministic algorithm")

    def run(self, out: Any, first: Any, second: Any) -> None:
        """Compute, from flat arrays of the device to one."""
        space = memory.empty(self.bytes, "u1")
        left, right, target = self._operands()
        checked(getattr(self.cudnn, f"cudnnConvolution{self.kind}")(
            handle(self.cudnn), ctypes.byref(self.one), left, memory.pointer(first), right,
            memory.pointer(second), self.how, self.algorithm, memory.pointer(space), self.bytes,
            ctypes.byref(self.zero), target, memory.pointer(out),
        ))  # fmt: skip

    def __del__(self) -> None:
        if hasattr(self, "_undo"):
            self._undo.close()


_MOST_PROBLEMS = 512
_problems: collections.OrderedDict[Any, Problem | None] = collections.OrderedDict()
_lock = threading.Lock()


def _problem(cudnn: Any, *key: Any) -> Problem | None:
    """The problem that a convolution is; None where cuDNN has refused it."""
    key = (streams.device(), *key)
    with _lock:
        if key not in _problems:
            try:
                _problems[key] = Problem(cudnn, *key[1:])
            except Refused:
                _problems[key] = None
            if len(_problems) > _MOST_PROBLEMS:
                _problems.popitem(last=False)
        return _problems[key]


def _planes(shape: Any) -> tuple[int, ...]:
    """A shape with at least two spatial axes."""
    return (*shape[:2], 1, *shape[2:]) if len(shape) == 3 else tuple(shape)


def convolve(
    kind: str, out: Any, first: Any, second: Any, x: Any, weight: Any, y: Any, axes: Any,
    groups: int,
) -> bool:  # fmt: skip
    """Whether cuDNN has computed ``out``, all three flat and dense, of shapes x, weight, y."""
    cudnn = library() if precision.cudnn else None
    name = _NAMES.get(out.dtype)
    if cudnn is None or name is None:
        return False
    if len(x) == 3:
        axes = [(fill, *given) for fill, given in zip((1, 0, 1), axes, strict=True)]
    key = (kind, _planes(x), _planes(weight), _planes(y), tuple(map(tuple, axes)), groups,
           name, precision.cudnn_tf32)  # fmt: skip
    problem = _problem(cudnn, *key)
    if problem is None:
        return False
    try:
        graphs.issue(lambda: problem.run(out, first, second))
    except Refused as error:
        warnings.warn(f"{error} for a convolution, which is computed otherwise", stacklevel=2)
        _problems[(streams.device(), *key)] = None
        return False
    return True
