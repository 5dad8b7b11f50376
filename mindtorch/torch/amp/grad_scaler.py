"""GradScaler: losses times a factor that adapts, so that small gradients survive half precision."""

from __future__ import annotations

import enum
import inspect
import warnings
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import api
from mindtorch.engine.compile.capture.host_calls import host_call
from mindtorch.engine.devices.cuda import device_count
from mindtorch.engine.state import state as _thread
from mindtorch.engine.tensor import Tensor as EngineTensor

from ..functions.creation import full
from ..functions.from_data import tensor

__all__ = ["GradScaler", "OptState"]


_BEYOND = 2.0**128 - 2.0**103  # rounds to infinity in float32


class OptState(enum.Enum):
    """Where an optimizer is between two updates of the scale."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


_NO_SCALE = (
    "Attempted {} but _scale is None.  This may indicate your script did not use "
    "scaler.scale(loss or outputs) earlier in the iteration."
)


def _are_gradients(value: Any) -> bool:
    return isinstance(value, EngineTensor) or (
        isinstance(value, (tuple, list)) and all(isinstance(g, EngineTensor) for g in value)
    )


def _gradients(value: Any) -> Any:
    """A tensor or several, as a sequence."""
    if not _are_gradients(value):
        raise TypeError(f"gradients should be tensors, but got {type(value).__name__}")
    return (value,) if isinstance(value, EngineTensor) else value


class GradScaler:
    """Scales losses, unscales gradients, and leaves out steps whose gradients are not finite.

    The scale is multiplied by ``backoff_factor`` after an iteration with infinities or NaNs, and
    by ``growth_factor`` after ``growth_interval`` iterations without.

    Args:
        device: "cpu" or "cuda", which warns and is disabled where there is no such device, until a
            loss is scaled inside of a function that ``value_and_grad`` differentiates.
        init_scale: the first scale.
        enabled: False makes every method do what there is to do without scaling.
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        self._device = device
        self._enabled = enabled
        self._waiting = False  # for a loss scaled inside of a function that is differentiated
        if device == "cuda" and enabled and not device_count():
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                stacklevel=2,
            )
            self._enabled, self._waiting = False, True
        if self._enabled:
            assert growth_factor > 1.0, "The growth factor must be > 1.0."
            assert backoff_factor < 1.0, "The backoff factor must be < 1.0."
        self._init_scale = init_scale
        self._scale: Any = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Any = None
        self._optimizers: dict[int, dict[str, Any]] = {}

    def _state_of(self, optimizer: Any) -> dict[str, Any]:
        return self._optimizers.setdefault(
            id(optimizer), {"stage": OptState.READY, "found_inf_per_device": {}}
        )

    def _check_scale(self, name: str) -> Any:
        assert self._scale is not None, _NO_SCALE.format(name)
        assert self._growth_tracker is not None, _NO_SCALE.format(name).replace(
            "_scale", "_growth_tracker"
        )
        return self._scale

    def _lazy_init_scale_growth_tracker(self, device: Any) -> None:
        assert self._growth_tracker is None, "_growth_tracker initialized before _scale"
        self._scale = full((), self._init_scale, dtype=dtypes.float32, device=device)
        steps = self._init_growth_tracker
        self._growth_tracker = full((), steps, dtype=dtypes.int32, device=device)

    def _begin_with(self, grads: Any) -> None:
        """Gradients that are given may come before any loss was scaled here."""
        if self._scale is None and grads is not None and _are_gradients(grads):
            first = next(iter(_gradients(grads)), None)
            if first is not None:
                self._lazy_init_scale_growth_tracker(first.aval.device)

    def scale(self, outputs: Any) -> Any:
        """``outputs``, a tensor or an iterable of tensors, times the scale."""
        if self._waiting and _thread.differentiating:  # MindTorch's style, on every device
            self._enabled, self._waiting, self._device = True, False, "cpu"
        if not self._enabled:
            return outputs
        if isinstance(outputs, EngineTensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.aval.device)
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)([self.scale(x) for x in outputs])
        if hasattr(outputs, "__iter__"):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale(self, optimizer: Any, factor: Any, allow_fp16: bool) -> dict[Any, Any]:
        """Multiply gradients by ``factor``; 1 for each device where one is not finite."""
        found: dict[Any, Any] = {}
        with api.grad_mode(False):
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    gradient = parameter.grad
                    if gradient is None:
                        continue
                    if gradient._sparse:
                        gradient = gradient._values()
                    if not allow_fp16 and gradient.aval.dtype is dtypes.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    bad = not bool(gradient.isfinite().all())
                    if factor is not None:
                        gradient.mul_(factor)
                    device = gradient.aval.device
                    if bad or device not in found:
                        found[device] = tensor(float(bad))
        return found

    def _unscale_given(self, grads: Any, factor: Any) -> dict[Any, Any]:
        """:meth:`_unscale` of gradients that are not in the parameters."""
        found: dict[Any, Any] = {}
        with api.grad_mode(False):
            for gradient in grads:
                bad = not bool(gradient.isfinite().all())
                gradient.mul_(factor)
                device = gradient.aval.device
                if bad or device not in found:
                    found[device] = tensor(float(bad))
        return found

    def unscale(self, optimizer: Any, grads: Any) -> Any:
        """New gradients, divided by the scale; what :meth:`unscale_` does to ``grads`` in place.
        Gradients so divided are given to :meth:`step` as they are."""
        copies = tuple(g.clone() for g in _gradients(grads))
        self.unscale_(optimizer, copies)
        return copies

    host_methods = frozenset({"scale", "unscale_", "step", "update"})

    def host_guard(self) -> bool:
        """What captured calls rely on besides the scale, which they read."""
        return self._enabled

    @host_call
    def unscale_(self, optimizer: Any, grads: Any = None) -> None:
        """Divide the optimizer's gradients by the scale, once, before they are clipped.

        Args:
            grads: gradients that are not in the parameters' ``grad``: a tensor, a tuple or a list
                of tensors, which are divided in place.
        """
        if not self._enabled:
            return
        self._begin_with(grads)
        self._check_scale("unscale_")
        state = self._state_of(optimizer)
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = self._scale.double().reciprocal().float()
        if grads is None:
            state["found_inf_per_device"] = self._unscale(optimizer, inverse, False)
        else:
            state["found_inf_per_device"] = self._unscale_given(_gradients(grads), inverse)
        state["stage"] = OptState.UNSCALED

    @host_call
    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """``optimizer.step(*args)`` unless a gradient is not finite.

        The first argument may be gradients, as MindTorch's programs give them: they are divided
        by the scale, in place, where :meth:`unscale_` has not done it.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._begin_with(args[0] if args else None)
        self._check_scale("step")
        state = self._state_of(optimizer)
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        result = None
        if args and _are_gradients(args[0]):
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer, args[0])
            if not any(v.item() for v in state["found_inf_per_device"].values()):
                result = optimizer.step(*args, **kwargs)
        elif getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_of_fused(optimizer, state, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            assert state["found_inf_per_device"], "No inf checks were recorded for this optimizer."
            if not any(v.item() for v in state["found_inf_per_device"].values()):
                result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_of_fused(self, optimizer: Any, state: Any, args: Any, kwargs: Any) -> Any:
        """An optimizer that unscales by itself is told the scale and what was found."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            return optimizer.step(*args, grad_scaler=self, **kwargs)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
            optimizer.grad_scale = self._scale
        else:
            optimizer.grad_scale = None
        optimizer.found_inf = max(state["found_inf_per_device"].values(), key=lambda v: v.item())
        result = optimizer.step(*args, **kwargs)
        del optimizer.grad_scale, optimizer.found_inf
        return result

    @host_call
    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale after the steps of an iteration, or set it to ``new_scale``."""
        if not self._enabled:
            return
        scale = self._check_scale("update")
        if new_scale is not None:
            if isinstance(new_scale, float):
                scale.fill_(new_scale)
            else:
                reason = (
                    "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                    "torch.FloatTensor with requires_grad=False."
                )
                assert new_scale.device.type == self._device, reason
                assert new_scale.numel() == 1, reason
                assert new_scale.requires_grad is False, reason
                scale.copy_(new_scale)
        else:
            found = [v for s in self._optimizers.values()
                     for v in s["found_inf_per_device"].values()]  # fmt: skip
            assert found, "No inf checks were recorded prior to update."
            self._adapt(any(v.item() for v in found))
        self._optimizers = {}

    def _adapt(self, found_inf: bool) -> None:
        if found_inf:
            self._scale.fill_(self._scale.item() * self._backoff_factor)
            self._growth_tracker.fill_(0)
            return
        good = int(self._growth_tracker.item()) + 1
        if good == self._growth_interval:
            # the product is float64 and rounded once, as torch's kernel has it
            grown = self._scale.item() * self._growth_factor
            if grown < _BEYOND:
                self._scale.fill_(grown)
            good = 0
        self._growth_tracker.fill_(good)

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Any]:
        self._check_scale("_check_inf_per_device")
        found = self._unscale(optimizer, None, True)
        self._state_of(optimizer)["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Any]:
        return dict(self._state_of(optimizer)["found_inf_per_device"])

    def _get_scale_async(self) -> Any:
        return self._scale

    def get_scale(self) -> float:
        """The scale; 1.0 when scaling is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else int(tracker.item())

    def is_enabled(self) -> bool:
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Scale, factors and counters; empty when scaling is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor, "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` gave."""
        if not self._enabled:
            return
        if len(state_dict) == 0:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        assert not self._optimizers or not self._enabled, (
            "A GradScaler instance may only be pickled at the beginning of an iteration, or at the "
            "end after scaler.update()."
        )
        state = self.__dict__.copy()
        if self._enabled:
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
