"""Passes over graphs: shapes, parts."""

from mindtorch.torch._api.public_names import own_names as _own_names

from . import infra, shape_prop, split_module, utils

__all__ = ["infra", "shape_prop", "split_module", "utils"]

_own_names(globals())
