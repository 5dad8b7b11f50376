"""``mindspore.numpy``: numpy's functions for MindSpore's tensors, with MindSpore's types."""

import math
from typing import TYPE_CHECKING, Any

from mindtorch import torch as _torch
from mindtorch.mindspore._argument_texts import TEXTS as _TEXTS

from . import creation as creation
from . import mathematics as mathematics
from . import shapes as shapes
from . import statistics as statistics
from ._values import BOOL as _BOOL
from .creation import *
from .mathematics import *
from .shapes import *
from .statistics import *

pi, e, inf, nan = math.pi, math.e, math.inf, math.nan
newaxis = None
PI, E, INF, NAN = pi, e, inf, nan

int8, int16, int32, int64 = _torch.int8, _torch.int16, _torch.int32, _torch.int64
uint8, uint16, uint32, uint64 = _torch.uint8, _torch.uint16, _torch.uint32, _torch.uint64
float16, float32, float64 = _torch.float16, _torch.float32, _torch.float64
bool_, int_, float_ = _BOOL, _torch.int32, _torch.float32

_TEXTS.add_to(globals().values())

if TYPE_CHECKING:
    # functions that are made from tables of names
    def __getattr__(name: str) -> Any: ...
