"""Optimizers whose rule looks at one parameter at a time."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.dispatch import state as engine_state
from mindtorch.engine.ops.movement import clone
from mindtorch.engine.optim.multi_tensor import zeros_like as zeros_in_layout
from mindtorch.engine.sharding.across import lying_as
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import full_flat
from mindtorch.torch.autograd.grad_mode import enable_grad, no_grad
from mindtorch.torch.functions.complex_numbers import view_as_complex, view_as_real

from .optimizer import Optimizer, _get_capturable_supported_devices, to_scalar


def check_rate(lr: Any) -> None:
    """torch's errors for a learning rate that is negative or not one number."""
    if isinstance(lr, EngineTensor) and lr.aval.size != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_not_negative("learning rate", lr)


def check_not_negative(name: str, value: Any) -> None:
    if not 0.0 <= value:  # noqa: SIM300
        raise ValueError(f"Invalid {name}: {value}")


def refuse_negative(name: str, value: Any) -> None:
    """:func:`check_not_negative`, but nan passes: SGD's."""
    if value < 0.0:
        raise ValueError(f"Invalid {name}: {value}")


def check_betas(betas: Any) -> None:
    for i in (0, 1):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_moments(lr: Any, betas: Any, eps: float, weight_decay: float) -> None:
    """torch's errors for what Adam and its kin have in common, in torch's order."""
    check_rate(lr)
    check_not_negative("epsilon value", eps)
    check_betas(betas)
    check_not_negative("weight_decay value", weight_decay)


def options(
    foreach: Any, maximize: bool, capturable: bool | None, differentiable: bool,
    order: str = "foreach maximize differentiable capturable", **further: Any,
) -> dict[str, Any]:
    """The entries that every group has, in torch's ``order`` for the optimizer.

    Those about other devices' kernels change nothing here; ``further`` may be named in the order.
    """
    if differentiable and further.get("fused"):
        raise RuntimeError("`fused` does not support `differentiable`")
    values = {
        "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
        "capturable": capturable, **further,
    }  # fmt: skip
    if capturable is None:
        del values["capturable"]
    return {name: values[name] for name in order.split() if name in values}


def held(x: Any) -> Any:
    """What a rule may keep of a state that the next step changes."""
    return x.clone() if engine_state.grad_enabled else x


def raised(x: Any, eps: float) -> Any:
    """x + eps, in place of a root that nobody keeps."""
    return x.add(eps) if engine_state.grad_enabled else x.add_(eps)


_FUSED_DEVICES = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def refuse_complex(p: Any, group: dict[str, Any]) -> None:
    """torch's error for a complex parameter in a group with ``fused=True``."""
    if group.get("fused") and p.is_complex():
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported "
            f"devices: {_FUSED_DEVICES} but {p.dtype} and {p.aval.device.type}"
        )


_SCALARS = ("step", "mu_product", "eta", "mu")  # states that are tensors of one number


def _parts_of(value: Any) -> Any:
    """Real and imaginary parts along a last axis, where a value has such."""
    if isinstance(value, EngineTensor) and value.aval.dtype.is_complex:
        return view_as_real(value)
    return value


def scalar_state(value: float = 0.0) -> Any:
    """A 0-d tensor of the type in which torch counts steps."""
    wide = dtypes.default is dtypes.float64
    return full_flat((), dtypes.float64 if wide else dtypes.float32, value)


def zeros_like(p: Any) -> Any:
    """Zeros with the parameter's layout."""
    if p.aval.dense:
        return zeros_in_layout(p)
    result = clone.evaluate(0, (p,), {})
    return result.zero_()


class ParameterwiseOptimizer(Optimizer):
    """Subclasses define ``_update``, and ``_init_state`` where their states are not zeros;
    gradients arrive already negated when the group maximizes.

    Attributes:
        zeros: names of the states that begin as zeros of the parameter's layout.
        takes_sparse: whether the rule has a meaning for gradients in COO form.
        sparse_error: torch's error for one, where it says more than that it is refused.
        captured, on_xla: for torch's error of ``capturable``.
        records_foreach: whether a differentiable step may be asked to be one over lists.
    """

    zeros: tuple[str, ...] = ()
    takes_sparse = False
    sparse_error = ""
    captured = "params"  # and what else torch's error of ``capturable`` names
    on_xla = True
    records_foreach = False

    def step(self, closure: Any = None, grads: Any = None) -> Any:
        """Update every parameter that has a gradient; returns the closure's loss.

        A differentiable step is recorded, in gradients, parameters and states.

        Args:
            closure: recomputes the loss. Gradients in its place mean a step with those.
            grads: one gradient for each of ``parameters`` instead of the parameters' own.
        """
        step = self._recorded if self.defaults.get("differentiable") else self._unrecorded
        return step(closure, grads)

    def _groups(self, closure: Any, grads: Any) -> Any:
        loss, given = (None, None) if closure is grads is None else self._begin(closure, grads)
        for group in self.param_groups:
            if group.get("differentiable") and group.get("foreach") and not self.records_foreach:
                self._refuse_recording(group, given)
            if group.get("capturable"):
                self._refuse_capture(group, given)
            self._step_group(group, given)
        return loss

    _recorded, _unrecorded = enable_grad()(_groups), no_grad()(_groups)

    def _step_group(self, group: dict[str, Any], given: Any) -> None:
        maximize = bool(group.get("maximize"))
        self._refuse_sparse(group, given)
        for p in group["params"]:
            grad = p._grad if given is None else given[id(p)]
            if grad is None:
                continue
            state = self.state[p]
            if not state:
                self._init_state(p, state, group)
            self._update_one(p, -grad if maximize else grad, state, group)

    def _refuse_recording(self, group: dict[str, Any], given: Any) -> None:
        """torch's error for a differentiable step over lists, which it does not record."""
        for p in group["params"]:
            if (p._grad if given is None else given[id(p)]) is not None:
                raise AssertionError("_foreach ops don't support autograd")

    def _refuse_capture(self, group: dict[str, Any], given: Any) -> None:
        """torch's error for ``capturable=True`` on a device whose steps it cannot record."""
        devices = _get_capturable_supported_devices(self.on_xla and not group.get("foreach"))
        for p in group["params"]:
            grad = p._grad if given is None else given[id(p)]
            if grad is not None and p.aval.device.type not in devices:
                raise AssertionError(
                    f"If capturable=True, {self.captured} and state_steps must be on supported "
                    f"devices: {devices}."
                )

    def _refuse_sparse(self, group: dict[str, Any], given: Any) -> None:
        """torch's error for a sparse gradient where the rule has no meaning for one."""
        if self.takes_sparse:
            return
        for p in group["params"]:
            grad = p._grad if given is None else given[id(p)]
            if grad is not None and grad._sparse:
                refused = f"{type(self).__name__} does not support sparse gradients"
                raise RuntimeError(self.sparse_error or refused)

    def _init_state(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = scalar_state()
        for name in self.zeros:
            state[name] = zeros_like(p)

    def _update_one(
        self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]
    ) -> None:  # fmt: skip
        """:meth:`_update`, of a complex parameter as of its real and imaginary parts."""
        if not p.is_complex():
            self._update(p, grad, state, group)
            return
        refuse_complex(p, group)
        parts = {name: _parts_of(value) for name, value in state.items()}
        given = dict(parts)
        self._update(_parts_of(p), _parts_of(grad), parts, group)
        for name, value in parts.items():
            if value is not given.get(name):  # else it was updated in place
                whole = name in state and state[name] is not given[name]
                state[name] = view_as_complex(value.contiguous()) if whole else value

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for own in self.state.values():  # old versions of torch counted by numbers
            for name in _SCALARS if isinstance(own, dict) else ():
                if isinstance(own.get(name), (int, float)):
                    own[name] = scalar_state(float(own[name]))

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError


def gather(group: dict[str, Any], given: Any) -> tuple[list[Any], list[Any]]:
    """The parameters of a group that have a gradient, and the gradients."""
    params = group["params"]
    grads = [p._grad for p in params] if given is None else [given[id(p)] for p in params]
    kept = [i for i, g in enumerate(grads) if g is not None]
    if any(params[i].aval.sharded for i in kept):
        grads = [None if g is None else lying_as(g, p) for g, p in zip(grads, params, strict=True)]
    if len(kept) == len(params):
        return params, grads
    return [params[i] for i in kept], [grads[i] for i in kept]


def decayed(p: Any, grad: Any, group: dict[str, Any]) -> Any:
    """grad + weight_decay p."""
    decay = group["weight_decay"]
    if isinstance(decay, EngineTensor) and decay.requires_grad and group.get("differentiable"):
        return grad.addcmul(p.clone(), decay)
    return grad.add(p, alpha=to_scalar(decay)) if decay != 0 else grad


__all__ = [
    "ParameterwiseOptimizer", "check_betas", "check_moments", "check_not_negative", "check_rate",
    "decayed", "gather", "held", "options", "raised", "scalar_state", "to_scalar", "zeros_like",
]  # fmt: skip
