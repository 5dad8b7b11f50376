"""Modules whose attributes are checked when they are set, as the switches of torch.backends are."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from typing import Any

PRECISIONS = ("none", "ieee", "tf32", "bf16")


class Switches(types.ModuleType):
    """A module with switches: names in ``_booleans`` take bools, in ``_precisions`` a precision.

    Switches are remembered and answered; the kernels of the CPU are always exact and
    deterministic. A module whose switches reach a library has a function ``_changed``.
    """

    _booleans: dict[str, str]
    _precisions: tuple[str, ...]

    def __setattr__(self, name: str, value: Any) -> None:
        known = self.__dict__
        setter = known.get("_booleans", {}).get(name)
        if setter is not None and not isinstance(value, bool):
            raise RuntimeError(f"{setter} expects a bool, but got {type(value).__name__}")
        if name in known.get("_precisions", ()) and value not in PRECISIONS:
            raise RuntimeError(f"Unknown precision: {value}")
        super().__setattr__(name, value)
        if setter is not None or name in known.get("_precisions", ()):
            known.get("_changed", _remembered)()


def _remembered() -> None:
    """Nothing asks for the switch."""


class Precision:
    """The precision of float32 arithmetic of one kind of op: ``fp32_precision``."""

    def __init__(self, changed: Callable[[], None] = _remembered) -> None:
        self.__dict__.update(fp32_precision="none", _changed=changed)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "fp32_precision":
            raise AttributeError(f"Unknown attribute {name}")
        if value not in PRECISIONS:
            raise RuntimeError(f"Unknown precision: {value}")
        self.__dict__[name] = value
        self.__dict__["_changed"]()


class Restored(contextlib.ContextDecorator):
    """A block, or a decorator of functions, in which some switches of ``module`` have other values.

    None leaves a switch as it is.
    """

    def __init__(self, module: Any, values: dict[str, Any]) -> None:
        self.module = module
        self.values = {name: value for name, value in values.items() if value is not None}

    def _recreate_cm(self) -> Restored:
        return Restored(self.module, self.values)  # each call has its own values to come back to

    def __enter__(self) -> None:
        self.before = {name: getattr(self.module, name) for name in self.values}
        for name, value in self.values.items():
            setattr(self.module, name, value)

    def __exit__(self, *exception: object) -> None:
        for name, value in self.before.items():
            setattr(self.module, name, value)
