"""torch.distributed: several processes that compute together."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._api.shared_docs import TEXTS as _TEXTS

from . import algorithms as algorithms  # isort: skip
from . import _absent_parts as _absent_parts
from . import distributed_c10d as distributed_c10d
from ._bucket import GradBucket as GradBucket
from ._errors import DistBackendError as DistBackendError
from ._errors import DistError as DistError
from ._errors import DistNetworkError as DistNetworkError
from ._errors import DistStoreError as DistStoreError
from ._errors import QueueEmptyError as QueueEmptyError
from ._group import ProcessGroup as ProcessGroup
from ._objects import all_gather_object as all_gather_object
from ._objects import broadcast_object_list as broadcast_object_list
from ._objects import gather_object as gather_object
from ._objects import recv_object_list as recv_object_list
from ._objects import scatter_object_list as scatter_object_list
from ._objects import send_object_list as send_object_list
from ._store import FileStore as FileStore
from ._store import HashStore as HashStore
from ._store import PrefixStore as PrefixStore
from ._store import Store as Store
from ._store import TCPStore as TCPStore
from .device_mesh import DeviceMesh as DeviceMesh
from .device_mesh import init_device_mesh as init_device_mesh
from .distributed_c10d import *  # noqa: F403
from .rendezvous import rendezvous as rendezvous

_LATER = ("autograd", "rpc")


def __getattr__(name: str) -> Any:
    why = ": it is not available in mindtorch (see docs/gaps.md)" if name in _LATER else ""
    raise AttributeError(f"module 'torch.distributed' has no attribute '{name}'{why}")

_TEXTS.add_to(globals().values())

_own_names(globals())
