"""Functions over functions."""

from .associative_scan import associative_scan as associative_scan
from .cond import cond as cond
from .while_loop import while_loop as while_loop

__all__ = ["associative_scan", "cond", "while_loop"]
