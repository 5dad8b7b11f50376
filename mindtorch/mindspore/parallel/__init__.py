"""mindspore.parallel: layouts, strategies that are searched, pipelines, shares of a batch."""

from __future__ import annotations

from . import nn as nn
from ._division import Division as Division
from ._division import searched as searched
from ._layouts import Layout, reshard, shard
from ._layouts import gathered_from as gathered_from
from ._layouts import layouts_of as layouts_of
from ._layouts import part_of as part_of
from ._layouts import sharded as sharded
from ._pipeline import Pipeline as Pipeline
from .auto_parallel import AutoParallel as AutoParallel
from .auto_parallel import set_op_strategy_config as set_op_strategy_config

__all__ = ["Layout", "reshard", "shard"]
