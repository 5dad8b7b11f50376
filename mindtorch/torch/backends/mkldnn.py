"""Switches of oneDNN: remembered; kernels are compiled by numba, not taken from it."""

from __future__ import annotations

import sys

from mindtorch._module_class import set_module_class

from ._flags import Precision, Restored, Switches

_booleans = {
    "enabled": "set_enabled_mkldnn", "deterministic": "set_deterministic_mkldnn",
    "allow_tf32": "_set_onednn_allow_tf32",
}  # fmt: skip
_precisions = ("fp32_precision",)
enabled = True
deterministic = False
allow_tf32 = None
fp32_precision = "none"
matmul = Precision()
conv = Precision()
rnn = Precision()
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2


def is_available() -> bool:
    """False: oneDNN is not used here."""
    return False


def is_acl_available() -> bool:
    return False


def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Restored:  # fmt: skip
    """A block in which the switches have these values."""
    return Restored(sys.modules[__name__], {
        "enabled": enabled, "deterministic": deterministic, "allow_tf32": allow_tf32,
        "fp32_precision": fp32_precision,
    })  # fmt: skip


set_module_class(__name__, Switches)
