"""Five training programs for the tests of `mindtorch compare`, each with deliberate faults.

A program takes the namespace it is to use, the name of a fault ('' for none) and how many steps it
makes. `FAULTS` says for each fault in which phase and module it must be found.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["FAULTS", "PROGRAMS"]


def loader(torch: Any, tensors: tuple[Any, ...], size: int, shuffle: bool = True) -> Any:
    data = torch.utils.data.TensorDataset(*tensors)
    return torch.utils.data.DataLoader(data, batch_size=size, shuffle=shuffle)


def mlp(torch: Any, fault: str, steps: int) -> None:
    """Batch norm, dropout, SGD with momentum."""
    nn: Any = torch.nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(10, 32)
            self.norm = nn.BatchNorm1d(32, eps=1e-3 if fault == "epsilon" else 1e-5)
            self.hidden = nn.Linear(32, 24)
            self.drop = nn.Dropout(0.2)
            self.last = nn.Linear(24, 4, bias=fault != "missing bias")

        def forward(self, x: Any) -> Any:
            x = torch.relu(self.norm(self.first(x)))
            if fault == "dropout mask":
                torch.get_rng_state()  # the state is moved on behind every function's back
                torch.manual_seed(17)
            return self.last(self.drop(torch.tanh(self.hidden(x))))

    model = Net()
    if fault == "wrong weight":
        with torch.no_grad():
            model.hidden.weight[3, 5] += 0.01
    if fault == "gradient hook":
        model.hidden.weight.register_hook(lambda gradient: gradient * 1.5)
    dampening = 0.1 if fault == "momentum dampening" else 0.0
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, dampening=dampening)
    reduction = "sum" if fault == "wrong reduction" else "mean"
    criterion = nn.CrossEntropyLoss(reduction=reduction)
    x, y = torch.randn(24, 10), torch.randint(0, 4, (24,))
    done = 0
    while done < steps:
        for given, wanted in loader(torch, (x, y), 8, shuffle=fault != "shuffled batch"):
            optimizer.zero_grad()
            criterion(model(given), wanted).backward()
            optimizer.step()
            done += 1


def cnn(torch: Any, fault: str, steps: int) -> None:
    """Convolutions with a residual block."""
    nn: Any = torch.nn
    functional = nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(8, 8, 3, padding=1, bias=False)
            self.norm = nn.BatchNorm2d(8, momentum=0.2 if fault == "buffer momentum" else 0.1)
            self.act = nn.LeakyReLU(0.02 if fault == "slope" else 0.01)

        def forward(self, x: Any) -> Any:
            y = self.norm(self.conv(x))
            if fault == "float16 cast":
                y = y.half().float()
            if fault == "swapped axis":
                y = y.transpose(2, 3)
            if fault == "detached branch":
                x = x.detach()
            return self.act(x + (y * 1.01 if fault == "scaled branch" else y))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Conv2d(3, 8, 3)
            self.block = Block()
            self.pool = nn.AvgPool2d(2) if fault == "wrong pool" else nn.MaxPool2d(2)
            self.head = nn.Linear(8 * 25, 5)

        def forward(self, x: Any) -> Any:
            sides = (2, 0, 1, 1) if fault == "off-by-one pad" else (1, 1, 1, 1)
            x = self.pool(self.block(self.stem(functional.pad(x, sides))))
            return self.head(x.flatten(1))

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9, nesterov=True)
    x, y = torch.randn(16, 3, 10, 10), torch.randint(0, 5, (16,))
    done = 0
    while done < steps:
        for given, wanted in loader(torch, (x, y), 8):
            optimizer.zero_grad()
            functional.cross_entropy(model(given), wanted).backward()
            if fault == "unsynchronised buffer":
                with torch.no_grad():
                    model.block.norm.running_mean.zero_()
            optimizer.step()
            done += 1


def lstm(torch: Any, fault: str, steps: int) -> None:
    """An embedding, a recurrent layer, clipped gradients, Adam."""
    nn: Any = torch.nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(20, 12, padding_idx=0 if fault == "padding index" else None)
            self.lstm = nn.LSTM(12, 16, batch_first=True)
            self.head = nn.Linear(16, 3)

        def forward(self, x: Any) -> Any:
            hidden, _ = self.lstm(self.embed(x))
            return self.head(hidden[:, -2 if fault == "wrong step" else -1])

    model = Tagger()
    torch.manual_seed(3)  # with a padding index the layer starts from other numbers
    nn.init.normal_(model.embed.weight)
    if fault == "forget bias":
        with torch.no_grad():
            model.lstm.bias_ih_l0[16:32] += 1
    betas = (0.9, 0.99) if fault == "betas" else (0.9, 0.999)
    decay = 0.01 if fault == "weight decay" else 0.0
    epsilon = 1e-4 if fault == "adam epsilon" else 1e-8
    optimizer = torch.optim.Adam(model.parameters(), 1e-2, betas, epsilon, weight_decay=decay)
    x, y = torch.randint(0, 20, (24, 6)), torch.randint(0, 3, (24,))
    if fault == "shifted labels":
        y = y.roll(1)
    done = 0
    while done < steps:
        for given, wanted in loader(torch, (x, y), 8):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(given), wanted).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.2 if fault == "clipping" else 0.4)
            optimizer.step()
            done += 1


def transformer(torch: Any, fault: str, steps: int) -> None:
    """Attention written out, layer norms, tied weights, AdamW with a schedule."""
    nn: Any = torch.nn

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(16, 48)
            self.out = nn.Linear(16, 16)

        def forward(self, x: Any) -> Any:
            n, t, _ = x.shape
            order = (2, 0, 3, 1, 4)
            q, k, v = self.qkv(x).reshape(n, t, 3, 2, 8).permute(order)
            scores = q @ k.transpose(-2, -1) / (8.0 if fault == "wrong scale" else math.sqrt(8))
            offset = 2 if fault == "mask off by one" else 1
            above = torch.ones(t, t).triu(offset).bool()
            scores = scores.masked_fill(above, -1e9)
            weights = torch.softmax(scores, -2 if fault == "softmax axis" else -1)
            y = weights @ v
            y = y.permute(0, 2, 1, 3) if fault != "swapped axes" else y.transpose(1, 2).flip(2)
            return self.out(y.reshape(n, t, 16))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(15, 16)
            self.attention = Attention()
            self.norm = nn.LayerNorm(16, eps=1e-3 if fault == "norm epsilon" else 1e-5)
            self.wide = nn.Linear(16, 32)
            self.act = nn.GELU("tanh" if fault == "approximation" else "none")
            self.narrow = nn.Linear(32, 16)
            self.head = nn.Linear(16, 15, bias=False)
            if fault != "untied weight":
                self.head.weight = self.embed.weight

        def forward(self, x: Any) -> Any:
            x = self.embed(x)
            x = x + self.attention(x)
            view = x[:, 0] if fault != "stale view" else x[:, 0].clone()
            x = self.norm(x)
            x = x + self.narrow(self.act(self.wide(x)))
            view = view.mul(0.1)
            return self.head(x + view[:, None])

    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    gamma = 0.8 if fault == "schedule" else 0.9
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma)
    tokens = torch.randint(0, 15, (16, 7))
    for done in range(steps):
        batch = tokens[done % 2 * 8 :][:8]
        optimizer.zero_grad()
        scores = model(batch[:, :-1])
        nn.functional.cross_entropy(scores.reshape(-1, 15), batch[:, 1:].reshape(-1)).backward()
        optimizer.step()
        schedule.step()


def vae(torch: Any, fault: str, steps: int) -> None:
    """Random noise within the model, a Function of its own, transposed convolution, RMSprop."""
    nn: Any = torch.nn
    functional = nn.functional

    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * torch.sigmoid(x)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            s = torch.sigmoid(x)
            inner = s if fault == "wrong backward" else s * (1 + x * (1 - s))
            return gradient * inner

    class Act(nn.Module):
        def forward(self, x: Any) -> Any:
            return Swish.apply(x)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.Conv2d(1, 4, 4, 2, 1)
            self.act = Act()
            self.code = nn.Linear(4 * 16, 12)
            self.back = nn.Linear(6, 4 * 16)
            self.up = nn.ConvTranspose2d(4, 1, 4, 2, 1)

        def forward(self, x: Any) -> Any:
            mean, spread = self.code(self.act(self.down(x)).flatten(1)).chunk(2, 1)
            if fault == "numpy detour":
                mean = mean + torch.from_numpy(np.sin(spread.detach().numpy()) * 0.01)
            noise = torch.randn_like(spread)
            if fault == "extra draw":
                noise = torch.randn_like(spread)
            z = mean + noise * (spread * 0.5).exp()
            image = self.up(self.act(self.back(z)).reshape(-1, 4, 4, 4))
            return image, mean, spread

    model = Model()
    if fault == "flipped kernel":
        with torch.no_grad():
            model.up.weight.copy_(model.up.weight.flip(3))
    optimizer = torch.optim.RMSprop(model.parameters(), 1e-3)
    images = torch.rand(16, 1, 8, 8)
    done = 0
    while done < steps:
        for (x,) in loader(torch, (images,), 8):
            if fault != "kept gradients" or done == 0:
                optimizer.zero_grad()
            if fault == "scaled batch":
                x = x * 1.01
            image, mean, spread = model(x)
            divergence = 0.5 * (mean**2 + spread.exp() - spread - 1)
            total = divergence.sum() if fault == "summed divergence" else divergence.mean()
            (functional.mse_loss(image, x) + total).backward()
            optimizer.step()
            done += 1
            if fault == "changed between" and done == 2:
                model.back.weight.data.mul_(1.001)


PROGRAMS: dict[str, Callable[[Any, str, int], None]] = {
    "mlp": mlp,
    "cnn": cnn,
    "lstm": lstm,
    "transformer": transformer,
    "vae": vae,
}

# program, fault -> phase, module ('' for what belongs to none)
FAULTS: dict[tuple[str, str], tuple[str, str]] = {
    ("mlp", "epsilon"): ("forward", "norm"),
    ("mlp", "missing bias"): ("start", "last"),
    ("mlp", "wrong weight"): ("start", "hidden"),
    ("mlp", "gradient hook"): ("backward", "hidden"),
    ("mlp", "momentum dampening"): ("update", ""),
    ("mlp", "wrong reduction"): ("loss", "CrossEntropyLoss"),
    ("mlp", "shuffled batch"): ("data", ""),
    ("mlp", "dropout mask"): ("forward", "drop"),
    ("cnn", "off-by-one pad"): ("forward", "Net"),
    ("cnn", "buffer momentum"): ("update", "block.norm"),
    ("cnn", "slope"): ("forward", "block.act"),
    ("cnn", "float16 cast"): ("forward", "block"),
    ("cnn", "swapped axis"): ("forward", "block"),
    ("cnn", "detached branch"): ("forward", "block"),
    ("cnn", "scaled branch"): ("forward", "block"),
    ("cnn", "wrong pool"): ("forward", "pool"),
    ("cnn", "unsynchronised buffer"): ("update", "block.norm"),
    ("lstm", "padding index"): ("backward", "embed"),
    ("lstm", "wrong step"): ("forward", "Tagger"),
    ("lstm", "forget bias"): ("start", "lstm"),
    ("lstm", "betas"): ("update", ""),
    ("lstm", "weight decay"): ("update", ""),
    ("lstm", "adam epsilon"): ("update", ""),
    ("lstm", "shifted labels"): ("data", ""),
    ("lstm", "clipping"): ("backward", "head"),
    ("transformer", "wrong scale"): ("forward", "attention"),
    ("transformer", "mask off by one"): ("forward", "attention"),
    ("transformer", "softmax axis"): ("forward", "attention"),
    ("transformer", "swapped axes"): ("forward", "attention"),
    ("transformer", "norm epsilon"): ("forward", "norm"),
    ("transformer", "approximation"): ("forward", "act"),
    ("transformer", "untied weight"): ("start", "head"),
    ("transformer", "stale view"): ("forward", "Model"),
    ("transformer", "schedule"): ("update", ""),
    ("vae", "wrong backward"): ("backward", "act"),
    ("vae", "numpy detour"): ("forward", "Model"),
    ("vae", "extra draw"): ("forward", "Model"),
    ("vae", "flipped kernel"): ("start", "up"),
    ("vae", "kept gradients"): ("backward", "up"),
    ("vae", "scaled batch"): ("data", ""),
    ("vae", "summed divergence"): ("loss", ""),
    ("vae", "changed between"): ("update", "back"),
}
