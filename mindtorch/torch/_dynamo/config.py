"""Settings of torch.compile that scripts change; remembered, without effect on eager runs."""

from __future__ import annotations

import sys
import types
from typing import Any

accumulated_cache_size_limit = 256
allow_unspec_int_on_nn_module = False
assume_static_by_default = True
automatic_dynamic_shapes = True
cache_size_limit = 8
recompile_limit = 8
capture_dynamic_output_shape_ops = False
capture_func_transforms = True
capture_scalar_outputs = False
compiled_autograd = False
disable = False
dynamic_shapes = True
error_on_recompile = False
guard_nn_modules = True
inline_inbuilt_nn_modules = True
optimize_ddp = True
report_guard_failures = True
specialize_int = False
suppress_errors = False
verbose = False


class _Settings(types.ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__ and not name.startswith("__"):
            raise AttributeError(f"torch._dynamo.config.{name} does not exist")
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"torch._dynamo.config.{name} does not exist")


sys.modules[__name__].__class__ = _Settings
