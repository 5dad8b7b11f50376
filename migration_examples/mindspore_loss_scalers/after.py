"""DynamicLossScaler and StaticLossScaler; the whole step, its branch included, under jit."""

from mindtorch.tools import mstorch_enable

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from sklearn.datasets import load_digits

images, labels = load_digits(return_X_y=True)
images, labels = (images / 16).astype(np.float32), labels.astype(np.int32)
draw = np.random.default_rng(0)


def values(*shape):
    return Tensor(draw.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(shape[-1])))


class Network(nn.Cell):
    """float16 inside."""

    def __init__(self):
        super().__init__()
        self.first = nn.Dense(64, 32, values(32, 64), "zeros", activation="relu")
        self.last = nn.Dense(32, 10, values(10, 32), "zeros")
        self.first.to_float(ms.float16)
        self.last.to_float(ms.float16)

    def construct(self, x):
        return self.last(self.first(x)).astype(ms.float32)


def train(name, loss_scaler):
    model = Network()
    loss_fn = nn.CrossEntropyLoss()
    optimizer = nn.SGD(model.trainable_params(), 0.1, momentum=0.9)

    def forward_fn(data, label):
        loss = loss_fn(model(data), label)
        return loss_scaler.scale(loss)

    grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters)

    @ms.jit
    def train_step(data, label):
        loss, grads = grad_fn(data, label)
        loss = loss_scaler.unscale(loss)
        is_finite = ms.amp.all_finite(grads)
        if is_finite:
            grads = loss_scaler.unscale(grads)
            optimizer(grads)
        loss_scaler.adjust(is_finite)
        return loss, is_finite

    data, label = Tensor(images[:64]), Tensor(labels[:64])
    left_out = 0
    for step in range(60):
        loss, is_finite = train_step(data * (1e4 if step == 20 else 1), label)
        left_out += not bool(is_finite.asnumpy())
        if step % 10 == 9:
            scale = float(loss_scaler.scale_value.asnumpy())
            print(f"{name} step {step + 1}: loss {float(loss.asnumpy()):.2f}, scale {scale:.0f}, "
                  f"left out {left_out}")


train("dynamic", ms.amp.DynamicLossScaler(scale_value=2**16, scale_factor=2, scale_window=50))
train("quick", ms.amp.DynamicLossScaler(scale_value=2**16, scale_factor=2, scale_window=4))
train("static", ms.amp.StaticLossScaler(scale_value=1024))
