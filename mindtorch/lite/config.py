"""Files of settings for the converter, INI sections as converter_lite's."""

from __future__ import annotations

import configparser
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .errors import ConvertError

__all__ = ["Config", "read_config"]


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text)
        if not least <= number <= most:
            raise ValueError(f"it must be from {least} to {most}")
        return number

    return read


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("it must be true or false")
    return text.lower() == "true"


def _one_of(*names: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.upper() not in names:
            raise ValueError(f"it must be one of {', '.join(names)}")
        return text.upper()

    return read


def _names(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def _paths(text: str) -> dict[str, str]:
    """name:directory, joined by commas."""
    found = {}
    for each in _names(text):
        name, colon, path = each.partition(":")
        if not colon or not name or not path:
            raise ValueError("it must be name:directory")
        found[name] = path
    return found


@dataclass
class Config:
    """What a file of settings says.

    Attributes:
        quant_type: "WEIGHT_QUANT", "FULL_QUANT" or "".
        bit_num: of weights.
        min_quant_weight_size: weights with no more elements stay.
        min_quant_weight_channel: weights with no more channels stay.
        skip_quant_node: names of nodes that stay.
        debug_info_save_path: a folder for the report of what quantisation costs.
        per_channel, bias_correction: of weights.
        activation_quant_method: how ranges follow from examples.
        calibrate_path: {input: folder of examples}; calibrate_size: how many.
    """

    quant_type: str = ""
    bit_num: int = 8
    min_quant_weight_size: int = 0
    min_quant_weight_channel: int = 16
    skip_quant_node: tuple[str, ...] = ()
    debug_info_save_path: str = ""
    per_channel: bool = True
    bias_correction: bool = True
    activation_quant_method: str = "MAX_MIN"
    target_device: str = ""
    calibrate_path: dict[str, str] = field(default_factory=dict)
    calibrate_size: int = 0
    input_type: str = "BIN"
    dequant_strategy: str = ""


_WEIGHTS = {"per_channel": _truth, "bias_correction": _truth}
_SECTIONS: dict[str, dict[str, Callable[[str], Any]]] = {
    "common_quant_param": {
        "quant_type": _one_of("WEIGHT_QUANT", "FULL_QUANT"), "bit_num": _whole(1, 16),
        "min_quant_weight_size": _whole(0, 1 << 31), "skip_quant_node": _names,
        "min_quant_weight_channel": _whole(0, 1 << 31), "debug_info_save_path": str,
    },
    "weight_quant_param": {**_WEIGHTS},
    "full_quant_param": {
        **_WEIGHTS, "activation_quant_method": _one_of("MAX_MIN", "KL", "REMOVAL_OUTLIER"),
        "target_device": _one_of("CPU", "NONE"),
    },
    "data_preprocess_param": {
        "calibrate_path": _paths, "calibrate_size": _whole(1, 65535), "input_type": _one_of("BIN"),
    },
}  # fmt: skip


def read_config(path: str | os.PathLike[str]) -> Config:
    """The settings of a file.

    Raises:
        ConvertError: it cannot be read, or has a section, key or value that is not supported.
    """
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    try:
        with open(path, encoding="utf-8") as file:
            parser.read_file(file)
    except (OSError, configparser.Error, UnicodeDecodeError) as error:
        raise ConvertError(f"configFile {os.fspath(path)}: {error}") from None
    made = Config()
    for section in parser.sections():
        known = _SECTIONS.get(section)
        if known is None:
            raise ConvertError(
                f"configFile: the section [{section}] is not supported; known are "
                + ", ".join(f"[{name}]" for name in _SECTIONS)
            )
        for key, text in parser.items(section):
            if key not in known:
                raise ConvertError(f"configFile: {key} of [{section}] is not supported")
            try:
                setattr(made, key, known[key](text.strip()))
            except ValueError as error:
                raise ConvertError(f"configFile: {key}={text} of [{section}]: {error}") from None
    return _checked(made)


def _checked(made: Config) -> Config:
    if not made.quant_type:
        raise ConvertError("configFile: [common_quant_param] has no quant_type")
    if made.quant_type == "FULL_QUANT":
        if made.bit_num != 8:
            raise ConvertError("configFile: bit_num of FULL_QUANT must be 8")
        if not made.calibrate_path or not made.calibrate_size:
            raise ConvertError(
                "configFile: FULL_QUANT needs calibrate_path and calibrate_size of "
                "[data_preprocess_param]"
            )
    return made
