"""The namespace itself, for what puts functions in place of those that it has."""

from __future__ import annotations

import sys
from types import ModuleType

__all__ = ["NAMESPACE"]
NAMESPACE: ModuleType = sys.modules["mindtorch.torch"]  # whose import runs this module
