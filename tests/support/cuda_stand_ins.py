"""Stand-ins for cupy, cuBLAS, cuDNN and NCCL, whose arrays are numpy's over the same memory, for
the programs that run in numba's simulator."""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
import types
from typing import Any

import ml_dtypes
import numpy as np

import mindtorch.torch
from mindtorch.kernels.cuda import cublas, library_calls

# what was called, in order
asked: list[str] = []


def _noted(name: str, function: Any) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        asked.append(name)
        return function(*args, **options)

    return call


def _array(shape: Any, dtype: Any, pointer: Any, strides: Any) -> Any:
    """numpy's array over the bytes at an address, as cupy's constructor makes one."""
    size = max(pointer[0][1] - pointer[1], 1)
    held = (ctypes.c_uint8 * size).from_address(pointer[0][0] + pointer[1])
    return np.ndarray(shape, dtype, held, 0, strides)


def _stand_in() -> Any:
    """A module with those names of cupy that are used here."""
    fake: Any = types.ModuleType("cupy")
    fake.__dict__.update({k: v for k, v in vars(np).items() if not k.startswith("__")})
    for part in ("linalg", "fft"):
        names = {n: _noted(f"{part}.{n}", f) for n, f in vars(getattr(np, part)).items()
                 if callable(f) and not isinstance(f, type)}  # fmt: skip
        setattr(fake, part, types.SimpleNamespace(**names, LinAlgError=np.linalg.LinAlgError))
    fake.ndarray = _array
    fake.cuda = types.SimpleNamespace(
        UnownedMemory=lambda address, size, owner: (address, size),
        MemoryPointer=lambda memory, offset: (memory, offset),
        Stream=types.SimpleNamespace(null=contextlib.nullcontext()),
    )
    return fake


class _Cublas:
    """Products of matrices at addresses, by numpy: columns lie together, as cuBLAS counts."""

    def __init__(self) -> None:
        names = {0: "f4", 1: "f8", 2: "f2", 4: "c8", 5: "c16", 14: ml_dtypes.bfloat16}
        self.kinds: Any = {number: np.dtype(name).type for number, name in names.items()}

    def _matrices(
        self, address: int, kind: int, pitch: int, step: int, batch: int, rows: int, columns: int
    ) -> Any:
        dtype = np.dtype(self.kinds[kind])
        assert pitch >= rows and address % dtype.itemsize == 0
        size = (step * (batch - 1) + pitch * (columns - 1) + rows) * dtype.itemsize
        held = (ctypes.c_uint8 * size).from_address(address)
        strides = [s * dtype.itemsize for s in (step, 1, pitch)]
        return np.ndarray((batch, rows, columns), dtype, held, 0, strides)

    def cublasGemmStridedBatchedEx(  # noqa: N802
        self, handle: int, turn_a: int, turn_b: int, m: int, n: int, k: int, one: int, a: int,
        kind_a: int, pitch_a: int, step_a: int, b: int, kind_b: int, pitch_b: int, step_b: int,
        other: int, c: int, kind: int, pitch: int, step: int, batch: int, how: int, algorithm: int,
    ) -> None:  # fmt: skip
        assert handle == 7 and kind_a == kind_b and kind in (kind_a, 0) and algorithm == -1
        asked.append(f"{np.dtype(self.kinds[kind]).name} {how}")
        factor = self.kinds[kind] if how in (64, 70) or kind == 4 else np.float32
        held = [memoryview((ctypes.c_uint8 * 16).from_address(x)) for x in (one, other)]
        alpha, beta = (np.frombuffer(each, factor, 1)[0] for each in held)
        left = self._matrices(a, kind_a, pitch_a, step_a, batch, *((k, m) if turn_a else (m, k)))
        right = self._matrices(b, kind_a, pitch_b, step_b, batch, *((n, k) if turn_b else (k, n)))
        wide = np.float64 if kind in (0, 1, 2, 14) else np.complex128
        left, right = (x.swapaxes(1, 2) if t else x
                       for x, t in ((left.astype(wide), turn_a), (right.astype(wide), turn_b)))
        out = self._matrices(c, kind, pitch, step, batch, m, n)
        out[...] = (alpha * (left @ right) + (beta * out.astype(wide) if beta else 0)).astype(
            out.dtype)  # fmt: skip


class WithCupy:
    """A block in which the stand-ins are cupy and cuBLAS."""

    changed: Any = library_calls
    products: Any = cublas

    def __enter__(self) -> None:
        self.before = self.changed.library, self.products.library, self.products.handle
        library = _Cublas()
        self.products.library, self.products.handle = lambda: library, lambda cublas: 7
        fake, asking = _stand_in(), types.ModuleType("cupyx")
        asking.errstate = lambda linalg: contextlib.nullcontext()  # type: ignore[attr-defined]
        self.changed.library = lambda: fake
        self.changed.multiplies.cache_clear()
        sys.modules["cupyx"] = asking
        asked.clear()

    def __exit__(self, *error: Any) -> None:
        self.changed.library, self.products.library, self.products.handle = self.before
        self.changed.multiplies.cache_clear()
        del sys.modules["cupyx"]


class Cudnn:
    """cuDNN's functions over memory at addresses: what is described is kept, and the CPU computes.

    Args:
        refuses: answers of the heuristics: no algorithm is good enough.
    """

    def __init__(self, refuses: bool = False) -> None:
        self.refuses = refuses
        self.known: dict[int, dict[str, Any]] = {}
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("cudnnCreate"):
            return self._create
        if name.startswith("cudnnDestroy"):
            return lambda made: self.known.pop(made.value) and 0
        if name.startswith("cudnnGetConvolution"):
            return self._algorithms
        if name.startswith("cudnnConvolution"):
            return lambda *given: self._compute(name.removeprefix("cudnnConvolution"), *given)
        raise AttributeError(name)

    def _create(self, place: Any) -> int:
        place._obj.value = len(self.calls) + len(self.known) + 1000
        self.known[place._obj.value] = {}
        self.calls.append("create")
        return 0

    def cudnnSetStream(self, handle: Any, stream: int) -> int:  # noqa: N802
        return 0

    def cudnnSetTensorNdDescriptor(  # noqa: N802
        self, made: Any, kind: int, rank: int, shape: Any, steps: Any
    ) -> int:
        strides = [int(np.prod(shape[i + 1 :])) for i in range(rank)]
        assert rank >= 4 and strides == list(steps)
        self.known[made.value] = {"kind": kind, "shape": list(shape)}
        return 0

    def cudnnSetFilterNdDescriptor(  # noqa: N802
        self, made: Any, kind: int, form: int, rank: int, shape: Any
    ) -> int:
        assert form == 0 and rank >= 4
        self.known[made.value] = {"kind": kind, "shape": list(shape)}
        return 0

    def cudnnSetConvolutionNdDescriptor(  # noqa: N802
        self, made: Any, rank: int, padding: Any, stride: Any, dilation: Any, mode: int, kind: int
    ) -> int:
        assert mode == 1 and kind in (0, 1)
        lists = [list(x) for x in (stride, padding, dilation)]
        self.known[made.value] = {"axes": lists, "groups": 1}
        return 0

    def cudnnSetConvolutionGroupCount(self, made: Any, groups: int) -> int:  # noqa: N802
        self.known[made.value]["groups"] = groups
        return 0

    def cudnnSetConvolutionMathType(self, made: Any, mode: int) -> int:  # noqa: N802
        self.known[made.value]["mode"] = mode
        self.calls.append(f"mode {mode}")
        return 0

    def _meant(self, how: Any) -> int:
        """Tensor cores are asked for conversions, too."""
        mode = int(self.known[how.value]["mode"])
        return 2 if mode in (1, 2) else mode

    def _algorithms(self, *given: Any) -> int:
        count, found = given[-2]._obj, given[-1]
        count.value = 3
        for number, (status, determinism) in enumerate(((3000, 1), (0, 0), (0, 1))):
            found[number].algorithm, found[number].status = number, status
            found[number].determinism = 0 if self.refuses else determinism
            found[number].memory = 64
            found[number].mathematics = self._meant(given[3])
        return 0

    def _array(self, described: Any, address: int) -> Any:
        facts = self.known[described.value]
        dtype = {0: np.float32, 1: np.float64, 2: np.float16, 9: ml_dtypes.bfloat16}[facts["kind"]]
        size = int(np.prod(facts["shape"])) * np.dtype(dtype).itemsize
        held = memoryview((ctypes.c_uint8 * size).from_address(address))
        return np.frombuffer(held, dtype).reshape(facts["shape"])

    def _compute(
        self, kind: str, handle: Any, one: Any, left: Any, a: int, right: Any, b: int, how: Any,
        algorithm: int, space: int, size: int, zero: Any, target: Any, out: int,
    ) -> int:  # fmt: skip
        assert self.known[how.value]["mode"] == self._meant(how)
        assert algorithm == 2 and size == 64 and one._obj.value == 1 and not zero._obj.value
        self.calls.append(kind)
        facts, first, second = self.known[how.value], self._array(left, a), self._array(right, b)
        made = self._array(target, out)
        x, weight, y = {"Forward": (first, second, made), "BackwardData": (made, first, second),
                        "BackwardFilter": (first, made, second)}[kind]  # fmt: skip
        t: Any = mindtorch.torch
        given = [t.tensor(np.float64(z)).requires_grad_() for z in (x, weight)]
        convolve = t.nn.functional.conv2d if x.ndim == 4 else t.nn.functional.conv3d
        with t.enable_grad():
            found = convolve(*given, None, *facts["axes"], facts["groups"])
            if kind != "Forward":
                found.backward(t.tensor(np.float64(y)))
                found = given[kind == "BackwardFilter"].grad
        made[...] = found.detach().numpy().astype(made.dtype)
        return 0


class Nccl:
    """NCCL for two threads of this process: arrays at addresses, combined when both have come."""

    def __init__(self) -> None:
        self.meeting, self.given, self.calls = threading.Barrier(2, timeout=60), {}, []  # type: ignore[var-annotated]
        self.waiting = threading.local()

    def get_unique_id(self) -> tuple[int, ...]:
        return (1, 2, 3)

    def groupStart(self) -> None:  # noqa: N802
        self.waiting.receives = []

    def groupEnd(self) -> None:  # noqa: N802
        self.meeting.wait()
        for receive in self.waiting.receives:
            receive()
        self.meeting.wait()

    def NcclCommunicator(self, size: int, identity: Any, rank: int) -> Any:  # noqa: N802
        assert size == 2 and tuple(identity) == (1, 2, 3)
        return End(self, rank)


class End:
    """One thread's end of it, with the methods of cupy's NcclCommunicator."""

    types: Any = (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.float16,
                  np.float32, np.float64)  # fmt: skip
    ways: Any = (np.add, np.multiply, np.maximum, np.minimum)

    def __init__(self, nccl: Nccl, rank: int) -> None:
        self.nccl, self.rank = nccl, rank

    def _together(self, name: str, address: int, count: int, kind: int) -> Any:
        """The arrays of both."""
        dtype = np.dtype(self.types[kind])
        mine = np.ndarray(count, dtype, (ctypes.c_uint8 * (count * dtype.itemsize)).from_address(
            address))  # fmt: skip
        self.nccl.calls.append((self.rank, name))
        self.nccl.given[self.rank] = mine.copy()
        self.nccl.meeting.wait()
        both = [self.nccl.given[r] for r in range(2)]
        self.nccl.meeting.wait()
        return both

    def _put(self, address: int, values: Any) -> None:
        ctypes.memmove(address, np.ascontiguousarray(values).ctypes.data, values.nbytes)

    def allReduce(self, at: int, to: int, count: int, kind: int, how: int, stream: int) -> None:  # noqa: N802
        self._put(to, self.ways[how](*self._together("allReduce", at, count, kind)))

    def reduce(self, at: int, to: int, count: int, kind: int, how: int, root: int, s: int) -> None:
        both = self._together("reduce", at, count, kind)
        if root == self.rank:
            self._put(to, self.ways[how](*both))

    def broadcast(self, at: int, to: int, count: int, kind: int, root: int, s: int) -> None:
        self._put(to, self._together("broadcast", at, count, kind)[root])

    def allGather(self, at: int, to: int, count: int, kind: int, stream: int) -> None:  # noqa: N802
        self._put(to, np.concatenate(self._together("allGather", at, count, kind)))

    def reduceScatter(self, at: int, to: int, count: int, kind: int, how: int, s: int) -> None:  # noqa: N802
        both = self._together("reduceScatter", at, 2 * count, kind)
        self._put(to, self.ways[how](*both)[self.rank * count : (self.rank + 1) * count])

    def send(self, at: int, count: int, kind: int, peer: int, stream: int) -> None:
        held = (ctypes.c_uint8 * count).from_address(at)
        self.nccl.given["sent", self.rank, peer] = bytes(held)

    def recv(self, to: int, count: int, kind: int, peer: int, stream: int) -> None:
        key = ("sent", peer, self.rank)
        self.nccl.waiting.receives.append(
            lambda: self._put(to, np.frombuffer(self.nccl.given[key], np.uint8))
        )

    def destroy(self) -> None:
        self.nccl.calls.append((self.rank, "destroy"))


class Meeting:
    """What a group's connections do for two threads: give all what the first one has."""

    backend = "nccl"

    def __init__(self, rank: int, shared: dict[str, Any], barrier: threading.Barrier) -> None:
        self.own, self.shared, self.barrier = rank, shared, barrier
        self.ranks, self.group_name = [0, 1], ""
        self.device: Any = None

    def rank(self) -> int:
        return self.own

    def size(self) -> int:
        return 2

    def pending(self) -> bool:
        return False

    def broadcast_bytes(self, data: Any, root: int) -> Any:
        if self.own == root:
            self.shared["data"] = data
        self.barrier.wait()
        return self.shared["data"]
