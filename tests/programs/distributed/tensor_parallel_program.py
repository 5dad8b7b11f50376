"""Twenty steps of a GPT and of an MLP, cut over processes, beside the same in one process.

    python tensor_parallel_program.py NAMESPACE RANK SIZE URL FOLDER

writes FOLDER/NAMESPACE.RANK.json. With two processes the models are cut by tensor parallel plans,
with four the batch is cut over the other axis of the mesh, too.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

STEPS = 20


def build(
    torch: Any, width: int = 32, heads: int = 4, depth: int = 2, words: int = 64, places: int = 16
) -> tuple[Any, Any]:
    """The models, as functions that make them."""
    nn: Any = torch.nn
    F: Any = torch.nn.functional  # noqa: N806

    class Attention(nn.Module):
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.size = width // heads
            self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
            self.out = nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            rows, places, _ = x.shape
            q, k, v = (
                layer(x).view(rows, places, -1, self.size).transpose(1, 2)
                for layer in (self.q, self.k, self.v)
            )
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).reshape(rows, places, -1))

    class Block(nn.Module):
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = Attention(width, heads)
            self.first, self.second = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.dropout = nn.Dropout(0.1)

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm1(x))
            return x + self.dropout(self.second(F.gelu(self.first(self.norm2(x)))))

    class Gpt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(places, width)
            self.blocks = nn.ModuleList([Block(width, heads) for _ in range(depth)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

        def forward(self, words: Any) -> Any:
            x = self.words(words) + self.places(torch.arange(words.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    def mlp() -> Any:
        return nn.Sequential(
            nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 8)
        )

    return Gpt, mlp


def plan_of_gpt(parallel: Any, T: Any, by_sequence: bool) -> dict[str, Any]:  # noqa: N803
    """Where each layer of the GPT is cut; ``by_sequence``: what is between them, too."""
    col, row, S, R = parallel.ColwiseParallel, parallel.RowwiseParallel, T.Shard, T.Replicate  # noqa: N806
    if by_sequence:
        plan = {
            "words": row(input_layouts=R(), output_layouts=S(1)),
            "places": row(input_layouts=R(), output_layouts=S(0)),
            "norm": parallel.SequenceParallel(),
            "head": col(input_layouts=S(1), output_layouts=R()),
            "blocks.*.norm1": parallel.SequenceParallel(),
            "blocks.*.norm2": parallel.SequenceParallel(),
            "blocks.*.dropout": parallel.SequenceParallel(use_local_output=True),
            "blocks.*.attention": parallel.PrepareModuleInput(
                input_layouts=S(1), desired_input_layouts=R()
            ),
            "blocks.*.attention.out": row(output_layouts=S(1)),
            "blocks.*.first": col(input_layouts=S(1)),
            "blocks.*.second": row(output_layouts=S(1)),
        }
    else:
        plan = {
            "words": row(input_layouts=R()), "head": col(output_layouts=R()),
            "blocks.*.attention.out": row(), "blocks.*.first": col(), "blocks.*.second": row(),
        }  # fmt: skip
    return {**plan, **{f"blocks.*.attention.{name}": col() for name in "qkv"}}


def train(torch: Any, model: Any, kind: str, share: Any = None) -> list[float]:
    """The losses of 20 steps; ``share(tensor)``: this process's part of a batch."""
    F = torch.nn.functional  # noqa: N806
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for step in range(STEPS):
        source = torch.Generator().manual_seed(step)
        if kind == "gpt":
            words = torch.randint(0, 64, (4, 17), generator=source)
            x, y = words[:, :-1], words[:, 1:]
        else:
            x = torch.randn(8, 6, generator=source)
            y = torch.randint(0, 8, (8,), generator=source)
        if share is not None:
            x, y = share(x), share(y)
        scores = model(x)
        loss = F.cross_entropy(scores.flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append((loss.full_tensor() if hasattr(loss, "full_tensor") else loss).item())
    return losses


def main() -> None:
    namespace, rank, size, url, folder = sys.argv[1:]
    warnings.simplefilter("ignore")
    torch = importlib.import_module(namespace)
    dist: Any = importlib.import_module(f"{namespace}.distributed")
    dist.init_process_group("gloo", init_method=url, rank=int(rank), world_size=int(size))
    T: Any = importlib.import_module(f"{namespace}.distributed.tensor")  # noqa: N806
    parallel: Any = importlib.import_module(f"{namespace}.distributed.tensor.parallel")
    gpt, mlp = build(torch)
    found: dict[str, Any] = {}
    if size == "2":
        mesh = T.init_device_mesh("cpu", (2,))
    else:
        mesh = T.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))["tp"]

    def made(kind: str, plan: Any = None, dropout: bool = False) -> Any:
        torch.manual_seed(0)
        model = gpt() if kind == "gpt" else mlp()
        model.train(dropout)
        if plan is None:
            return model
        before = {name: value.clone() for name, value in model.state_dict().items()}
        parallel.parallelize_module(model, mesh, plan)
        for name, value in model.state_dict().items():
            whole = value.full_tensor() if isinstance(value, T.DTensor) else value
            assert torch.equal(whole, before[name]), name
        return model

    found["gpt alone"] = train(torch, made("gpt"), "gpt")
    found["mlp alone"] = train(torch, made("mlp"), "mlp")
    plan = plan_of_gpt(parallel, T, False)
    found["gpt"] = train(torch, made("gpt", plan), "gpt")
    found["gpt by sequence"] = train(torch, made("gpt", plan_of_gpt(parallel, T, True)), "gpt")
    columns, rows = parallel.ColwiseParallel(), parallel.RowwiseParallel()
    found["mlp"] = train(torch, made("mlp", {"0": columns, "2": rows}), "mlp")
    if namespace != "torch":
        model = made("mlp", {"0": columns, "2": rows})
        found["mlp compiled"] = train(torch, torch.compile(model), "mlp")
        found["dropout alone"] = train(torch, made("gpt", None, True), "gpt")
        found["dropout"] = train(torch, made("gpt", plan_of_gpt(parallel, T, True), True), "gpt")
    if size == "4":
        found["both"] = over_both_axes(torch, dist, T, mlp)
    Path(folder, f"{namespace}.{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


def over_both_axes(torch: Any, dist: Any, T: Any, mlp: Any) -> list[float]:  # noqa: N803
    """The MLP with samples cut along one axis of the mesh and weights along the other."""
    mesh = T.init_device_mesh("cpu", (2, 2))
    torch.manual_seed(0)
    model = mlp()
    cuts = {"0": (0, 0), "2": (1, None)}

    def partition(name: str, module: Any, mesh: Any) -> None:
        for own, value in list(module.named_parameters(recurse=False)):
            cut = cuts.get(name, (None, None))[own == "bias"]
            lies = [T.Replicate(), T.Replicate() if cut is None else T.Shard(cut)]
            made = torch.nn.Parameter(T.distribute_tensor(value, mesh, lies))
            module.register_parameter(own, made)

    T.distribute_module(model, mesh, partition)

    def share(value: Any) -> Any:
        return T.distribute_tensor(value, mesh, [T.Shard(0), T.Replicate()])

    return train(torch, model, "mlp", share)


if __name__ == "__main__":
    main()
