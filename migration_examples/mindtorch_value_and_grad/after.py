"""The training loop: the function of value and gradients, then a step with gradients given."""

from mindtorch.tools import mstorch_enable

import mindspore as ms
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

images, labels = load_digits(return_X_y=True)
data = torch.tensor((images[:512] / 16).astype(np.float32))
label = torch.tensor(labels[:512].astype(np.int64))

torch.manual_seed(1)
loader = DataLoader(TensorDataset(data, label), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.trainable_params(), lr=0.01)


def forward_fn(data, label):
    logits = model(data)
    loss = loss_fn(logits, label)
    return loss, logits


grad_fn = ms.ops.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)

for epoch in range(3):
    total = right = 0
    for X, y in loader:
        (loss, logits), grads = grad_fn(X, y)
        if epoch == 0:
            optimizer(grads)
        else:  # the same thing
            optimizer.step(grads)
        total += float(loss.asnumpy())
        right += int((logits.argmax(1) == y).sum().asnumpy())
    print(f"epoch {epoch + 1}: loss {total / len(loader):.5f}, right {right} of {len(data)}")
