"""On what a model runs. Here that is the CPU; the other devices' descriptions are checked and kept,
so that a configuration written for them is read."""

from __future__ import annotations

from typing import Any

from mindtorch.serving.checks import check_bool, check_int, check_str, integers

__all__ = [
    "AclOptions",
    "AscendDeviceInfo",
    "CPUDeviceInfo",
    "Context",
    "GPUDeviceInfo",
    "GpuOptions",
]

_HALF = ("origin", "fp16")


class _DeviceInfo:
    device_type = ""
    choices: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - of each option; () is any text

    def __init__(self, **kwargs: str) -> None:
        for name, value in kwargs.items():
            if name not in self.choices:
                raise RuntimeError(
                    f"Set {self.device_type} device info failed, unsupported option {name}"
                )
            check_str(name, value)
            allowed = self.choices[name]
            if allowed and value not in allowed:
                wanted = ", ".join(repr(each) for each in allowed)
                raise RuntimeError(f"'{name}' can only be {wanted}, actually given '{value}'")
        self.options = kwargs


class CPUDeviceInfo(_DeviceInfo):
    """The CPU. `precision_mode`: "origin"; "fp16" is refused when the model is loaded."""

    device_type = "cpu"
    choices = {"precision_mode": _HALF}  # noqa: RUF012


class GPUDeviceInfo(_DeviceInfo):
    """A GPU: checked and kept, models run on the CPU."""

    device_type = "gpu"
    choices = {"precision_mode": _HALF}  # noqa: RUF012


class AscendDeviceInfo(_DeviceInfo):
    """Ascend: checked and kept, models run on the CPU."""

    device_type = "ascend"
    choices = {  # noqa: RUF012
        "insert_op_cfg_path": (),
        "input_format": ("ND", "NCHW", "NHWC", "CHWN", "NC1HWC0", "NHWC1C0"),
        "input_shape": (),
        "output_type": ("FP32", "FP16", "UINT8"),
        "precision_mode": ("force_fp16", "allow_fp32_to_fp16", "must_keep_origin_dtype",
                           "allow_mix_precision"),
        "op_select_impl_mode": ("high_performance", "high_precision"),
        "fusion_switch_config_path": (),
        "buffer_optimize_mode": ("l1_optimize", "l2_optimize", "off_optimize",
                                 "l1_and_l2_optimize"),
    }  # fmt: skip


class Context:
    """How a model runs.

    Args:
        thread_num: threads of its kernels; without, the cores are shared by a servable's workers.
        thread_affinity_core_list: the cores its worker may use.
        enable_parallel: checked; stages of one worker run one after another.
    """

    def __init__(self, **kwargs: Any) -> None:
        unknown = kwargs.keys() - {"thread_num", "thread_affinity_core_list", "enable_parallel"}
        if unknown:
            raise RuntimeError(f"Set context failed, unsupported option {sorted(unknown)[0]}")
        self.thread_num: int | None = kwargs.get("thread_num")
        if self.thread_num is not None:
            check_int("thread_num", self.thread_num, 1)
        cores = kwargs.get("thread_affinity_core_list", ())
        self.thread_affinity_core_list = integers("thread_affinity_core_list", cores)
        check_bool("enable_parallel", kwargs.get("enable_parallel", False))
        self.device_list: list[_DeviceInfo] = []

    def append_device_info(self, device_info: _DeviceInfo) -> None:
        """Add what is to be known of one device.

        Args:
            device_info: a `CPUDeviceInfo`, `GPUDeviceInfo` or `AscendDeviceInfo`, one of each.
        """
        if not isinstance(device_info, _DeviceInfo):
            raise RuntimeError(
                "Parameter 'device_info' should instance of CPUDeviceInfo, GPUDeviceInfo, or "
                f"AscendDeviceInfo, but actually {type(device_info)}"
            )
        if any(type(each) is type(device_info) for each in self.device_list):
            raise RuntimeError(
                f"Device info of type {device_info.device_type} has already been appended"
            )
        self.device_list.append(device_info)

    @property
    def in_half(self) -> bool:
        """Whether the CPU's part asks for float16."""
        return any(
            isinstance(each, CPUDeviceInfo) and each.options.get("precision_mode") == "fp16"
            for each in self.device_list
        )


class AclOptions:
    """Superseded by `AscendDeviceInfo`, whose arguments it takes."""

    def __init__(self, **kwargs: str) -> None:
        self.context = Context()
        self.context.append_device_info(AscendDeviceInfo(**kwargs))


class GpuOptions:
    """Superseded by `GPUDeviceInfo`, whose arguments it takes."""

    def __init__(self, **kwargs: str) -> None:
        self.context = Context()
        self.context.append_device_info(GPUDeviceInfo(**kwargs))
