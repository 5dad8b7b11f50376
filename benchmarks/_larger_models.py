"""Models of ordinary size, written once for both namespaces: ``build(torch, name, batch)`` gives
the model, its inputs and its loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Built = tuple[Any, tuple[Any, ...], Callable[[Any], Any]]


def resnet50(torch: Any, batch: int) -> Built:
    """ResNet-50 on images of 224 x 224."""
    nn = torch.nn

    class Bottleneck(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, width_in: int, width: int, stride: int) -> None:
            super().__init__()
            out = 4 * width
            self.body = nn.Sequential(
                nn.Conv2d(width_in, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
                nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width),
                nn.ReLU(True), nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out),
            )  # fmt: skip
            self.shortcut = (
                nn.Sequential(nn.Conv2d(width_in, out, 1, stride, bias=False), nn.BatchNorm2d(out))
                if stride != 1 or width_in != out
                else nn.Identity()
            )

        def forward(self, x: Any) -> Any:
            return torch.relu(self.body(x) + self.shortcut(x))

    layers: list[Any] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True),
        nn.MaxPool2d(3, 2, 1),
    ]  # fmt: skip
    width_in = 64
    for width, depth, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(depth):
            layers.append(Bottleneck(width_in, width, stride if i == 0 else 1))
            width_in = 4 * width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width_in, 1000)]
    return _classifier(torch, nn.Sequential(*layers), batch, 224)


def mobilenet_v2(torch: Any, batch: int) -> Built:
    """MobileNetV2 on images of 224 x 224."""
    nn = torch.nn

    def block(width_in: int, width: int, kernel: int, stride: int, groups: int) -> list[Any]:
        return [
            nn.Conv2d(width_in, width, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(width), nn.ReLU6(True),
        ]  # fmt: skip

    class Inverted(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, width_in: int, width: int, stride: int, expand: int) -> None:
            super().__init__()
            hidden = width_in * expand
            parts = block(width_in, hidden, 1, 1, 1) if expand != 1 else []
            parts += block(hidden, hidden, 3, stride, hidden)
            parts += [nn.Conv2d(hidden, width, 1, bias=False), nn.BatchNorm2d(width)]
            self.body = nn.Sequential(*parts)
            self.residual = stride == 1 and width_in == width

        def forward(self, x: Any) -> Any:
            return x + self.body(x) if self.residual else self.body(x)

    layers = block(3, 32, 3, 2, 1)
    width_in = 32
    table = (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
        (6, 320, 1, 1),
    )  # fmt: skip
    for expand, width, depth, stride in table:
        for i in range(depth):
            layers.append(Inverted(width_in, width, stride if i == 0 else 1, expand))
            width_in = width
    layers += block(width_in, 1280, 1, 1, 1)
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)]
    return _classifier(torch, nn.Sequential(*layers), batch, 224)


def vit(torch: Any, batch: int, layers: int = 12, width: int = 384, heads: int = 6) -> Built:
    """ViT-S/16 on images of 224 x 224."""
    nn = torch.nn

    class VisionTransformer(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, 16, 16)
            self.token = nn.Parameter(torch.zeros(1, 1, width))
            self.positions = nn.Parameter(torch.randn(1, 197, width) * 0.02)
            self.blocks = nn.Sequential(*[Block(torch, width, heads) for _ in range(layers)])
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, 1000)

        def forward(self, x: Any) -> Any:
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
            return self.head(self.norm(self.blocks(x))[:, 0])

    return _classifier(torch, VisionTransformer(), batch, 224)


def Block(torch: Any, width: int, heads: int, causal: bool = False) -> Any:
    """A transformer's layer with norms before attention and before the two linear layers."""
    nn = torch.nn

    class Layer(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )

        def forward(self, x: Any) -> Any:
            b, t, _ = x.shape
            parts = self.project(self.first(x)).reshape(b, t, 3, heads, width // heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            x = x + self.out(a.transpose(1, 2).reshape(b, t, width))
            return x + self.mlp(self.second(x))

    return Layer()


def bert(torch: Any, batch: int, layers: int = 4, length: int = 128) -> Built:
    """Four layers of BERT-base, PyTorch's own encoder layers, on 128 tokens."""
    nn = torch.nn

    class Encoder(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.positions = nn.Embedding(30522, 768), nn.Embedding(512, 768)
            self.norm = nn.LayerNorm(768)
            self.layers = nn.ModuleList([
                nn.TransformerEncoderLayer(768, 12, 3072, 0.1, "gelu", batch_first=True)
                for _ in range(layers)
            ])
            self.head = nn.Linear(768, 2)

        def forward(self, tokens: Any) -> Any:
            x = self.words(tokens) + self.positions(torch.arange(tokens.shape[1]))
            x = self.norm(x)
            for layer in self.layers:
                x = layer(x)
            return self.head(x[:, 0])

    tokens, labels = torch.randint(0, 30522, (batch, length)), torch.randint(0, 2, (batch,))
    return Encoder(), (tokens,), lambda out: nn.functional.cross_entropy(out, labels)


def gpt2(torch: Any, batch: int, layers: int = 12, length: int = 256) -> Built:
    """GPT-2 small on 256 tokens."""
    nn = torch.nn

    class GPT(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.positions = nn.Embedding(50257, 768), nn.Embedding(1024, 768)
            self.blocks = nn.ModuleList([Block(torch, 768, 12, causal=True) for _ in range(layers)])
            self.norm = nn.LayerNorm(768)
            self.head = nn.Linear(768, 50257, bias=False)
            self.head.weight = self.words.weight

        def forward(self, tokens: Any) -> Any:
            x = self.words(tokens) + self.positions(torch.arange(tokens.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    tokens = torch.randint(0, 50257, (batch, length))
    following = torch.randint(0, 50257, (batch * length,))
    return GPT(), (tokens,), lambda out: nn.functional.cross_entropy(
        out.reshape(batch * length, -1), following
    )


def unet(torch: Any, batch: int, side: int = 128) -> Built:
    """U-Net, 32 to 256 channels, on images of 128 x 128."""
    nn = torch.nn

    def double(width_in: int, width: int) -> Any:
        return nn.Sequential(
            nn.Conv2d(width_in, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
            nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
        )  # fmt: skip

    class UNet(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            widths = (32, 64, 128, 256)
            self.down = nn.ModuleList([
                double(a, b) for a, b in zip((3, *widths), widths, strict=False)
            ])
            self.up = nn.ModuleList([
                nn.ConvTranspose2d(b, a, 2, 2)
                for a, b in zip(widths[-2::-1], widths[:0:-1], strict=True)
            ])
            self.merge = nn.ModuleList([double(2 * a, a) for a in widths[-2::-1]])
            self.head = nn.Conv2d(widths[0], 2, 1)

        def forward(self, x: Any) -> Any:
            kept = []
            for i, layer in enumerate(self.down):
                x = layer(nn.functional.max_pool2d(x, 2) if i else x)
                kept.append(x)
            kept.pop()
            for up, merge in zip(self.up, self.merge, strict=True):
                x = merge(torch.cat([kept.pop(), up(x)], 1))
            return self.head(x)

    images, labels = torch.randn(batch, 3, side, side), torch.randint(0, 2, (batch, side, side))
    return UNet(), (images,), lambda out: nn.functional.cross_entropy(out, labels)


def lstm(torch: Any, batch: int, length: int = 35, width: int = 650, words: int = 10000) -> Built:
    """A language model of two LSTM layers of 650, with dropout, on 35 words."""
    nn = torch.nn

    class Model(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(words, width)
            self.drop = nn.Dropout(0.5)
            self.rnn = nn.LSTM(width, width, 2, dropout=0.5)
            self.head = nn.Linear(width, words)

        def forward(self, tokens: Any) -> Any:
            out, _ = self.rnn(self.drop(self.words(tokens)))
            return self.head(self.drop(out))

    tokens = torch.randint(0, words, (length, batch))
    following = torch.randint(0, words, (length * batch,))
    return Model(), (tokens,), lambda out: nn.functional.cross_entropy(
        out.reshape(length * batch, -1), following
    )


def dlrm(torch: Any, batch: int, tables: int = 8, rows: int = 20000, width: int = 64) -> Built:
    """Recommendation: eight embedding bags of ten, their products with one another, two MLPs."""
    nn = torch.nn
    pairs = torch.tril_indices(tables + 1, tables + 1, -1)

    class Model(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.bags = nn.ModuleList([
                nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables)
            ])
            self.bottom = nn.Sequential(
                nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, width), nn.ReLU()
            )
            self.top = nn.Sequential(
                nn.Linear(width + tables * (tables + 1) // 2, 512), nn.ReLU(), nn.Linear(512, 1)
            )

        def forward(self, dense: Any, indices: Any) -> Any:
            x = self.bottom(dense)
            bags = [bag(i) for bag, i in zip(self.bags, indices, strict=True)]
            every = torch.stack([x, *bags], 1)
            products = every @ every.transpose(1, 2)
            return self.top(torch.cat([x, products[:, pairs[0], pairs[1]]], 1)).squeeze(1)

    dense, indices = torch.randn(batch, 13), torch.randint(0, rows, (tables, batch, 10))
    clicked = torch.rand(batch).round()
    return Model(), (dense, indices), lambda out: (
        nn.functional.binary_cross_entropy_with_logits(out, clicked)
    )


def _classifier(torch: Any, model: Any, batch: int, side: int) -> Built:
    images, labels = torch.randn(batch, 3, side, side), torch.randint(0, 1000, (batch,))
    return model, (images,), lambda out: torch.nn.functional.cross_entropy(out, labels)


def build(torch: Any, name: str, batch: int) -> Built:
    torch.manual_seed(0)
    return MODELS[name](torch, batch)


MODELS: dict[str, Callable[..., Built]] = {
    "resnet50": resnet50, "vit": vit, "bert": bert, "gpt2": gpt2, "unet": unet, "lstm": lstm,
    "mobilenet_v2": mobilenet_v2, "dlrm": dlrm,
}  # fmt: skip
