"""What every layer is given and makes, under PyTorch."""

import torch
from torch import nn

from mindtorch.tools import debug_layer_info

torch.manual_seed(7)
net = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)
)
debug_layer_info(net, frame="pytorch")
net(torch.randn(2, 1, 8, 8)).square().mean().backward()
