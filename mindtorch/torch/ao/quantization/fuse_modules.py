"""Modules that become one before they are quantised."""

from __future__ import annotations

import copy
from typing import Any

from mindtorch.torch import nn

from .fuser_method_mappings import get_fuser_method
from .utils import without_parametrizations

__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]


def fuse_known_modules(
    mod_list: Any, is_qat: bool, additional_fuser_method_mapping: Any = None
) -> list[Any]:
    """The modules fused, and an Identity for each but the first.

    Args:
        mod_list: a convolution, a linear map or a batch norm and what follows it.
        is_qat: for quantisation-aware training.
        additional_fuser_method_mapping: further functions that fuse, by tuples of classes.

    Raises:
        AssertionError: modules of these classes are not fused.
    """
    kinds = tuple([without_parametrizations(m) for m in mod_list])
    fused = get_fuser_method(kinds, additional_fuser_method_mapping)(is_qat, *mod_list)
    first, last = mod_list[0], mod_list[-1]
    for hook in first._forward_pre_hooks.values():
        fused.register_forward_pre_hook(hook)
    first._forward_pre_hooks.clear()
    for hook in last._forward_hooks.values():
        fused.register_forward_hook(hook)
    last._forward_hooks.clear()
    rest = [nn.Identity() for _ in mod_list[1:]]
    for each in rest:
        each.training = first.training
    return [fused, *rest]


def _fuse(
    model: Any, names: Any, is_qat: bool, inplace: bool, fuser_func: Any, custom: Any
) -> Any:
    if not inplace:
        model = copy.deepcopy(model)
    groups = [names] if all(isinstance(name, str) for name in names) else names
    more = (custom or {}).get("additional_fuser_method_mapping", {})
    for group in groups:
        found = [model.get_submodule(name) for name in group]
        for name, module in zip(group, fuser_func(found, is_qat, more), strict=True):
            parent, _, own = name.rpartition(".")
            setattr(model.get_submodule(parent), own, module)
    return model


def fuse_modules(
    model: Any, modules_to_fuse: Any, inplace: bool = False, fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:  # fmt: skip
    """The model with modules put into one: convolution or linear map, batch norm, ReLU.

    Args:
        model: in evaluation mode.
        modules_to_fuse: names of modules that follow one another, or a list of such lists.
        inplace: change the model, not a copy.
        fuser_func: gives for modules the fused one and what takes the places of the others.
        fuse_custom_config_dict: has further functions that fuse, as
            ``additional_fuser_method_mapping``.
    """
    return _fuse(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model: Any, modules_to_fuse: Any, inplace: bool = False, fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:  # fmt: skip
    """:func:`fuse_modules` for training: batch norms stay, as a part of the fused module.

    Args:
        model, modules_to_fuse, inplace, fuser_func, fuse_custom_config_dict: as there; the model
            is in training mode.
    """
    return _fuse(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)
