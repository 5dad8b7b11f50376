"""Files of settings for the converter, INI sections as converter_lite's."""

from __future__ import annotations

import configparser
import math
import os
from collections.abc import Callable, Mapping
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
        for name in names:
            if text.upper() == name.upper():
                return name
        raise ValueError(f"it must be one of {', '.join(names)}")

    return read


def _names(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def _numbers(text: str) -> tuple[float, ...]:
    """[127.5, 127.5] or without brackets."""
    numbers = tuple(float(each) for each in text.strip("[]").split(","))
    if not all(map(math.isfinite, numbers)):
        raise ValueError("it must be numbers")
    return numbers


def _nonzero(text: str) -> tuple[float, ...]:
    numbers = _numbers(text)
    if 0 in numbers:
        raise ValueError("it must not be 0")
    return numbers


def _part(text: str) -> float:
    number = float(text)
    if not 0 < number < 1:
        raise ValueError("it must be between 0 and 1")
    return number


def _only(word: str, why: str) -> Callable[[str], Any]:
    """The one value of a key that is supported."""

    def read(text: str) -> str:
        if text.lower() != word:
            raise ValueError(f"only {word} is supported: {why}")
        return word

    return read


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
        quant_type: "WEIGHT_QUANT", "FULL_QUANT", "DYNAMIC_QUANT" or "".
        bit_num: of weights; 0: of each layer as many as the budget of errors needs.
        min_quant_weight_size: weights with no more elements stay.
        min_quant_weight_channel: weights with no more channels stay.
        skip_quant_node: names of nodes that stay.
        debug_info_save_path: a folder for the report of what quantisation costs.
        per_channel, bias_correction: of weights.
        init_scale: the budget, the mean relative error of a layer's channels; auto_tune: whether
            the largest one is searched that leaves the outputs a cosine similarity of 0.995.
        quant_strategy: "ALWC" or "ACWL": which of activations and weights has one scale for all.
        activation_quant_method: how ranges follow from examples.
        calibrate_path: {input: folder of examples}; calibrate_size: how many.
        input_type: "BIN" or "IMAGE": what examples are; the settings below are of images.
        enable_micro: whether C code is written; target: for which devices.
    """

    quant_type: str = ""
    bit_num: int = 8
    min_quant_weight_size: int = 0
    min_quant_weight_channel: int = 16
    skip_quant_node: tuple[str, ...] = ()
    debug_info_save_path: str = ""
    per_channel: bool = True
    bias_correction: bool = True
    init_scale: float = 0.02
    auto_tune: bool = False
    quant_strategy: str = "ALWC"
    activation_quant_method: str = "MAX_MIN"
    target_device: str = ""
    calibrate_path: dict[str, str] = field(default_factory=dict)
    calibrate_size: int = 0
    input_type: str = "BIN"
    image_to_format: str = "BGR"
    normalize_mean: tuple[float, ...] = ()
    normalize_std: tuple[float, ...] = ()
    resize_width: int = 0
    resize_height: int = 0
    resize_method: str = ""
    center_crop_width: int = 0
    center_crop_height: int = 0
    enable_micro: bool = False
    target: str = "x86"


_WEIGHTS = {"per_channel": _truth, "bias_correction": _truth}
_LENGTH = _whole(1, 65535)
_IMAGES = {
    "image_to_format": _one_of("RGB", "GRAY", "BGR"), "normalize_mean": _numbers,
    "normalize_std": _nonzero, "resize_width": _LENGTH, "resize_height": _LENGTH,
    "resize_method": _one_of("LINEAR", "NEAREST", "CUBIC"), "center_crop_width": _LENGTH,
    "center_crop_height": _LENGTH,
}  # fmt: skip
_SECTIONS: dict[str, dict[str, Callable[[str], Any]]] = {
    "common_quant_param": {
        "quant_type": _one_of("WEIGHT_QUANT", "FULL_QUANT", "DYNAMIC_QUANT"),
        "bit_num": _whole(0, 16), "min_quant_weight_size": _whole(0, 1 << 31),
        "skip_quant_node": _names, "min_quant_weight_channel": _whole(0, 1 << 31),
        "debug_info_save_path": str,
        "enable_encode": _only("true", "numbers of few bits are always kept in few bits"),
    },
    "weight_quant_param": {**_WEIGHTS},
    "mixed_bit_weight_quant_param": {"init_scale": _part, "auto_tune": _truth},
    "dynamic_quant_param": {"quant_strategy": _one_of("ALWC", "ACWL")},
    "full_quant_param": {
        **_WEIGHTS, "activation_quant_method": _one_of("MAX_MIN", "KL", "REMOVAL_OUTLIER"),
        "target_device": _one_of("CPU", "NONE"),
    },
    "data_preprocess_param": {
        "calibrate_path": _paths, "calibrate_size": _LENGTH, "input_type": _one_of("BIN", "IMAGE"),
        **_IMAGES,
    },
    "micro_param": {
        "enable_micro": _truth, "target": _one_of("x86", "Cortex-M", "ARM32", "ARM64", "RISCV"),
        "support_parallel": _only("false", "the code runs on one core"),
        "debug_mode": _only("false", "the code prints nothing"),
        "codegen_mode": _only("inference", "mindtorch.lite.micro.generate_training writes a step"),
    },
}  # fmt: skip


def read_config(
    path: str | os.PathLike[str] = "", given: Mapping[str, Mapping[str, str]] | None = None
) -> Config:
    """The settings of a file.

    Args:
        path: the file; empty: there is none.
        given: further settings by section, which go before those of the file.

    Raises:
        ConvertError: it cannot be read, or has a section, key or value that is not supported.
    """
    parser = configparser.ConfigParser(
        interpolation=None, strict=True, inline_comment_prefixes=("#",)
    )
    try:
        if path:
            with open(path, encoding="utf-8") as file:
                parser.read_file(file)
        parser.read_dict(given or {})
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
    kind = made.quant_type
    _check_images(made)
    if not kind and not made.enable_micro:
        raise ConvertError("configFile: [common_quant_param] has no quant_type")
    if kind in ("FULL_QUANT", "DYNAMIC_QUANT") and made.bit_num != 8:
        raise ConvertError(f"configFile: bit_num of {kind} must be 8")
    if kind == "FULL_QUANT" and not made.calibrate_path:
        raise ConvertError(
            "configFile: FULL_QUANT needs calibrate_path and calibrate_size of "
            "[data_preprocess_param]"
        )
    if bool(made.calibrate_path) != bool(made.calibrate_size):
        raise ConvertError("configFile: calibrate_path and calibrate_size belong together")
    if made.auto_tune and (kind, made.bit_num) != ("WEIGHT_QUANT", 0):
        raise ConvertError("configFile: auto_tune is of WEIGHT_QUANT with bit_num=0")
    if made.enable_micro:
        _check_micro(made)
    return made


def _check_micro(made: Config) -> None:
    """Raise where C code would not follow the settings."""
    if made.quant_type not in ("", "FULL_QUANT"):
        raise ConvertError(
            f"configFile: [micro_param] with {made.quant_type}: C code is of float32 or, with "
            "FULL_QUANT, of int8"
        )
    default = Config()
    for key in ("activation_quant_method", "per_channel", "skip_quant_node",
                "debug_info_save_path"):  # fmt: skip
        if made.quant_type and getattr(made, key) != getattr(default, key):
            raise ConvertError(f"configFile: {key} is not supported with [micro_param]")


def _check_images(made: Config) -> None:
    """Raise where settings of images do not fit together."""
    given = [key for key in _IMAGES if getattr(made, key) != getattr(Config, key)]
    if given and made.input_type != "IMAGE":
        raise ConvertError(f"configFile: {given[0]} is of images: input_type=IMAGE")
    for keys in (
        ("normalize_mean", "normalize_std"), ("center_crop_width", "center_crop_height"),
        ("resize_width", "resize_height", "resize_method"),
    ):  # fmt: skip
        if any(key in given for key in keys) and not all(key in given for key in keys):
            raise ConvertError(f"configFile: {', '.join(keys)} belong together")
    channels = 1 if made.image_to_format == "GRAY" else 3
    for key in ("normalize_mean", "normalize_std"):
        if getattr(made, key) and len(getattr(made, key)) != channels:
            raise ConvertError(f"configFile: {key} must have {channels} numbers, one a channel")
