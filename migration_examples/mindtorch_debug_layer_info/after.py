"""What every layer is given and makes, under mindtorch."""

from mindtorch.tools import mstorch_enable

import torch
from mindtorch.tools import debug_layer_info
from torch import nn

torch.manual_seed(7)
net = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)
)
debug_layer_info(net)
net(torch.randn(2, 1, 8, 8)).square().mean().backward()
