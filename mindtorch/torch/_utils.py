"""What files and libraries name as ``torch._utils.<name>``."""

from __future__ import annotations

from typing import Any

from mindtorch import torch

from ._compat.utils_helpers import classproperty as classproperty
from ._compat.utils_helpers import element_size as _element_size
from ._compat.utils_helpers import flatten_dense_tensors as _flatten_dense_tensors
from ._compat.utils_helpers import get_available_device_type as _get_available_device_type
from ._compat.utils_helpers import get_device_index as _get_device_index
from ._compat.utils_helpers import get_device_module as _get_device_module
from ._compat.utils_helpers import unflatten_dense_tensors as _unflatten_dense_tensors
from ._tensor import rebuild
from ._tensor.rebuild import REBUILDERS as REBUILDERS
from ._tensor.rebuild import rebuilder
from ._tensor.rebuild import reduce_tensor as reduce_tensor
from ._tensor.rebuild import set_state as _set_state
from ._tensor.rebuild import tensor_from_storage as _tensor_from_storage
from .nn.parameter import reduce_parameter as reduce_parameter

__all__ = [
    "REBUILDERS", "_element_size", "_flatten_dense_tensors", "_get_available_device_type",
    "_get_device_index", "_get_device_module", "_set_state", "_tensor_from_storage",
    "_unflatten_dense_tensors", "classproperty", "reduce_parameter", "reduce_tensor",
]  # fmt: skip

_rebuild_from_type_v2 = rebuild._rebuild_from_type_v2


@rebuilder
def _rebuild_sparse_tensor(layout: Any, data: Any) -> Any:
    """A sparse tensor from its layout and its parts, which are checked to fit together."""
    # to import it makes functions ask for sparse tensors
    from .sparse import _compressed, _compressed_creation, _creation

    if repr(layout) == "torch.sparse_coo":
        places, held, size, *unique = data
        return _creation.sparse_coo_tensor(
            places, held, size, check_invariants=False, is_coalesced=bool(unique and unique[0])
        )
    if layout not in _compressed.FORMS:
        raise NotImplementedError(f"rebuilding sparse tensor for layout {layout}")
    return _compressed_creation.sparse_compressed_tensor(
        *data, layout=layout, check_invariants=False
    )


@rebuilder
def _rebuild_qtensor(
    storage: Any, storage_offset: int, size: Any, stride: Any, quantizer_params: Any,
    requires_grad: bool, backward_hooks: Any,
) -> Any:  # fmt: skip
    """A quantised tensor from its levels and what they mean."""
    del requires_grad, backward_hooks  # to load the class makes functions ask for its tensors
    return torch._quantized.of_storage(storage, storage_offset, size, stride, quantizer_params)


globals().update(REBUILDERS)
