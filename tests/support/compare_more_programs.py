"""More training programs for the tests of `mindtorch compare`: a ViT, inverted residuals, a GAN,
translation, L-BFGS with summed-up gradients, a graph network, tied weights, a moving average. As in
compare_programs, with faults of other kinds."""

import math
from collections.abc import Callable
from typing import Any

__all__ = ["FAULTS", "PROGRAMS"]


def vit(torch: Any, fault: str, steps: int) -> None:
    """Patches, a class token, positions, attention written out, AdamW with a warm-up."""
    nn: Any = torch.nn
    F = torch.nn.functional

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

        def forward(self, x: Any) -> Any:
            batch, length, width = x.shape
            q, k, v = self.qkv(x).reshape(batch, length, 3, 2, 8).permute(2, 0, 3, 1, 4)
            if fault == "keys as queries":
                q, k = k, q * 1.01
            scale = math.sqrt(16 if fault == "wrong scale" else 8)
            weights = (q @ k.transpose(-2, -1) / scale).softmax(-1)
            return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
            self.attend = Attention()
            gelu = nn.GELU(approximate="tanh" if fault == "other GELU" else "none")
            self.mlp = nn.Sequential(nn.Linear(16, 32), gelu, nn.Linear(32, 16))

        def forward(self, x: Any) -> Any:
            x = x + self.attend(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 16, 4, 4)
            self.token = nn.Parameter(torch.zeros(1, 1, 16))
            self.places = nn.Parameter(torch.randn(1, 5, 16) * 0.02)
            self.blocks = nn.ModuleList(Block() for _ in range(2))
            self.head = nn.Linear(16, 4)

        def forward(self, x: Any) -> Any:
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(len(x), -1, -1), x], 1)
            x = x if fault == "no positions" else x + self.places
            for block in self.blocks:
                x = block(x)
            return self.head(x[:, -1 if fault == "last token" else 0])

    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2, weight_decay=0.05)
    rate = (lambda n: 1.0) if fault == "no warm-up" else (lambda n: min(1.0, (n + 1) / 4))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    x, y = torch.randn(6, 3, 8, 8), torch.randint(0, 4, (6,))
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y, label_smoothing=0.1).backward()
        limit = 10.0 if fault == "clipped at another norm" else 0.1
        torch.nn.utils.clip_grad_norm_(net.parameters(), limit)
        optimizer.step()
        schedule.step()


def mobile(torch: Any, fault: str, steps: int) -> None:
    """MobileNetV3's block: expansion, depthwise convolution, squeeze and excitation, residual."""
    nn: Any = torch.nn
    F = torch.nn.functional

    class Squeeze(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down, self.up = nn.Conv2d(12, 4, 1), nn.Conv2d(4, 12, 1)

        def forward(self, x: Any) -> Any:
            maximum = fault == "squeezed by maximum"
            pool = F.adaptive_max_pool2d if maximum else F.adaptive_avg_pool2d
            return x * F.hardsigmoid(self.up(F.relu(self.down(pool(x, 1)))))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            groups = 6 if fault == "half the groups" else 12
            self.expand = nn.Sequential(nn.Conv2d(4, 12, 1, bias=False), nn.BatchNorm2d(12))
            self.act = nn.SiLU() if fault == "SiLU" else nn.Hardswish()
            self.depth = nn.Conv2d(12, 12, 3, padding=1, groups=groups, bias=False)
            self.norm = nn.BatchNorm2d(12, momentum=0.01 if fault == "other momentum" else 0.1)
            self.squeeze = Squeeze()
            self.project = nn.Conv2d(12, 4, 1)

        def forward(self, x: Any) -> Any:
            made = self.act(self.norm(self.depth(self.act(self.expand(x)))))
            made = self.project(self.squeeze(made))
            return made if fault == "no residual" else x + made

    net = nn.Sequential(
        nn.Conv2d(3, 4, 3, 2, 1), Block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5)
    )
    optimizer = torch.optim.RMSprop(
        net.parameters(), 1e-2, alpha=0.99 if fault == "alpha" else 0.9, momentum=0.9
    )
    x, y = torch.randn(8, 3, 12, 12), torch.randint(0, 5, (8,))
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()


def gan(torch: Any, fault: str, steps: int) -> None:
    """Two models, two optimizers, noise drawn in each step."""
    nn: Any = torch.nn
    F = torch.nn.functional
    maker = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 6))
    critic = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    critics = torch.optim.Adam(critic.parameters(), 1e-3, betas=(0.5, 0.999))
    first = 0.9 if fault == "the maker's beta" else 0.5
    makers = torch.optim.Adam(maker.parameters(), 1e-3, betas=(first, 0.999))
    real = torch.randn(8, 6)
    for _ in range(steps):
        noise = torch.rand(8, 4) if fault == "uniform noise" else torch.randn(8, 4)
        made = maker(noise)
        critics.zero_grad()
        goal = torch.full((8, 1), 0.9 if fault == "smoothed labels" else 1.0)
        seen = made if fault == "not detached" else made.detach()
        loss = F.binary_cross_entropy_with_logits(critic(real), goal)
        loss = loss + F.binary_cross_entropy_with_logits(critic(seen), torch.zeros(8, 1))
        loss.backward(retain_graph=True)
        critics.step()
        if fault != "gradients kept":
            makers.zero_grad()
        F.binary_cross_entropy_with_logits(critic(made), torch.ones(8, 1)).backward()
        makers.step()


def translation(torch: Any, fault: str, steps: int) -> None:
    """GRUs with attention over what is no padding, fed with the right words."""
    nn: Any = torch.nn
    F = torch.nn.functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(12, 8, padding_idx=None if fault == "padding trained" else 0)
            self.read = nn.GRU(8, 10, batch_first=True, bidirectional=True)
            self.bridge = nn.Linear(20, 10)
            self.write = nn.GRUCell(8 + 20, 10)
            self.score = nn.Linear(10, 20)
            self.out = nn.Linear(10, 12)

        def forward(self, source: Any, target: Any) -> Any:
            seen, last = self.read(self.words(source))
            state = torch.tanh(self.bridge(torch.cat([last[0], last[1]], 1)))
            made = []
            word = target[:, 0]
            for at in range(1, target.shape[1]):
                scores = (seen @ self.score(state).unsqueeze(-1)).squeeze(-1)
                if fault != "padding attended":
                    scores = scores.masked_fill(source == 0, float("-inf"))
                context = (scores.softmax(-1).unsqueeze(1) @ seen).squeeze(1)
                state = self.write(torch.cat([self.words(word), context], 1), state)
                made.append(self.out(state))
                word = made[-1].argmax(-1) if fault == "own words" else target[:, at]
            return torch.stack(made, 1)

    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    source, target = torch.randint(1, 12, (5, 7)), torch.randint(1, 12, (5, 6))
    source[1, 4:] = 0
    source[3, 6:] = 0
    target[2, 4:] = 0
    for _ in range(steps):
        optimizer.zero_grad()
        made = net(source, target)
        wanted, ignored = target[:, 1:].flatten(), -100 if fault == "padding counted" else 0
        F.cross_entropy(made.flatten(0, 1), wanted, ignore_index=ignored).backward()
        optimizer.step()


def closures(torch: Any, fault: str, steps: int) -> None:
    """L-BFGS calls a closure several times in a step; each sums up over two halves of a batch."""
    nn: Any = torch.nn
    F = torch.nn.functional
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    inner = 3 if fault == "fewer tries" else 4
    optimizer = torch.optim.LBFGS(net.parameters(), 0.5, max_iter=inner, history_size=5)
    x, y = torch.randn(12, 3), torch.randn(12, 1)

    def closure() -> Any:
        optimizer.zero_grad()
        total = torch.zeros(())
        for part in (slice(0, 6), slice(6, 12)):
            loss = F.mse_loss(net(x[part]), y[part]) / (1 if fault == "not averaged" else 2)
            loss.backward()
            total = total + loss.detach()
        return total

    for _ in range(steps):
        optimizer.step(closure)


def sage(torch: Any, fault: str, steps: int) -> None:
    """A graph's neighbours averaged by index_add; Adagrad, which makes steps of a gradient that is
    nothing but rounding (that of a bias before a batch norm)."""
    nn: Any = torch.nn
    F = torch.nn.functional

    class Sage(nn.Module):
        def __init__(self, width: int, made: int) -> None:
            super().__init__()
            self.own, self.others = nn.Linear(width, made), nn.Linear(width, made, bias=False)

        def forward(self, x: Any, start: Any, end: Any) -> Any:
            if fault == "turned around":
                start, end = end, start
            around = torch.zeros(len(x), x.shape[1], dtype=x.dtype).index_add(0, end, x[start])
            least = 2 if fault == "wrong degree" else 1
            degree = torch.bincount(end, minlength=len(x)).clamp(min=least).to(x.dtype)
            return self.own(x) + self.others(around / degree[:, None])

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm = Sage(6, 12), nn.BatchNorm1d(12)
            self.drop = nn.Dropout(0.35 if fault == "more dropout" else 0.3)
            self.second, self.out = Sage(12, 8), nn.Linear(20, 3)

        def forward(self, x: Any, start: Any, end: Any) -> Any:
            seen = F.elu(self.norm(self.first(x, start, end)))
            further = F.leaky_relu(self.second(self.drop(seen), start, end))
            return self.out(torch.cat([seen, further], -1))

    net = Net()
    decay = 0.1 if fault == "decayed rate" else 0
    optimizer = torch.optim.Adagrad(net.parameters(), 0.05, lr_decay=decay)
    x, y = torch.randn(20, 6), torch.randint(0, 3, (20,))
    start, end = torch.randint(0, 20, (60,)), torch.randint(0, 20, (60,))
    for _ in range(steps):
        optimizer.zero_grad()
        F.nll_loss(F.log_softmax(net(x, start, end), -1)[:12], y[:12]).backward()
        optimizer.step()


def tied(torch: Any, fault: str, steps: int) -> None:
    """One weight for the way in and out, a layer that is never called, a batch norm that averages
    all batches, and |x| as loss, whose gradient's sign turns where rounding does."""
    nn: Any = torch.nn
    F = torch.nn.functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            momentum = 0.1 if fault == "momentum" else None
            norm = nn.BatchNorm1d(10, momentum=momentum)
            self.encode = nn.Sequential(nn.Linear(6, 10), norm, nn.CELU())
            self.scale = nn.InstanceNorm1d(10, affine=True)
            self.unused, self.bias = nn.Linear(10, 6), nn.Parameter(torch.zeros(6))

        def forward(self, x: Any) -> Any:
            made = self.encode(x)
            made = self.scale(made.unsqueeze(0).transpose(1, 2)).transpose(1, 2).squeeze(0)
            return F.linear(made, self.encode[0].weight.t(), self.bias)

    net = Net()
    rho = 0.95 if fault == "rho" else 0.9
    optimizer = torch.optim.Adadelta(net.parameters(), 1.0, rho=rho)
    x = torch.randn(12, 6)
    for step in range(steps):
        if step == 2 and fault == "evaluated":
            net.eval()
        F.l1_loss(net(x.flip(0) if fault == "turned batch" else x), x).backward()
        optimizer.step()
        optimizer.zero_grad()


def teacher(torch: Any, fault: str, steps: int) -> None:
    """A moving average of the model makes the targets; paths are dropped, by a mask in memory that
    nobody wrote before; the encoder is called twice; groups of parameters."""
    import importlib

    nn: Any = torch.nn
    F = torch.nn.functional
    averages = importlib.import_module(f"{torch.__name__}.optim.swa_utils")

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encode = nn.Sequential(nn.Linear(6, 10, bias=False), nn.BatchNorm1d(10), nn.ReLU())
            self.scale = nn.Parameter(torch.Tensor(10))
            self.scale.data.uniform_(0.5, 1.5)
            self.head = nn.Linear(10, 4)

        def forward(self, x: Any, y: Any) -> Any:
            a = self.encode(x)
            self.encode.train(self.training and fault != "second call evaluated")
            b = self.encode(y) * self.scale
            self.encode.train(self.training)
            kept = b.new_empty(len(b), 1).bernoulli_(0.8) if self.training else 1
            both = torch.empty(len(a), 10, dtype=a.dtype)
            both[:] = a + b * kept
            return self.head(both)

    net = Net()
    rate = 0.8 if fault == "rate of the average" else 0.9
    average = averages.AveragedModel(net, multi_avg_fn=averages.get_ema_multi_avg_fn(rate))
    average.eval()
    groups = [[net.scale], [*net.encode.parameters(), *net.head.parameters()]]
    groups = groups[::-1] if fault == "groups swapped" else groups
    settings = [{"params": group, "weight_decay": 0.1 * at} for at, group in enumerate(groups)]
    optimizer = torch.optim.SGD(settings, 0.1, momentum=0.9)
    x, y, labels = torch.randn(12, 6), torch.randn(12, 6), torch.randint(0, 4, (12,))
    for _ in range(steps):
        with torch.no_grad():
            target = average(x, y).softmax(1)
        optimizer.zero_grad()
        made = net(x, y)
        loss = F.cross_entropy(made, labels) + F.mse_loss(made.softmax(1), target)
        loss.backward()
        optimizer.step()
        if fault != "stale average":
            average.update_parameters(net)


PROGRAMS: dict[str, Callable[[Any, str, int], None]] = {
    "vit": vit, "mobile": mobile, "gan": gan, "translation": translation, "closures": closures,
    "sage": sage, "tied": tied, "teacher": teacher,
}  # fmt: skip
FAULTS: dict[tuple[str, str], tuple[str, str]] = {
    ("vit", "keys as queries"): ("forward", "blocks.0.attend"),
    ("vit", "wrong scale"): ("forward", "blocks.0.attend"),
    ("vit", "other GELU"): ("forward", "blocks.0.mlp.1"),
    ("vit", "no positions"): ("forward", "Net"),
    ("vit", "last token"): ("forward", "Net"),
    ("vit", "no warm-up"): ("update", ""),
    ("vit", "clipped at another norm"): ("backward", "head"),
    ("mobile", "squeezed by maximum"): ("forward", "1.squeeze"),
    ("mobile", "half the groups"): ("start", "1.depth"),
    ("mobile", "SiLU"): ("forward", "1.act"),
    ("mobile", "other momentum"): ("update", "1.norm"),
    ("mobile", "no residual"): ("forward", "1"),
    ("mobile", "alpha"): ("update", ""),
    ("gan", "the maker's beta"): ("update", ""),
    ("gan", "uniform noise"): ("data", ""),
    ("gan", "smoothed labels"): ("loss", ""),
    ("gan", "not detached"): ("loss", ""),
    ("gan", "gradients kept"): ("backward", "3"),
    ("translation", "padding trained"): ("start", "words"),
    ("translation", "padding attended"): ("forward", "Net"),
    ("translation", "own words"): ("forward", "Net"),
    ("translation", "padding counted"): ("loss", ""),
    ("closures", "fewer tries"): ("update", ""),
    ("closures", "not averaged"): ("loss", ""),
    ("sage", "turned around"): ("forward", "first"),
    ("sage", "wrong degree"): ("forward", "first"),
    ("sage", "more dropout"): ("forward", "drop"),
    ("sage", "decayed rate"): ("update", ""),
    ("tied", "momentum"): ("update", "encode.1"),
    ("tied", "rho"): ("update", ""),
    ("tied", "evaluated"): ("forward", "encode.1"),
    ("tied", "turned batch"): ("data", ""),
    ("teacher", "second call evaluated"): ("forward", "encode.1"),
    ("teacher", "rate of the average"): ("update", "AveragedModel#1.module"),
    ("teacher", "stale average"): ("update", "AveragedModel#1.module"),
    ("teacher", "groups swapped"): ("update", ""),
}
