"""Training steps, seen from outside: what a script backs up from, and what its optimizers do.

Only names of torch's public namespace are used, so that the same is seen under real PyTorch and
under mindtorch: hooks of all optimizers, `Tensor.backward`, and the construction of modules (for
the names of parameters).
"""

from __future__ import annotations

import functools
import importlib
import weakref
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["StepListener", "Steps"]


class StepListener(Protocol):
    """Who is told. Called without gradients being recorded."""

    def on_loss(self, loss: Any) -> None:
        """Before `loss.backward()`."""

    def on_gradients(self, optimizer: Any) -> None:
        """Before an optimizer's step: gradients are there."""

    def on_step(self, optimizer: Any) -> None:
        """After an optimizer's step."""


class Steps:
    """Tells a listener of every loss and step until it is removed.

    Args:
        torch: the namespace that the script imports.
        listener: who is told.
    """

    def __init__(self, torch: Any, listener: StepListener) -> None:
        self.torch = torch
        self.listener = listener
        self.modules: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._depth = 0
        self._given: Any = None
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        torch = self.torch
        optimizers = importlib.import_module(f"{torch.__name__}.optim.optimizer")
        for register, told in (
            (optimizers.register_optimizer_step_pre_hook, self.listener.on_gradients),
            (optimizers.register_optimizer_step_post_hook, self.listener.on_step),
        ):
            self._undo.append(register(self._hook(told)).remove)
        self._wrap(torch.Tensor, "backward", self._backward)
        self._wrap(torch.nn.Module, "__init__", self._module)

    def remove(self) -> None:
        """Leave everything as it was."""
        while self._undo:
            self._undo.pop()()

    def _wrap(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        setattr(owner, name, functools.wraps(original)(make(original)))
        self._undo.append(lambda: setattr(owner, name, original))

    def _hook(self, told: Callable[[Any], None]) -> Callable[..., None]:
        def hook(optimizer: Any, args: Any, kwargs: Any) -> None:
            given = (x for x in (kwargs.get("grads"), *args) if isinstance(x, (tuple, list)))
            self._given = next(given, None)  # args begin with the optimizer
            with self.torch.no_grad():
                told(optimizer)

        return hook

    def _backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(loss: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._depth:
                with self.torch.no_grad():
                    self.listener.on_loss(loss)
            self._depth += 1
            try:
                return original(loss, *args, **kwargs)
            finally:
                self._depth -= 1

        return backward

    def _module(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def init(module: Any, *args: Any, **kwargs: Any) -> None:
            original(module, *args, **kwargs)
            self.modules[module] = len(self.modules)

        return init

    def give(self, gradients: Any) -> None:
        """The next step uses these gradients, one for each parameter."""
        self._given = gradients if isinstance(gradients, (tuple, list)) else None

    def gradients(self, optimizer: Any) -> dict[int, Any]:
        """The gradients that a step uses, by the identity of their parameters: those that it was
        given (`optimizer.step(grads)`), or the parameters' own."""
        held = [p for group in optimizer.param_groups for p in group["params"]]
        given = self._given
        if given is not None and len(given) == len(held):
            return {id(p): g for p, g in zip(held, given, strict=True)}
        return {id(p): g for p in held if (g := p.grad) is not None}

    def names(self, optimizer: Any) -> dict[str, Any]:
        """The parameters of an optimizer by their names in the outermost modules that hold them;
        those of no module are `parameter<position>`. Shared names get their model's class before.
        """
        wanted = [p for group in optimizer.param_groups for p in group["params"]]
        left = {id(p): position for position, p in enumerate(wanted)}
        inner = {id(part) for module in self.modules for part in module.children()}
        found: dict[str, Any] = {}
        for module in sorted(self.modules, key=lambda each: self.modules[each]):
            if id(module) in inner:
                continue
            for name, parameter in module.named_parameters():
                if left.pop(id(parameter), None) is not None:
                    while name in found:
                        name = f"{type(module).__name__}.{name}"
                    found[name] = parameter
        return found | {f"parameter{at}": wanted[at] for at in left.values()}
