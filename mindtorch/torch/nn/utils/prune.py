"""Pruning: a parameter times a mask, the mask made by a rule."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import mindtorch.torch as torch

from .convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured",
    "PruningContainer", "RandomStructured", "RandomUnstructured", "custom_from_mask",
    "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod(ABC):
    """A rule that makes masks, and the hook that multiplies by one before each call.

    Subclasses define ``compute_mask`` and ``PRUNING_TYPE``: "unstructured" (elements),
    "structured" (slices along ``dim``) or "global".
    """

    _tensor_name: str
    PRUNING_TYPE = ""

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask for ``t``, zero at least where ``default_mask`` is."""

    def apply_mask(self, module: Any) -> Any:
        """The module's original times its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> Any:
        """Prune ``module.<name>`` by a method made of the further arguments.

        On a tensor that is pruned already, what is left of it is pruned.

        Args:
            importance_scores: what the rule looks at in place of the tensor.
        """
        method = _joined(module, name, cls(*args, **kwargs))
        first = not isinstance(method, PruningContainer)
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, "
                f"got {importance_scores.shape} vs {original.shape}"
            )
        if first:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            mask = original.detach().new_ones(original.shape)
        else:
            mask = getattr(module, name + "_mask").detach().clone()
        try:
            mask = method.compute_mask(importance_scores.detach(), default_mask=mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if first:
                module.register_parameter(name, module._parameters.pop(name + "_orig"))
            raise
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """``t`` times its mask."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                "importance_scores should have the same shape as tensor t, got "
                f"{importance_scores.shape} vs {t.shape}"
            )
        if default_mask is None:
            default_mask = t.detach().new_ones(t.shape)
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruned tensor the module's parameter."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(
                f"Module {module} has to be pruned before pruning can be removed"
            )
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.detach()
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _joined(module: Any, name: str, method: BasePruningMethod) -> Any:
    """The method, or a container of it and the tensor's earlier ones, which lose their hook."""
    method._tensor_name = name
    held = {
        key: hook for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    }  # fmt: skip
    if len(held) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
            "Use a PruningContainer."
        )
    for key, before in held.items():
        del module._forward_pre_hooks[key]
        together = before if isinstance(before, PruningContainer) else PruningContainer(before)
        together.add_pruning_method(method)
        return together
    return method


class PruningContainer(BasePruningMethod):
    """Methods that prune one tensor one after another; the last makes the next mask."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Append a method for the same tensor."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found "
                f"'{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask with the last method applied to what it leaves."""
        method = self._pruning_methods[-1]
        place = _remaining(method, t, default_mask)
        result = default_mask.to(t.dtype)
        part = method.compute_mask(t[place], default_mask=default_mask[place])
        result[place] = part.to(result.dtype)
        return result


def _remaining(method: Any, t: Any, mask: Any) -> Any:
    """Where earlier methods left something: an index."""
    kind = method.PRUNING_TYPE
    if kind == "unstructured":
        return mask == 1
    everything: list[Any] = [slice(None)] * t.dim()
    if kind == "structured":
        if not hasattr(method, "dim"):
            raise AttributeError(
                'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` '
                "defined."
            )
        axis = method.dim if method.dim >= 0 else t.dim() + method.dim
        if axis < 0:
            raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
        others = [i for i in range(t.dim()) if i != axis]
        everything[axis] = mask.sum(dim=others) != 0
    elif kind != "global":
        raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
    return tuple(everything)


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """``default_mask``."""
        return default_mask


class _Amount(BasePruningMethod):
    """A method with an amount: how many units, or which share of them."""

    def __init__(self, amount: Any) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount


class RandomUnstructured(_Amount):
    """Prunes elements drawn at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """``default_mask`` with zeros at the drawn elements."""
        count = _compute_nparams_toprune(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[torch.rand_like(t).view(-1).topk(count).indices] = 0
        return mask


class L1Unstructured(_Amount):
    """Prunes the elements of least magnitude."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """``default_mask`` with zeros at the least elements."""
        count = _compute_nparams_toprune(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[t.abs().view(-1).topk(count, largest=False).indices] = 0
        return mask


class _Structured(_Amount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t: Any, size: int, count: int) -> Any:
        """An index of the slices that stay."""
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """``default_mask`` with zeros in the slices that go."""
        if len(t.shape) <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {len(t.shape)} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = _compute_nparams_toprune(self.amount, size)
        kept = self._kept(t, size, count) if count else None
        if kept is None:
            return default_mask
        place: list[Any] = [slice(None)] * t.dim()
        place[self.dim] = kept
        mask = t.new_zeros(t.shape)
        mask[tuple(place)] = 1
        return mask.mul_(default_mask.to(mask.dtype))


class RandomStructured(_Structured):
    """Prunes slices drawn at random."""

    def _kept(self, t: Any, size: int, count: int) -> Any:
        drawn = torch.rand(size)
        return drawn > drawn.kthvalue(count).values


class LnStructured(_Structured):
    """Prunes the slices of least norm of order ``n``."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Any, size: int, count: int) -> Any:
        axis = self.dim % t.dim()
        norms = t.norm(p=self.n, dim=[i for i in range(t.dim()) if i != axis])
        return norms.topk(size - count, largest=True).indices


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is zero."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """``default_mask`` times the mask."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape "
                f"{self.mask.shape}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    integral = isinstance(amount, numbers.Integral)
    if (integral and amount < 0) or (not integral and not 0.0 <= float(amount) <= 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    if isinstance(amount, numbers.Integral) and int(amount) > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to "
            f"prune={tensor_size}"
        )


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """How many of ``tensor_size`` units an amount means; by torch's name, for methods of users."""
    _validate_pruning_amount(amount, tensor_size)
    if isinstance(amount, numbers.Integral):
        return int(amount)
    return round(amount * tensor_size)


def identity(module: Any, name: str) -> Any:
    """Give ``module.<name>`` a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune elements drawn at random: ``amount`` of them, or that share."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the elements of least magnitude: ``amount`` of them, or that share."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune slices along ``dim``, drawn at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None
) -> Any:
    """Prune the slices along ``dim`` of least norm of order ``n``."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune where ``mask`` is zero."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several tensors as if they were one.

    Args:
        parameters: (module, name) pairs.
        pruning_method: a class of unstructured methods; ``kwargs`` are its arguments.
        importance_scores: by pair, what the rule looks at in place of a tensor.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    tensors = [getattr(module, name).detach() for module, name in pairs]
    looked_at = parameters_to_vector(
        [scores.get(pair, t) for pair, t in zip(pairs, tensors, strict=True)]
    )
    masks = parameters_to_vector([
        getattr(module, name + "_mask", t.new_ones(t.shape))
        for (module, name), t in zip(pairs, tensors, strict=True)
    ])  # fmt: skip
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "temp"
    final = PruningContainer(method).compute_mask(looked_at.detach(), masks)
    start = 0
    for (module, name), t in zip(pairs, tensors, strict=True):
        custom_from_mask(module, name, mask=final[start : start + t.numel()].view_as(t))
        start += t.numel()


def remove(module: Any, name: str) -> Any:
    """Make pruning permanent: the pruned tensor becomes the parameter."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module: Any) -> bool:
    """Whether the module or one in it has a pruned tensor."""
    return any(
        isinstance(hook, BasePruningMethod)
        for each in module.modules()
        for hook in each._forward_pre_hooks.values()
    )
