"""Attention over sequences that are cut over processes, beside that of one process.

    python context_parallel_program.py NAMESPACE RANK SIZE URL FOLDER

writes FOLDER/NAMESPACE.RANK.json: for each case the largest differences of values and gradients.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
from pathlib import Path
from typing import Any

torch: Any = None
F: Any = None
mesh: Any = None
cp: Any = None

LENGTH, WIDTH = 24, 8


def inputs(dtype: Any = None, key_heads: int = 4) -> list[Any]:
    torch.manual_seed(3)
    shapes = [(2, 4, LENGTH, WIDTH), (2, key_heads, LENGTH, WIDTH), (2, key_heads, LENGTH, WIDTH)]
    return [torch.randn(shape).to(dtype or torch.float32) for shape in shapes]


def gradients_of(tensors: list[Any], weight: Any, options: dict[str, Any]) -> list[Any]:
    """The attention and the gradients of its weighted sum by all inputs."""
    leaves = [x.clone().requires_grad_() for x in tensors]
    made = F.scaled_dot_product_attention(*leaves, **options)
    (made.float() * weight).sum().backward()
    return [made.detach(), *(x.grad for x in leaves)]


def differences(tensors: list[Any], **options: Any) -> list[float]:
    """Between one process and all of them, of the values and of each gradient."""
    weight = torch.randn(2, 4, LENGTH, WIDTH)
    whole = gradients_of(tensors, weight, options)
    buffers = [*tensors, weight]
    with cp.context_parallel(mesh, buffers=buffers, buffer_seq_dims=[2] * 4):
        parts = gradients_of(tensors, weight, options)
        assert tensors[0].size(2) == parts[0].size(2) == LENGTH // mesh.size()
    assert all(x.size(2) == LENGTH for x in buffers)
    found = cp.context_parallel_unshard(mesh, parts, [2] * 4)
    return [float((a - b).abs().max()) for a, b in zip(found, whole, strict=True)]


def attention() -> dict[str, Any]:
    found = {}
    for method, balanced, causal in itertools.product(
        ("allgather", "alltoall"), (True, False), (True, False)
    ):
        cp.set_rotate_method(method)
        cp._cp_options.enable_load_balance = balanced
        found[f"{method} {balanced} {causal}"] = differences(inputs(), is_causal=causal, scale=0.3)
    cp._cp_options.enable_load_balance = True
    found["shared heads"] = differences(inputs(None, 2), is_causal=True, enable_gqa=True)
    found["half"] = differences(inputs(torch.float16), is_causal=True)
    return found


def model() -> list[float]:
    """A layer of attention with places and targets, trained: the whole's loss and gradients."""
    nn = torch.nn
    torch.manual_seed(5)
    embedding, joined, out = nn.Embedding(11, WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(8, 11)
    places, tokens = torch.randn(1, LENGTH, WIDTH), torch.randint(0, 11, (3, LENGTH))
    targets = torch.randint(0, 11, (3, LENGTH))
    parameters = [p for m in (embedding, joined, out) for p in m.parameters()]

    def loss() -> Any:
        q, k, v = joined(embedding(tokens) + places).unsqueeze(1).chunk(3, -1)
        made = F.scaled_dot_product_attention(q, k, v, is_causal=True).squeeze(1)
        return F.cross_entropy(out(made).flatten(0, 1), targets.flatten())

    alone = loss()
    whole = torch.autograd.grad(alone, parameters)
    buffers = [places, tokens, targets]
    with cp.context_parallel(
        mesh, buffers=buffers, buffer_seq_dims=[1, 1, 1], no_restore_buffers={tokens, targets}
    ):
        part = loss() / mesh.size()
        own = list(torch.autograd.grad(part, parameters))
    assert [x.size(1) for x in buffers] == [LENGTH, *[LENGTH // mesh.size()] * 2]
    dist = importlib.import_module(f"{torch.__name__}.distributed")
    for x in (total := part.detach(), *own):
        dist.all_reduce(x)
    return [float((a - b).abs().max()) for a, b in zip([total, *own], [alone, *whole], strict=True)]


def errors() -> list[str]:
    found = []
    x = torch.ones(1, 1, 5, 2)
    for call in (
        lambda: cp.context_parallel(mesh, buffers=[x], buffer_seq_dims=[2]).__enter__(),
        lambda: cp.context_parallel(mesh, buffers=[x], buffer_seq_dims=[]).__enter__(),
        lambda: cp.context_parallel(mesh, no_restore_buffers={x}).__enter__(),
        lambda: cp.set_rotate_method("ring"),
        masked,
        layer,
    ):
        try:
            call()
            found.append("nothing")
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


def masked() -> None:
    x = torch.ones(1, 1, 4, 2)
    with cp.context_parallel(mesh):
        F.scaled_dot_product_attention(x, x, x, attn_mask=torch.ones(4, 4))


def layer() -> None:
    x = torch.ones(1, 4, 8)
    with cp.context_parallel(mesh):
        torch.nn.MultiheadAttention(8, 2)(x, x, x)


def main() -> None:
    global torch, F, mesh, cp
    namespace, rank, size, url, folder = sys.argv[1:6]
    torch = importlib.import_module(namespace)
    F = importlib.import_module(f"{namespace}.nn.functional")
    dist = importlib.import_module(f"{namespace}.distributed")
    cp = importlib.import_module(f"{namespace}.distributed.tensor.experimental._attention")
    dist.init_process_group("gloo", init_method=url, rank=int(rank), world_size=int(size))
    mesh = importlib.import_module(f"{namespace}.distributed.device_mesh").init_device_mesh(
        "cpu", (int(size),)
    )
    found = {"attention": attention(), "model": model(), "errors": errors()}
    Path(folder, f"{namespace}.{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
