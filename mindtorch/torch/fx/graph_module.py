"""Names of torch.fx.graph_module that packages import: see torch.fx."""

from __future__ import annotations

from mindtorch.torch._absent import absent_class, absent_function

from . import _WHY, GraphModule

__all__ = ["GraphModule"]

_MODULE = "torch.fx.graph_module"
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_CodeOnlyModule = absent_class(_MODULE, "_CodeOnlyModule", _WHY)
_copy_attr = absent_function(_MODULE, "_copy_attr", _WHY)
