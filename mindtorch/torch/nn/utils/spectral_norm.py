"""Spectral normalisation by a hook, as it was before parametrizations."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ..parameter import Parameter, is_lazy
from ._norms import as_matrix, spectral_axis, unit

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]

_VERSION = 1


class SpectralNorm:
    """Before each call divides the weight by an estimate of its largest singular value.

    Args:
        name: of the weight; it is kept as ``<name>_orig``, the estimates of the singular vectors
            as the buffers ``<name>_u`` and ``<name>_v``.
        n_power_iterations: how often they are improved before each call in training.
        dim: the axis of outputs.
        eps: the least length of a vector in a division.
    """

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.eps = name, dim, eps
        self.n_power_iterations = n_power_iterations

    def reshape_weight_to_matrix(self, weight: Any) -> Any:
        """(outputs, everything else)."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Any:
        """weight / (u^T weight v)."""
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(unit(matrix.t().mv(u), self.eps))
                    u.copy_(unit(matrix.mv(v), self.eps))
                # Later calls write to the buffers; this one's gradient needs what is there now.
                u, v = u.clone(), v.clone()
        return weight / u.dot(matrix.mv(v))

    def remove(self, module: Any) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    @staticmethod
    def apply(
        module: Any, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Keep the weight under another name, and compute it before each call."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two spectral_norm hooks on the same parameter {name}"
                )
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make "
                "sure to run the dummy forward before applying spectral normalization"
            )
        with no_grad():
            rows, columns = as_matrix(weight, dim).shape
            u = unit(weight.new_empty(rows).normal_(0, 1), eps)
            v = unit(weight.new_empty(columns).normal_(0, 1), eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.detach())
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(_WriteVersion(hook))
        module._register_load_state_dict_pre_hook(_ReadVersion(hook))
        return hook


class _ReadVersion:
    """Takes state dicts from before there was a ``v`` in them."""

    def __init__(self, hook: SpectralNorm) -> None:
        self.hook = hook

    def __call__(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: Any,
        unexpected_keys: Any, error_msgs: Any,
    ) -> None:  # fmt: skip
        name = self.hook.name
        version = local_metadata.get("spectral_norm", {}).get(name + ".version", None)
        if version is not None and version >= 1:
            return
        key = prefix + name
        complete = all(key + end in state_dict for end in ("_orig", "_u", "_v"))
        if version is None and complete and key not in state_dict:
            return
        missing = [key + end for end in ("_orig", "", "_u") if key + end not in state_dict]
        if missing:
            missing_keys += missing if strict else []
            return
        with no_grad():
            original = state_dict[key + "_orig"]
            sigma = (original / state_dict.pop(key)).mean()
            u = state_dict[key + "_u"]
            matrix = as_matrix(original, self.hook.dim)
            v = (matrix.t().mm(matrix).pinverse() @ (matrix.t() @ u.unsqueeze(1))).squeeze(1)
            state_dict[key + "_v"] = v.mul_(sigma / u.dot(matrix.mv(v)))


class _WriteVersion:
    """Marks state dicts with the version of their layout."""

    def __init__(self, hook: SpectralNorm) -> None:
        self.hook = hook

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.hook.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = _VERSION


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """Divide a weight by its largest singular value, estimated by power iterations.

    Args:
        dim: the axis of outputs; None is 1 for transposed convolutions and 0 for all else.
        n_power_iterations: how many at each call in training.
    """
    SpectralNorm.apply(module, name, n_power_iterations, spectral_axis(module, dim), eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undo :func:`spectral_norm`, keeping the present weight."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for hooks, kind in ((module._state_dict_hooks, _WriteVersion),
                        (module._load_state_dict_pre_hooks, _ReadVersion)):  # fmt: skip
        for key, entry in list(hooks.items()):
            held = getattr(entry, "hook", entry)
            marker = held if isinstance(held, kind) else entry
            if isinstance(marker, kind) and marker.hook.name == name:
                del hooks[key]
                break
    return module
