"""Constants of process groups."""

from .distributed_c10d import default_pg_timeout as default_pg_timeout

__all__ = ["default_pg_timeout"]
