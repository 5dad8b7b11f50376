"""A small training that `mindtorch certify` and `verify` run; FAULT in the environment makes one
thing wrong, as a fault of mindtorch's would."""

import os

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

FAULT = os.environ.get("FAULT", "")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=0 if FAULT == "pad" else 1)
        self.norm = nn.BatchNorm2d(4, eps=1e-3 if FAULT == "epsilon" else 1e-5)
        self.drop = nn.Dropout(0.25)
        self.head = nn.Linear(4 * 16, 3, bias=FAULT != "bias")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(self.conv(x))
        if FAULT == "cast":
            x = x.half().float()
        x = F.gelu(x, approximate="tanh" if FAULT == "gelu" else "none")
        if FAULT == "stale":
            x = x.detach()
        x = F.adaptive_avg_pool2d(x, 4)
        if FAULT == "axis":
            x = x.transpose(2, 3)
        if FAULT == "mask" and self.training:
            torch.rand(3)
        return self.head(self.drop(x).flatten(1))


def main() -> None:
    if FAULT == "raises":
        raise ValueError("the program's own")
    torch.manual_seed(1)
    data = TensorDataset(torch.rand(24, 1, 8, 8), torch.randint(0, 3, (24,)))
    model = Net()
    if FAULT == "weight":
        with torch.no_grad():
            model.head.weight[0, 0] += 1e-3
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.1, momentum=0.9, dampening=0.1 if FAULT == "dampening" else 0,
        weight_decay=1e-4 if FAULT == "decay" else 0,
    )  # fmt: skip
    reduction = "sum" if FAULT == "reduction" else "mean"
    for images, labels in DataLoader(data, batch_size=8, shuffle=FAULT != "order"):
        loss = F.cross_entropy(model(images), labels, reduction=reduction)
        optimizer.zero_grad()
        loss.backward()
        if FAULT == "scaled":
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter.grad.mul_(1.0001)
        optimizer.step()


if __name__ == "__main__":
    main()
