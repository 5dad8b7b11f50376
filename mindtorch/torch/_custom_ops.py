"""The module that packages import to see whether operators can be declared: see torch.library."""

from .library import get_ctx, infer_schema

__all__ = ["get_ctx", "infer_schema"]
