"""Functions over functions."""

from .associative_scan import associative_scan as associative_scan
from .cond import cond as cond
from .cond import cond_op as cond_op
from .map import map as map  # noqa: A004
from .scan import scan as scan
from .while_loop import while_loop as while_loop
from .while_loop import while_loop_op as while_loop_op
from .wrap_with_set_grad_enabled import wrap_with_set_grad_enabled as wrap_with_set_grad_enabled

__all__ = [
    "associative_scan", "cond", "map", "scan", "while_loop", "wrap_with_set_grad_enabled",
]  # fmt: skip
