"""What models are, and where they come from, in MindSpore Lite's words."""

from __future__ import annotations

import enum

__all__ = ["FmkType", "ModelType"]


class FmkType(enum.Enum):
    """Where a model comes from."""

    TF = 0
    CAFFE = 1
    ONNX = 2
    MINDIR = 3
    TFLITE = 4
    PYTORCH = 5


class ModelType(enum.IntEnum):
    """What a file is: MindIR, or what the converter writes."""

    MINDIR = 0
    MINDIR_LITE = 4
