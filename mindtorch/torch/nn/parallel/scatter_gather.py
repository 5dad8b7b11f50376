"""Parts of DataParallel, under the name by which libraries import them."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._compat.unsupported_names import absent_function

__all__ = ["gather", "is_namedtuple", "scatter", "scatter_kwargs"]

ONE_DEVICE = "the parts of DataParallel move tensors between the GPUs of one process; there is one"
gather, scatter, scatter_kwargs = (
    absent_function("torch.nn.parallel", name, ONE_DEVICE)
    for name in ("gather", "scatter", "scatter_kwargs")
)


def is_namedtuple(obj: Any) -> bool:
    """Whether ``obj`` is a tuple whose fields have names."""
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")
