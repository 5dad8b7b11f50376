"""What libraries ask about the backward pass under way, and about hooks on saved tensors."""

from __future__ import annotations

from mindtorch.engine.autograd.backward import running
from mindtorch.engine.autograd.saved_tensors import SavedTensor as SavedTensor
from mindtorch.torch.autograd.graph import hooks_allowed as _saved_tensors_hooks_is_enabled

__all__ = [
    "SavedTensor", "_get_current_graph_task_keep_graph", "_saved_tensors_hooks_is_enabled",
]  # fmt: skip


def _get_current_graph_task_keep_graph() -> bool:
    """Whether the pass under way keeps what nodes saved."""
    return not running() or running()[-1].retain_graph
