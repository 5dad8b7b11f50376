"""MIOpen, which computes convolutions on AMD's GPUs: not here; its switch is remembered."""

from __future__ import annotations

import sys

from mindtorch._module_class import set_module_class

from ._flags import Restored, Switches

immediate = False
_booleans = {"immediate": "set_immediate_miopen"}


def set_flags(_immediate: bool) -> tuple[bool]:
    """Set the switch; returns its former value.

    Args:
        _immediate: the first algorithm that is found is taken.
    """
    module = sys.modules[__name__]
    before: bool = vars(module)["immediate"]
    setattr(module, "immediate", _immediate)  # noqa: B010
    return (before,)


def flags(immediate: bool = False) -> Restored:
    """A block in which the switch has another value.

    Args:
        immediate: the first algorithm that is found is taken.
    """
    return Restored(sys.modules[__name__], {"immediate": immediate})


set_module_class(__name__, Switches)
