"""A training step in C does to the parameters what the engine's does, to rounding."""

import copy

import numpy as np
import pytest

import mindtorch.torch as torch
import mindtorch.torch.nn.functional as F
from mindtorch.lite import micro
from mindtorch.torch import nn
from tests.lite.micro.compiling import assert_within_rounding, compiled, outputs

# trains on one batch a line, then prints every array that training changed, and one prediction
MAIN = """
#include <stdio.h>
#include "model.h"

static float x[MODEL_TRAIN_INPUT_SIZE], y[MODEL_OUTPUT_SIZE];
static int32_t t[MODEL_TARGET_SIZE];

int main(void)
{
    double number;
    float loss;
    while (scanf("%lf", &number) == 1) {
        for (int i = 0; i < MODEL_TRAIN_INPUT_SIZE; ++i) {
            x[i] = (float)number;
            if (scanf("%lf", &number) != 1) {
                return 1;
            }
        }
        for (int i = 0; i < MODEL_TARGET_SIZE; ++i) {
            t[i] = (int32_t)number;
            if (i + 1 < MODEL_TARGET_SIZE && scanf("%lf", &number) != 1) {
                return 1;
            }
        }
        model_train_step(x, t, &loss);
        printf("%.9g\\n", (double)loss);
    }
    for (int i = 0; i < MODEL_STATE_COUNT; ++i) {
        for (int j = 0; j < model_state[i].count; ++j) {
            printf("%.9g ", (double)model_state[i].numbers[j]);
        }
        printf("\\n");
    }
    model_run(x, y);
    for (int i = 0; i < MODEL_OUTPUT_SIZE; ++i) {
        printf("%.9g ", (double)y[i]);
    }
    printf("\\n");
    model_reset_optimizer();
    return model_steps != 0;
}
"""


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.norm = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 16, 3)
        self.fc1 = nn.Linear(16 * 4, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.norm(self.conv1(x))), 2, 1)
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc2(torch.relu(self.fc1(torch.flatten(x, 1))))


class Layers(nn.Module):
    """Other layers, some of whose parameters do not train."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, stride=2, padding=1, bias=False)
        self.depthwise = nn.Conv2d(4, 8, 3, padding=1, groups=4)
        self.back = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.layer = nn.LayerNorm(8)
        self.mixing = nn.Linear(8, 24)
        self.fc = nn.Linear(16, 5)
        self.conv.weight.requires_grad_(False)

    def forward(self, x):
        x = F.avg_pool2d(F.gelu(self.depthwise(F.leaky_relu(self.conv(x)))), 3, 1, 1)
        x = F.silu(self.layer(torch.tanh(self.back(x))))
        q, k, v = self.mixing(x).chunk(3, -1)
        x = torch.softmax(q @ k.transpose(2, 3), -1) @ v * torch.sigmoid(x)
        return F.log_softmax(self.fc(F.adaptive_avg_pool2d(x, 2).flatten(1)), 1)


def steps(model, loss, optimizer, xs, ys):
    """The losses of training."""
    found = []
    for x, y in zip(xs, ys, strict=True):
        optimizer.zero_grad()
        made = loss(model(x), y)
        made.backward()
        optimizer.step()
        found.append(made.item())
    return np.array(found)


def check(tmp_path, model, loss, make_optimizer, xs, ys, before=0):
    """Train in C, in float32 and in float64, and compare; ``before`` steps are done before."""
    double = copy.deepcopy(model).double()
    runs = [(model, make_optimizer(model), xs), (double, make_optimizer(double), xs.double())]
    for each, optimizer, x in runs:
        steps(each, loss, optimizer, x[:before], ys[:before])
    xs, ys = xs[before:], ys[before:]
    micro.generate_training(model, loss, xs[0], ys[0], runs[0][1], tmp_path)
    (tmp_path / "main.c").write_text(MAIN)
    program = compiled(tmp_path)
    batches = [[x.numpy(), y.numpy()] for x, y in zip(xs, ys, strict=True)]
    made = outputs(program, batches)
    ours, exact = (steps(m, loss, o, x[before:], ys) for m, o, x in runs)
    terms = xs[0].numel()  # gradients of biases are sums over a batch and its pictures
    assert_within_rounding(np.concatenate(made[: len(xs)]), ours, exact, "losses", terms=terms)
    code = (tmp_path / "model.c").read_text().split("model_state[] = {")[1].split("};")[0]
    names = [line.split('"')[1] for line in code.split("\n") if '"' in line]
    mine, truth = (named(m, o) for m, o, _ in runs)
    # gradients round by the largest that flow, also where they cancel in a sum
    kinds = {k: max(np.abs(v).max() for n, v in truth.items() if n.endswith(k) and v.ndim)
             for k in ("exp_avg", "momentum_buffer") if any(n.endswith(k) for n in truth)}
    for name, numbers in zip(names, made[len(xs) : -1], strict=True):
        scale = next((v for k, v in kinds.items() if name.endswith(k)), 0.0)
        assert_within_rounding(numbers, mine[name], truth[name], name, scale, terms)
    assert {n.replace(".", "_") for n, p in model.named_parameters() if p.requires_grad} <= {*names}
    predictions = []
    for each, _, x in runs:
        each.eval()
        predictions.append(each(x[-1][:1]).detach().numpy())
    ours, exact = predictions
    assert_within_rounding(made[-1], ours, exact, "prediction", terms=terms)


def named(model, optimizer):
    """What training changes, by the names in C."""
    found = dict(model.named_buffers())
    for name, parameter in model.named_parameters():
        found[name] = parameter.detach()
        for state, held in optimizer.state.get(parameter, {}).items():
            found[f"{name}_{state}"] = held
    return {name.replace(".", "_"): x.numpy() for name, x in found.items() if torch.is_tensor(x)}


def batches(seed=0, shape=(20, 4, 1, 8, 8), classes=10):
    torch.manual_seed(seed)
    return torch.randn(*shape), torch.randint(0, classes, shape[:2])


def test_lenet_by_sgd_with_momentum(tmp_path):
    xs, ys = batches()
    check(tmp_path, LeNet(), F.cross_entropy, lambda m: torch.optim.SGD(
        m.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True), xs, ys)


def test_other_layers_by_adam_that_has_begun(tmp_path):
    xs, ys = batches(1, (8, 4, 1, 8, 8), 5)
    check(tmp_path, Layers(), F.nll_loss, lambda m: torch.optim.AdamW([
        {"params": m.fc.parameters(), "lr": 3e-3, "amsgrad": True},
        {"params": [p for p in m.parameters() if p.requires_grad and p.shape[-1] != 16
                    and p.shape != (5,)], "weight_decay": 0.0},
    ], lr=1e-3), xs, ys, before=3)  # fmt: skip


def test_label_smoothing_and_weights_of_classes(tmp_path):
    xs, ys = batches(2, (5, 6, 1, 8, 8))
    ys[1, 2] = -100
    weight = torch.rand(10) + 0.5

    def loss(made, target):
        own = weight.to(made.dtype)
        return F.cross_entropy(made, target, own, label_smoothing=0.1)

    check(tmp_path, LeNet(), loss, lambda m: torch.optim.SGD(m.parameters(), lr=0.1), xs, ys)


def test_what_cannot_be_trained_says_so(tmp_path):
    model, (xs, ys) = LeNet(), batches()
    other = torch.optim.RMSprop(model.parameters())
    with pytest.raises(micro.ExportError, match="RMSprop has no C formula here; there are SGD"):
        micro.generate_training(model, F.cross_entropy, xs[0], ys[0], other, tmp_path)
    strange = torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)
    with pytest.raises(micro.ExportError, match="parameters that the model has not"):
        micro.generate_training(model, F.cross_entropy, xs[0], ys[0], strange, tmp_path)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(micro.ExportError, match=r"shape \[4\]"):
        micro.generate_training(
            model, lambda x, y: F.cross_entropy(x, y, reduction="none"), xs[0], ys[0], sgd, tmp_path
        )
    dropping = nn.Sequential(nn.Linear(8, 3), nn.Dropout())
    sgd = torch.optim.SGD(dropping.parameters(), lr=0.1)
    with pytest.raises(micro.UnsupportedOperatorError, match="random numbers"):
        micro.generate_training(
            dropping, F.cross_entropy, torch.randn(2, 8), torch.tensor([0, 1]), sgd, tmp_path
        )
    assert not list(tmp_path.iterdir())
