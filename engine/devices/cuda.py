"""The second device: how ops are bound to CUDA kernels, and tensors moved between devices.

The kernels are imported when a tensor on CUDA is asked for.
"""

from __future__ import annotations

import contextlib
import functools
import os
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, kernel_gaps
from ..autograd import inplace
from ..aval import Aval, aval
from ..kernel_modules import kernel_module
from ..op import layouts
from ..ops.movement import cast
from ..random import philox
from ..tensor import as_array, make
from .device import Backend, Device, cpu, register

# storages of the CPU whose memory a device can copy by itself
pinned: weakref.WeakSet[Any] = weakref.WeakSet()
_SIMULATOR = "NUMBA_ENABLE_CUDASIM"
# kernels that take complex numbers, or say by None that they do not
_COMPLEX = (
    "elementwise.", "scipy_special.", "reduction.plan", "matmul.", "cat_flip_roll_pad.", "fft.",
    "matrix_factorizations.", "linear_solvers.", "indexing.index", "indexing.gather",
    "indexing.scatter_add",
    "indexing.masked", "indexing.collect", "indexing.take", "indexing.put", "indexing.tri",
    "indexing.diag",
)  # fmt: skip
_DRIVER_FILES = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-ctrl")


@functools.cache
def _driver(files: tuple[str, ...]) -> bool:
    """Whether there is one of a driver's files."""
    return any(map(os.path.exists, files))


def device_count() -> int:
    """How many CUDA devices there are; 0 without a driver. numba's simulator is one device."""
    if os.environ.get(_SIMULATOR, "0") != "1" and not _driver(_DRIVER_FILES):
        return 0
    try:
        return int(kernels("streams").device_count())
    except ImportError:
        return 0


def missing() -> Exception:
    """torch's error where a device is asked for and none can be used: that of a build for the CPU
    without a driver's files, what the driver says where there are some."""
    if os.environ.get(_SIMULATOR, "0") == "1" or _driver(_DRIVER_FILES):
        try:
            said = str(kernels("streams").failure())
        except ImportError:
            said = ""
        if said:
            return RuntimeError(said)
    return AssertionError("Torch not compiled with CUDA enabled")


def unlinked(what: str) -> RuntimeError:
    """torch's error where its library for the CPU is asked to do ``what`` by that for CUDA."""
    return RuntimeError(
        f"Cannot {what} without ATen_cuda library. PyTorch splits its backend into two shared "
        "libraries: a CPU library and a CUDA library; this error has occurred because you are "
        "trying to use some CUDA functionality, but the CUDA library has not been loaded by the "
        "dynamic linker for some reason.  The CUDA library MUST be loaded, EVEN IF you don't "
        "directly use any symbols from the CUDA library! One common culprit is a lack of "
        "-Wl,--no-as-needed in your link arguments; many dynamic linkers will delete dynamic "
        "library dependencies if you don't depend on any of their symbols.  You can check if this "
        "has occurred by using ldd on your binary to see if there is a dependency on *_cuda.so "
        "library."
    )


@functools.cache
def kernels(module: str) -> Any:
    """A module of ``mindtorch.kernels.cuda``."""
    return kernel_module("cuda", module)


def on(device: Device) -> Any:
    """A block whose work is issued on a CUDA device."""
    if device.index is None or device_count() < 2:
        return contextlib.nullcontext()
    return kernels("streams").on(device.index)


def empty_on(device: Device) -> Callable[..., Any]:
    """The function ``(size, numpy dtype) -> flat array`` of a CUDA device."""
    memory = kernels("memory")
    if device.index is None or device_count() < 2:
        return memory.empty
    return functools.partial(memory.empty_at, device.index)


def placed(device: Device, run: Callable[..., Any]) -> Callable[..., Any]:
    """``run`` with its work issued on a CUDA device, where there are several."""
    if device.type != "cuda" or device.index is None or device_count() < 2:
        return run
    streams, index = kernels("streams"), device.index

    def there(*flats: Any) -> Any:
        with streams.on(index):
            return run(*flats)

    return there


def array_of(flat: Any, described: Aval) -> Any:
    """What array-form kernels get: an ``Array`` on the device, or of a number on the host."""
    return kernels("arrays").Array(flat, described.shape, described.strides)


def host_array(flat: Any, described: Aval) -> Any:
    """A copy of the elements on the host; not writable, since writes would not come back."""
    values = flat.to_host()
    values.flags.writeable = False
    return as_array(values, on_cpu(described))


def on_cpu(described: Any) -> Any:
    """The same layout on the CPU."""
    if described is None or described.device is cpu:
        return described
    return aval(described.shape, described.dtype, described.strides, cpu, described.weak)


def bind(op: Any, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
    """The callable on flat arrays of an op with tensors on CUDA.

    Raises:
        NotImplementedError: there is no kernel; the text is the gap's reason.
    """
    composed = getattr(op, "composed", False)
    if not composed and op.kernel is not None and op.kernel.startswith("elementwise.copy"):
        return copy(avals[0], in_avals[0])
    if not composed and avals[0].device.type == "cuda" and op.on_device is None:
        if any(a is not None and a.device is cpu and a.shape for a in in_avals):
            raise NotImplementedError(f"{op.name} with tensors of the CPU beside those of CUDA")
    of_complex = not composed and complex_numbers(avals, in_avals)
    if of_complex and op.kernel is not None and not op.kernel.startswith(_COMPLEX):
        return through_host(op, avals, in_avals, params)
    try:
        run = op.bind(avals, in_avals, params)
    except NotImplementedError:
        if op.kernel is None or _host_reason(op, avals, in_avals) is None:
            raise
        run = None
    if run is None:
        return through_host(op, avals, in_avals, params)
    devices = [a.device for a in (*avals, *in_avals) if a is not None and a.device is not cpu]
    return placed(devices[0], run if composed else _uploading(run, op, avals, in_avals))


def _host_reason(op: Any, avals: Any, in_avals: Any) -> str | None:
    """Why the op runs on the host; None where no row of the gaps says that it does."""
    return kernel_gaps.on_host(op.kernel, complex_numbers(avals, in_avals))


def complex_numbers(avals: Any, in_avals: Any) -> bool:
    return any(a is not None and a.dtype.is_complex for a in (*avals, *in_avals))


def _uploading(run: Any, op: Any, avals: Any, in_avals: Any) -> Callable[..., Any]:
    """``run`` with numbers of the host copied to the device, for kernels that do not take them."""
    taken = op.kernel == "elementwise.plan" or op.on_device is not None
    places = [i for i, a in enumerate(in_avals) if a is not None and a.device is cpu]
    if taken or not places:
        return run
    upload = kernels("memory").from_host
    count = len(avals)

    def uploaded(*flats: Any) -> None:
        given = list(flats)
        for place in places:
            given[count + place] = upload(given[count + place][:1])
        run(*given)

    return uploaded


def through_host(op: Any, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
    """The op's CPU kernel on copies: right, and slow (gap rows of kind "host")."""
    outs = tuple(on_cpu(a) for a in avals)
    inner = op.bind(outs, tuple(on_cpu(a) for a in in_avals), params)

    def run(*flats: Any) -> None:
        kernels("graphs").on_host(lambda: compute(flats))

    def compute(flats: Any) -> None:
        targets = flats[: len(outs)]
        made = [
            np.empty(t.size, t.dtype) if a.dense else t.to_host()
            for t, a in zip(targets, outs, strict=True)
        ]
        given = [x if x is None or isinstance(x, np.ndarray) else x.to_host()
                 for x in flats[len(outs) :]]
        inner(*made, *given)
        for target, values in zip(targets, made, strict=True):
            target.set(values)

    return run


def copy(out: Aval, x: Aval) -> Callable[..., None]:
    """``out[...] = x`` between any two devices, cast and broadcast."""
    arrays = kernels("arrays")
    if out.device.type == "cuda":
        if x.device is out.device or (x.device is cpu and not x.shape):
            plan = kernels("elementwise").copy.plan
            run = plan(layouts((out,)), layouts((x,)))
            if run is not None:
                return placed(out.device, run)
        return placed(
            out.device, lambda target, source: _copy_through_host(arrays, target, out, source, x)
        )
    here = cast.bind((out,), (on_cpu(x),), {"dtype": out.dtype})
    return lambda target, source: here(target, source.to_host())


def _copy_through_host(arrays: Any, target: Any, out: Aval, source: Any, x: Aval) -> None:
    """Copy host memory, or elements between complex and real ones."""
    values = source if isinstance(source, np.ndarray) else source.to_host()
    given = as_array(values, on_cpu(x))
    same_bytes = out.dtype is x.dtype and out.contiguous and x.shape == out.shape
    if same_bytes:
        target[: out.size].set(given)
        kernels("streams").settle()  # pinned memory is read by the device itself
        return
    converted = np.broadcast_to(given, out.shape)
    if out.dtype.np.kind != "c" and converted.dtype.kind == "c":
        converted = converted.real
    with np.errstate(all="ignore"):
        dense = kernels("memory").from_host(converted.astype(out.dtype.np).reshape(-1))
    arrays.assign(
        arrays.Array(target, out.shape, out.strides), arrays.Array(dense, out.shape)
    )


def drawing(made: Aval, fill: Callable[..., Any], given: list[Aval]) -> Callable[..., None]:
    """``run(out, *ins)``: what ``fill`` draws on the host, with the CPU's numbers, copied; or on
    the device, where the program has chosen CUDA's own stream."""
    host = aval(made.shape, made.dtype, None, cpu)
    write = copy(made, host)

    def run(out: Any, *flats: Any) -> None:
        if flats or not philox.chosen or not philox.draw(made, out, fill):
            kernels("graphs").on_host(lambda: draw(out, flats))

    def draw(out: Any, flats: Any) -> None:
        arrays = [
            as_array(x if isinstance(x, np.ndarray) else x.to_host(), on_cpu(a))
            for x, a in zip(flats, given, strict=True)
        ]
        drawn = np.empty(made.size, made.dtype.np)
        fill(as_array(drawn, host), *arrays)
        write(out, drawn)

    return placed(made.device, run)


def fill(flat: Any, described: Aval, value: Any) -> None:
    """Write ``value`` everywhere."""
    arrays = kernels("arrays")
    with on(described.device):
        arrays.fill(arrays.Array(flat, (flat.size,)), value)


def upload(array: Any, device: Device) -> tuple[Any, Aval]:
    """The elements of a numpy array on ``device``: (flat, aval)."""
    values = np.ascontiguousarray(array)
    described = aval(array.shape, dtypes.from_numpy(array.dtype), None, device)
    with on(device):
        return kernels("memory").from_host(values.reshape(-1)), described


def pin(tensor: Any) -> Any:
    """A copy of a CPU tensor in pinned memory."""
    described = aval(tensor.aval.shape, tensor.aval.dtype, None, cpu)
    size = max(described.size, 1)
    made = make(kernels("memory").pinned(size, described.dtype.np)[: described.size], described)
    inplace.copy_data(made, tensor)
    pinned.add(made._shared.memory)
    return made


def export(tensor: Any) -> Any:
    """The tensor's memory as an array of cupy, which speaks DLPack.

    Raises:
        NotImplementedError: cupy is not installed.
    """
    vendor = kernels("library_calls")
    if vendor.library() is None:
        raise NotImplementedError("DLPack of tensors on CUDA needs cupy, which is not installed")
    return vendor.view(array_of(tensor.flat, tensor.aval))


def adopt(interface: Any, device: Device) -> Any:
    """A tensor over memory that ``__cuda_array_interface__`` describes; nothing is copied."""
    with on(device):
        flat, shape, strides = kernels("memory").adopt(interface)
    return make(flat, aval(shape, dtypes.from_numpy(flat.dtype), strides, device))


def _memory_on(device: Device) -> Callable[..., Any]:
    """:func:`empty_on`, or torch's error where there is no such device."""
    if device_count():
        return empty_on(device)
    raise missing()


register(
    Backend("cuda", _memory_on, upload, host_array, array_of, kernels, fill, copy, bind)
)
