"""Calls with arguments that torch does not take: its type of error and its text, whole."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import mindtorch.torch as ours
from mindtorch.engine.ops import normalization

torch = pytest.importorskip("torch")

# expressions of a tensor x of three floats, m of 3 x 3, n of three whole numbers, T the library
CALLS = """
T.Tensor.__rand__(2, n)
T.Tensor.__ror__(2, 3)
T.Tensor.__xor__(2, n)
T.Tensor.__imod__(2, n)
T.nn.Hardtanh(2, 1)
T.nn.functional.affine_grid(m.view(1, 3, 3), (1, 1, 2, 2), align_corners=False)
T.nn.functional.affine_grid(m.view(1, 3, 3), T.Size((1, 1, 2, 2, 2, 2)), align_corners=False)
T.nn.functional.affine_grid(m[:2].view(1, 2, 3), [1, 1, 0, 2], align_corners=False)
T.nn.functional.grid_sample(T.ones(1, 1, 2, 2), T.ones(2, 2, 2, 2))
T.polygamma(-1, x)
x.add(1, alpha=1j)
T.tensor(1, dtype="float32")
x.new_tensor(1, dtype="float32")
x.names
x.clone().put_(n[:2], x[:1])
T.ones(()).index_select(0, T.tensor([1]))
T.nn.functional.max_unpool3d(T.ones(1, 1, 1, 2, 2), T.full((1, 1, 1, 2, 2), 99), 2)
T.repeat_interleave(T.tensor([1, 2]), output_size=5)
T.searchsorted(x, x, sorter=n[:2])
T.searchsorted(x, x, sorter=T.tensor([0, 1, 5]))
T.searchsorted(x, x, sorter=x)
T.searchsorted(T.ones(()), T.ones(()))
T.histc(T.tensor([float("inf"), 1.0]), 4)
T.histogram(x, T.ones(0))
x.cumsum_(0.3)
x.cumsum(0.3)
x.sum(0.5)
x.max(0.5)
x.sort(0.5)
x.topk(0.5)
x.topk()
x.kthvalue(1.5)
x.softmax(0.5)
x.cumsum(object())
x.cumsum(0, 1)
x.cumsum(0, foo=1)
x.cumsum(0, dim=0)
T.cumsum(x, dim='a', foo=2)
T.cumsum()
x.atan2_(1.0)
x.atan2(1.0)
T.atan2(x, 1.0)
x.nextafter_(1.0)
x.hypot(1.0)
n.gcd_(2)
x.logical_and_(1)
x.logical_and(1)
x.igamma_(2.0)
x.mul_("a")
x.add(x, 0.7)
x.add(1, 2, 3)
x.add_([1])
x.div_(2, "floor")
x.eq_("a")
x.eq("a")
T.eq(x, None)
x.pow_([1])
x.clamp_(min=[1])
x.clamp_("a")
x.lerp_(1.0, 0.5)
x.addcmul_(x, 0.5)
x.copy_(x, 1)
x.copy_([1.0])
x.fill_("a")
x.index_fill_(0, [1], 2)
x.masked_fill_([True, False, True], 2)
x.masked_fill(0, 0.5)
x.scatter_(0, [0], 2)
T.take_along_dim(x, n.int(), 0)
T.unravel_index(n, n)
T.unravel_index(n, (1, 2.0))
T.unravel_index(n, (1, -2))
x.scatter_(0, n, "a")
x.scatter(0, foo=1)
x.scatter_add_(0, n, 1.0)
x.put_([0], x)
x.gather(0, [0])
x.index_select(0, [0])
x.take([0])
x.masked_select([True, True, False])
x.bernoulli_("a")
x.normal_(0, "a")
x.uniform_("a", 1)
x.random_("a")
x.round_(decimals="a")
x.nan_to_num_("a")
m.tril_(0.5)
m.transpose(0, 0.5)
m.addmm_(m, 1.0)
m.fill_diagonal_("a")
m.resize_(2.5)
m.mvlgamma_(1.5)
x.roll(0.5)
x.repeat(2.0)
x.narrow(0, 0.5, 1)
x.select(0, 0.5)
x.unfold(0, 1.5, 1)
x.chunk(1.5)
x.dot(1.0)
x.mm(1.0)
x.matmul(1.0)
T.maximum(x, 1)
T.where(1.0, 2.0)
T.cat()
T.cat([1.0])
T.hstack(x)
T.linalg.inv("a")
T.special.zeta(x, "a")
T.zeros_like(1)
T.zeros()
T.rand()
T.sin_("a")
T.clamp_("a")
T.flip("a", (0,))
T.max_pool1d("a", 2)
T.cdist("a", x)
T.atan2(x)
T.det(x, out=1)
T.linalg.eig(x, out=1)
x.reshape()
x.requires_grad_("a")
T.nn.functional.conv2d(x, "a")
T.zeros(2**46)
T.ones(1).expand(2**46) + 1
x.max(None)
x.max(dim=None)
x.median(None)
m.squeeze(None)
x.prod(None)
x.logsumexp(None)
x.uniform_(start=1)
x.random_(1.5)
x.unique("a")
T.unique_consecutive(x, 1)
T.normal(x, foo=1)
T.isin(x, "a")
T.range(1)
T.cat([x, None])
T.stack([None])
T.broadcast_tensors([x, x])
T.broadcast_shapes(x)
T.einsum("ij")
T.tensordot(m, m, (0, 0))
T.tensordot(m, m, "a")
T.unravel_index(x, 3)
T.celu_("a")
T.nn.functional.linear(x, m, "a")
T.nn.functional.dropout("a")
T.nn.functional.alpha_dropout("a")
T.nn.functional.layer_norm(x, "a")
T.nn.functional.embedding(x, "a")
T.nn.functional.cross_entropy("a", n)
T.nn.functional.nll_loss(m, n, "a")
T.nn.functional.pad(x, (1.5, 2))
T.nn.functional.softmax("a", 0)
T.nn.functional.mish("a", x)
T.nn.functional.hardtanh("a", 2, 1)
T.nn.functional.grid_sample("a", x, align_corners=True)
T.nn.functional.poisson_nll_loss(x, x, "a")
T.nn.functional.adaptive_avg_pool2d("a", 2)
x.sum(True)
m.softmax(True)
T.permute(m, (1, 0), foo=1)
T.broadcast_to(x, (2, 3), foo=1)
T.flip(x, (0,), foo=1)
T.rot90(m, 1.0, (0, 1))
T.addcmul(x, x, x, value=1j)
T.addmm(m.double(), m, m)
T.addmm(m[None], m, m)
T.addmv(x.double(), m, x)
T.baddbmm(m[None].double(), m[None], m[None])
T.cdist(m, m.double())
T.cross(x, x.double(), dim=0)
T.cartesian_prod(m)
n.cauchy_()
n.exponential_()
n.log_normal_()
T.nn.functional.layer_norm(m.double(), (3,), x)
T.nn.functional.group_norm(m, 3, x.double())
T.nn.functional.group_norm(m, 3.0)
T.nn.functional.batch_norm(m, x, x, x, x.double())
T.nn.functional.batch_norm(m, x.double(), x, training=True)
T.nn.functional.conv1d(m, T.ones(3, 3, 1), groups=1.0)
T.nn.functional.soft_margin_loss(x, m)
T.nn.functional.rrelu(x, 0.0, float("inf"), True)
x.sum(0, 1)
x.sort(descending=None)
T.clamp(x, 0.5, x)
T.cat([x, x], dim=None)
m.argmax(0, keepdim=x)
T.nn.functional.layer_norm(m, (3.0,))
T.nn.functional.linear(m, m, x.double())
T.nn.functional.linear(T.ones(4), m, x)
T.nn.functional.mse_loss(n, n)
T.nn.functional.max_pool2d(T.ones(1, 4, 4), 2.0)
T.nn.functional.conv1d(m, T.ones(3, 3, 1), stride=True, padding=0)
T.nn.functional.interpolate(T.ones(1, 1, 4, 4), (2.0, 2))
T.nn.functional.cross_entropy(m, n, label_smoothing=1.5)
T.nn.Conv2d(1, 1, 1)(x, x)
T.nn.AvgPool2d(2, foo=1)
T.nn.Sequential(T.nn.ReLU)
T.nn.MultiheadAttention(4, 2)(T.ones(2, 1, 4), T.ones(2, 1, 5), T.ones(2, 1, 4))
x.median(keepdim=True)
x.index_copy(0, n, m)
m.index_copy(1, n, T.ones(2, 3))
x.index_copy(0, n, x.double())
x.masked_select(T.ones(2) > 0)
T.full(2, 1)
T.zeros(-1)
T.device("cuda", -1)
x.requires_grad_().sum().backward("a")
T.sparse_csr_tensor(T.tensor([0, 2]), T.tensor([1, 0]), x[:2], (1, 2), check_invariants=True)
m.to_sparse().norm(keepdim=True)
T.max(m, 1, keepdim=None)
T.max(m, 1, foo=1)
x.clamp(min=(1, 2), max=x)
x.argsort(dim=True, descending=True)
T.sort(m, stable=True, dim=-1, descending=None)
T.all("a", 0, keepdim=True)
T.randn((2,), generator=T.Generator(), sizes=1)
T.randn((2,), generator=3)
T.randperm(1, generator="a")
T.argsort(stable=True, dim=-3, descending=True)
T.multinomial(x, 2, generator=7)
x.normal_(generator=7)
T.zeros_like(x, memory_format=object)
T.empty((2,), memory_format=[1])
x.reshape((3, 1), 1, "a")
x.reshape("a", 1)
m.squeeze(0, "a")
m.std(0, 1)
x.add_(1, 2, 3)
x.add_(2, (1, 2))
x.type_as()
T.allclose(x, x, equal_nan=3)
T.combinations(x, with_replacement=3)
x.put(n, x, accumulate=[1])
x.put(n.int(), x)
T.linalg.pinv(m, hermitian=1)
T.linalg.vector_norm(x, keepdim=7)
T.norm(0.5)
T.norm(m, 1, "a")
m.norm(2, True)
m.norm(2, dtype=1.5)
T.nn.functional.normalize(m, dim="a")
T.nn.functional.softmax(x, dim=(1, 2))
T.nn.functional.log_softmax(x, 0, dtype="a")
T.nn.functional.log_softmax(3, 0)
T.nn.functional.mse_loss(1.5, x)
T.nn.functional.mse_loss(x, x, weight=7)
T.nn.functional.mse_loss(x, x.to(T.complex64))
T.nn.functional.binary_cross_entropy(x, object)
T.nn.functional.binary_cross_entropy_with_logits(x, 1.5)
T.nn.functional.cross_entropy(m, n, ignore_index=1.5)
T.nn.functional.nll_loss(m, n[0])
T.nn.functional.kl_div(x, x, reduction='none', log_target=object)
T.nn.functional.grid_sample(T.ones(2, 3, 5, 5), T.ones(2, 5, 5, 2), align_corners=1.5)
T.nn.functional.avg_pool2d(T.ones(1, 1, 4, 4), 3, ceil_mode=[1])
T.nn.functional.scaled_dot_product_attention(m, m, m, is_causal=None)
T.nn.functional.group_norm(T.ones(1, 6, 3), -1)
T.nn.functional.group_norm(T.ones(1, 6, 3), 2, T.ones(6), T.ones(7))
m.scatter(0, n[None], T.ones(()))
m.scatter(0, n[None].repeat(1, 2), 2.0)
m.scatter_reduce(0, n[None], m, "sum", include_self="a")
T.ones(()).index_select(0, n)
m.index_add(0, n, m[:1])
m.index_add(0, n.byte(), m)
x.lerp_(x.double(), 0.5)
x.clamp(x, x.to(T.complex64))
T.isin(True, x)
T.randint(3, (-3,))
T.cross(x > 0, x, 0)
T.linspace(x, T.ones(()), 1)
T.meshgrid(x, indexing=3)
T.einsum(None, [x, x])
T.split(x)
T.split(2)
T.split(x, "a")
T.split(x, [1.5])
T.repeat_interleave(m)
T.cdist(m, m, p=(1, 2))
T.cdist(m, m, compute_mode=[1])
T.addmm(m, m.int(), m)
m.to(T.complex64).clamp(m, m)
m.index_select(n[:1])
T.nn.functional.nll_loss(m, n, reduction=[1.5])
T.addmm(m, T.ones(2, 2, 2), m)
T.addmm(m, m, m.to(T.complex64))
""".strip().splitlines()


def _error(library: Any, call: str) -> tuple[str, str]:
    x, n = library.ones(3), library.zeros(3, dtype=library.int64)
    with pytest.raises(Exception) as raised:
        eval(call, {"T": library, "x": x, "n": n, "m": library.ones(3, 3)})
    return type(raised.value).__name__, str(raised.value)


@pytest.mark.parametrize("call", CALLS)
def test_wrong_arguments_raise_what_torch_raises(call: str) -> None:
    """Programs catch these errors, and their authors look for the words."""
    assert _error(ours, call) == _error(torch, call)


def test_joins_and_products_keep_their_errors_and_names_once_there_are_other_tensors() -> None:
    """Their functions are then exchanged for ones that know sparse and nested operands."""
    ours.ones(2, 2).to_sparse()
    nested = ours.nested.nested_tensor([ours.ones(2)])
    both = ours.cat([nested] * 2)
    assert [part.tolist() for part in both.unbind()] == [[1, 1], [1, 1]]
    assert ours.cat(tensors=[ours.ones(1), ours.zeros(1)], dim=0).tolist() == [1, 0]
    for call in ("T.cat()", "T.mm(x)"):
        assert _error(ours, call) == _error(torch, call)
    two = ours.ones(2, 2)
    assert ours.mm(two, mat2=two).tolist() == [[2, 2], [2, 2]]
    assert ours.mm(two.to_sparse(), mat2=two).tolist() == [[2, 2], [2, 2]]


def test_a_right_call_that_fails_keeps_its_error() -> None:
    """Signatures are read after a failure: one that is not about them must come through."""
    with pytest.raises(IndexError, match="Dimension out of range"):
        ours.ones(3).cumsum(7)
    with pytest.raises(RuntimeError, match=r"Expected self\.dtype to be equal"):
        ours.ones(3).scatter_(0, ours.zeros(3, dtype=ours.int64), ours.ones(3).double())


@pytest.mark.parametrize("name", ["add_", "sub_", "add", "sub"])
@pytest.mark.filterwarnings("ignore:This overload of")
def test_numbers_in_the_old_order_are_a_factor_and_a_summand(name: str) -> None:
    """``x.add_(0.2, 0.7)`` is ``x + 0.2 * 0.7``, with torch's warning."""
    found = [getattr(library.ones(3), name)(0.2, 0.7).tolist() for library in (torch, ours)]
    assert found[0] == pytest.approx(found[1])


def test_a_wrong_call_leaves_no_trace() -> None:
    """2.0 equals 2: what was planned for the one would be run for the other."""
    x, weight, bias = ours.ones(1, 6, 3), ours.ones(6), ours.zeros(6)
    with pytest.raises(TypeError):
        normalization.group_norm(x, weight, bias, groups=2.0, eps=1e-5)
    assert normalization.group_norm(x, weight, bias, groups=2, eps=1e-5)[0].shape == x.shape


@pytest.mark.parametrize("call", [
    "m.max(T.tensor(1), True)", "T.addmm(m, m, m, alpha=T.tensor(2.0))",
    "T.nn.functional.hardtanh(m, min_val=T.tensor(0.5))", "T.sym_not(5)",
    "T.nn.functional.multilabel_soft_margin_loss(x, m[:1])",
    "T.nn.functional.cosine_similarity(m, n, dim=0)", "T.broadcast_shapes(None, 2)",
])  # fmt: skip
def test_calls_that_look_wrong_and_are_not(call: str) -> None:
    """Numbers as tensors, axes as tensors, more axes than are meant."""
    found = []
    for library in (ours, torch):
        place = {"T": library, "x": library.tensor([0.5, 1.0, 2.0]), "m": library.ones(3, 3),
                 "n": library.tensor([0, 1, 2])}  # fmt: skip
        result = eval(call, place)
        found.append(str(result))
    assert found[0] == found[1]


# right calls: their results
RIGHT = """
T.mul(a=x, x2=x)
T.flatten(a=m)
x.roll(numpy.int64(1))
x.norm(numpy.int64(1))
x.to("cpu", float)
m.sum(T.tensor([0]))
T.nn.functional.linear(m, m, T.ones(1, 3))
T.nn.functional.linear(x, m, T.ones(()))
T.nn.functional.mse_loss(n, x)
T.nn.functional.smooth_l1_loss(x > 0, x)
T.nn.functional.cross_entropy(m, n, label_smoothing=-1.0)
""".strip().splitlines()


@pytest.mark.parametrize("call", RIGHT)
def test_what_torch_takes_is_taken(call: str) -> None:
    """Numbers of numpy, one-element tensors, names of numpy's, shapes and types that spread."""
    results = []
    for library in (ours, torch):
        x, n = library.ones(3), library.zeros(3, dtype=library.int64)
        known = {"T": library, "x": x, "n": n, "m": library.ones(3, 3), "numpy": numpy}
        found = eval(call, known)
        results.append((str(found.dtype), found.tolist()))
    assert results[0] == results[1]


def test_an_optimizer_that_cannot_be_captured_says_so() -> None:
    """``capturable=True`` was taken and had no effect."""
    errors = []
    for library in (ours, torch):
        weight = library.nn.Parameter(library.ones(2))
        weight.grad = library.ones(2)
        with pytest.raises(AssertionError) as raised:
            library.optim.NAdam([weight], capturable=True).step()
        errors.append(str(raised.value))
    assert errors[0] == errors[1]


@pytest.mark.filterwarnings("ignore:This overload of")
def test_what_torch_accepts_beyond_what_it_documents() -> None:
    """No places, no axis; the older form with its tensor by name; a histogram of 100 bins."""
    x = ours.tensor([1.0, 2.0, 4.0])
    assert x.diff(n=0, dim=9).tolist() == x.tolist()
    assert ours.roll(ours.ones(0, 2), 0, dims=3).shape == (0, 2)
    assert x.histogram().hist.shape == (100,)
    one: Any = ours.ones(())
    assert one.clone().add_(2, other=ours.tensor(3.0)) == 7
    assert one.clone().sub_(2, x2=ours.tensor(3.0)) == -5
    assert ours.ones(2).type_as(x2=ours.ones(1).double()).dtype is ours.float64
