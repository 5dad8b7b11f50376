"""torch's errors for devices of which there are none here."""

from __future__ import annotations

__all__ = ["missing_device"]

_NOT_COMPILED = {
    "xpu": "Torch not compiled with XPU enabled",
    "mtia": "Torch not compiled with MTIA enabled. Ensure you have `import "
    "mtia.host_runtime.torch_mtia.dynamic_library` in your python src file and include "
    "`//mtia/host_runtime/torch_mtia:torch_mtia` as your target dependency!",
}
_MODULES = ("hpu", "privateuseone")  # which torch imports when they are asked for
_SPELLED = {"vulkan": "Vulkan", "lazy": "Lazy"}


def missing_device(kind: str, copying: bool) -> Exception:
    """The error for a type of device.

    Args:
        copying: data would be copied there; else memory is asked for.
    """
    if kind in _NOT_COMPILED:
        return AssertionError(_NOT_COMPILED[kind])
    if kind in _MODULES:
        return ModuleNotFoundError(f"No module named 'torch.{kind}'")
    if copying and kind != "lazy":
        return RuntimeError(f"PyTorch is not linked with support for {kind} devices")
    return NotImplementedError(
        "Could not run 'aten::empty.memory_format' with arguments from the "
        f"'{_SPELLED.get(kind, kind.upper())}' backend. mindtorch computes on 'cpu' and 'cuda'."
    )
