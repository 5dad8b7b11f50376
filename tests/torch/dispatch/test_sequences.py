"""The overloads that functions and networks call, forward and backward, are torch's, by name and
order, and what a mode passes on has the values that it would have without."""

import contextlib
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours
from mindtorch.torch._aten import schemas
from mindtorch.torch.utils import _python_dispatch as our_modes

# name: expression
CASES = """
add: a + b
add1: a + 1
add_alpha: torch.add(a, b, alpha=2)
sub: a - b
rsub: 1 - a
mul: a * b
mul2: a * 2.0
rdiv: 1 / a
div: a / b
neg: -a
pow: a ** 2
pow_t: a ** b
rpow: 2 ** a
abs: a.abs()
exp: a.exp()
log: torch.log(a)
sqrt: a.sqrt()
rsqrt: a.rsqrt()
sin: torch.sin(a)
cos: torch.cos(a)
tanh: torch.tanh(a)
sigmoid: torch.sigmoid(a)
relu: torch.relu(a)
frelu: F.relu(a)
gelu: F.gelu(a)
geltanh: F.gelu(a, approximate="tanh")
silu: F.silu(a)
elu: F.elu(a)
leaky: F.leaky_relu(a)
softplus: F.softplus(a)
hardtanh: F.hardtanh(a)
hardswish: F.hardswish(a)
mish: F.mish(a)
logsigmoid: F.logsigmoid(a)
clamp: a.clamp(0, 1)
clampmin: a.clamp(min=0)
maximum: torch.maximum(a, b)
where: torch.where(a > 0, a, b)
gt: a > b
eq: a == 1
not: ~(a > 0)
floor: a.floor()
sum: a.sum()
sum1: a.sum(1)
mean: a.mean()
mean1: a.mean(1, keepdim=True)
max: a.max()
max1: a.max(1)
amax: a.amax(1)
argmax: a.argmax(1)
prod: a.prod()
std: a.std()
var1: a.var(1)
norm: a.norm()
vnorm: torch.linalg.vector_norm(a)
all: (a > 0).all()
any: (a > 0).any(1)
logsumexp: a.logsumexp(1)
cumsum: a.cumsum(1)
softmax: a.softmax(-1)
fsoftmax: F.softmax(a, dim=1)
log_softmax: F.log_softmax(a, dim=1)
mm: torch.mm(a, c)
matmul: a @ c
matmul3: x3 @ y3
matmul31: x3 @ c4
mv: a @ v
dot: torch.dot(v, v)
bmm: torch.bmm(x3, y3)
addmm: torch.addmm(bias, a, c)
baddbmm: torch.baddbmm(x33, x3, y3)
linear: F.linear(a, w, bias)
linear_nb: F.linear(a, w)
linear3: F.linear(x3, w, bias)
linear3_nb: F.linear(x3, w)
einsum: torch.einsum("ij,jk->ik", a, c)
outer: torch.outer(v, v)
t: a.t()
T: a.T
mT: a.mT
transpose: x3.transpose(0, 1)
permute: x3.permute(2, 0, 1)
view: a.view(4, 3)
view1: a.view(-1)
reshape: a.reshape(2, 6)
reshape_t: a.t().reshape(2, 6)
flatten: x3.flatten(1)
unsqueeze: a.unsqueeze(0)
squeeze: a[None].squeeze(0)
squeeze_all: a[None].squeeze()
expand: a[None].expand(2, 3, 4)
repeat: a.repeat(2, 1)
cat: torch.cat([a, b])
stack: torch.stack([a, b])
split: a.split(2, 1)
chunk: a.chunk(2, 1)
unbind: a.unbind(0)
getint: a[0]
getslice: a[1:]
getslice2: a[:, 1:3]
getnone: a[None]
getell: a[..., 0]
getmask: a[a > 0]
getidx: a[idx]
setint: ac.__setitem__(0, 1.0)
setslice: ac.__setitem__(slice(1, None), b[1:])
setmask: ac.__setitem__(ac > 0, 0.0)
gather: a.gather(1, idx2)
scatter: a.scatter(1, idx2, b)
scatter_add: a.scatter_add(1, idx2, b)
index_select: a.index_select(0, idx)
index_add: a.index_add(0, idx, b[:2])
masked_fill: a.masked_fill(a > 0, 0.0)
tril: a.tril()
triu: torch.triu(a, 1)
flip: a.flip(0)
roll: a.roll(1, 0)
topk: a.topk(2)
sort: a.sort()
argsort: a.argsort()
unique: torch.unique(idx)
nonzero: torch.nonzero(a > 0)
one_hot: F.one_hot(idx, 4)
clone: a.clone()
detach: a.detach()
contiguous: a.t().contiguous()
to_f64: a.to(torch.float64)
double: a.double()
float: a.float()
to_same: a.to("cpu")
add_: ac.add_(1)
mul_: ac.mul_(b)
addb_: ac.__iadd__(b)
zero_: ac.zero_()
fill_: ac.fill_(2.0)
copy_: ac.copy_(b)
relu_: ac.relu_()
clamp_: ac.clamp_(0, 1)
addcmul_: ac.addcmul_(a, b, value=0.1)
addcdiv: torch.addcdiv(a, a, b, value=0.1)
lerp: torch.lerp(a, b, 0.5)
sqrt_: ac.sqrt_()
normal_: ac.normal_()
uniform_: ac.uniform_()
item: a.sum().item()
bool: bool(a.sum() > 0)
tolist: v.tolist()
ones: torch.ones(2, 3)
zeros: torch.zeros(2, 3)
full: torch.full((2, 3), 1.5)
arange: torch.arange(5)
arange2: torch.arange(1, 5)
arange3: torch.arange(1, 5, 2)
linspace: torch.linspace(0, 1, 5)
eye: torch.eye(3)
empty: torch.empty(2, 3)
randn: torch.randn(2, 3)
rand: torch.rand(2, 3)
randint: torch.randint(0, 5, (3,))
randperm: torch.randperm(5)
ones_like: torch.ones_like(a)
zeros_like: torch.zeros_like(a)
empty_like: torch.empty_like(a)
full_like: torch.full_like(a, 2.0)
randn_like: torch.randn_like(a)
rand_like: torch.rand_like(a)
new_zeros: a.new_zeros(3)
new_ones: a.new_ones(3)
tensor: torch.tensor([1.0, 2.0])
scalar_tensor: torch.tensor(1.0)
from_numpy: torch.from_numpy(arr)
bernoulli: torch.bernoulli(p)
multinomial: torch.multinomial(p, 2)
dropout: F.dropout(a, 0.5, True)
dropout_eval: F.dropout(a, 0.5, False)
embedding: F.embedding(idx, w4)
layer_norm: F.layer_norm(a, (4,), gw, gb)
group_norm: F.group_norm(img, 2)
batch_norm: F.batch_norm(img, rm, rv, None, None, True)
batch_norm_eval: F.batch_norm(img, rm, rv)
rms_norm: F.rms_norm(a, (4,))
conv2d: F.conv2d(img, k, None, padding=1)
conv2d_b: F.conv2d(img, k, kb)
conv1d: F.conv1d(x3, k1)
conv_t: F.conv_transpose2d(img, kt)
max_pool2d: F.max_pool2d(img, 2)
avg_pool2d: F.avg_pool2d(img, 2)
adaptive: F.adaptive_avg_pool2d(img, 1)
adaptive2: F.adaptive_avg_pool2d(img, 2)
pad: F.pad(a, (1, 1))
interpolate: F.interpolate(img, scale_factor=2)
mse: F.mse_loss(a, b)
l1: F.l1_loss(a, b)
smooth: F.smooth_l1_loss(a, b)
ce: F.cross_entropy(a, tgt)
ce_smooth: F.cross_entropy(a, tgt, label_smoothing=0.1)
nll: F.nll_loss(a, tgt)
bce: F.binary_cross_entropy(p, q)
bce_logits: F.binary_cross_entropy_with_logits(a, q)
kl: F.kl_div(a, b)
normalize: F.normalize(a)
cosine: F.cosine_similarity(a, b)
sdpa: F.scaled_dot_product_attention(q4, q4, q4)
sdpa_causal: F.scaled_dot_product_attention(q4, q4, q4, is_causal=True)
cdist: torch.cdist(a, b)
isnan: torch.isnan(a)
isfinite: torch.isfinite(a)
allclose: torch.allclose(a, b)
equal: torch.equal(a, b)
meshgrid: torch.meshgrid(v, v, indexing="ij")
diag: torch.diag(v)
inv: torch.linalg.inv(sq)
solve: torch.linalg.solve(sq, sq)
det: torch.linalg.det(sq)
svd: torch.linalg.svd(sq)
fft: torch.fft.fft(v)
lstm: lstm(x3)[0]
mha: mha(x3, x3, x3, need_weights=False)[0]
"""
# name: module | loss
NETWORKS = """
mlp: nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)) | F.cross_entropy(net(a), tgt)
mlp_tanh: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1), nn.Sigmoid()) \
    | F.mse_loss(net(a), b[:, :1])
lin_sum: nn.Linear(4, 2) | net(a).sum()
lin3: nn.Linear(4, 2) | net(x3).mean()
ln: nn.LayerNorm(4) | net(a).sum()
emb: nn.Embedding(5, 4) | net(idx).sum()
conv: nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.MaxPool2d(2), \
    nn.Flatten(), nn.Linear(3, 2)) | net(img).sum()
bn: nn.Sequential(nn.Conv2d(2, 3, 1), nn.BatchNorm2d(3), nn.GELU()) | net(img).mean()
ce: nn.Linear(4, 4) | F.cross_entropy(net(a), tgt)
softmax: nn.Linear(4, 4) | net(a).softmax(-1).log().sum()
pool: nn.Sequential(nn.Conv2d(2, 3, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()) | net(img).sum()
mul: nn.Linear(4, 4) | (net(a) * a).sum()
attn: nn.MultiheadAttention(4, 2, batch_first=True) | net(x3, x3, x3, need_weights=False)[0].sum()
lstm: nn.LSTM(4, 3, batch_first=True) | net(x3)[0].sum()
"""
# calls that we make of other overloads (the table of gaps)
OTHERWISE = set(
    "einsum one_hot ce_smooth kl cosine cdist inv solve det svd fft lstm mha".split()
)
OTHERWISE_WITH_GRADIENTS = OTHERWISE | set(
    "pow_t prod index_add mul_ addcdiv sdpa sdpa_causal allclose meshgrid diag".split()
)
NETWORKS_OTHERWISE = {"pool", "attn", "lstm"}


def table(text: str) -> list[tuple[str, str]]:
    pairs = (line.split(": ", 1) for line in text.strip().splitlines())
    return [(name, expression) for name, expression in pairs]


def names(t: Any) -> dict[str, Any]:
    """What the expressions are made of."""
    t.manual_seed(0)
    r, nn = t.rand, t.nn
    return {
        "torch": t, "nn": nn, "F": nn.functional, "a": r(3, 4) + 0.1, "b": r(3, 4) + 0.1,
        "c": r(4, 2), "v": r(4), "x3": r(2, 3, 4), "y3": r(2, 4, 3), "x33": r(2, 3, 3),
        "c4": r(4, 2), "bias": r(2), "w": r(2, 4), "idx": t.tensor([0, 2]),
        "idx2": t.tensor([[0, 1], [2, 3], [1, 0]]), "ac": r(3, 4), "w4": r(5, 4), "gw": r(4),
        "gb": r(4), "img": r(2, 2, 4, 4), "rm": r(2), "rv": r(2), "k": r(3, 2, 3, 3), "kb": r(3),
        "k1": r(2, 3, 2), "kt": r(2, 3, 2, 2), "tgt": t.tensor([0, 1, 2]),
        "p": r(3, 4) * 0.8 + 0.1, "q": r(3, 4) * 0.8 + 0.1, "q4": r(1, 2, 3, 4),
        "sq": t.eye(3) + r(3, 3), "arr": np.ones(3), "lstm": nn.LSTM(4, 3, batch_first=True),
        "mha": nn.MultiheadAttention(4, 2, batch_first=True),
    }  # fmt: skip


FIXED = ("ac", "rm", "rv", "p", "q")


def mode_of(t: Any) -> Any:
    """A mode that writes down the names of overloads."""
    python_dispatch = t.utils._python_dispatch if t is torch else our_modes

    class Logging(python_dispatch.TorchDispatchMode):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    return Logging()


def flat(result: Any) -> list[Any]:
    if isinstance(result, (ours.Tensor, torch.Tensor)):
        return [result]
    if isinstance(result, (tuple, list)):
        return [x for each in result for x in flat(each)]
    return []


def leaves_of(given: dict[str, Any], t: Any) -> dict[str, Any]:
    """The tensors of floats, which get gradients."""
    return {
        name: x.requires_grad_() for name, x in given.items()
        if name not in FIXED and isinstance(x, t.Tensor) and x.is_floating_point()
    }  # fmt: skip


def sequence(t: Any, expression: str, gradients: bool) -> list[str]:
    given = names(t)
    if gradients:
        leaves_of(given, t)
    else:
        for name in ("lstm", "mha"):
            given[name].requires_grad_(False)
    mode = mode_of(t)
    with mode:
        result = flat(eval(expression, given))[:1]
        if gradients and result and result[0].requires_grad:
            mode.seen.append("backward")
            result[0].backward(t.ones_like(result[0].detach()))
    seen: list[str] = mode.seen
    return seen


@pytest.mark.filterwarnings("ignore:reduction:UserWarning")
@pytest.mark.parametrize("gradients", [False, True])
def test_functions_call_torchs_overloads(gradients: bool) -> None:
    otherwise = OTHERWISE_WITH_GRADIENTS if gradients else OTHERWISE
    different = [
        name for name, expression in table(CASES)
        if name not in ("scatter", "scatter_add")  # which raise in torch's backward
        and sequence(torch, expression, gradients) != sequence(ours, expression, gradients)
    ]  # fmt: skip
    assert set(different) <= otherwise


def _network(t: Any, text: str) -> list[str]:
    given = names(t)
    module, loss = text.split(" | ")
    given["net"] = eval(module, given)
    mode = mode_of(t)
    with mode:
        result = eval(loss, given)
        mode.seen.append("backward")
        result.backward()
    seen: list[str] = mode.seen
    return seen


@pytest.mark.parametrize(("name", "text"), table(NETWORKS))
def test_networks_call_torchs_overloads(name: str, text: str) -> None:
    expected, found = _network(torch, text), _network(ours, text)
    assert expected == found or name in NETWORKS_OTHERWISE


def _values(expression: str, module: str | None, mode: Any) -> tuple[list[Any], dict[str, Any]]:
    given = names(ours)
    if module is None:
        leaves = leaves_of(given, ours)
    else:
        given["net"] = eval(module, given)
        leaves = dict(given["net"].named_parameters())
    ours.manual_seed(1)
    with mode:
        results = flat(eval(expression, given))
        parts = [
            (x * ours.arange(1.0, 1 + x.numel()).view(x.shape)).sum()
            for x in results if x.requires_grad and not x.is_complex()
        ]  # fmt: skip
        if parts:
            sum(parts).backward()
    kept = [given[name] for name in ("ac", "rm", "rv")]
    return [x.detach() for x in (*results, *kept)], {k: x.grad for k, x in leaves.items()}


@pytest.mark.filterwarnings("ignore:reduction:UserWarning")
def test_a_mode_that_passes_calls_on_changes_nothing() -> None:
    """Values, types and gradients; the order of two sums may differ."""
    both = [(name, e, None) for name, e in table(CASES) if name not in ("empty", "empty_like")]
    both += [(n, e.split(" | ")[1], e.split(" | ")[0]) for n, e in table(NETWORKS)]  # type: ignore[misc]
    for name, expression, module in both:
        plain, plain_grads = _values(expression, module, contextlib.nullcontext())
        found, grads = _values(expression, module, mode_of(ours))
        for x, y in zip(plain, found, strict=True):
            ours.testing.assert_close(y, x, atol=1e-6, rtol=1e-5, equal_nan=True, msg=name)
        for key, x in plain_grads.items():
            assert (x is None) == (grads[key] is None), (name, key)
            if x is not None:
                ours.testing.assert_close(grads[key], x, atol=1e-5, rtol=1e-5, msg=name)


def test_the_table_of_schemas_is_torchs() -> None:
    known = torch._C._jit_get_all_schemas()
    theirs = {str(each)[6:] for each in known if each.name.startswith("aten::")}
    lines = [line.lstrip("*-+") for name in schemas._table().values() for line in name.values()]
    assert set(lines) <= theirs
    marked = [line for name in schemas._table().values() for line in name.values()]
    for line in marked:
        name = "aten::" + line.lstrip("*-+").partition("(")[0]
        decomposed = torch._C._dispatch_has_kernel_for_dispatch_key(
            name, "CompositeImplicitAutograd"
        )
        assert ("*" in schemas.marks_of(line)) is decomposed, name
