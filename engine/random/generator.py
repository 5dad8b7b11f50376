"""Generators of random numbers: torch's CPU stream, bit for bit.

A generator fills numpy arrays of any strides. Nothing is compiled, and numba is not imported,
before the first draw.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from mindtorch.kernels.support.fork_safe_lock import reentrant_lock

from ..tensor import captures, capturing
from .number_types import DIGITS, c_name, largest, representable, rounded, smallest, type_name
from .rollback import journals, note

Array = np.ndarray[Any, Any]

DEFAULT_SEED = 67280421310721
STATE_SIZE = 5056
_BLOCK = 624
_COMPLEX = {"complex64": np.float32, "complex128": np.float64}
_NATIVE = frozenset(("float32", "float64", "int64", "uint8"))


_entries: dict[tuple[str, str], Callable[..., None]] = {}
_STATE = "uint32[::1], int64[::1]"
_CACHED = "uint32[::1], int64[::1], float64[::1]"
_SIGNATURES = {
    "seed_state": f"{_CACHED}, uint64",
    "uniform_single": f"{_STATE}, float32[::1], float64, float64",
    "uniform_double": f"{_STATE}, float64[::1], float64, float64",
    "normal_single": f"{_STATE}, float32[::1], float64, float64, boolean",
    "normal_double": f"{_STATE}, float64[::1], float64, float64",
    "normal_serial": f"{_CACHED}, OUT[::1], float64, float64, boolean",
    "choose": f"{_STATE}, OUT[::1], float64, float64",
    "bernoulli_single": f"{_STATE}, uint8[::1], float32[::1]",
    "bernoulli_double": f"{_STATE}, uint8[::1], float64[::1]",
    "exponential": f"{_STATE}, OUT[::1], float64",
    "geometric": f"{_STATE}, OUT[::1], float64",
    "cauchy": f"{_STATE}, OUT[::1], float64, float64",
    "integers_small": f"{_STATE}, OUT[::1], int64, int64",
    "integers_large": f"{_STATE}, OUT[::1], int64, uint64",
    "rrelu_slopes": f"{_STATE}, OUT[::1], OUT[::1], float64, float64",
    "permutation": f"{_STATE}, int64[::1]",
    "categorical": f"{_STATE}, int64[:, ::1], OUT[:, ::1]",
    "poisson": f"{_STATE}, float64[::1], float64[::1]",
    "binomial": f"{_STATE}, float64[::1], float64[::1], float64[::1]",
    "standard_gamma": f"{_CACHED}, float64[::1], OUT[::1], float64",
}


def _entry(name: str, dtype: str = "float64") -> Callable[..., None]:
    """The compiled kernel ``name`` for outputs of ``dtype``."""
    entry = _entries.get((name, dtype))
    if entry is None:
        # these import numba: see the head of this file
        from mindtorch.kernels.codegen.jit import entry_point
        from mindtorch.kernels.cpu.random import mt19937, rng_fill, serial_samplers

        for module in (rng_fill, serial_samplers, mt19937):
            dispatcher = getattr(module, name, None)
            if dispatcher is not None:
                break
        signature = "void(" + _SIGNATURES[name].replace("OUT", dtype) + ")"
        entry = _entries[name, dtype] = entry_point(dispatcher, signature)
    return entry


def _memory_axes(array: Array) -> list[int]:
    """The axes by decreasing stride: the order in which torch visits an output's elements."""
    order: list[int] = []
    for axis in range(array.ndim - 1, -1, -1):
        place = len(order)
        stride, size = array.strides[axis], array.shape[axis]
        for position in range(len(order) - 1, -1, -1):
            other_stride, other_size = array.strides[order[position]], array.shape[order[position]]
            if size == 1 or other_size == 1:
                continue
            if stride > other_stride or (stride == other_stride and size >= other_size):
                break
            place = position
        order.insert(place, axis)
    return order[::-1]


def _reject_overlap(array: Array) -> None:
    if any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )


def _real_view(array: Array) -> Array:
    real = np.dtype(_COMPLEX[type_name(array.dtype)])
    return np.lib.stride_tricks.as_strided(
        array.reshape(-1).view(real) if array.flags.c_contiguous else array.real,
        (*array.shape, 2),
        (*array.strides, real.itemsize),
    )


def _state_used() -> None:
    """A capture ends where a generator's state is read or set."""
    capture = capturing()
    if capture is not None:
        capture.needed("a generator's state")


class Generator:
    """A stream of random numbers: the Mersenne Twister behind torch's samplers on the CPU.

    Args:
        device: "cpu"; any other device raises RuntimeError.

    Attributes:
        is_default: whether samplers draw from it that name no generator.
    """

    is_default = False

    def __init__(self, device: Any = "cpu") -> None:
        name = getattr(device, "type", device)
        if name != "cpu":
            raise RuntimeError(f"Device type {str(name).upper()} is not supported for generators")
        self.device = "cpu"
        self._key = np.zeros(_BLOCK, np.uint32)
        self._control = np.zeros(3, np.int64)
        self._cache = np.zeros(1, np.float64)
        self._single_cache = bytes(8)
        self._lock = reentrant_lock()
        self._seed = DEFAULT_SEED
        self._pending = True

    # Seeding and state.

    def manual_seed(self, seed: int) -> Self:
        """Start the stream of ``seed``, from -2**63 to 2**64 - 1; its low 32 bits decide."""
        _state_used()
        if not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        with self._lock:
            self._seed = seed % 2**64
            self._single_cache = bytes(8)
            self._pending = True
        return self

    def seed(self) -> int:
        """Start a stream of a seed from the system's entropy, and return the seed."""
        seed = int.from_bytes(os.urandom(8), "little") & (2**53 - 1)
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The last seed, modulo 2**64."""
        _state_used()
        return self._seed

    def _ready(self) -> None:
        if self._pending:
            _entry("seed_state")(self._key, self._control, self._cache, self._seed)
            self._pending = False

    def get_state(self) -> Array:
        """The state as torch lays it out: uint8[5056]."""
        _state_used()
        with self._lock:
            self._ready()
            position, cached, fresh = (int(word) for word in self._control)
            blob = bytearray(STATE_SIZE)
            struct.pack_into(
                "<QiiQ", blob, 0, self._seed, 1 if fresh else 625 - position, 1,
                0 if fresh else position,
            )  # fmt: skip
            blob[24:5016] = self._key.astype("<u8").tobytes()
            struct.pack_into("<dddi", blob, 5016, 0.0, float(self._cache[0]), 0.0, cached)
            blob[5048:5056] = self._single_cache
        return np.frombuffer(blob, np.uint8)

    def set_state(self, state: Array) -> Self:
        """Continue from a state of :meth:`get_state`, ours or torch's."""
        _state_used()
        if not isinstance(state, np.ndarray) or state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size != STATE_SIZE:
            raise RuntimeError(
                "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size "
                f"to be {state.size}"
            )
        blob = np.ascontiguousarray(state).tobytes()
        seed, left, seeded, following = struct.unpack_from("<QiiQ", blob, 0)
        if not seeded or not 1 <= left <= _BLOCK or following > _BLOCK:
            raise RuntimeError("Invalid mt19937 state")
        cached = struct.unpack_from("<i", blob, 5040)[0]
        with self._lock:
            self._seed = seed
            self._key[:] = np.frombuffer(blob, "<u8", _BLOCK, 24)
            self._control[:] = _BLOCK if left == 1 else following, cached != 0, following == 0
            self._cache[0] = struct.unpack_from("<d", blob, 5024)[0]
            self._single_cache = blob[5048:5056]
            self._pending = False
        return self

    def kept(self) -> Any:
        """The state, for :meth:`put_back`."""
        arrays = self._key.copy(), self._control.copy(), self._cache.copy()
        return arrays, self._seed, self._single_cache, self._pending

    def put_back(self, before: Any) -> None:
        """Continue from what :meth:`kept` gave."""
        with self._lock:
            (self._key[:], self._control[:], self._cache[:]), *numbers = before
            self._seed, self._single_cache, self._pending = numbers

    def clone_state(self) -> Self:
        """A new generator in the same state."""
        return type(self)().set_state(self.get_state())

    def get_offset(self) -> int:
        """Refused: only generators of accelerators have an offset."""
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> None:
        """Refused: only generators of accelerators have an offset."""
        raise RuntimeError("CPU Generator does not use offset")

    def random_u64(self) -> int:
        """One draw of 64 bits; ``& (2**63 - 1)`` is torch's seed for loaders and samplers."""
        out = np.empty(1, np.int64)
        self._draw("integers_large", out, 0, 0)
        return int(out[0]) % 2**64

    # Running kernels.

    def _about_to_draw(self) -> None:
        _state_used()
        if journals:
            note(self)

    def _draw(self, name: str, out: Array, *arguments: Any, cached: bool = False) -> None:
        """Run kernel ``name`` on a flat array of a type the kernel has."""
        kind = type_name(out.dtype)
        entry = _entries.get((name, kind)) or _entry(name, kind)
        if captures or journals:
            self._about_to_draw()
        with self._lock:
            if self._pending:
                self._ready()
            if cached:
                entry(self._key, self._control, self._cache, out, *arguments)
            else:
                entry(self._key, self._control, out, *arguments)
        if captures and (capture := capturing()) is not None:
            capture.note_drawn(out, self._again(entry, arguments, cached))

    def _again(
        self, entry: Callable[..., None], arguments: Any, cached: bool
    ) -> Callable[[Array], None]:
        """What draws by a kernel, with the same arguments, into another flat array."""
        kept = (self._key, self._control, self._cache)[: 3 if cached else 2]

        def again(out: Array) -> None:
            if captures or journals:
                self._about_to_draw()
            with self._lock:
                if self._pending:
                    self._ready()
                entry(*kept, out, *arguments)

        return again

    def _fill(
        self,
        array: Array,
        name: str,
        *arguments: Any,
        wide: Any = None,
        cached: bool = False,
        finish: Callable[[Array], Array] | None = None,
    ) -> Array:
        """Fill ``array`` in memory order; through type ``wide`` if the kernel lacks its own."""
        if array.__class__ is not np.ndarray and hasattr(array, "draw"):  # memory of a device
            array.draw(self, name, arguments)
            return array
        if array.size == 0:
            return array
        if finish is None and array.flags.c_contiguous and (wide is None or wide == array.dtype):
            self._draw(name, array.reshape(-1), *arguments, cached=cached)
            return array
        view = array
        if not array.flags.c_contiguous:
            _reject_overlap(array)
            view = array.transpose(_memory_axes(array))
        work = array.dtype if wide is None else np.dtype(wide)
        if work == array.dtype and finish is None and view.flags.c_contiguous:
            self._draw(name, view.reshape(-1), *arguments, cached=cached)
            return array
        flat: Array = np.empty(array.size, work)
        self._draw(name, flat, *arguments, cached=cached)
        if finish is not None:
            flat = finish(flat)
        with np.errstate(all="ignore"):
            view[...] = flat.astype(array.dtype, copy=False).reshape(view.shape)
        return array

    def _fill_float(self, array: Array, name: str, *arguments: Any, cached: bool = False) -> Array:
        kind = type_name(array.dtype)
        if kind in ("float32", "float64"):
            wide: Any = None
        else:
            wide = np.float32 if kind in DIGITS else np.float64
        return self._fill(array, name, *arguments, wide=wide, cached=cached)

    # Samplers. Each fills ``array`` and returns it.

    def uniform(self, array: Array, low: float = 0.0, high: float = 1.0) -> Array:
        """Uniform on [low, high)."""
        low, high = float(low), float(high)
        kind = type_name(array.dtype)
        if kind == "float32" and low <= high:
            if array.__class__ is np.ndarray and array.flags.c_contiguous and array.size:
                self._draw("uniform_single", array.reshape(-1), low, high)
                return array
            return self._fill(array, "uniform_single", low, high)
        if kind in _COMPLEX:
            self.uniform(_real_view(array), low, high)
            return array
        if not low <= high:
            raise RuntimeError(
                "uniform_ expects to return a [from, to) range, but found "
                f"from={low:g} > to={high:g}"
            )
        if kind == "float64":
            return self._fill(array, "uniform_double", low, high)
        bottom = array.dtype.type(np.float32(low))
        top = array.dtype.type(np.float32(high))

        def finish(values: Array) -> Array:
            rounded = values.astype(array.dtype)
            return np.where(rounded == top, bottom, rounded)

        return self._fill(array, "uniform_single", low, high, wide=np.float32, finish=finish)

    def normal(self, array: Array, mean: complex = 0.0, std: float = 1.0) -> Array:
        """Normal of ``mean`` and ``std``; blocks of 16 if contiguous with 16 elements or more."""
        std = float(std)
        if not std >= 0.0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        kind = type_name(array.dtype)
        if kind in _COMPLEX:
            self.normal(_real_view(array), 0.0, std / math.sqrt(2.0))
            if mean != 0:
                array += array.dtype.type(mean)
            return array
        if isinstance(mean, complex):
            raise TypeError("a complex mean needs a complex array")
        mean = float(mean)
        if kind == "float32" and array.__class__ is np.ndarray and array.flags.c_contiguous:
            if array.size >= 16:
                self._draw("normal_single", array.reshape(-1), mean, std, True)
            elif array.size:
                self._draw("normal_serial", array.reshape(-1), mean, std, False, cached=True)
            return array
        if array.size < 16 or not array.flags.c_contiguous:
            return self._fill_float(array, "normal_serial", mean, std, False, cached=True)
        if kind == "float64":
            return self._fill(array, "normal_double", mean, std)
        return self._fill(array, "normal_single", mean, std, kind == "float32", wide=np.float32)

    def log_normal(self, array: Array, mean: float = 1.0, std: float = 2.0) -> Array:
        """The exponential of a normal."""
        if not std > 0.0:
            raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
        return self._fill_float(array, "normal_serial", float(mean), float(std), True, cached=True)

    def exponential(self, array: Array, rate: float = 1.0) -> Array:
        """Density ``rate * exp(-rate * x)``."""
        if not rate > 0.0:
            raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
        return self._fill_float(array, "exponential", float(rate))

    def geometric(self, array: Array, p: float) -> Array:
        """The number of trials up to the first success of probability ``p``."""
        if not 0.0 < p < 1.0:
            raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        return self._fill_float(array, "geometric", float(p))

    def cauchy(self, array: Array, median: float = 0.0, sigma: float = 1.0) -> Array:
        """Cauchy of ``median`` and width ``sigma``."""
        if not sigma > 0.0:
            raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        return self._fill_float(array, "cauchy", float(median), float(sigma))

    def _choose(self, array: Array, p: float, value: float) -> Array:
        if type_name(array.dtype) in ("float32", "float64", "uint8"):
            return self._fill(array, "choose", p, value)
        if array.dtype == np.bool_:
            self._fill(array.view(np.uint8), "choose", p, value)
            return array
        wide = np.float32 if type_name(array.dtype) in DIGITS else np.uint8
        return self._fill(array, "choose", p, value, wide=wide)

    def bernoulli(self, array: Array, p: float = 0.5) -> Array:
        """1 with probability ``p``, else 0."""
        if not 0.0 <= p <= 1.0:
            raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
        return self._choose(array, float(p), 1.0)

    def bernoulli_from(self, array: Array, p_array: Array) -> Array:
        """1 with probability ``p_array[i]`` at each place; ``p_array`` broadcasts to ``array``."""
        if array.size == 0:
            return array
        if not bool(((p_array >= 0) & (p_array <= 1)).all()):
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
        return self.bernoulli_of_chances(array, p_array)

    def bernoulli_of_chances(self, array: Array, p_array: Array) -> Array:
        """:meth:`bernoulli_from`, of numbers that are known to lie between 0 and 1."""
        if array.size == 0:
            return array
        probabilities = p_array
        if p_array.shape != array.shape:
            probabilities = np.broadcast_to(p_array, array.shape)
        double = type_name(p_array.dtype) == "float64"
        view, chances = array, probabilities
        if not array.flags.c_contiguous:
            _reject_overlap(array)
            axes = _memory_axes(array)
            view, chances = array.transpose(axes), probabilities.transpose(axes)
        flat = np.empty(array.size, np.uint8)
        kind = np.float64 if double else np.float32
        self._draw(
            "bernoulli_double" if double else "bernoulli_single",
            flat,
            np.ascontiguousarray(chances, kind).reshape(-1),
        )
        view[...] = flat.reshape(view.shape)
        return array

    def dropout_noise(self, array: Array, p: float) -> Array:
        """0 with probability ``p``, else ``1 / (1 - p)`` in the type of ``array``."""
        keep = 1.0 - float(p)
        if type_name(array.dtype) == "float64":
            return self._choose(array, keep, 1.0 / keep)
        scale = np.float32(1) / np.float32(keep)
        return self._choose(array, keep, float(array.dtype.type(scale)))

    def rrelu_noise(self, array: Array, x: Array, low: float, high: float) -> Array:
        """A slope uniform on [low, high) where ``x <= 0``, else 1 (both C-contiguous).

        torch multiplies a bfloat16 ``x`` by the float32 slope: give a float32 array for that.
        """
        if array.size == 0:
            return array
        work = np.float64 if type_name(array.dtype) == "float64" else np.float32
        low, high = (float(work(bound)) for bound in (low, high))
        flat = np.empty(array.size, work)
        self._draw("rrelu_slopes", flat, np.ascontiguousarray(x, work).reshape(-1), low, high)
        array[...] = flat.astype(array.dtype).reshape(array.shape)
        return array

    def random(self, array: Array, low: int | None = None, high: int | None = None) -> Array:
        """Integers of [low, high); without ``high`` up to the type's largest, without both the
        non-negative ones of the type (for floats up to 2**digits)."""
        kind = type_name(array.dtype)
        top = largest(array.dtype)
        if low is None and high is None:
            if kind == "bool":
                span = 2
            elif kind == "int64":
                span = 2**63
            else:
                span = top + 1
            return self._integers(array, 0, span, kind in ("int64", "float64", "uint64"))
        low = 0 if low is None else int(low)
        if high is None:
            if low == -(2**63):
                return self._integers(array, 0, 0, True)
            if low > top:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' "
                    f"casted to dtype, but got from={low} > to_inc={top}"
                )
        elif low >= high:
            raise RuntimeError(
                f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
            )
        high = top + 1 if high is None else int(high)
        if kind in DIGITS:
            low, high = representable(array.dtype, low, high)
            if low >= high:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                    f"but got from={low} >= to={high}"
                )
        elif kind != "uint64":
            bottom = 0 if array.dtype.kind in "bu" else -top - 1
            for text, bound in (("from", low), ("to - 1", high - 1)):
                if not bottom <= bound <= top:
                    raise RuntimeError(f"{text} is out of bounds for {c_name(kind)}")
        span = high - low
        return self._integers(array, low, span, span >= 2**28)

    def _integers(self, array: Array, low: int, span: int, large: bool) -> Array:
        kind = type_name(array.dtype)
        target = array.view(np.uint8) if kind == "bool" else array
        if kind in ("float16", "bfloat16"):
            wide: Any = np.float32
        elif kind == "bool" or kind in _NATIVE:
            wide = None
        else:
            wide = np.int64
        name = "integers_large" if large else "integers_small"
        self._fill(target, name, low, span % 2**64, wide=wide)
        return array

    def permutation(self, array: Array, n: int) -> Array:
        """A random order of 0 .. n-1 into ``array``, which has ``n`` elements."""
        if array.size != n:
            raise ValueError(f"an array of {n} elements is needed, got {array.size}")
        return self._fill(array, "permutation", wide=np.int64)

    def multinomial(self, out: Array, p_array: Array, replacement: bool) -> Array:
        """Draw columns in proportion to ``p_array``: ``out`` int64 (rows, n) or (n,)."""
        if out.size == 0:
            return out
        weights = p_array.reshape(-1, p_array.shape[-1])
        count = out.shape[-1]
        if replacement and count > 1:
            kind = type_name(weights.dtype)
            work = kind if kind in ("float32", "float64") else "float32"
            drawn = np.empty((weights.shape[0], count), np.int64)
            entry = _entry("categorical", work)
            self._about_to_draw()
            with self._lock:
                self._ready()
                entry(self._key, self._control, drawn, np.ascontiguousarray(weights, work))
        else:
            waits = self.exponential(np.empty(weights.shape, weights.dtype), 1.0)
            with np.errstate(all="ignore"):
                np.divide(weights, waits, out=waits)
            if count == 1:
                drawn = waits.argmax(axis=1)
            else:
                from mindtorch.kernels.cpu import sort  # which imports numba

                drawn = sort.greatest_of_rows(waits, count)
        out[...] = drawn.reshape(out.shape)
        return out

    def poisson(self, array: Array, rates: Array) -> Array:
        """Poisson variates of ``rates`` (same shape, drawn in C order)."""
        if not bool((rates >= 0).all()):
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        return self._variates(array, "poisson", rates)

    def binomial(self, array: Array, counts: Array, probabilities: Array) -> Array:
        """Binomial variates of ``counts`` trials and ``probabilities`` (same shape)."""
        return self._variates(array, "binomial", counts, probabilities)

    def _variates(self, array: Array, name: str, *inputs: Array) -> Array:
        flats = (np.ascontiguousarray(x, np.float64).reshape(-1) for x in inputs)
        if array.size:
            out = np.empty(array.size, np.float64)
            self._draw(name, out, *flats)
            array[...] = rounded(out, array.dtype).reshape(array.shape)
        return array

    def standard_gamma(self, array: Array, alphas: Array) -> Array:
        """Gamma variates of shape ``alphas`` and rate 1."""
        if array.size == 0:
            return array
        work = "float64" if type_name(alphas.dtype) == "float64" else "float32"
        flat = np.ascontiguousarray(alphas, work).reshape(-1)
        tiny = float(smallest(array.dtype))
        out = np.empty(array.size, np.float64)
        entry = _entry("standard_gamma", work)
        self._about_to_draw()
        with self._lock:
            self._ready()
            entry(self._key, self._control, self._cache, out, flat, tiny)
        array[...] = rounded(out, array.dtype).reshape(array.shape)
        return array
