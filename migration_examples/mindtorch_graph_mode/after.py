"""A training step in graph mode."""

from mindtorch.tools import mstorch_enable

import mindspore as ms
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

images, labels = load_digits(return_X_y=True)
data = torch.tensor((images[:512] / 16).astype(np.float32))
label = torch.tensor(labels[:512].astype(np.int64))

ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
torch.manual_seed(1)
model = nn.Sequential(
    nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10)
)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.trainable_params(), lr=0.1, momentum=0.9)


def forward_fn(data, label):
    logits = model(data)
    return loss_fn(logits, label), logits


grad_fn = ms.ops.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)


@ms.jit
def train_step(data, label):
    (loss, _), grads = grad_fn(data, label)
    optimizer(grads)
    return loss


for epoch in range(3):
    losses = [float(train_step(*batch).asnumpy()) for batch in zip(data.split(64), label.split(64))]
    print(f"epoch {epoch + 1}: loss {np.mean(losses):.5f}")
    rate = optimizer.param_groups[0]["lr"]
    ms.ops.assign(rate, rate * 0.5)
