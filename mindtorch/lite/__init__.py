"""MindSpore Lite's names: models converted to one file, and that file run.

    converter = mindspore_lite.Converter()
    converter.convert(mindspore_lite.FmkType.MINDIR, "lenet.mindir", "lenet")
    model = mindspore_lite.Model()
    model.build_from_file("lenet.ms", mindspore_lite.ModelType.MINDIR_LITE)

Answers as `mindspore_lite` under the import switch, where the real one is missing.
"""

from __future__ import annotations

from mindtorch import __version__ as __version__

from .context import Context
from .converter import Converter
from .description import described
from .errors import ConvertError, LiteFileError
from .executors import ModelExecutor, MultiModelRunner
from .group import ModelGroup, ModelGroupFlag
from .kinds import FmkType, ModelType
from .model import Model
from .parallel import ModelParallelRunner
from .tensor import DataType, Format, Tensor

__all__ = [
    "Context",
    "ConvertError",
    "Converter",
    "DataType",
    "FmkType",
    "Format",
    "LiteFileError",
    "Model",
    "ModelExecutor",
    "ModelGroup",
    "ModelGroupFlag",
    "ModelParallelRunner",
    "ModelType",
    "MultiModelRunner",
    "Tensor",
    "described",
]
