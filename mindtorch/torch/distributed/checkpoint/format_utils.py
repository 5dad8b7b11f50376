"""Checkpoints of several processes as files of ``torch.save``, and the other way."""

from __future__ import annotations

import os
import warnings
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch._compat.unsupported_names import absent_class

from .state_dict_loader import load_from_keys
from .state_dict_saver import save

__all__ = [
    "BroadcastingTorchSaveReader", "DynamicMetaLoadPlanner", "dcp_to_torch_save",
    "torch_save_to_dcp",
]  # fmt: skip

_WHY = "a file of torch.save is loaded by torch.load, or made a checkpoint by torch_save_to_dcp"
_HERE = "torch.distributed.checkpoint.format_utils"

BroadcastingTorchSaveReader = absent_class(_HERE, "BroadcastingTorchSaveReader", _WHY)
DynamicMetaLoadPlanner = absent_class(_HERE, "DynamicMetaLoadPlanner", _WHY)


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Write a checkpoint's nested state as one file of ``torch.save``, in this process.

    Args:
        dcp_checkpoint_dir: the checkpoint's folder.
        torch_save_path: the file.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled")
        state = load_from_keys(checkpoint_id=dcp_checkpoint_dir, no_dist=True)
    torch.save(state, torch_save_path)


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Write what a file of ``torch.save`` holds as a checkpoint, in this process.

    Args:
        torch_save_path: the file; everything in it is unpickled.
        dcp_checkpoint_dir: the checkpoint's folder.
    """
    state: Any = torch.load(torch_save_path, weights_only=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled")
        save(state, checkpoint_id=dcp_checkpoint_dir, no_dist=True)
