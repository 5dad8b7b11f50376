"""torch.utils.tensorboard: event files that TensorBoard shows, written by its own package."""

from __future__ import annotations

import tensorboard

if tuple(int(n) for n in tensorboard.__version__.split(".")[:2]) < (1, 15):
    raise ImportError("TensorBoard logging requires TensorBoard version 1.15 or above")

from tensorboard.summary.writer.record_writer import RecordWriter as RecordWriter

from .writer import FileWriter as FileWriter
from .writer import SummaryWriter as SummaryWriter
