"""build_train_network and Model: loss scale managers, callbacks, metrics."""

from mindtorch.tools import mstorch_enable

import contextlib
import io
import os
import tempfile

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import Tensor, nn
from mindspore.train import (
    Accuracy, CheckpointConfig, Loss, LossMonitor, Model, ModelCheckpoint, TimeMonitor,
)
from sklearn.datasets import load_digits

images, labels = load_digits(return_X_y=True)
images, labels = (images / 16).astype(np.float32), labels.astype(np.int32)


def network():
    draw = np.random.default_rng(0)

    def dense(inputs, outputs):
        values = draw.uniform(-0.2, 0.2, (outputs, inputs)).astype(np.float32)
        return nn.Dense(inputs, outputs, weight_init=Tensor(values), bias_init="zeros")

    return nn.SequentialCell(dense(64, 48), nn.ReLU(), dense(48, 10))


def train(name, level, manager):
    net = network()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    step = ms.amp.build_train_network(
        net, optimizer, nn.CrossEntropyLoss(), level=level, loss_scale_manager=manager
    )
    losses, scales = [], []
    for start in range(0, 512, 64):
        rows = slice(start, start + 64)
        loss, _, scale = step(Tensor(images[rows]), Tensor(labels[rows]))
        losses.append(f"{float(loss.asnumpy()):.2f}")
        scales.append(int(scale.asnumpy()))
    print(f"{name}: losses {' '.join(losses)}, scales {scales}")


train("fixed", "O2", ms.amp.FixedLossScaleManager(128.0))
train("dynamic", "O2", ms.amp.DynamicLossScaleManager(2**18, 2, 3))


def pipeline(start, stop, size):
    columns = (images[start:stop], labels[start:stop])
    return ds.NumpySlicesDataset(columns, ["image", "label"], shuffle=False).batch(size)


net = network()
optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
metrics = {"accuracy": Accuracy(), "loss": Loss()}
model = Model(net, nn.CrossEntropyLoss(), optimizer, metrics, amp_level="O0")
with tempfile.TemporaryDirectory() as folder:
    config = CheckpointConfig(save_checkpoint_steps=11, keep_checkpoint_max=5)
    times = io.StringIO()
    callbacks = [LossMonitor(11), TimeMonitor(), ModelCheckpoint("digits", folder, config)]
    with contextlib.redirect_stdout(times):
        model.train(2, pipeline(0, 1408, 128), callbacks)
    for line in times.getvalue().splitlines():
        if "loss is" in line:
            head, _, loss = line.rpartition(" ")
            print(head, f"{float(loss):.4f}")
    print(sorted(name for name in os.listdir(folder) if name.endswith(".ckpt")))

found = model.eval(pipeline(1437, None, 360))
print(f"accuracy {found['accuracy']:.4f}, loss {found['loss']:.4f}")
print(f"predicted {model.predict(Tensor(images[1437:1445])).argmax(1).asnumpy().tolist()}")
