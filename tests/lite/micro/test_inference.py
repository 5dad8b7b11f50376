"""C code of a model's forward gives what the engine gives, to rounding."""

import copy

import numpy as np
import pytest

import mindtorch.torch as torch
import mindtorch.torch.nn.functional as F
from mindtorch.lite import micro
from mindtorch.torch import nn
from tests.lite.micro.compiling import assert_within_rounding, compiled, outputs


def check(tmp_path, model, *inputs, double=None):
    """Compile the model and compare it with ours and with float64; the report."""
    if isinstance(model, nn.Module):
        model.eval()
        double = copy.deepcopy(model).double()
    report = micro.generate(model, inputs, tmp_path)
    (got,) = outputs(compiled(tmp_path), [[x.numpy() for x in inputs]])

    def each(made):
        made = made if isinstance(made, tuple) else (made,)
        return [x.detach().numpy().astype(np.float64) for x in made]

    with torch.no_grad():
        wide = [x.double() if x.is_floating_point() else x for x in inputs]
        exact = each((double or model)(*wide))
        ours = each(model(*inputs))
    parts = np.split(got, np.cumsum([x.size for x in exact])[:-1])
    for i, (mine, engine, truth) in enumerate(zip(parts, ours, exact, strict=True)):
        assert_within_rounding(mine, engine, truth, f"output {i}")
    return report


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.norm = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 16, 3)
        self.fc1 = nn.Linear(16 * 3 * 3, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.norm(self.conv1(x))), 2)
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2)
        return F.log_softmax(self.fc2(torch.relu(self.fc1(torch.flatten(x, 1)))), dim=1)


def test_lenet_with_its_batch_norm_folded(tmp_path):
    torch.manual_seed(0)
    model = LeNet()
    model.norm.running_mean.normal_()
    model.norm.running_var.uniform_(0.5, 2)
    report = check(tmp_path, model, torch.randn(2, 1, 16, 16))
    code = (tmp_path / "model.c").read_text()
    assert "batch_norm" not in code
    assert "malloc" not in code
    assert report.arena_bytes == int((tmp_path / "model.h").read_text()
                                     .split("BUFFER_SIZE ")[1].split()[0])  # fmt: skip


class Networks(nn.Module):
    """Every op of networks once."""

    def __init__(self):
        super().__init__()
        self.depthwise = nn.Conv2d(4, 8, (3, 2), stride=(2, 1), padding=(1, 0), groups=4)
        self.dilated = nn.Conv2d(8, 6, 3, padding=2, dilation=2, bias=False)
        self.line = nn.Conv1d(4, 3, 3, stride=2, padding=1)
        self.back = nn.ConvTranspose2d(6, 4, 3, stride=2, padding=1, output_padding=1, groups=2)
        self.norm = nn.BatchNorm2d(4)
        self.layer = nn.LayerNorm(9)
        self.table = nn.Embedding(7, 5)
        self.lstm = nn.LSTM(5, 3, num_layers=2, bidirectional=True)
        self.gru = nn.GRU(5, 4, batch_first=True)
        self.attention = nn.Linear(5, 15)
        self.groups, self.root = nn.GroupNorm(2, 4), nn.RMSNorm(9)
        self.encoder = nn.TransformerEncoderLayer(5, 1, 7, batch_first=True, dropout=0.0)

    def forward(self, x, words):
        made = [self.norm(x), self.layer(x), self.line(x[:, :, 1])]
        y = self.dilated(self.depthwise(x))
        made += [y, self.back(y)]
        made += [F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 2, ceil_mode=True)]
        made += [F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)]
        made += [F.avg_pool2d(x, 2, divisor_override=3), F.max_pool2d(x, 3, 2, 1, ceil_mode=True)]
        made += [F.max_pool1d(x[0], 2), F.adaptive_avg_pool2d(x, (3, 4)), x.amax((2, 3))]
        made += [F.adaptive_avg_pool2d(x, 1), F.adaptive_max_pool2d(x, (1, 3))]
        rows = self.table(words)
        made += [rows, *self.lstm(rows)[1], self.gru(rows)[0]]
        q, k, v = self.attention(rows).chunk(3, -1)
        made += [torch.softmax(q @ k.transpose(1, 2) / 5**0.5, -1) @ v, torch.softmax(x, 1)]
        attend = F.scaled_dot_product_attention
        made += [self.groups(x), self.root(x), self.encoder(rows), attend(q, k, v, is_causal=True)]
        few = torch.tensor([[True, False], [False, False]])
        seen = torch.tensor([[[True, False]], [[True, True]], [[False, True]]])
        made += [attend(q, k, v, few), attend(q[None], k[None], v[None], seen)]
        made += [F.interpolate(x, scale_factor=2.0), F.interpolate(x, (3, 11), mode="bilinear")]
        made += [F.interpolate(x, (5, 9), mode="bicubic", align_corners=True)]
        return tuple(made)


def test_layers_of_networks(tmp_path):
    torch.manual_seed(1)
    model = Networks()
    model.norm.running_var.uniform_(0.5, 2)
    check(tmp_path, model, torch.randn(2, 4, 8, 9), torch.randint(0, 7, (3, 2)))


def shapes(x, y):
    """Ops that move elements, join, choose and reduce."""
    z = torch.cat([x, y.expand(3, 4, 5)], 1)
    made = [x.permute(2, 0, 1), x.transpose(0, 2).reshape(5, 12) @ x.reshape(12, 5), z, x.flip(1)]
    made += [z[:, 1:7:2, -1], x.roll((1, -2), (0, 2)), F.pad(x, (1, -1, 2, 0), value=1.5)]
    made += [torch.stack([x[0], x[2]], -1), x.unsqueeze(1).squeeze(), x.diagonal(0, 1, 2)]
    made += [*x.split([1, 2]), *x.unbind(1)[:2], x.tril(), x.triu(1), x[None].repeat(2, 1, 1, 1)]
    made += [x.sum(), x.sum((0, 2)), x.mean(1, keepdim=True), x.amin(0), x.prod(2)]
    made += [x.max(1).values, x.max(1).indices, x.argmin(), x.argmax(2), x.transpose(0, 1).sum(2)]
    made += [torch.matmul(x, x.transpose(1, 2)[0]), torch.matmul(x[0], x[1, 0]), x.var(0), y * 1]
    return tuple(made)


def test_shapes_and_reductions(tmp_path):
    torch.manual_seed(2)
    check(tmp_path, shapes, torch.randn(3, 4, 5), torch.randn(4, 1))


def elementwise(x, y, n):
    """Formulas, broadcasting, comparisons and whole numbers."""
    p = x.abs() + 0.5
    made = [x + y, x * 2 - y, x / p, -x, torch.maximum(x, y), x.clamp(-0.5, 0.7), x.exp(), p.log()]
    made += [p.sqrt(), p.rsqrt(), x.sin(), x.cos(), x.tanh(), x.sigmoid(), torch.erf(x), p**1.5]
    made += [F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.elu(x), F.leaky_relu(x, 0.1)]
    made += [F.hardswish(x), F.hardsigmoid(x), F.softplus(x), F.mish(x), F.relu6(x * 5), x.floor()]
    made += [F.logsigmoid(x), F.hardtanh(x), x.sign(), x.round(), torch.where(x > y, x, y * 3)]
    made += [x.masked_fill(x < 0, 2.0), (x > 0) & (y > 0), ~(x >= y), n + 3, n % 3, n.float() * x]
    made += [(x > 0).float().sum(0), x**2, x**3, torch.lerp(x, y, 0.3), x.square(), x.log1p()[:0]]
    return tuple(each for each in made if each.numel())


def test_elementwise(tmp_path):
    torch.manual_seed(3)
    n = torch.tensor([[-4, 7, 0, 5]])
    check(tmp_path, elementwise, torch.randn(3, 4), torch.randn(3, 1), n)


def test_an_op_without_a_writer_is_named(tmp_path):
    with pytest.raises(micro.UnsupportedOperatorError, match=r"fft.*micro.* \(at .*test_inf"):
        micro.generate(lambda x: torch.fft.rfft(x).real, torch.randn(4), tmp_path)
    assert not list(tmp_path.iterdir())


def test_double_precision_is_refused(tmp_path):
    with pytest.raises(micro.UnsupportedOperatorError, match="float64 is not computed in C"):
        micro.generate(lambda x: x + 1, torch.randn(4).double(), tmp_path)


def test_names_that_c_does_not_have(tmp_path):
    for name in ("my-model", "main", "3d"):
        with pytest.raises(micro.ExportError, match="cannot begin C names"):
            micro.generate(lambda x: x + 1, torch.randn(4), tmp_path, name)
    (tmp_path / "file").write_text("")
    with pytest.raises(micro.ExportError, match="is a file"):
        micro.generate(lambda x: x + 1, torch.randn(4), tmp_path / "file")


def test_an_input_or_a_constant_that_is_returned_is_copied(tmp_path):
    weight = torch.randn(3)
    check(tmp_path, lambda x: (x, weight * 2, x.view(3, 2), x[1:]), torch.randn(6),
          double=lambda x: (x, (weight * 2).double(), x.view(3, 2), x[1:]))  # fmt: skip


def test_two_projects_in_one_program(tmp_path):
    """Public names begin with the project's, all others are static."""
    for name in ("first", "second"):
        micro.generate(LeNet().eval(), torch.randn(1, 1, 16, 16), tmp_path, name)
    text = '#include "first.h"\n#include "second.h"\nstatic float x[FIRST_INPUT_SIZE], y[10];\n'
    (tmp_path / "main.c").write_text(
        text + "int main(void) { first_run(x, y); second_run(x, y); return y[0] > 0.0f; }\n"
    )
    assert outputs(compiled(tmp_path), [[]]) == []
