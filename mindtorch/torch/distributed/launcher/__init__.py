"""torch.distributed.launcher: torchrun as a call."""

from .api import LaunchConfig as LaunchConfig
from .api import elastic_launch as elastic_launch
