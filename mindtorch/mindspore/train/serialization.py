"""save_checkpoint, load_checkpoint, load_param_into_net."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array
from mindtorch.torch.nn.modules.module import Module

from .. import communication, log
from ..common.dtype import text_of
from ..common.parameter import Parameter
from . import _checkpoint_format, _safetensors_format

__all__ = ["load_checkpoint", "load_param_into_net", "save_checkpoint"]


_FORMATS: dict[str, Any] = {"ckpt": _checkpoint_format, "safetensors": _safetensors_format}


def _format_of(format: str) -> Any:  # noqa: A002
    if format not in _FORMATS:
        raise ValueError(f"the argument 'format' should be 'ckpt' or 'safetensors', got {format!r}")
    return _FORMATS[format]


def _array_of(name: str, data: Any) -> Any:
    if isinstance(data, EngineTensor):
        return data.asnumpy()
    array = np.asarray(data, np.float32 if isinstance(data, float) else None)
    if array.dtype.kind not in "biufcV" and not isinstance(data, str):
        raise TypeError(f"{name!r} is a {type(data).__name__}, which a checkpoint does not hold")
    return array


def _named(cell: Any) -> list[tuple[str, Any]]:
    """(name, parameter) pairs of a network: by the parameters' names, torch's by their places;
    without those that another pipeline stage has."""
    return [
        (p.name or path, p) for path, p in cell.named_parameters()
        if not getattr(p, "elsewhere", False)
    ]  # fmt: skip


def _whole(value: Any) -> Any:
    """A parameter that lies over processes, from all of them; other values as they are."""
    layout = getattr(value, "layout", None) if isinstance(value, Parameter) else None
    if layout is None:
        return value
    return communication.sharding().gathered_from(value, *layout)


def _entries(save_obj: Any) -> list[tuple[str, Any]]:
    if isinstance(save_obj, Module):
        return _named(save_obj)
    if isinstance(save_obj, dict):
        return list(save_obj.items())
    if isinstance(save_obj, (list, tuple)):
        return [
            (each["name"], each["data"]) if isinstance(each, dict) else (each.name, each)
            for each in save_obj
        ]
    raise TypeError(
        "For 'save_checkpoint', the parameter 'save_obj' must be nn.Cell, list or dict, but got "
        f"{type(save_obj)}."
    )


def save_checkpoint(
    save_obj: Any, ckpt_file_name: str | os.PathLike[str], integrated_save: bool = True,
    async_save: bool = False, append_dict: dict[str, Any] | None = None,
    enc_key: bytes | None = None, enc_mode: str = "AES-GCM",
    choice_func: Callable[[str], bool] | None = None, crc_check: bool = False,
    format: str = "ckpt",  # noqa: A002
) -> None:  # fmt: skip
    """Write parameters to a file, which appears when it is whole.

    Args:
        save_obj: a network, a list of parameters or of {"name", "data"}, or a dict.
        ckpt_file_name: "." and the format is put at its end where it is missing.
        integrated_save: gather parameters that lie over processes, all of which have to save then;
            otherwise this process's parts are written.
        append_dict: further values: numbers, texts, tensors, parameters.
        choice_func: which names are saved.
        crc_check: write MindSpore's checksum, which it compares; one of our own is always there.
        format: "ckpt" or "safetensors".

    Raises:
        NotImplementedError: encryption, or writing in the background.
        ValueError: another format, or two values of one name.
    """
    if enc_key is not None:
        raise NotImplementedError("save_checkpoint(enc_key=...): files are not encrypted")
    if async_save:
        raise NotImplementedError("save_checkpoint(async_save=True) is not implemented")
    form, ending = _format_of(format), f".{format}"
    name = os.fspath(ckpt_file_name)
    path = Path(name if name.endswith(ending) else name + ending)
    rows = _entries(save_obj)
    if choice_func is not None:
        rows = [(key, data) for key, data in rows if choice_func(key)]
    if integrated_save:
        rows = [(key, _whole(data)) for key, data in rows]
    rows += list((append_dict or {}).items())
    if len({key for key, _ in rows}) != len(rows):
        raise ValueError("save_checkpoint(): two values have the same name")
    path.parent.mkdir(parents=True, exist_ok=True)
    form.write(path, [(key, _array_of(key, data)) for key, data in rows], crc_check)


def load_checkpoint(
    ckpt_file_name: str | os.PathLike[str], net: Any = None, strict_load: bool = False,
    filter_prefix: str | Iterable[str] | None = None, dec_key: bytes | None = None,
    dec_mode: str = "AES-GCM", specify_prefix: str | Iterable[str] | None = None,
    choice_func: Callable[[str], bool] | None = None, crc_check: bool = False,
    remove_redundancy: bool = False, format: str = "ckpt",  # noqa: A002
) -> dict[str, Any]:  # fmt: skip
    """{name: Parameter, or text} of a file.

    Args:
        net: load them into this network as well.
        filter_prefix: names that begin so are left out.
        specify_prefix: only names that begin so.
        choice_func: which names are loaded.
        crc_check: warn where the file has no checksum; one that is there is always compared.
        format: "ckpt" or "safetensors".

    Raises:
        ValueError: no such file, no checkpoint, a damaged one, or nothing in it is chosen.
    """
    if dec_key is not None:
        raise NotImplementedError("load_checkpoint(dec_key=...): files are not encrypted")
    if not isinstance(ckpt_file_name, (str, os.PathLike)):
        raise TypeError(
            "For 'load_checkpoint', the argument 'ckpt_file_name' must be string, but got "
            f"{type(ckpt_file_name)}."
        )
    path = Path(os.fspath(ckpt_file_name))
    if remove_redundancy:
        raise NotImplementedError("load_checkpoint(remove_redundancy=True)")
    form = _format_of(format)
    if path.suffix != f".{format}":
        raise ValueError(
            "For 'load_checkpoint', the checkpoint file format must same with 'format', but got "
            f"file_name:'{path}', format:'{format}'"
        )
    if not path.is_file():
        raise ValueError(
            f"For 'load_checkpoint', the checkpoint file: {path} does not exist, please check "
            "whether the 'ckpt_file_name' is correct."
        )
    left_out, only = _prefixes(filter_prefix), _prefixes(specify_prefix)
    parameters: dict[str, Any] = {}
    arrays, checked = form.read(path)
    if crc_check and not checked:
        warnings.warn(
            f"For 'load_checkpoint', {path} does not contain the crc code, please check the file.",
            stacklevel=2,
        )
    for name, array in arrays.items():
        if (left_out and name.startswith(left_out)) or (only and not name.startswith(only)):
            continue
        if choice_func is not None and not choice_func(name):
            continue
        text = isinstance(array, str)
        parameters[name] = array if text else Parameter(from_array(array), name)
    if not parameters:
        raise ValueError(
            f"The loaded parameter dict is empty after filter or specify, please check whether "
            f"the options of 'load_checkpoint' for {path} are right."
        )
    if net is not None:
        load_param_into_net(net, parameters, strict_load)
    return parameters


def _prefixes(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


def load_param_into_net(
    net: Any, parameter_dict: dict[str, Any], strict_load: bool = False,
    remove_redundancy: bool = False,
) -> tuple[list[str], list[str]]:  # fmt: skip
    """Take the elements of ``parameter_dict`` over into a network (or an optimizer). What is not
    there is looked for under a longer name: where "net.fc.weight" is there for "fc.weight", "net."
    is put in front of all names that were not found.

    Args:
        strict_load: float types must be the same; otherwise they are converted.

    Returns:
        (parameters of the network that were not in the dict, names of the dict that are not in
        the network).

    Raises:
        RuntimeError: a shape, or a type, is another one.
    """
    if not isinstance(net, Module):
        raise TypeError(
            f"For 'load_param_into_net', the argument 'net' should be a Cell, but got {type(net)}."
        )
    if not isinstance(parameter_dict, dict):
        raise TypeError(
            "For 'load_param_into_net', the argument 'parameter_dict' should be a dict, but got "
            f"{type(parameter_dict)}."
        )
    if remove_redundancy:
        raise NotImplementedError("load_param_into_net(remove_redundancy=True)")
    for name, value in parameter_dict.items():
        if not isinstance(value, (EngineTensor, str)):
            raise TypeError(
                "For 'parameter_dict', the element in the argument 'parameter_dict' should be a "
                f"'str' and 'Parameter' , but got {name!r}: "
                f"{type(value)}."
            )
    missing, used = {}, set()
    chosen = []
    for name, parameter in _named(net):
        given = parameter_dict.get(name)
        if not isinstance(given, EngineTensor):
            missing[name] = parameter
            continue
        used.add(name)
        layout = getattr(parameter, "layout", None)
        if layout is not None and given.aval.shape != parameter.aval.shape:
            given = communication.sharding().part_of(given, *layout)
        chosen.append((name, parameter, given))
    for name, given in _under_longer_names(missing, parameter_dict).items():
        chosen.append((name, missing.pop(name), given))
    for name, parameter, given in chosen:
        _check(name, parameter, given, strict_load)
    for _, parameter, given in chosen:
        parameter.assign_value(given.detach())
    return list(missing), [name for name in parameter_dict if name not in used]


def _under_longer_names(missing: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """{name: its elements} of those in ``missing`` that have a prefix in ``parameters``."""
    found: dict[str, Any] = {}
    for name in missing:
        prefix = next((n.removesuffix(name) for n in parameters if n.endswith(name)), "")
        if name in found or not prefix:
            continue
        log.warning("For 'load_param_into_net', the prefix %r is left out of names", prefix)
        for other in missing:
            if other not in found and isinstance(parameters.get(prefix + other), EngineTensor):
                found[other] = parameters[prefix + other]
    return found


def _check(name: str, parameter: Any, given: Any, strict: bool) -> None:
    if parameter.aval.shape != given.aval.shape:
        raise RuntimeError(
            f"For 'load_param_into_net', {name} in the argument 'net' should have the same shape "
            f"as {name} in the argument 'parameter_dict'. But got its shape "
            f"{parameter.aval.shape} in the argument 'net' and shape {given.aval.shape} in the "
            "argument 'parameter_dict'."
        )
    have, new = parameter.aval.dtype, given.aval.dtype
    both_float = have.category == new.category == dtypes.FLOAT
    if have is not new and (strict or not both_float):
        raise RuntimeError(
            f"For 'load_param_into_net', {name} in the argument 'net' should have the same type as "
            f"{name} in the argument 'parameter_dict'. But got its type {text_of(have)} in the "
            f"argument 'net' and type {text_of(new)} in the argument 'parameter_dict'."
        )
