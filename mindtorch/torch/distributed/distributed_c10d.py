"""torch.distributed: groups of processes and what they do together."""

from __future__ import annotations

import sys
from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from ._collectives import all_gather as all_gather
from ._collectives import all_gather_into_tensor as all_gather_into_tensor
from ._collectives import all_reduce as all_reduce
from ._collectives import all_to_all as all_to_all
from ._collectives import all_to_all_single as all_to_all_single
from ._collectives import barrier as barrier
from ._collectives import broadcast as broadcast
from ._collectives import gather as gather
from ._collectives import monitored_barrier as monitored_barrier
from ._collectives import reduce as reduce
from ._collectives import reduce_scatter as reduce_scatter
from ._collectives import reduce_scatter_tensor as reduce_scatter_tensor
from ._collectives import scatter as scatter
from ._messages import P2POp as P2POp
from ._messages import batch_isend_irecv as batch_isend_irecv
from ._messages import irecv as irecv
from ._messages import isend as isend
from ._messages import other_process as other_process
from ._messages import recv as recv
from ._messages import send as send
from ._tensors import check_tensor as check_tensor
from ._tensors import place_in as place_in
from ._world import Backend as Backend
from ._world import GroupMember as GroupMember
from ._world import ReduceOp as ReduceOp
from ._world import Work as Work
from ._world import default_pg_timeout as default_pg_timeout
from ._world import destroy_process_group as destroy_process_group
from ._world import get_backend as get_backend
from ._world import get_default_backend_for_device as get_default_backend_for_device
from ._world import get_global_rank as get_global_rank
from ._world import get_group_rank as get_group_rank
from ._world import get_node_local_rank as get_node_local_rank
from ._world import get_process_group_ranks as get_process_group_ranks
from ._world import get_rank as get_rank
from ._world import get_world_size as get_world_size
from ._world import group as group
from ._world import group_of as group_of
from ._world import init_process_group as init_process_group
from ._world import is_available as is_available
from ._world import is_backend_available as is_backend_available
from ._world import is_gloo_available as is_gloo_available
from ._world import is_initialized as is_initialized
from ._world import is_mpi_available as is_mpi_available
from ._world import is_nccl_available as is_nccl_available
from ._world import is_outside as is_outside
from ._world import is_torchelastic_launched as is_torchelastic_launched
from ._world import is_ucc_available as is_ucc_available
from ._world import is_xccl_available as is_xccl_available
from ._world import new_group as new_group
from ._world import new_subgroups as new_subgroups
from ._world import new_subgroups_by_enumeration as new_subgroups_by_enumeration
from ._world import supports_complex as supports_complex

__all__ = [
    "Backend", "GroupMember", "P2POp", "ReduceOp", "Work", "all_gather", "all_gather_into_tensor",
    "all_reduce", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast",
    "default_pg_timeout", "destroy_process_group", "gather", "get_backend",
    "get_default_backend_for_device", "get_global_rank", "get_group_rank", "get_node_local_rank",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group",
    "irecv", "is_available", "is_backend_available", "is_gloo_available", "is_initialized",
    "is_mpi_available",
    "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available",
    "isend", "monitored_barrier", "new_group", "new_subgroups", "new_subgroups_by_enumeration",
    "recv", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "send", "supports_complex",
]  # fmt: skip

_own_names(globals())


def __getattr__(name: str) -> Any:
    """What PyTorch has in this file, and here other files of the package: stores, objects."""
    package = sys.modules[__package__ or ""]
    if name[:2] == "__" or name not in vars(package):
        raise AttributeError(
            f"module 'torch.distributed.distributed_c10d' has no attribute '{name}'"
        )
    return vars(package)[name]
