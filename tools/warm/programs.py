"""Small programs that need what most programs need. Running them compiles the kernels of it.

Kernels are made for types, for how elements lie in memory, and for kinds of sizes (thin, large, a
whole vector wide), not for single sizes: layers of usual sizes stand for all of their kind.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn
from mindtorch.torch.nn import functional as f

__all__ = ["PROGRAMS", "Program"]

Tensor = Any


@dataclass(frozen=True)
class Program:
    """A program that `mindtorch warm` runs.

    Attributes:
        name: what `--only` knows it by.
        covers: what its kernels serve, for `--list`.
        run: the program.
    """

    name: str
    covers: str
    run: Callable[[], None]


PROGRAMS: dict[str, Program] = {}


def _program(covers: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def register(run: Callable[[], None]) -> Callable[[], None]:
        name = run.__name__
        PROGRAMS[name] = Program(name, covers, run)
        return run

    return register


def _train(net: Any, inputs: tuple[Tensor, ...], loss_of: Any, optimizer: Any = None) -> None:
    """Two training steps, the second with gradients that are there already; then evaluation."""
    optimizer = optimizer or torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(2):
        optimizer.zero_grad()
        loss = loss_of(net(*inputs))
        loss.backward()
        optimizer.step()
    loss.item()
    net.eval()
    with torch.no_grad():
        loss_of(net(*inputs)).item()


@_program("linear layers of usual sizes, activations, dropout, cross entropy, SGD, Adam, AdamW")
def linear() -> None:
    for sizes, batch in (((784, 512, 512, 10), 64), ((20, 64, 3), 32), ((2, 16, 1), 8)):
        layers: list[Any] = []
        for n, m in itertools.pairwise(sizes):
            layers += [nn.Linear(n, m), nn.ReLU(), nn.Dropout(0.2)]
        x, y = torch.randn(batch, sizes[0]), torch.randint(0, sizes[-1], (batch,))
        for make in (_momentum, torch.optim.Adam, torch.optim.AdamW):
            net = nn.Sequential(*layers[:-2])
            _train(net, (x,), lambda out, y=y: f.cross_entropy(out, y), make(net.parameters()))
        with torch.no_grad():
            (net(x).argmax(1) == y).float().mean().item()
            (net(x).argmax(dim=1) == y).sum().item()
            net(x[:1]).softmax(-1).max(-1)


def _momentum(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


@_program("regression: one input or many, mean squares, plain SGD, in float32 and float64")
def regression() -> None:
    for dtype in (torch.float32, torch.float64):
        for n, batch in ((1, 100), (8, 64)):
            x = torch.linspace(-1, 1, batch * n, dtype=dtype).reshape(batch, n)
            y = 3 * x.sum(1, keepdim=True) + 0.1 * torch.randn(batch, 1, dtype=dtype)
            net = nn.Sequential(nn.Linear(n, 32), nn.Tanh(), nn.Linear(32, 1)).to(dtype)
            _train(net, (x,), lambda out, y=y: f.mse_loss(out, y),
                   torch.optim.SGD(net.parameters(), lr=0.01))  # fmt: skip
        w = torch.zeros(8, 1, dtype=dtype, requires_grad=True)
        b = torch.zeros(1, dtype=dtype, requires_grad=True)
        for _ in range(2):
            loss = ((x @ w + b - y) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                for each in (w, b):
                    each -= 0.1 * each.grad
                    each.grad.zero_()
        torch.sigmoid(x @ w).sum().item()


@_program("convolutions of images in one channel, pooling, batch normalization (LeNet)")
def images() -> None:
    x, y = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Dropout(0.25), nn.Linear(120, 10),
    )  # fmt: skip
    decayed = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    _train(net, (x,), lambda out: f.cross_entropy(out, y), decayed)
    net = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(),
        nn.AvgPool2d(2), nn.Dropout2d(0.25), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(),
        nn.Linear(128, 10), nn.LogSoftmax(1),
    )  # fmt: skip
    _train(net, (x,), lambda out: f.nll_loss(out, y))


class _Block(nn.Module):
    """Two convolutions and what they are added to."""

    def __init__(self, n: int, m: int, stride: int) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(n, m, 3, stride, 1, bias=False), nn.BatchNorm2d(m)
        self.second, self.norm2 = nn.Conv2d(m, m, 3, 1, 1, bias=False), nn.BatchNorm2d(m)
        self.down = nn.Sequential(nn.Conv2d(n, m, 1, stride, bias=False), nn.BatchNorm2d(m))
        self.same = stride == 1 and n == m

    def forward(self, x: Tensor) -> Tensor:
        out = self.norm2(self.second(f.relu(self.norm(self.first(x)))))
        return f.relu(out + (x if self.same else self.down(x)))


@_program("residual networks: 3 x 3 and 1 x 1 convolutions, strides, batch normalization")
def residual() -> None:
    net = nn.Sequential(
        nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
        _Block(64, 64, 1), _Block(64, 128, 2), _Block(128, 256, 2), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(256, 10),
    )  # fmt: skip
    for batch in (2, 16):
        x, y = torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))
        net.train()
        _train(net, (x,), lambda out, y=y: f.cross_entropy(out, y), _momentum(net.parameters()))
    planes = torch.randn(32, 512, 4, 4, requires_grad=True)
    f.adaptive_avg_pool2d(planes, 1).flatten(1).sum().backward()
    stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.MaxPool2d(3, 2, 1))
    _train(stem, (torch.randn(2, 3, 64, 64),), lambda out: out.mean())


class _Layer(nn.Module):
    """A transformer's layer, the attention written out."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.more, self.less = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        b, t, c = x.shape
        parts = self.attend(self.norm(x)).split(c, 2)
        q, k, v = (p.view(b, t, self.heads, c // self.heads).transpose(1, 2) for p in parts)
        if mask is None:
            y = f.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            weights = (q @ k.transpose(-2, -1)) * (1.0 / k.size(-1) ** 0.5)
            y = self.drop(f.softmax(weights.masked_fill(mask == 0, float("-inf")), -1)) @ v
        x = x + self.drop(self.out(y.transpose(1, 2).contiguous().view(b, t, c)))
        return x + self.drop(self.less(f.gelu(self.more(self.norm2(x)))))


class _Words(nn.Module):
    def __init__(self, words: int, length: int, width: int, heads: int, written: bool) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layer, self.head = _Layer(width, heads), nn.Linear(width, words, bias=False)
        self.mask = torch.tril(torch.ones(1, 1, length, length)) if written else None

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.words(x) + self.places(torch.arange(x.shape[1]))
        return self.head(self.layer(hidden, self.mask))


@_program("transformers: embeddings, attention, layer norm, GELU, clipped gradients, AdamW")
def transformer() -> None:
    for words, length, width, heads in ((65, 32, 64, 4), (96, 128, 128, 4)):
        x, y = torch.randint(0, words, (4, length)), torch.randint(0, words, (4, length))
        for written in (True, False):
            net = _Words(words, length, width, heads, written)
            optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4, weight_decay=0.1)
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
            for _ in range(2):
                optimizer.zero_grad(set_to_none=True)
                f.cross_entropy(net(x).view(-1, words), y.view(-1)).backward()
                torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                schedule.step()
            with torch.no_grad():
                logits = net(x)[:, -1, :] / 0.8
                best, _ = torch.topk(logits, 10)
                logits[logits < best[:, [-1]]] = -float("inf")
                torch.multinomial(f.softmax(logits, dim=-1), num_samples=1)
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    _train(layer, (torch.randn(4, 10, 32),), lambda out: out.square().mean())


@_program("recurrent networks: RNN, GRU, LSTM, over words and over numbers")
def recurrent() -> None:
    for kind, layers in ((nn.RNN, 1), (nn.GRU, 1), (nn.LSTM, 2)):
        net = kind(16, 32, num_layers=layers, batch_first=True)
        head = nn.Linear(32, 5)
        x, y = torch.randn(8, 12, 16), torch.randint(0, 5, (8,))
        _train(net, (x,), lambda out, y=y, head=head: f.cross_entropy(head(out[0][:, -1]), y))
    words = nn.Embedding(50, 16)
    net = nn.LSTM(16, 32)
    _train(net, (words(torch.randint(0, 50, (12, 8))).detach(),), lambda out: out[0].tanh().mean())


@_program("autoencoders and generators: transposed convolutions, sigmoid, drawn noise, BCE")
def generators() -> None:
    x, real = torch.rand(16, 784), torch.ones(16, 1)
    encode, mean, spread = nn.Linear(784, 400), nn.Linear(400, 20), nn.Linear(400, 20)
    decode = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784), nn.Sigmoid())
    every = nn.ModuleList([encode, mean, spread, decode])
    optimizer = torch.optim.Adam(every.parameters(), lr=2e-4, betas=(0.5, 0.999))
    for _ in range(2):
        optimizer.zero_grad()
        hidden = f.relu(encode(x))
        mu, log = mean(hidden), spread(hidden)
        out = decode(mu + torch.randn_like(log) * torch.exp(0.5 * log))
        divergence = -0.5 * torch.sum(1 + log - mu.pow(2) - log.exp())
        (f.binary_cross_entropy(out, x, reduction="sum") + divergence).backward()
        optimizer.step()
    draw = nn.Sequential(
        nn.ConvTranspose2d(16, 32, 4, 1, 0, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
        nn.ConvTranspose2d(32, 3, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip
    judge = nn.Sequential(
        nn.Conv2d(3, 16, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(16, 1, 4, 1, 0), nn.Flatten(),
    )  # fmt: skip
    _train(draw, (torch.randn(16, 16, 1, 1),),
           lambda out: f.binary_cross_entropy_with_logits(judge(out), real))  # fmt: skip


@_program("first lessons: small tensors joined, compared, filled, summed, printed; derivatives")
def basics() -> None:
    x = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    y = torch.tensor([[2.0, 1, 4, 3], [1, 2, 3, 4], [4, 3, 2, 1]])
    torch.cat((x, y), 0), torch.cat((x, y), 1), (x == y).sum().item()
    x[1, 2] = 17
    x[0:2, :] = 12
    str(x), x + torch.arange(3).reshape(3, 1), y.T @ x, y.std(), y[y > 2]
    for rows, columns in ((3, 4), (5, 3), (100, 5), (100, 3)):
        z = torch.rand(rows, columns)
        z.sum(0), z.sum(1), z.mean(0), z.mean(1), z.sum(), z.mean()
        z[:, ::2].sum(), z.double().sum(0), z.double().mean(1)
    v = torch.arange(4.0, requires_grad=True)
    (2 * torch.dot(v, v)).backward()
    str(v.grad == 4 * v)
    v.grad.zero_()
    ((v * v).detach() * v).sum().backward()
    number = torch.randn((), requires_grad=True)
    (number * 2 if number.norm() < 1 else number * 3).backward()
    str(number.grad == 2 / number.detach())
    picture = torch.ones((6, 8))
    picture[:, 2:6] = 0
    (picture[1:3, 2:4] * y[:2, :2]).sum()
    layer = nn.Conv2d(1, 1, (1, 2), bias=False)
    ((layer(picture[None, None]) - picture[None, None, :, 1:]) ** 2).sum().backward()
    layer.weight.data[:] -= 3e-2 * layer.weight.grad


_UNARY = (
    "abs exp log sqrt rsqrt sin cos tan tanh sigmoid relu neg square reciprocal floor ceil round "
    "sign log1p expm1 erf isnan isfinite"
)
_BINARY = "add sub mul div pow maximum minimum eq ne lt le gt ge"


@_program("arithmetic, comparisons and casts of float32, float64, int64 and truth values")
def arithmetic() -> None:
    for dtype in (torch.float32, torch.float64, torch.int64):
        x, y = torch.rand(40, 33).mul(5).to(dtype), torch.rand(40, 33).add(1).to(dtype)
        for name in _BINARY.split():
            call = getattr(torch, name)
            for other in (y, y[0], y[:, :1], *([] if name.endswith("imum") else [2])):
                call(x, other)
        for to in (torch.float32, torch.float64, torch.int64, torch.bool):
            x.to(to)
        x += y
        x *= 2
        torch.where(x > y, x, y)
        x.clamp(0, 2)
    for dtype in (torch.float32, torch.float64):
        x = (torch.rand(40, 33, dtype=dtype) + 0.1).requires_grad_()
        for name in _UNARY.split():
            out = getattr(torch, name)(x)
            if out.requires_grad:
                out.sum().backward()
        out = x / x.detach()[0] + x * x - x.clamp(min=0.2) + torch.where(x > 0.5, x, -x)
        out.sum().backward()
    mask = torch.rand(40, 33) > 0.5
    (mask & ~mask | (mask == mask)).any()


@_program("sums, means, extremes, norms, cumulative sums and softmax, over all axes and over one")
def reductions() -> None:
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(64, 96, dtype=dtype).requires_grad_()
        for name in ("sum", "mean", "max", "min", "std", "var", "norm", "softmax", "logsumexp"):
            for axes in ((), (0,), (1,)):
                if not axes and name in ("softmax", "logsumexp"):
                    continue
                out = getattr(x, name)(*axes)
                first = out[0] if isinstance(out, tuple) else out
                first.sum().backward()
        x.cumsum(0), x.cumsum(1), x.argmax(), x.argmax(1), x.argmin(0), x.prod(1)
        x.log_softmax(-1).exp().sum(), x.abs().mean(dim=(0, 1)), x.detach().t().sum(1)
        torch.allclose(x, x), torch.equal(x, x)
    counts = torch.randint(0, 9, (50, 20))
    counts.sum(), counts.sum(0), counts.max(), counts.max(1), counts.float().mean()
    (counts > 4).sum(), (counts > 4).all(1), torch.bincount(counts.flatten())
    torch.randn(600, 600).sum(), torch.randn(600, 600).mean(0), torch.randn(600, 600).sum(1)


@_program("slices, indices, joins, sorting and drawing: what prepares data")
def data() -> None:
    torch.manual_seed(0)
    images = torch.randint(0, 256, (64, 28, 28), dtype=torch.uint8)
    x = (images.float() / 255 - 0.1307) / 0.3081
    labels = torch.randint(0, 10, (64,))
    order = torch.randperm(64)
    for each in (x, labels, x.double()):
        each[order], each[:8].clone(), each[order[:5]], each[each > 0.5], each[::2].contiguous()
        torch.stack([each[0], each[1]]), torch.cat([each, each])
    dataset = torch.utils.data.TensorDataset(x, labels)
    for inputs, targets in torch.utils.data.DataLoader(dataset, batch_size=16, shuffle=True):
        inputs.view(16, -1).mean(), f.one_hot(targets, 10)
    flat = x.view(64, -1)
    flat.t().contiguous(), flat.sort(1), flat.topk(3), flat.gather(1, labels[:, None])
    torch.zeros(64, 10).scatter_(1, labels[:, None], 1.0)
    torch.zeros(10).index_add_(0, labels, flat[:, 0])
    flat.index_select(0, order), flat.masked_fill(flat > 0, 0.0), f.pad(x, (1, 1, 1, 1)), x.flip(2)
    torch.eye(5), torch.arange(10), torch.linspace(0, 1, 9), torch.full((3, 3), 2.0)
    torch.tril(flat)
    torch.rand(100), torch.randn(100), torch.empty(10).normal_(), torch.bernoulli(torch.rand(20))
    torch.tensor([1.0, 2.0]).tolist(), x.permute(1, 2, 0).contiguous(), flat.numpy().sum()
    x[0, 1:3] = 1.0
    x[0] = x[1]


@_program("loss functions, and optimizers with their usual options")
def losses() -> None:
    net = nn.Sequential(nn.Linear(12, 16), nn.ELU(), nn.Linear(16, 6))
    x, y = torch.randn(20, 12), torch.rand(20, 6)
    label = torch.randint(0, 6, (20,))
    for loss in (
        lambda out: f.l1_loss(out, y), lambda out: f.smooth_l1_loss(out, y),
        lambda out: f.huber_loss(out, y), lambda out: f.binary_cross_entropy_with_logits(out, y),
        lambda out: f.kl_div(out.log_softmax(1), y.softmax(1), reduction="batchmean"),
        lambda out: f.cross_entropy(out, label, label_smoothing=0.1),
        lambda out: f.cross_entropy(out, label, weight=torch.ones(6)),
        lambda out: 1 - f.cosine_similarity(out, y).mean(),
    ):  # fmt: skip
        net.train()
        _train(net, (x,), loss)
    many = torch.randn(2048, 65, requires_grad=True)
    f.cross_entropy(many, torch.randint(0, 65, (2048,))).backward()
    sgd, adam = torch.optim.SGD, torch.optim.Adam
    for optimizer in (
        sgd(net.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4),
        sgd(net.parameters(), lr=0.1, weight_decay=1e-4),
        adam(net.parameters(), weight_decay=1e-4), adam(net.parameters(), amsgrad=True),
        torch.optim.RMSprop(net.parameters()), torch.optim.Adagrad(net.parameters()),
    ):  # fmt: skip
        _train(net, (x,), lambda out: f.mse_loss(out, y), optimizer)


@_program("products of matrices and batches, einsum, solvers and decompositions")
def matrices() -> None:
    for dtype in (torch.float32, torch.float64):
        a, b = torch.randn(24, 24, dtype=dtype), torch.randn(4, 24, 24, dtype=dtype)
        far = 9 * torch.eye(24, dtype=dtype)
        a = a.requires_grad_()
        for out in (
            a @ a, a @ a[0], b @ a, torch.bmm(b, b @ a), a.t() @ a, torch.outer(a[0], a[1]),
            torch.einsum("bij,jk->bik", b, a), torch.linalg.inv(a + far), torch.dot(a[0], a[1]),
            torch.linalg.solve(a.detach() + far, a), torch.cdist(a, b[0]),
        ):  # fmt: skip
            out.sum().backward()
        a = a.detach()
        torch.linalg.svd(a), torch.linalg.eigh(a @ a.t()), torch.linalg.qr(a)
        torch.linalg.cholesky(a @ a.t() + far)


@_program("training under autocast in bfloat16")
def half_precision() -> None:
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.LayerNorm(128), nn.Linear(128, 10))
    x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = f.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()


@_program("compiled functions (torch.compile): linear networks, transformers and convolutions")
def compiled() -> None:
    net = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
    words = _Words(65, 32, 64, 4, False)
    seen = nn.Sequential(
        nn.Conv2d(3, 64, 3, 1, 1), nn.ReLU(), nn.Conv2d(64, 64, 3, 1, 1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    x, y = torch.randn(64, 784), torch.randint(0, 10, (64,))
    images = torch.randn(4, 3, 32, 32)
    tokens = torch.randint(0, 65, (4, 32))

    def step(model: Any, optimizer: Any, inputs: Tensor, target: Tensor) -> Tensor:
        optimizer.zero_grad()
        out = model(inputs)
        loss = f.cross_entropy(out.view(-1, out.shape[-1]), target.view(-1))
        loss.backward()
        optimizer.step()
        return loss

    for model, optimizer, inputs, target in (
        (net, _momentum(net.parameters()), x, y),
        (words, torch.optim.AdamW(words.parameters()), tokens, tokens),
        (seen, _momentum(seen.parameters()), images, y[:4]),
    ):
        run = torch.compile(step)
        for _ in range(3):
            run(model, optimizer, inputs, target)


def _separable(n: int, m: int) -> Any:
    return nn.Sequential(
        nn.Conv2d(n, n, 3, 1, 1, groups=n, bias=False), nn.BatchNorm2d(n), nn.ReLU6(),
        nn.Conv2d(n, m, 1, bias=False), nn.BatchNorm2d(m), nn.Hardswish(),
    )  # fmt: skip


class _Branches(nn.Module):
    """Convolutions of several windows side by side."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList([
            nn.Conv2d(n, 8, 1), nn.Conv2d(n, 8, 3, padding=1), nn.Conv2d(n, 4, 5, padding=2),
        ])  # fmt: skip
        self.pool = nn.MaxPool2d(3, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([*(f.relu(each(x)) for each in self.convolutions), self.pool(x)], 1)


@_program("depthwise and 1 x 1 convolutions, few channels, resized pictures, boxes that overlap")
def vision() -> None:
    x, y = torch.randn(8, 3, 16, 16), torch.randint(0, 4, (8,))
    for body in (
        nn.Sequential(_separable(3, 16), _separable(16, 32), nn.AdaptiveAvgPool2d(1)),
        nn.Sequential(_Branches(3), nn.AvgPool2d(2), _Branches(23), nn.AdaptiveMaxPool2d(1)),
    ):
        net = nn.Sequential(body, nn.Flatten(), nn.LazyLinear(4))
        net(x).logsumexp(1).mean().backward()
        _train(net, (x,), lambda out: f.cross_entropy(out, y, label_smoothing=0.1),
               torch.optim.RMSprop(net.parameters()))  # fmt: skip
    widen = nn.ConvTranspose2d(3, 3, 4, 2, 1, bias=False)
    difference = widen(x) - f.interpolate(x, scale_factor=2, mode="bilinear")
    (difference[..., 2:-2, 2:-2].abs().max() < 1).item()
    f.interpolate(widen(x), size=(16, 16)).mean().backward()
    boxes = torch.rand(50, 4)
    boxes[:, 2:] = boxes[:, :2] + boxes[:, 2:]
    low = torch.max(boxes[:, None, :2], boxes[:, :2])
    sides = (torch.min(boxes[:, None, 2:], boxes[:, 2:]) - low).clamp(min=0)
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    overlap = sides.prod(2)
    overlap = overlap / (area[:, None] + area - overlap)
    order = torch.rand(50).argsort(descending=True)
    order[1:][(overlap[order[:1]][:, order[1:]] < 0.3).flatten()]
