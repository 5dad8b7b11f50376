"""torch.ao: only what packages import to offer quantised models."""

from . import quantization as quantization
