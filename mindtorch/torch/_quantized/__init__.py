"""Quantised tensors and what is computed of them."""

from __future__ import annotations

from ._creation import of_storage as of_storage
from ._operators import OPERATORS as OPERATORS
