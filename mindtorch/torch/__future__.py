"""How modules are converted and loaded: switches that are off in PyTorch until further notice."""

from __future__ import annotations

__all__ = [
    "get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion", "set_swap_module_params_on_conversion",
]  # fmt: skip

_switches = {"overwrite": False, "swap": False}


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether ``module.to()`` and its like make new parameters, in place of new data for the old.

    Args:
        value: True for new parameters; views and other holders keep the old ones then.
    """
    _switches["overwrite"] = value


def get_overwrite_module_params_on_conversion() -> bool:
    """What ``set_overwrite_module_params_on_conversion`` was given last; False at first."""
    return _switches["overwrite"]


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether conversions and ``load_state_dict`` use ``torch.utils.swap_tensors``.

    Args:
        value: True: a parameter stays the same object and takes over all that the converted tensor
            is, its class included; loading asks ``Tensor.module_load``. It goes before overwriting.
    """
    _switches["swap"] = value


def get_swap_module_params_on_conversion() -> bool:
    """What ``set_swap_module_params_on_conversion`` was given last; False at first."""
    return _switches["swap"]
