"""torch.distributed.pipelining: the layers of a model in several processes, by microbatches."""

from __future__ import annotations

from mindtorch.torch._api.public_names import own_names as _own_names

from ._splitting import Pipe as Pipe
from ._splitting import SplitPoint as SplitPoint
from ._splitting import pipe_split as pipe_split
from ._splitting import pipeline as pipeline
from .schedules import Schedule1F1B as Schedule1F1B
from .schedules import ScheduleDualPipeV as ScheduleDualPipeV
from .schedules import ScheduleForwardOnly as _ScheduleForwardOnly  # noqa: F401
from .schedules import ScheduleGPipe as ScheduleGPipe
from .schedules import ScheduleInterleaved1F1B as ScheduleInterleaved1F1B
from .schedules import ScheduleInterleavedZeroBubble as ScheduleInterleavedZeroBubble
from .schedules import ScheduleLoopedBFS as ScheduleLoopedBFS
from .schedules import ScheduleZBVZeroBubble as ScheduleZBVZeroBubble
from .stage import PipelineStage as PipelineStage
from .stage import build_stage as build_stage

__all__ = [
    "Pipe", "PipelineStage", "Schedule1F1B", "ScheduleDualPipeV", "ScheduleGPipe",
    "ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS",
    "ScheduleZBVZeroBubble", "SplitPoint", "build_stage", "pipe_split", "pipeline",
]  # fmt: skip

_own_names(globals())
