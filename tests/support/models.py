"""Eight models written once, for real torch and for ours: pass the namespace.

``build(torch, name)`` returns (modules, step): ``step()`` is one training step on fixed data and
returns the loss as a float. Everything random comes from the namespace's own generator.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

Step = Callable[[], float]
Built = tuple[list[Any], Step]


def _supervised(torch: Any, net: Any, x: Any, y: Any, optimizer: Any) -> Step:
    loss_function = torch.nn.CrossEntropyLoss()

    def update() -> Any:
        optimizer.zero_grad()
        logits = net(x)
        loss = loss_function(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
        loss.backward()
        optimizer.step()
        return loss

    def step() -> float:
        return float(update().item())

    step.update = update  # type: ignore[attr-defined]
    return step


def mlp(
    torch: Any, batch: int = 64, sizes: tuple[int, ...] = (784, 512, 512, 10), adam: bool = False
) -> Built:
    nn = torch.nn
    layers: list[Any] = []
    for n, m in itertools.pairwise(sizes):
        layers += [nn.Linear(n, m), nn.ReLU()]
    net = nn.Sequential(*layers[:-1])
    x = torch.randn(batch, sizes[0])
    y = torch.randint(0, sizes[-1], (batch,))
    optimizer = (
        torch.optim.Adam(net.parameters(), lr=1e-3)
        if adam
        else torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    )
    return [net], _supervised(torch, net, x, y, optimizer)


def lenet(torch: Any, batch: int = 64) -> Built:
    nn = torch.nn

    class LeNet(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
            self.conv2 = nn.Conv2d(6, 16, 5)
            self.fc1 = nn.Linear(400, 120)
            self.fc2 = nn.Linear(120, 84)
            self.fc3 = nn.Linear(84, 10)
            self.drop = nn.Dropout(0.25)

        def forward(self, x: Any) -> Any:
            f = nn.functional
            x = f.max_pool2d(f.relu(self.conv1(x)), 2)
            x = f.max_pool2d(f.relu(self.conv2(x)), 2)
            x = torch.flatten(x, 1)
            x = self.drop(f.relu(self.fc1(x)))
            return self.fc3(f.relu(self.fc2(x)))

    net = LeNet()
    x = torch.randn(batch, 1, 28, 28)
    y = torch.randint(0, 10, (batch,))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    return [net], _supervised(torch, net, x, y, optimizer)


def resnet18(torch: Any, batch: int = 32, width: int = 64, side: int = 32) -> Built:
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self, n: int, m: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(n, m, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(m)
            self.conv2 = nn.Conv2d(m, m, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(m)
            self.relu = nn.ReLU(inplace=True)
            self.down = None
            if stride != 1 or n != m:
                self.down = nn.Sequential(
                    nn.Conv2d(n, m, 1, stride, bias=False), nn.BatchNorm2d(m)
                )

        def forward(self, x: Any) -> Any:
            kept = x if self.down is None else self.down(x)
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += kept
            return self.relu(out)

    class ResNet(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
            )
            blocks: list[Any] = []
            n = width
            for i, stride in enumerate((1, 2, 2, 2)):
                m = width * 2**i
                blocks += [Block(n, m, stride), Block(m, m, 1)]
                n = m
            self.blocks = nn.Sequential(*blocks)
            self.pool = nn.AdaptiveAvgPool2d(1)
            self.fc = nn.Linear(n, 10)

        def forward(self, x: Any) -> Any:
            return self.fc(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))

    net = ResNet()
    x = torch.randn(batch, 3, side, side)
    y = torch.randint(0, 10, (batch,))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    return [net], _supervised(torch, net, x, y, optimizer)


def lstm(torch: Any, batch: int = 16, steps: int = 20, words: int = 100) -> Built:
    nn = torch.nn

    class Classifier(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(words, 32, padding_idx=0)
            self.lstm = nn.LSTM(32, 48, num_layers=2, batch_first=True, bidirectional=True,
                                dropout=0.2)  # fmt: skip
            self.out = nn.Linear(96, 4)

        def forward(self, tokens: Any) -> Any:
            states, _ = self.lstm(self.embed(tokens))
            return self.out(states.mean(1))

    net = Classifier()
    x = torch.randint(0, words, (batch, steps))
    y = torch.randint(0, 4, (batch,))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    return [net], _supervised(torch, net, x, y, optimizer)


def layered_lstm(torch: Any, batch: int = 16, steps: int = 32, width: int = 64) -> Built:
    nn = torch.nn

    class LastState(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm, self.out = nn.LSTM(width, width, num_layers=2), nn.Linear(width, 8)

        def forward(self, x: Any) -> Any:
            return self.out(self.lstm(x)[0][-1])

    net = LastState()
    x, y = torch.randn(steps, batch, width), torch.randint(0, 8, (batch,))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    return [net], _supervised(torch, net, x, y, optimizer)


def gpt(
    torch: Any, batch: int = 4, length: int = 32, layers: int = 2, width: int = 64, heads: int = 4,
    words: int = 65, dropout: float = 0.1,
) -> Built:  # fmt: skip
    nn, f = torch.nn, torch.nn.functional

    class Attention(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width)
            self.proj = nn.Linear(width, width)
            self.drop = nn.Dropout(dropout)
            mask = torch.tril(torch.ones(length, length)).view(1, 1, length, length)
            self.register_buffer("mask", mask)

        def forward(self, x: Any) -> Any:
            b, t, c = x.size()
            q, k, v = self.qkv(x).split(width, dim=2)
            q = q.view(b, t, heads, c // heads).transpose(1, 2)
            k = k.view(b, t, heads, c // heads).transpose(1, 2)
            v = v.view(b, t, heads, c // heads).transpose(1, 2)
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
            weights = self.drop(f.softmax(scores, dim=-1))
            y = (weights @ v).transpose(1, 2).contiguous().view(b, t, c)
            return self.drop(self.proj(y))

    class Layer(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = Attention()
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width),
                nn.Dropout(dropout),
            )  # fmt: skip

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.ln1(x))
            return x + self.mlp(self.ln2(x))

    class Decoder(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(words, width)
            self.places = nn.Embedding(length, width)
            self.drop = nn.Dropout(dropout)
            self.layers = nn.ModuleList([Layer() for _ in range(layers)])
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, words, bias=False)

        def forward(self, tokens: Any) -> Any:
            places = torch.arange(tokens.shape[1])
            x = self.drop(self.words(tokens) + self.places(places))
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x))

    net = Decoder()
    tokens = torch.randint(0, words, (batch, length + 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.1)
    return [net], _supervised(torch, net, tokens[:, :-1], tokens[:, 1:], optimizer)


def vae(torch: Any, batch: int = 32) -> Built:
    nn, f = torch.nn, torch.nn.functional

    class Autoencoder(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.fc1 = nn.Linear(196, 100)
            self.mean, self.spread = nn.Linear(100, 10), nn.Linear(100, 10)
            self.fc3, self.fc4 = nn.Linear(10, 100), nn.Linear(100, 196)

        def forward(self, x: Any) -> Any:
            h = f.relu(self.fc1(x))
            mean, log_variance = self.mean(h), self.spread(h)
            std = torch.exp(0.5 * log_variance)
            z = mean + torch.randn_like(std) * std
            return torch.sigmoid(self.fc4(f.relu(self.fc3(z)))), mean, log_variance

    net = Autoencoder()
    x = torch.rand(batch, 196)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def step() -> float:
        optimizer.zero_grad()
        made, mean, log_variance = net(x)
        rebuilt = f.binary_cross_entropy(made, x, reduction="sum")
        divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
        loss = rebuilt + divergence
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return [net], step


def dcgan(torch: Any, batch: int = 8) -> Built:
    nn = torch.nn
    generator = nn.Sequential(
        nn.ConvTranspose2d(16, 32, 4, 1, 0, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
        nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
        nn.ConvTranspose2d(16, 1, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip
    judge = nn.Sequential(
        nn.Conv2d(1, 16, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(16, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32),
        nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(32, 1, 4, 1, 0, bias=False), nn.Sigmoid(),
    )  # fmt: skip

    def weights_init(module: Any) -> None:
        name = type(module).__name__
        if "Conv" in name:
            nn.init.normal_(module.weight, 0.0, 0.02)
        elif "BatchNorm" in name:
            nn.init.normal_(module.weight, 1.0, 0.02)
            nn.init.zeros_(module.bias)

    generator.apply(weights_init)
    judge.apply(weights_init)
    loss_function = nn.BCELoss()
    real = torch.rand(batch, 1, 16, 16) * 2 - 1
    made_by = {"lr": 2e-4, "betas": (0.5, 0.999)}
    first = torch.optim.Adam(judge.parameters(), **made_by)
    second = torch.optim.Adam(generator.parameters(), **made_by)

    def step() -> float:
        judge.zero_grad()
        label = torch.full((batch,), 1.0)
        loss_real = loss_function(judge(real).view(-1), label)
        loss_real.backward()
        fake = generator(torch.randn(batch, 16, 1, 1))
        label.fill_(0.0)
        loss_fake = loss_function(judge(fake.detach()).view(-1), label)
        loss_fake.backward()
        first.step()
        generator.zero_grad()
        label.fill_(1.0)
        loss = loss_function(judge(fake).view(-1), label)
        loss.backward()
        second.step()
        return float((loss_real + loss_fake + loss).item())

    return [generator, judge], step


MODELS: dict[str, Callable[..., Built]] = {
    "mlp": mlp, "lenet": lenet, "resnet18": resnet18, "lstm": lstm, "gpt": gpt, "vae": vae,
    "dcgan": dcgan,
}  # fmt: skip
# those that only benchmarks run
TIMED: dict[str, Callable[..., Built]] = {"layered_lstm": layered_lstm}

# the sizes in which a test runs them
SMALL: dict[str, dict[str, Any]] = {
    "mlp": {"batch": 16, "sizes": (64, 32, 32, 10)},
    "resnet18": {"batch": 4, "width": 8, "side": 16},
}


def build(torch: Any, name: str, seed: int = 0, **sizes: Any) -> Built:
    """Seed the namespace's generator and build a model."""
    torch.manual_seed(seed)
    return {**MODELS, **TIMED}[name](torch, **sizes)
