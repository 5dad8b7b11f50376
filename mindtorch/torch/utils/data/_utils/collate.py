"""How a list of samples becomes a batch."""

from mindtorch.torch.utils.data.collate import NOT_NUMERIC as np_str_obj_array_pattern  # noqa: N811
from mindtorch.torch.utils.data.collate import collate as collate
from mindtorch.torch.utils.data.collate import collate_float_fn as collate_float_fn
from mindtorch.torch.utils.data.collate import collate_int_fn as collate_int_fn
from mindtorch.torch.utils.data.collate import collate_numpy_array_fn as collate_numpy_array_fn
from mindtorch.torch.utils.data.collate import collate_numpy_scalar_fn as collate_numpy_scalar_fn
from mindtorch.torch.utils.data.collate import collate_str_fn as collate_str_fn
from mindtorch.torch.utils.data.collate import collate_tensor_fn as collate_tensor_fn
from mindtorch.torch.utils.data.collate import default_collate as default_collate
from mindtorch.torch.utils.data.collate import (
    default_collate_err_msg_format as default_collate_err_msg_format,
)
from mindtorch.torch.utils.data.collate import default_collate_fn_map as default_collate_fn_map
from mindtorch.torch.utils.data.collate import default_convert as default_convert

__all__ = [
    "collate", "default_collate", "default_collate_err_msg_format", "default_convert",
    "np_str_obj_array_pattern",
]  # fmt: skip
