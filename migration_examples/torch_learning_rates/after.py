"""Learning rates are plain numbers in param_groups, and what is written there acts at once."""

from mindtorch.tools import mstorch_enable

import torch
from torch import nn


def loss_of(model, x):
    return (model(x) - 1).square().mean()


torch.manual_seed(0)
x = torch.randn(16, 4)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(
    [{"params": [model.weight]}, {"params": [model.bias], "lr": 0.5}], lr=0.1, momentum=0.5
)
print(optimizer.param_groups[0]["lr"], optimizer.param_groups[1]["lr"])


def step():
    optimizer.zero_grad()
    loss = loss_of(model, x)
    loss.backward()
    optimizer.step()
    return loss


compiled = torch.compile(step, backend="eager")

for name, function in (("eager", step), ("compiled", compiled)):
    for rate in (0.1, 0.05, 0.0, 0.2):
        optimizer.param_groups[0]["lr"] = rate
        before = model.weight.detach().clone()
        loss = function()
        moved = (model.weight - before).norm().item()
        print(f"{name}: rate {optimizer.param_groups[0]['lr']}, loss {loss.item():.5f}, "
              f"moved {moved:.5f}")

scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
for _ in range(3):
    compiled()
    scheduler.step()
    print([group["lr"] for group in optimizer.param_groups], scheduler.get_last_lr())
