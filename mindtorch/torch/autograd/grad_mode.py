"""Blocks and functions in which ops are, or are not, recorded."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from typing import Any

from mindtorch._module_names import is_ours
from mindtorch.engine.dispatch import GRAD, RECORDING_CALL, state
from mindtorch.torch.autograd._forward_levels import levels

__all__ = [
    "enable_grad", "enforce_grad_layout_policy", "inference_mode", "no_grad", "set_grad_enabled",
    "set_multithreading_enabled",
]  # fmt: skip


def _dual(module: str | None = None) -> bool:
    """Whether forward mode has to see the block of a script: ours write to leaves, and draw."""
    if not (levels() or state.forward):
        return False
    return not is_ours(module or sys._getframe(2).f_globals["__name__"])


class BlockMode:
    """A grad mode, as a block or a decorator."""

    def __call__(self, function: Any) -> Any:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
                stacklevel=2,
            )
            original = function.__init__
            function.__init__ = self(original)  # type: ignore[method-assign]
            return function
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Any:
                source = function(*args, **kwargs)
                step = functools.partial(source.send, None)
                while True:
                    with self.clone():
                        try:
                            item = step()
                        except StopIteration as stop:
                            return stop.value
                    try:
                        step = functools.partial(source.send, (yield item))
                    except GeneratorExit:
                        with self.clone():
                            source.close()
                        raise
                    except BaseException as error:
                        step = functools.partial(source.throw, error)

            return generator

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return call

    def clone(self) -> Any:
        """Another block of the same mode."""
        return type(self)()

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exception: object) -> None:
        raise NotImplementedError


class _Fixed(BlockMode):
    enabled = False

    def __new__(cls, orig_func: Any = None) -> Any:
        made = super().__new__(cls)
        if orig_func is not None:
            made._previous = []
            return made(orig_func)
        return made

    def __init__(self, orig_func: Any = None) -> None:
        self._previous: list[bool] = []

    def __call__(self, function: Any) -> Any:
        if isinstance(function, type) or inspect.isgeneratorfunction(function):
            return super().__call__(function)
        enabled = self.enabled

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            before = state.grad_enabled
            try:
                if enabled or _dual(function.__module__):
                    state.update(grad=True)
                else:
                    state.record_nothing()
                return function(*args, **kwargs)
            finally:
                # nothing is called before it is done: only calls and loops let signals in
                state.grad_enabled = before
                mode = state.mode & ~(GRAD | RECORDING_CALL)
                state.mode = mode | GRAD if before and not state.inference else mode

        return call

    def __enter__(self) -> None:
        self._previous.append(state.grad_enabled)
        state.update(grad=self.enabled or _dual())

    def __exit__(self, *exception: object) -> None:
        before = self._previous[-1]
        del self._previous[-1]
        state.update(grad=before)


class no_grad(_Fixed):  # noqa: N801
    """Ops in the block, or in the function ``orig_func`` that is decorated, are not recorded."""


class enable_grad(_Fixed):  # noqa: N801
    """Ops in the block, or in the function ``orig_func`` that is decorated, are recorded."""

    enabled = True


class set_grad_enabled(BlockMode):  # noqa: N801
    """Set whether ops are recorded: at once, and for the block if used as one.

    Args:
        mode: whether ops are recorded.
    """

    def __init__(self, mode: bool) -> None:
        if mode is None or type(mode) in (int, float, str):
            raise TypeError(
                "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                f"{type(mode).__name__}"
            )
        self.mode = bool(mode)
        self._previous = state.grad_enabled
        state.update(grad=self.mode or _dual())

    def __call__(self, function: Any) -> Any:
        state.update(grad=self._previous)
        return super().__call__(function)

    def clone(self) -> Any:
        return set_grad_enabled(self.mode)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    def __enter__(self) -> None:
        state.update(grad=self.mode or _dual())

    def __exit__(self, *exception: object) -> None:
        state.update(grad=self._previous)


class inference_mode(BlockMode):  # noqa: N801
    """As no_grad, whatever ``enable_grad`` says inside; what is made in the block can neither be
    written to outside of it nor be kept for a derivative. ``inference_mode(False)`` leaves it.

    Args:
        mode: whether it is on.
    """

    def __new__(cls, mode: Any = True) -> Any:
        if callable(mode) and not isinstance(mode, bool):
            return cls()(mode)
        return super().__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self._previous: list[tuple[bool, bool]] = []

    def clone(self) -> Any:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self._previous.append((state.grad_enabled, state.inference))
        state.update(grad=not self.mode, inference=self.mode)

    def __exit__(self, *exception: object) -> None:
        grad, inference = self._previous.pop()
        state.update(grad=grad, inference=inference)


def is_grad_enabled() -> bool:
    """Whether ops on tensors that require gradients are recorded, in this thread."""
    return state.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in a block of :class:`inference_mode`."""
    return state.inference


class enforce_grad_layout_policy(BlockMode):  # noqa: N801
    """Whether gradients have the layout of their parameters: at once, and for the block.

    They have it here in either case; False allows another one, and asks for none.

    Args:
        enable: whether they must.
    """

    def __init__(self, enable: bool = True) -> None:
        self.mode = enable

    def clone(self) -> Any:
        return enforce_grad_layout_policy(self.mode)

    def __enter__(self) -> None:
        """Nothing changes."""

    def __exit__(self, *exception: object) -> None:
        """Nothing changed."""


_multithreading = [True]


class set_multithreading_enabled(BlockMode):  # noqa: N801
    """Whether backward passes may have several threads: asked for from here on, or in a block.

    Those of this library have one, whatever ``mode`` says.

    Args:
        mode: whether they may.
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._before = is_multithreading_enabled()
        _multithreading[0] = mode

    def __enter__(self) -> None:
        """It holds since the object was made."""

    def __exit__(self, *exception: object) -> None:
        """What was before holds again."""
        _multithreading[0] = self._before

    def clone(self) -> Any:
        return set_multithreading_enabled(self.mode)


def is_multithreading_enabled() -> bool:
    """What :class:`set_multithreading_enabled` said last; True at first."""
    return _multithreading[0]
