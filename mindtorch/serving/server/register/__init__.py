"""What a `servable_config.py` uses: models, methods and their stages."""

from .device_info import (
    AclOptions,
    AscendDeviceInfo,
    Context,
    CPUDeviceInfo,
    GPUDeviceInfo,
    GpuOptions,
)
from .method import (
    add_stage,
    call_postprocess,
    call_postprocess_pipeline,
    call_preprocess,
    call_preprocess_pipeline,
    call_servable,
    register_method,
)
from .model import Model, declare_model, declare_servable

__all__ = [
    "AclOptions",
    "AscendDeviceInfo",
    "CPUDeviceInfo",
    "Context",
    "GPUDeviceInfo",
    "GpuOptions",
    "Model",
    "add_stage",
    "call_postprocess",
    "call_postprocess_pipeline",
    "call_preprocess",
    "call_preprocess_pipeline",
    "call_servable",
    "declare_model",
    "declare_servable",
    "register_method",
]
