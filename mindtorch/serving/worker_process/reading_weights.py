"""Weights alone, for a function that makes the module."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from mindtorch import torch
from mindtorch.serving.server.register.model import Declaration

from .model_inputs import InputInfo, Read

__all__ = ["make_module", "parameters_of", "read"]


def read(declaration: Declaration, file: Path, key: bytes | None, mode: str) -> Read:
    module = make_module(declaration, file)
    module.load_state_dict(_state(declaration.model_format, file))
    module.eval()
    return module, parameters_of(module.forward), ["output"], 0


def parameters_of(function: Callable[..., Any]) -> list[InputInfo]:
    """The inputs that a forward function must have."""
    parameters = inspect.signature(function).parameters.values()
    return [
        InputInfo(each.name)
        for each in parameters
        if each.default is inspect.Parameter.empty
        and each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]


def _state(model_format: str, file: Path) -> dict[str, Any]:
    if model_format == "safetensors":
        return {name: torch.from_numpy(array) for name, array in load_file(file).items()}
    state = torch.load(file, weights_only=True)
    if not isinstance(state, dict):
        raise RuntimeError(f"{file.name} holds {type(state).__name__}, not a dict of weights")
    return state.get("state_dict", state)


def make_module(declaration: Declaration, file: Path) -> Any:
    maker = declaration.module
    if maker is None:
        raise RuntimeError(
            f"{file.name} holds weights alone: declare_model needs module=, a function that makes "
            'the module, or "file.py:function"'
        )
    if isinstance(maker, str):
        maker = _function_in(maker, (file.parent, file.parent.parent))
    return maker()


def _function_in(text: str, folders: Sequence[Path]) -> Callable[[], Any]:
    """The function of "file.py:function", the file being in one of the folders."""
    name, colon, function = text.partition(":")
    found = [folder / name for folder in folders if (folder / name).is_file()]
    if not colon or not found:
        places = " or ".join(str(folder) for folder in folders)
        raise RuntimeError(f'module="{text}": "file.py:function", the file in {places}')
    spec = importlib.util.spec_from_file_location(found[0].stem, found[0])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[found[0].stem] = module
    spec.loader.exec_module(module)
    try:
        maker: Callable[[], Any] = getattr(module, function)
    except AttributeError:
        raise RuntimeError(f"there is no {function} in {found[0]}") from None
    return maker
