"""`mindspore_lite.Converter`: from models to Lite files."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import mindtorch
from mindtorch._distribution import install_extra

from .config import Config, read_config
from .errors import ConvertError, LiteFileError
from .execution import Program
from .file import read, write
from .graph import LiteGraph
from .kinds import FmkType, ModelType
from .passes import run_passes
from .quantization.quantize import quantize
from .tensor import DataType, Format

__all__ = ["Converter", "converted"]

ENDING = ".ms"
_READERS = {
    "MINDIR": "reading_mindir", "ONNX": "reading_onnx", "TFLITE": "reading_tflite",
    "CAFFE": "reading_caffe", "PYTORCH": "importing",
}  # fmt: skip


def converted(
    fmk: str, model_file: str | os.PathLike[str], shapes: Any = None,
    config: Config | None = None, optimize: str = "general", fp16: bool = False,
    key: bytes | None = None, mode: str = "AES-GCM", weight_file: str | os.PathLike[str] = "",
) -> LiteGraph:  # fmt: skip
    """The graph of a file, optimised and quantised.

    Args:
        fmk: "MINDIR", "ONNX", "TFLITE", "CAFFE" or "MSLITE".
        shapes: {input: shape}.
        config: of quantisation.
        optimize: "none" or "general": whether passes run.
        fp16: whether weights are kept in 16 bits.
        weight_file: of Caffe's models.

    Raises:
        ConvertError: as the readers say; another framework.
    """
    if not os.path.isfile(model_file):
        raise ConvertError(f"there is no file {os.fspath(model_file)!r}")
    shapes = shapes or {}
    if weight_file and fmk != "CAFFE":
        raise ConvertError("weight_file: only models of Caffe have one")
    if fmk == "CAFFE":
        if key is not None:
            raise ConvertError("decryptKey: Caffe's files are not encrypted")
        graph = _reader(fmk).graph_of_file(model_file, weight_file, shapes)
    elif fmk in _READERS and fmk != "PYTORCH":
        graph = _reader(fmk).graph_of_file(model_file, shapes, key, mode)
    elif fmk == "MSLITE":
        if shapes:
            raise ConvertError("inputShape: the shapes of a Lite file are changed by Model.resize")
        graph = read(model_file)
    else:
        raise ConvertError(
            f"fmk {fmk} is not supported: only MINDIR, ONNX, TFLITE, CAFFE and MSLITE; "
            "torch's modules are converted by Converter.convert_module"
        )
    graph.information.setdefault("fmk", fmk)
    return finished(graph, config, optimize, fp16)


def _reader(fmk: str) -> Any:
    """The module that reads a framework's models, whose packages may be extras; a runtime alone
    does without.

    Raises:
        ConvertError: these are missing.
    """
    try:
        return importlib.import_module(f"{__package__}.{_READERS[fmk]}")
    except ModuleNotFoundError as error:
        if str(error.name).startswith("mindtorch"):
            raise
        raise ConvertError(
            f"{fmk} files need the package {error.name}: {install_extra('export')}"
        ) from None


def finished(
    graph: LiteGraph, config: Config | None = None, optimize: str = "general", fp16: bool = False
) -> LiteGraph:
    """Passes and quantisation."""
    graph.information["producer"] = f"mindtorch {mindtorch.__version__}"
    if optimize not in ("none", "general"):
        raise ConvertError(f"optimize {optimize!r} is not supported: only 'none' and 'general'")
    if optimize == "general":
        graph.information["passes"] = run_passes(graph)
    if fp16 and config is not None:
        if config.quant_type == "DYNAMIC_QUANT" or config.enable_micro:
            raise ConvertError("fp16: DYNAMIC_QUANT and C code compute in float32")
    if config is not None and not config.enable_micro:
        quantize(graph, config)
    if fp16:
        store_half(graph)
    return graph


def store_half(graph: LiteGraph) -> None:
    """Keep float32 weights in 16 bits; they are computed with in 32.

    Raises:
        ConvertError: a weight is beyond what 16 bits hold.
    """
    for tensor in graph.tensors:
        if tensor.data is None or tensor.quantization is not None or tensor.data.ndim == 0:
            continue
        if tensor.data.dtype == np.float32:
            with np.errstate(over="ignore"):
                half = tensor.data.astype(np.float16)
            if np.isinf(half).any() and not np.isinf(tensor.data).any():
                raise ConvertError(f"fp16: the weight {tensor.name!r} is beyond 65504")
            tensor.data = half


class Converter:
    """Makes Lite files.

    Attributes:
        input_shape: {input: shape}, for inputs whose lengths are open.
        optimize: "general" (folding and fusion) or "none".
        weight_fp16: whether weights are kept in 16 bits.
        save_type, input_format, input_data_type, output_data_type: as written.
        decrypt_key, decrypt_mode: of an encrypted MindIR file; the key in hexadecimal digits.
        infer: whether the result is run once with zeros before it is written.
        config_info: settings by section, as in a file of settings.
        seconds: how long the last conversion took.

    Raises:
        ConvertError: an option or its value is not supported.
    """

    def __init__(self) -> None:
        self.input_shape: dict[str, Sequence[int]] = {}
        self.optimize = "general"
        self.weight_fp16 = False
        self.decrypt_key = ""
        self.decrypt_mode = "AES-GCM"
        self.infer = False
        self.seconds = 0.0
        self.config_info: dict[str, dict[str, str]] = {}

    def set_config_info(self, section: str = "", config_info: Any = None) -> None:
        """Give settings that could stand in a file.

        Args:
            section: of the file, without brackets.
            config_info: texts by key.

        Raises:
            TypeError: these are no texts by key.
        """
        given = {} if config_info is None else config_info
        if not isinstance(section, str):
            raise TypeError(f"section must be str, but got {type(section)}.")
        if not isinstance(given, dict):
            raise TypeError(f"config_info must be dict, but got {type(given)}.")
        for each in (*given, *given.values()):
            if not isinstance(each, str):
                raise TypeError(f"config_info element must be str, but got {type(each)}.")
        if section and given:
            self.config_info[section] = dict(given)

    def get_config_info(self) -> dict[str, dict[str, str]]:
        """The settings that :meth:`set_config_info` was given, by section."""
        return self.config_info

    def _config(self, config_file: str) -> Config | None:
        if not config_file and not self.config_info:
            return None
        return read_config(config_file, self.config_info)

    def _only(self, name: str, value: Any, allowed: Any) -> None:
        if value not in allowed:
            known = ", ".join(map(str, allowed))
            raise ConvertError(f"{name} {value} is not supported: only {known}")

    def _key(self) -> bytes | None:
        try:
            return bytes.fromhex(self.decrypt_key) or None
        except ValueError:
            raise ConvertError("decrypt_key must be hexadecimal digits") from None

    @property
    def save_type(self) -> Any:
        return ModelType.MINDIR_LITE

    @save_type.setter
    def save_type(self, value: Any) -> None:
        self._only("save_type", value, (self.save_type,))

    @property
    def input_format(self) -> Format:
        return Format.NCHW

    @input_format.setter
    def input_format(self, value: Format) -> None:
        self._only("input_format", value, (Format.NCHW,))

    @property
    def input_data_type(self) -> DataType:
        return DataType.FLOAT32

    @input_data_type.setter
    def input_data_type(self, value: DataType) -> None:
        self._only("input_data_type", value, (DataType.FLOAT32,))

    @property
    def output_data_type(self) -> DataType:
        return DataType.FLOAT32

    @output_data_type.setter
    def output_data_type(self, value: DataType) -> None:
        self._only("output_data_type", value, (DataType.FLOAT32,))

    def convert(
        self, fmk_type: FmkType, model_file: str, output_file: str, weight_file: str = "",
        config_file: str = "",
    ) -> None:  # fmt: skip
        """Make a Lite file of a model's file.

        Args:
            fmk_type: what the file is: MINDIR, ONNX, TFLITE or CAFFE.
            model_file: the model; Caffe's description of it (prototxt).
            output_file: where the result goes; ".ms" is added where it has no ending. The folder
                of the C project, where the settings ask for one.
            weight_file: Caffe's weights (caffemodel).
            config_file: INI sections of quantisation and of C code.

        Raises:
            ConvertError: the model cannot be converted, or an option is not supported.
        """
        if not isinstance(fmk_type, FmkType):
            raise TypeError(f"fmk_type must be FmkType, but got {type(fmk_type)}.")
        self.convert_file(fmk_type.name, model_file, output_file, weight_file, config_file)

    def convert_file(
        self, fmk: str, model_file: str, output_file: str, weight_file: str = "",
        config_file: str = "",
    ) -> None:  # fmt: skip
        """:meth:`convert` for the command line's words, which have "MSLITE", too: a Lite file."""
        began = time.perf_counter()
        config = self._config(config_file)
        graph = converted(
            fmk, model_file, self.input_shape, config, self.optimize, self.weight_fp16,
            self._key(), self.decrypt_mode, weight_file,
        )  # fmt: skip
        self._save(graph, config, output_file, began)

    def convert_module(
        self, model: Any, inputs: Sequence[Any], output_file: str, config_file: str = "",
        open_batch: bool | None = None,
    ) -> None:  # fmt: skip
        """Make a Lite file of a module (torch's or MindSpore's) or a function of tensors.

        Args:
            inputs: examples.
            open_batch: whether the batch may be another later; None: where the model allows it.

        Raises:
            ConvertError: as :meth:`convert`.
        """
        began = time.perf_counter()
        config = self._config(config_file)
        graph = _reader("PYTORCH").from_model(model, inputs, open_batch)
        graph.information["fmk"] = "PYTORCH"
        made = finished(graph, config, self.optimize, self.weight_fp16)
        self._save(made, config, output_file, began)

    def _save(
        self, graph: LiteGraph, config: Config | None, output_file: str, began: float
    ) -> None:
        if config is not None and config.enable_micro:
            # with all writers of C, which files do not need
            code = importlib.import_module(f"{__package__}.micro.lite_graphs")
            code.write_project(graph, config, output_file)
            self.seconds = time.perf_counter() - began
            return
        # what can be written can be run; this compiles the kernels, which are kept
        try:
            program = Program(graph, graph.lengths, {})
            if self.infer:
                program.run([np.zeros(a.size, a.dtype.np) for a in program.input_avals])
        except LiteFileError as error:
            raise ConvertError(str(error)) from error
        write(graph, with_ending(output_file))
        self.seconds = time.perf_counter() - began


def with_ending(path: str | os.PathLike[str]) -> str:
    """A file's name, ".ms" added where it has no ending."""
    path = os.fspath(path)
    return path if path.endswith(ENDING) else path + ENDING
