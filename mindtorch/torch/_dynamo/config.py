"""Settings of torch.compile that scripts change.

``recompile_limit`` (also ``cache_size_limit``), ``disable`` and ``error_on_recompile`` have their
effect. The others choose between ways to trace that do not exist here; results do not depend on
them, and they are remembered only.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from typing import Any

from mindtorch._module_class import set_module_class
from mindtorch.engine.settings import policy

from . import exc

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


@contextlib.contextmanager
def patch(setting: Any = None, value: Any = None, **settings: Any) -> Iterator[None]:
    """A block, or a decorated function, with other settings: a name and its value, a dictionary,
    or keywords."""
    wanted = dict(setting) if isinstance(setting, dict) else {setting: value} if setting else {}
    wanted.update(settings)
    module = sys.modules[__name__]
    before = {name: getattr(module, name) for name in wanted}
    try:
        for name, each in wanted.items():
            setattr(module, name, each)
        yield
    finally:
        for name, each in before.items():
            setattr(module, name, each)


class _Settings(types.ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__ and not name.startswith("__"):
            raise AttributeError(f"torch._dynamo.config.{name} does not exist")
        super().__setattr__(name, value)
        if name in ("recompile_limit", "cache_size_limit"):
            policy.limit = value
        elif name == "disable":
            policy.disabled = value
        elif name == "error_on_recompile":
            policy.recompiled = exc.RecompileError if value else None

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"torch._dynamo.config.{name} does not exist")


set_module_class(__name__, _Settings)
