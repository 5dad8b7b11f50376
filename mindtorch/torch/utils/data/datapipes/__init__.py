"""Pipes: data sets that are made of one another, one step each."""

from . import iter as iter  # noqa: A004
from . import map as map  # noqa: A004
