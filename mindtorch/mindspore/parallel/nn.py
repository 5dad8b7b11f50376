"""mindspore.parallel.nn: the cells of micro batches under their newer names."""

from __future__ import annotations

from ..nn.micro_batches import GradAccumulationCell, MicroBatchInterleaved, PipelineCell
from ..nn.micro_batches import PipelineGradReducer as PipelineGradReducer

__all__ = ["GradAccumulation", "MicroBatchInterleaved", "Pipeline", "PipelineGradReducer"]


class GradAccumulation(GradAccumulationCell):
    __doc__ = GradAccumulationCell.__doc__


class Pipeline(PipelineCell):
    __doc__ = PipelineCell.__doc__
