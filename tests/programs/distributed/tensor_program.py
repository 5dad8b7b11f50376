"""DTensors in several processes, in PyTorch or mindtorch: what functions give, and how it lies.

    python tensor_program.py NAMESPACE RANK SIZE URL FOLDER [CASE ...]

writes FOLDER/NAMESPACE.RANK.json. With two processes the mesh has one axis, with four it has two.
``tests/golden/distributed_tensor.SIZE.json`` is what rank 0 wrote under PyTorch 2.13.
"""

from __future__ import annotations

import copy
import importlib
import io
import json
import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

torch: Any = None
F: Any = None
T: Any = None
dist: Any = None
mesh: Any = None
CASES: dict[str, Callable[[], Any]] = {}


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    CASES[function.__name__] = function
    return function


def plain(value: Any) -> Any:
    """A tensor as nested lists of rounded numbers."""
    if isinstance(value, T.DTensor):
        value = value.full_tensor()
    value = value.detach()
    return value.double().tolist() if value.dtype != torch.bool else value.int().tolist()


def lies(value: Any) -> str:
    return ", ".join(map(str, value.placements)) if isinstance(value, T.DTensor) else "plain"


def spread(value: Any, *placements: Any) -> Any:
    return T.distribute_tensor(value, mesh, list(placements))


def numbers(*shape: int, seed: int = 0) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def told(function: Callable[[], Any]) -> list[str]:
    """The type and the first line of an error."""
    try:
        function()
    except Exception as error:
        text = str(error.args[0] if error.args else error)
        return [type(error).__name__, text.splitlines()[0]]
    return ["", "none"]


def unary() -> dict[str, Callable[[Any], Any]]:
    """Functions of one tensor with two axes, at least (4, 6)."""
    return {
        "relu": lambda x: torch.relu(x), "gelu": lambda x: F.gelu(x),
        "exp": lambda x: x.exp(), "neg": lambda x: -x, "plus": lambda x: x + 1,
        "times": lambda x: 2 * x, "square": lambda x: x * x, "double": lambda x: x.double(),
        "pow": lambda x: x**2, "clamp": lambda x: x.clamp(-0.5, 0.5),
        "sum": lambda x: x.sum(), "sum0": lambda x: x.sum(0), "sum1": lambda x: x.sum(1, True),
        "mean": lambda x: x.mean(), "mean0": lambda x: x.mean(0), "amax": lambda x: x.amax(1),
        "amin": lambda x: x.amin(0), "max": lambda x: x.max(1)[0],
        "var": lambda x: x.var(1), "norm": lambda x: torch.linalg.vector_norm(x),
        "norm1": lambda x: torch.linalg.vector_norm(x, 1, 0),
        "logsumexp": lambda x: x.logsumexp(1), "cumsum": lambda x: x.cumsum(0),
        "softmax": lambda x: x.softmax(1), "log_softmax": lambda x: x.log_softmax(0),
        "sort": lambda x: x.sort(1)[0], "topk": lambda x: x.topk(2, 1)[0],
        "t": lambda x: x.t(), "transpose": lambda x: x[None].transpose(0, 2),
        "view": lambda x: x.view(-1), "unflatten": lambda x: x.view(2, 2, -1),
        "split_last": lambda x: x.view(4, 2, 3), "unsqueeze": lambda x: x.unsqueeze(1),
        "squeeze": lambda x: x.unsqueeze(1).squeeze(1), "expand": lambda x: x.expand(3, 4, 6),
        "flip": lambda x: x.flip(1), "roll": lambda x: x.roll(1, 1),
        "select": lambda x: x.select(1, 2), "slice": lambda x: x[:, 1:4],
        "slice_cut": lambda x: x[1:3], "chunk": lambda x: x.chunk(2, 1)[1],
        "cat": lambda x: torch.cat([x, x], 1), "stack": lambda x: torch.stack([x, x]),
        "pad": lambda x: F.pad(x, (1, 2)), "clone": lambda x: x.clone(),
        "contiguous": lambda x: x.t().contiguous(), "tril": lambda x: x.tril(),
        "layer_norm": lambda x: F.layer_norm(x, (6,)),
        "masked_fill": lambda x: x.masked_fill(x > 0, 0.5),
        "where": lambda x: torch.where(x > 0, x, x * 2), "sums_product": lambda x: x.sum() * 3,
        "sums": lambda x: x.sum(0) + x.sum(0), "sum_plus": lambda x: x.sum() + 1,
        "bmm": lambda x: torch.bmm(x.view(4, 2, 3), x.view(4, 3, 2)),
        "einsum": lambda x: torch.einsum("ij,kj->ik", x, x), "gram": lambda x: x.t() @ x,
        "gather": lambda x: x.gather(1, (x > 9).long()), "std": lambda x: x.std(),
        "index": lambda x: x[:, torch.tensor([0, 2]).numpy().tolist()], "prod": lambda x: x.prod(1),
    }  # fmt: skip


def with_gradient(function: Callable[..., Any], *given: Any) -> list[Any]:
    """How the result and the gradients lie, and whether they are those of one process."""
    leaves = [x.detach().requires_grad_() for x in given]
    global dealing
    alone = [x.full_tensor().detach().requires_grad_() for x in given]
    dealing = False
    expected = function(*alone)
    dealing = True
    (expected * expected.detach()).sum().backward()
    try:
        result = function(*leaves)
        (result * result.detach()).sum().backward()
    except Exception as error:
        return ["failed", type(error).__name__, str(error)]
    found: list[Any] = [lies(result), near(result, expected)]
    for leaf, one in zip(leaves, alone, strict=True):
        found += [lies(leaf.grad), near(leaf.grad, one.grad)]
    return found


def near(made: Any, expected: Any) -> bool:
    whole = made.full_tensor() if isinstance(made, T.DTensor) else made
    if whole.shape != expected.shape or whole.dtype != expected.dtype:
        return False
    return bool(torch.allclose(whole, expected, rtol=1e-4, atol=1e-5))


def dealt(value: Any, *placements: Any) -> Any:
    """``value`` as it lies over the mesh; itself where the function is called on whole tensors."""
    return spread(value, *placements) if dealing else value


dealing = True


def ways() -> list[Any]:
    """Placements of a tensor with two axes."""
    cut = [T.Replicate(), T.Shard(0), T.Shard(1)]
    return [(p,) for p in cut] if mesh.ndim == 1 else [(p, q) for p in cut for q in cut]


@case
def functions_of_one() -> Any:
    found = {}
    for name, function in unary().items():
        for placements in ways():
            key = f"{name} {', '.join(map(str, placements))}"
            found[key] = with_gradient(function, spread(numbers(4, 6), *placements))
    return found


@case
def uneven_pieces() -> Any:
    """Axes that do not divide, or are shorter than the mesh."""
    found = {}
    for shape in ((5, 3), (1, 7)):
        for placements in ways():
            x = spread(numbers(*shape), *placements)
            functions = {
                "relu": lambda x: torch.relu(x), "sum": lambda x: x.sum(0), "t": lambda x: x.t(),
                "mm": lambda x: x @ x.t(), "mean": lambda x: x.mean(1),
                "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
            }  # fmt: skip
            for name, function in functions.items():
                key = f"{name} {shape} {', '.join(map(str, placements))}"
                expected = function(numbers(*shape))
                found[key] = [near(function(x), expected), list(x.to_local().shape)]
    return found


@case
def products() -> Any:
    found = {}
    for a in ways():
        for b in ways():
            x, w, bias = (
                spread(numbers(4, 6), *a), spread(numbers(8, 6), *b),
                spread(numbers(8), *[T.Replicate()] * mesh.ndim),
            )  # fmt: skip
            key = f"{', '.join(map(str, a))} x {', '.join(map(str, b))}"
            found[f"linear {key}"] = with_gradient(F.linear, x, w, bias)
            found[f"mm {key}"] = with_gradient(lambda x, w: x @ w.t(), x, w)
            found[f"add {key}"] = with_gradient(lambda x, w: x[None] + w[:, None], x, w)
    return found


@case
def redistribution() -> Any:
    """Every way into every other one, with the gradient coming back."""
    found = {}
    terms = [(T.Partial(),) * mesh.ndim]
    for shape in ((4, 6), (5, 3)):
        for a in [*ways(), *terms]:
            for b in ways():
                local = numbers(*shape)
                if a in terms:
                    x = T.DTensor.from_local(local.requires_grad_(), mesh, a)
                else:
                    x = spread(local.requires_grad_(), *a)
                y = x.redistribute(placements=b)
                key = f"{shape} {', '.join(map(str, a))} to {', '.join(map(str, b))}"
                found[key] = [lies(y), list(y.to_local().shape), plain(y)]
                (y.to_local() * y.to_local().detach()).sum().backward()
                grad = local.grad if a in terms else x.grad
                found[key] += [lies(grad), plain(grad)]
    return found


@case
def local_and_whole() -> Any:
    local = numbers(2, 3, seed=dist.get_rank()).requires_grad_()
    whole = T.DTensor.from_local(local, mesh, [T.Shard(0)] * mesh.ndim)
    kept = [list(whole.shape), list(whole.stride()), lies(whole), plain(whole)]
    part = (whole * 3).to_local()
    part.sum().backward()
    kept += [part.tolist(), local.grad.tolist(), str(whole.grad_fn is not None)]
    other = T.DTensor.from_local(numbers(2, 3), mesh, [T.Shard(1)] * mesh.ndim)
    kept += [list(other.shape), list(other.stride())]
    given = T.DTensor.from_local(
        numbers(2, 3), mesh, [T.Replicate()] * mesh.ndim, shape=torch.Size((2, 3)), stride=(3, 1)
    )
    return [*kept, plain(given)]


@case
def in_place() -> Any:
    found = []
    for placements in ways():
        x = spread(numbers(4, 6), *placements)
        y = spread(numbers(4, 6, seed=3), *placements)
        x.add_(1).mul_(y).sub_(y, alpha=2)
        x.copy_(x + 1)
        x.clamp_(min=-1)
        z = torch.zeros_like(x).fill_(2.0)
        z.addcmul_(x, y, value=0.5).addcdiv_(x, y.abs().add_(1))
        found.append([lies(x), plain(x), plain(z), plain(torch.ones_like(x).zero_())])
    return found


@case
def new_tensors() -> Any:
    cut = [T.Shard(0)] * mesh.ndim
    found = []
    for made in (
        T.zeros(5, 3, device_mesh=mesh, placements=cut), T.ones((5, 3), device_mesh=mesh),
        T.full((4, 2), 1.5, device_mesh=mesh, placements=cut, requires_grad=True),
    ):  # fmt: skip
        found.append([lies(made), plain(made), list(made.to_local().shape), made.requires_grad])
    x = spread(numbers(4, 6), *cut)
    with_shape = T.empty(5, 3, dtype=torch.float64, device_mesh=mesh, placements=cut)
    return [*found, lies(torch.zeros_like(x)), lies(x.new_ones((2,))), str(with_shape.dtype)]


@case
def layers() -> Any:
    found = {}
    first = [T.Shard(0), *[T.Replicate()] * (mesh.ndim - 1)]
    everywhere = [T.Replicate()] * mesh.ndim
    image = numbers(4, 3, 6, 6)
    weight, bias = numbers(4, 3, 3, 3), numbers(4)
    rows = torch.tensor([[1, 5, 0], [7, 2, 2], [3, 3, 6], [0, 1, 4]])
    table = numbers(8, 6)
    found["conv2d"] = with_gradient(
        lambda x, w, b: F.conv2d(x, w, b, padding=1),
        spread(image, *first), spread(weight, *everywhere), spread(bias, *everywhere),
    )  # fmt: skip
    found["max_pool"] = with_gradient(lambda x: F.max_pool2d(x, 2), spread(image, *first))
    found["avg_pool"] = with_gradient(lambda x: F.avg_pool2d(x, 2), spread(image, *first))
    for cut in (T.Replicate(), T.Shard(0), T.Shard(1)):
        lying = [cut, *[T.Replicate()] * (mesh.ndim - 1)]
        found[f"embedding {cut}"] = with_gradient(
            lambda w: F.embedding(dealt(rows, *everywhere), w), spread(table, *lying)
        )
    found["embedding of pieces"] = with_gradient(
        lambda w: F.embedding(dealt(rows, *first), w), spread(table, *everywhere)
    )
    heads = [spread(numbers(4, 2, 5, 3, seed=i), *first) for i in range(3)]
    found["attention"] = with_gradient(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *heads
    )
    norm = [spread(numbers(6, seed=i), *everywhere) for i in range(2)]
    found["layer_norm"] = with_gradient(
        lambda x, w, b: F.layer_norm(x, (6,), w, b), spread(numbers(4, 6), *first), *norm
    )
    found["rms_norm"] = with_gradient(
        lambda x, w: F.rms_norm(x, (6,), w), spread(numbers(4, 6), *first), norm[0]
    )
    return found


@case
def losses() -> Any:
    found = {}
    target = torch.tensor([1, 5, -100, 0])
    for axis in (0, 1):
        cut = [T.Shard(axis), *[T.Replicate()] * (mesh.ndim - 1)]
        rows = cut if axis == 0 else [T.Replicate()] * mesh.ndim
        for reduction in ("mean", "sum", "none"):
            found[f"{axis} {reduction}"] = with_gradient(
                lambda x, rows=rows, reduction=reduction: F.cross_entropy(
                    x, dealt(target, *rows), reduction=reduction
                ),
                spread(numbers(4, 6), *cut),
            )
    found["mse"] = with_gradient(
        F.mse_loss, *[spread(numbers(4, 6, seed=i), T.Shard(0), *[T.Replicate()] * (mesh.ndim - 1))
                      for i in range(2)]
    )  # fmt: skip
    parallel = importlib.import_module(f"{T.__name__}.parallel")
    if mesh.ndim == 1:
        with parallel.loss_parallel():
            for reduction in ("mean", "sum", "none"):
                x = spread(numbers(4, 6).requires_grad_(), T.Shard(1))
                loss = F.cross_entropy(x, target, reduction=reduction)
                loss.sum().backward()
                found[f"classes {reduction}"] = [plain(loss), lies(x.grad), plain(x.grad)]
    return found


@case
def meshes() -> Any:
    if mesh.ndim == 1:
        return []
    module = importlib.import_module(f"{dist.__name__}.device_mesh")
    size = dist.get_world_size()
    own = module.init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("dp", "tp"))
    part = own["tp"]
    flat = own._flatten("all")
    found = [
        repr(own), repr(part), repr(own["dp"]), repr(flat), own.shape, own.size(), own.size(0),
        own.ndim, list(own.get_coordinate()), own.get_local_rank("tp"), own.get_local_rank(0),
        part.get_local_rank(), dist.get_world_size(own.get_group("dp")), part.mesh.tolist(),
        own.mesh.tolist(), flat.size(), own["dp", "tp"] is own, part == own["tp"],
        len(own.get_all_groups()), own.device_type, own.mesh_dim_names,
    ]  # fmt: skip
    bare = module.init_device_mesh("cpu", (size,))
    return [
        *found, told(lambda: bare["x"]), told(lambda: own["none"]), told(lambda: own["tp", "dp"]),
        told(lambda: own.get_group()), told(lambda: own.get_local_rank()),
        told(lambda: module.init_device_mesh("cpu", (2, 1), mesh_dim_names=("a", "a"))),
        told(lambda: module.init_device_mesh("cpu", (2,), mesh_dim_names=("a", "b"))),
        told(lambda: module.init_device_mesh("cpu:0", (2,))),
        told(lambda: module.init_device_mesh("cpu", (size + 1,))),
        told(lambda: bare._flatten()), told(lambda: own._flatten("tp")),
    ]  # fmt: skip


@case
def errors() -> Any:
    x = spread(numbers(4, 6), *[T.Shard(0)] * mesh.ndim)
    other = numbers(4, 6)
    module = torch.nn.Linear(2, 2)
    T.distribute_module(module, mesh)
    return [
        told(lambda: x + other), told(lambda: torch.mm(x, other.t())), told(lambda: other * x),
        told(lambda: x.redistribute()), told(lambda: T.DTensor.from_local(x)),
        told(lambda: x.redistribute(placements=[T.Partial()] * mesh.ndim)),
        told(lambda: T.distribute_tensor(other, mesh, [T.Shard(0)] * (mesh.ndim + 1))),
        told(lambda: T.distribute_tensor(x, mesh, [T.Replicate()] * mesh.ndim)),
        told(lambda: T.distribute_tensor((other.requires_grad_() * 2), mesh)),
        told(lambda: T.distribute_module(module, mesh)), told(lambda: T.distribute_tensor(other)),
        told(x.tolist), told(x.numpy), repr(x.placements), str(x.dtype),
    ]  # fmt: skip


@case
def modules() -> Any:
    """distribute_module, state dicts, optimizers and clipping."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))
    cut = [T.Shard(0), *[T.Replicate()] * (mesh.ndim - 1)]

    def partition(name: str, module: Any, mesh: Any) -> None:
        for own, parameter in list(module.named_parameters(recurse=False)):
            made = torch.nn.Parameter(T.distribute_tensor(parameter, mesh, cut))
            module.register_parameter(own, made)

    everywhere = [T.Replicate()] * mesh.ndim
    T.distribute_module(
        model, mesh, partition, lambda m, given, mesh: spread(given[0], *everywhere),
        lambda m, made, mesh: made.full_tensor(),
    )  # fmt: skip
    found: list[Any] = []
    for kind, options in (
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}), (torch.optim.AdamW, {"lr": 0.01}),
        (torch.optim.Adagrad, {"lr": 0.01}), (torch.optim.RMSprop, {"lr": 0.01}),
    ):  # fmt: skip
        optimizer = kind(model.parameters(), **options)
        for step in range(3):
            loss = model(numbers(4, 6, seed=step)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            found.append([loss.item(), plain(norm)])
        found.append(sorted(map(str, next(iter(optimizer.state.values())))))
    state = model.state_dict()
    found += [lies(state["0.weight"]), type(state["0.weight"]).__name__, plain(state["2.bias"])]
    model.load_state_dict({name: value * 2 for name, value in state.items()})
    return [*found, plain(model[0].weight), isinstance(model[0].weight, torch.nn.Parameter)]


@case
def files_and_copies() -> Any:
    cut = [T.Shard(0)] * mesh.ndim
    x = spread(numbers(4, 6), *cut)
    parameter = torch.nn.Parameter(x)
    file = io.BytesIO()
    torch.save({"a": parameter, "b": x}, file)
    file.seek(0)
    read = torch.load(file)
    twin = copy.deepcopy(parameter)
    again = pickle.loads(pickle.dumps(x))
    return [
        lies(read["a"]), read["a"].to_local().tolist() == x.to_local().tolist(),
        isinstance(read["a"], torch.nn.Parameter), isinstance(read["b"], torch.nn.Parameter),
        lies(twin), plain(twin), twin.requires_grad, isinstance(twin, torch.nn.Parameter),
        lies(again), again.to_local().tolist() == x.to_local().tolist(),
    ]  # fmt: skip


@case
def autodiff() -> Any:
    """Views that are written to, second derivatives, hooks, accumulation, recomputation."""
    cut = [T.Shard(0)] * mesh.ndim

    def leaf() -> Any:
        return spread(numbers(4, 6), *cut).requires_grad_()

    found = []
    a = leaf()
    b = a * 2
    b.view(-1).mul_(3)
    b.sum().backward()
    found += [plain(a.grad), plain(b)]
    a = leaf()
    (slope,) = torch.autograd.grad((a**3).sum(), a, create_graph=True)
    found.append(plain(torch.autograd.grad(slope.sum(), a)[0]))
    a, seen = leaf(), []
    a.register_hook(lambda g: seen.append(type(g).__name__))
    for _ in range(3):
        (a * 2).sum().backward()
    found += [seen, plain(a.grad), lies(a.grad)]
    a = leaf()
    from_again = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    from_again(lambda t: (t * 2).exp(), a, use_reentrant=False).sum().backward()
    found.append(plain(a.grad))
    found.append(plain(torch.func.grad(lambda t: (t * t).sum())(a.detach())))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found.append(str(F.linear(a, spread(numbers(8, 6), *cut)).dtype))
    return [*found, told(lambda: leaf().add_(1))]


@case
def functions_of_parts() -> Any:
    """local_map, and plain tensors that all processes have."""
    experimental = importlib.import_module(f"{T.__name__}.experimental")
    cut, whole = [T.Shard(0)] * mesh.ndim, [T.Replicate()] * mesh.ndim
    x, w = spread(numbers(4, 6), *cut).requires_grad_(), spread(numbers(6, 3), *whole)

    def product(a: Any, b: Any) -> Any:
        return a @ b

    mapped = experimental.local_map(product, out_placements=cut, in_placements=(cut, whole))
    made = mapped(x, w)
    made.sum().backward()
    other = experimental.local_map(
        product, out_placements=cut, in_placements=(whole, whole), redistribute_inputs=False
    )
    with experimental.implicit_replication():
        mixed = x.detach() + numbers(4, 6)
    return [
        lies(made), plain(made), lies(x.grad), plain(x.grad), lies(mixed), plain(mixed),
        told(lambda: mapped(x))[0], told(lambda: other(x, w))[0],
    ]  # fmt: skip


@case
def shares_and_cuts() -> Any:
    """Terms that are made of a whole, cuts along axes that there are not, axes of one process."""
    x = numbers(3, 2)
    module = importlib.import_module(f"{dist.__name__}.device_mesh")
    size = dist.get_world_size()
    thin = module.init_device_mesh("cpu", (1, size), mesh_dim_names=("one", "all"))
    a, b = (T.distribute_tensor(numbers(8, 4), mesh, [T.Shard(0)]) for _ in range(2))
    found = [T.distribute_tensor(x, mesh, [each]) for each in (T.Partial(), T.Partial("avg"))]
    parameter = torch.nn.Parameter(a)
    return [
        [[lies(each), plain(each.to_local())] for each in found],
        torch.equal(a, b), torch.equal(a, b + 1), type(parameter).__name__,
        repr(thin), repr(thin["one"]), repr(thin["all"]), repr(thin["all", "one"]),
        told(lambda: T.distribute_tensor(x, mesh, [T.Partial("product")])),
        told(lambda: T.distribute_tensor(x, mesh, [T.Shard(7)])),
        told(lambda: T.distribute_tensor(x, mesh, [T.Shard(2)])),
        told(lambda: T.distribute_tensor(x, mesh, [T.Shard(-3)])),
        told(lambda: T.DTensor.from_local(x, mesh, [T.Shard(7)])),
    ]  # fmt: skip


def main() -> None:
    global torch, F, T, dist, mesh
    namespace, rank, size, url, folder = sys.argv[1:6]
    warnings.simplefilter("ignore")
    torch = importlib.import_module(namespace)
    F = importlib.import_module(f"{namespace}.nn.functional")
    dist = importlib.import_module(f"{namespace}.distributed")
    dist.init_process_group("gloo", init_method=url, rank=int(rank), world_size=int(size))
    T = importlib.import_module(f"{namespace}.distributed.tensor")
    shape = (2,) if size == "2" else (2, 2)
    mesh = T.init_device_mesh("cpu", shape)
    chosen = sys.argv[6:] or list(CASES)
    found = {name: CASES[name]() for name in chosen}
    Path(folder, f"{namespace}.{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
