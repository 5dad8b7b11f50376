"""A module that imported real PyTorch above the import switch, as sorted imports have it."""

import importlib
import sys
import warnings
from types import FrameType, ModuleType
from typing import Any

__all__ = ["exchange_earlier_names"]

_ADVICE = (
    "Keep the switch above `import torch`, where formatters leave it: "
    "`from mindtorch.tools import mstorch_enable  # noqa: F401  # isort: skip`, or leave it out "
    "and start the script by `mindtorch run`, or with MINDTORCH_ENABLE=1 in the environment."
)


class _NoCounterpartError(Exception):
    """What a name stands for has no counterpart in mindtorch."""


def exchange_earlier_names(real: dict[str, ModuleType], per_side: set[str]) -> None:
    """Let the names that the importing module took from real PyTorch stand for mindtorch's.

    A real torch under a name of the user's own (``import torch as real``) stays what it is.

    Args:
        real: real torch's modules by name, as they were loaded before the switch.
        per_side: packages that are imported anew for mindtorch, as torchvision.

    Warns:
        UserWarning: names were exchanged, or packages hold on to real torch.

    Raises:
        ImportError: a name has no counterpart, so that the script would mix both.
    """
    frame = _importing_frame()
    if frame is None or "torch" not in real:
        return
    exchanged, failed = [], []
    for name, value in list(frame.f_globals.items()):
        try:
            ours = _counterpart(name, value, real)
        except _NoCounterpartError as error:
            failed.append(f"{name} ({error})")
        else:
            if ours is not None:
                frame.f_globals[name] = ours
                exchanged.append(name)
    where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    if failed:
        raise ImportError(
            f"real PyTorch was imported above `mstorch_enable` ({where}), and mindtorch has no "
            f"{', '.join(failed)}. {_ADVICE}"
        )
    holders = _holders(real, per_side, frame.f_globals)
    if exchanged or holders:
        _warn(frame, exchanged, holders)


def _importing_frame() -> FrameType | None:
    """Where the import of the switch is written."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] not in ("mindtorch", "importlib"):
            return frame
        frame = frame.f_back
    return None


def _counterpart(name: str, value: Any, real: dict[str, ModuleType]) -> Any:
    """What mindtorch has in place of a real torch's module, class or function; else None."""
    if isinstance(value, ModuleType):
        if real.get(value.__name__) is not value or (value is real["torch"] and name != "torch"):
            return None
        return _imported(value.__name__)
    if not isinstance(getattr(value, "__name__", None), str):
        return None
    owners = [
        path
        for path, module in real.items()
        if path.partition(".")[0] == "torch" and vars(module).get(value.__name__) is value
    ]
    if not owners:
        return None
    ours = _imported(min(owners, key=lambda path: (path.count("."), len(path))))
    try:
        return getattr(ours, value.__name__)
    except AttributeError as error:
        raise _NoCounterpartError(str(error)) from None


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _NoCounterpartError(str(error)) from None


def _holders(
    real: dict[str, ModuleType], per_side: set[str], names: dict[str, Any]
) -> list[str]:
    """Packages that the module uses and that bound real torch before the switch."""
    used = {
        str(getattr(value, "__name__", "") if isinstance(value, ModuleType)
            else getattr(value, "__module__", "")).partition(".")[0]
        for value in names.values()
    }  # fmt: skip
    used -= per_side | {"", "mindtorch", names.get("__name__")}
    found = set()
    for path, module in list(sys.modules.items()):
        package = path.partition(".")[0]
        if package in used and vars(module).get("torch") is real["torch"]:
            found.add(package)
    return sorted(found)


def _warn(frame: FrameType, exchanged: list[str], holders: list[str]) -> None:
    parts = ["real PyTorch was imported above `from mindtorch.tools import mstorch_enable`."]
    if exchanged:
        parts.append(f"Exchanged for mindtorch's here: {', '.join(exchanged)}.")
    if holders:
        parts.append(f"Still on real PyTorch, since imported before: {', '.join(holders)}.")
    warnings.warn_explicit(
        " ".join([*parts, _ADVICE]), UserWarning, frame.f_code.co_filename, frame.f_lineno
    )
