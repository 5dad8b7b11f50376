"""autocast: ops in a block take their inputs in a lower precision where torch's lists say so."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.devices.cuda import device_count
from mindtorch.engine.devices.device import Device
from mindtorch.engine.dtypes import DType
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.transforms import autocast as engine

__all__ = [
    "autocast", "autocast_decrement_nesting", "autocast_increment_nesting",
    "clear_autocast_cache", "custom_bwd", "custom_fwd", "get_autocast_cpu_dtype",
    "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_available",
    "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled",
    "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled",
    "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype",
]  # fmt: skip

_AVAILABLE = ("cpu", "cuda", "hpu", "ipu", "maia", "mps", "mtia", "xla", "xpu", "privateuseone")


class _Others(threading.local):
    """Autocast of device types that are not here: remembered, without effect."""

    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, DType] = {}


_others = _Others()


def _mode(device_type: str) -> engine.Mode | None:
    """Autocast of a type of devices that ops run on."""
    return {"cpu": engine.state.cpu, "cuda": engine.state.cuda}.get(device_type)


def is_autocast_available(device_type: str) -> bool:
    """Whether torch has lists of ops for a type of devices.

    Args:
        device_type: such as "cpu".
    """
    return Device(device_type).type in _AVAILABLE


def _known(device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if not is_autocast_available(device_type):
        raise RuntimeError("unsupported scalarType")
    return device_type


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether ops on such devices cast their inputs now; None asks about CUDA."""
    name = "cuda" if device_type is None else device_type
    mode = _mode(name)
    return mode.enabled if mode is not None else _others.enabled.get(name, False)


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch casting of ops on such devices; one argument alone is about CUDA.

    Args:
        enabled: whether they cast.
    """
    if enabled is None:
        device_type, enabled = "cuda", device_type
    mode = _mode(device_type)
    if mode is not None:
        engine.switch(mode, bool(enabled))
    else:
        _others.enabled[device_type] = bool(enabled)


def get_autocast_dtype(device_type: str) -> DType:
    """The lower precision of autocast on such devices."""
    mode = _mode(device_type)
    if mode is not None:
        return mode.dtype
    lower = dtypes.bfloat16 if device_type in ("xla", "hpu", "mtia") else dtypes.float16
    return _others.dtypes.get(device_type, lower)


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Make ``dtype`` the lower precision of autocast on such devices."""
    mode = _mode(device_type)
    if mode is not None:
        mode.dtype = dtype
    else:
        _others.dtypes[device_type] = dtype


def _deprecated(old: str, new: str) -> None:
    warnings.warn(
        f"torch.{old} is deprecated. Please use torch.{new} instead.", DeprecationWarning,
        stacklevel=3,
    )  # fmt: skip


def is_autocast_cpu_enabled() -> bool:
    """Deprecated: ``is_autocast_enabled('cpu')``."""
    _deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Deprecated: ``set_autocast_enabled('cpu', enabled)``."""
    _deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> DType:
    """Deprecated: ``get_autocast_dtype('cpu')``."""
    _deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: DType) -> None:
    """Deprecated: ``set_autocast_dtype('cpu', dtype)``."""
    _deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> DType:
    """Deprecated: ``get_autocast_dtype('cuda')``."""
    _deprecated("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: DType) -> None:
    """Deprecated: ``set_autocast_dtype('cuda', dtype)``."""
    _deprecated("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept until the outermost block ends."""
    return engine.state.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Whether casts of parameters are kept from now on.

    Args:
        enabled: whether they are.
    """
    engine.state.cache_enabled = bool(enabled)


def clear_autocast_cache() -> None:
    """Forget the casts of parameters."""
    engine.state.cache.clear()


def autocast_increment_nesting() -> int:
    """A block opens; the number of open blocks."""
    engine.enter()
    return engine.state.nesting


def autocast_decrement_nesting() -> int:
    """A block ends; the number of open blocks."""
    engine.leave()
    return engine.state.nesting


class autocast:  # noqa: N801
    """A block, or a decorator, in which ops take their inputs in the precision of torch's lists.

    On the CPU products and convolutions take ``dtype``; losses, decompositions, Fourier
    transforms and others take float32; ``cat`` and ``stack`` the widest of their inputs. On CUDA
    the lists are torch's for CUDA: exponentials, powers, sums, softmax, norms and losses take
    float32. Casts are recorded, so gradients have the types of the parameters. float64 is never
    cast.

    Args:
        device_type: "cpu" or "cuda", which warns and is disabled where there is no such device.
        dtype: bfloat16 (on the CPU, when None) or float16 (on CUDA).
        enabled: False switches autocast off in the block.
        cache_enabled: keep casts of parameters until the outermost block ends.
    """

    def __init__(
        self, device_type: str, dtype: DType | None = None, enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:  # fmt: skip
        self.device = _known(device_type)
        if dtype is not None and not isinstance(dtype, DType):
            raise ValueError(f"Expected `dtype` of type `torch.dtype`, got: `{type(dtype)}`")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = (
            is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        )
        if enabled and device_type == "cuda" and not device_count():
            warnings.warn(
                "CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2
            )
            enabled = False
        if device_type == "cpu" and self.fast_dtype not in (dtypes.bfloat16, dtypes.float16):
            if enabled:
                warnings.warn(
                    "In CPU autocast, but the target dtype is not supported. Disabling "
                    "autocast.\nCPU Autocast only supports dtypes of torch.bfloat16, "
                    "torch.float16 currently.",
                    stacklevel=2,
                )
            enabled = False
        self._enabled = enabled
        self._before: list[tuple[bool, DType, bool]] = []

    def __enter__(self) -> autocast:
        self._before.append((
            is_autocast_enabled(self.device), get_autocast_dtype(self.device),
            is_autocast_cache_enabled(),
        ))  # fmt: skip
        autocast_increment_nesting()
        set_autocast_enabled(self.device, self._enabled)
        set_autocast_dtype(self.device, self.fast_dtype)
        set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, *exception: object) -> None:
        enabled, dtype, cache = self._before.pop()
        set_autocast_enabled(self.device, enabled)
        set_autocast_dtype(self.device, dtype)
        set_autocast_cache_enabled(cache)
        autocast_decrement_nesting()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return decorated


def _cast(value: Any, device_type: str, dtype: DType) -> Any:
    """Tensors within ``value`` cast, but float64 and those of other devices."""
    if isinstance(value, EngineTensor):
        kind = value.aval.dtype
        eligible = (
            kind.is_floating_point
            and kind is not dtypes.float64
            and value.aval.device.type == device_type
        )
        return value.to(dtype) if eligible else value
    if isinstance(value, dict):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype)
                for k, v in value.items()}  # fmt: skip
    if isinstance(value, (list, tuple)):
        return type(value)([_cast(v, device_type, dtype) for v in value])
    return value


def _require_device_type(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: DType | None = None
) -> Any:
    """Decorates ``forward`` of an autograd function: notes autocast's state for ``backward``.

    Args:
        cast_inputs: cast floating inputs to this type and run without autocast, inside of a
            block; outside of one nothing is cast.
        device_type: whose autocast it is about, such as "cpu".
        fwd: the function; None where it is decorated with arguments.
    """
    _require_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        enabled = is_autocast_enabled(device_type)
        if cast_inputs is None or not enabled:
            ctx._fwd_used_autocast = enabled
            return fwd(ctx, *args, **kwargs)
        ctx._fwd_used_autocast = False
        with autocast(device_type, enabled=False):
            return fwd(
                ctx, *_cast(args, device_type, cast_inputs),
                **_cast(kwargs, device_type, cast_inputs),
            )  # fmt: skip

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorates ``backward`` of an autograd function: it runs as autocast was in ``forward``.

    Args:
        bwd: the function.
        device_type: as of :func:`custom_fwd`.
    """
    _require_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return decorated


def _of_device(general: Any, device: str, argument: str = "") -> Any:
    """The deprecated form of a function above that has the device in its name."""
    name = general.__name__.replace("autocast", f"autocast_{device}")
    old, new = f"{name}({argument})", f"{general.__name__}('{device}'{argument and ', '}{argument})"

    def get() -> Any:
        _deprecated(old, new)
        return general(device)

    def set_dtype(dtype: DType) -> None:
        _deprecated(old, new)
        general(device, dtype)

    def set_enabled(enabled: bool) -> None:
        _deprecated(old, new)
        general(device, enabled)

    made: Any = {"": get, "dtype": set_dtype, "enabled": set_enabled}[argument]
    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"Deprecated: ``{new}``."
    return made


get_autocast_ipu_dtype = _of_device(get_autocast_dtype, "ipu")
get_autocast_xla_dtype = _of_device(get_autocast_dtype, "xla")
is_autocast_ipu_enabled = _of_device(is_autocast_enabled, "ipu")
is_autocast_xla_enabled = _of_device(is_autocast_enabled, "xla")
set_autocast_ipu_dtype = _of_device(set_autocast_dtype, "ipu", "dtype")
set_autocast_xla_dtype = _of_device(set_autocast_dtype, "xla", "dtype")
set_autocast_ipu_enabled = _of_device(set_autocast_enabled, "ipu", "enabled")
set_autocast_xla_enabled = _of_device(set_autocast_enabled, "xla", "enabled")
