"""Calls that other people's training scripts make, found by migration_examples."""

import typing

import pytest
import torch as real

import mindtorch.torch as ours
from tests.support.surface import check


@pytest.mark.parametrize(
    ("prepare", "code"),
    [
        ("x.requires_grad_()", "torch.autograd.grad((x * x).sum(), x, only_inputs=True)"),
        ("x.requires_grad_()", "torch.autograd.grad((x * x).sum(), {'a': x}, only_inputs=False)"),
        ("x.requires_grad_()", "torch.autograd.grad((x * x).sum(), [])"),
        (
            "import types; x.requires_grad_()",
            "torch.autograd.grad((x * x).sum(), types.MappingProxyType({'a': x}))",
        ),
    ],
)  # fmt: skip
def test_gradients_are_asked_for_as_in_torch(prepare: str, code: str) -> None:
    """Deprecated and newer arguments of ``autograd.grad``: WGAN-GP scripts pass ``only_inputs``."""
    check(code, prepare)


OPTIMIZERS = """
class Old(torch.optim.Optimizer):
    def __init__(self, params): super().__init__(params, {})
    def step(self, closure=None):
        loss = closure() if closure else None
        for p in self.param_groups[0]["params"]: p.data.add_(p.grad, alpha=-0.1)
        return loss
class Around(torch.optim.Optimizer):
    def __init__(self, inner): self.inner, self.param_groups = inner, inner.param_groups
    def step(self, closure=None): return self.inner.step(closure), torch.is_grad_enabled()
x.requires_grad_()
def closure():
    x.grad = None
    loss = (x * x).sum()
    loss.backward()
    return loss
closure()
calls = []
old = Old([x]); sgd = torch.optim.SGD([x], 0.1)
old.register_step_post_hook(lambda *each: calls.append(len(each)))
"""


@pytest.mark.parametrize(
    "code",
    [
        "old.step(closure), x, calls", "old.step(), x", "Around(old).step(closure)",
        "Around(sgd).step(closure)", "Around(sgd).step()", "sgd.step(closure), x",
    ],
)  # fmt: skip
def test_the_step_of_an_optimizer_of_ones_own_is_left_as_it_is(code: str) -> None:
    """Gradients stay recorded in it, also in a closure; without ``__init__`` there are no hooks."""
    check(code, OPTIMIZERS)


RULES = """
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * x
    @staticmethod
    def backward(ctx, g): return 3 * g
class Unscaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x + 1
    @staticmethod
    def backward(ctx, g): return torch.ones_like(g)
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck
d = torch.arange(1, 5, dtype=torch.double).view(2, 2).requires_grad_()
z = torch.tensor([1 + 2j, -0.5j], requires_grad=True)
z = z.detach().to(torch.complex128).requires_grad_()
torch.manual_seed(3)
"""


@pytest.mark.parametrize(
    "code",
    [
        "gradcheck(torch.sin, d)", "gradcheck(torch.sin, (d,), fast_mode=True)",
        "gradcheck(lambda a, b: (a @ b, a.sum()), (d, (d + 1).detach().requires_grad_()))",
        "gradcheck(Wrong.apply, d)", "gradcheck(Wrong.apply, d, raise_exception=False)",
        "gradcheck(Wrong.apply, d, atol=10)", "gradcheck(Unscaled.apply, d)",
        "gradcheck(lambda x: x.detach(), d)", "gradcheck(lambda x: x.round().detach(), d)",
        "gradcheck(lambda x: x * z.abs(), z)", "gradcheck(lambda x: x * x.conj(), z)",
        "gradcheck(torch.abs, z)", "gradcheck(torch.sin, x)", "gradcheck(torch.sin, d.detach())",
        "gradcheck(torch.sin, d.detach()[0].expand(3, 2).requires_grad_())",
        "gradcheck(torch.sin, d, check_batched_grad=True)",
        "gradcheck(torch.sin, d, check_backward_ad=False)",
        "gradgradcheck(torch.sin, d)", "gradgradcheck(lambda x: x ** 3, d, d.detach())",
        "gradgradcheck(torch.sin, d, gen_non_contig_grad_outputs=True), torch.rand(2)",
        "gradgradcheck(lambda x: x * x * x.conj(), z), torch.rand(2)",
        "gradgradcheck(Wrong.apply, d)", "gradgradcheck(torch.relu, d), torch.rand(2)",
        "gradgradcheck(torch.sin, d, check_rev_over_rev=False)",
    ],
)  # fmt: skip
def test_gradients_are_checked_as_in_torch(code: str) -> None:
    """The verdict, the Jacobians in the message of a failure, and the random numbers used."""
    check(code, RULES)


def test_a_rule_that_cannot_do_without_gradients_is_found() -> None:
    """An output without a gradient counts as zeros; a rule that got None and failed is told of."""
    check(
        "torch.autograd.gradcheck(lambda x: Pair.apply(x), d)",
        RULES
        + """
class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3
    @staticmethod
    def backward(ctx, g, h):
        if g is None or h is None:
            raise RuntimeError("no gradient")
        return 2 * g + 3 * h
""",
    )


WRITES = "w = torch.ones(2, 3, requires_grad=True); y = (w * w).sum(); v = w.detach().view(-1)"


@pytest.mark.parametrize(
    "code",
    [
        "w.data.mul_(2), w._version, w", "w.data[0].add_(1), w.data.t()[0, 1].fill_(3), w._version",
        "w.data.add_(1), y.backward(), w.grad", "w.data.copy_(w.data.t().reshape(2, 3)), w",
        "v.add_(1), y.backward()", "v.add_(1), w._version, w.data._version",
        "v.data.add_(1), v._version, w", "w.data.is_set_to(w), w.data.is_set_to(w.data)",
        "w.data.untyped_storage().data_ptr() == w.untyped_storage().data_ptr()",
        "setattr(w, 'data', torch.zeros(4)), w._version, w, w.detach().add_(1), w._version",
        "v.add_(1), setattr(w, 'data', torch.zeros(4).add_(1)), w._version",
        "torch.nn.init.ones_(w), w.data.t().data.sub_(1), w, w._version",
    ],
)  # fmt: skip
def test_writes_through_data_are_not_counted(code: str) -> None:
    """``.data`` has a version counter of its own, ``detach()`` the tensor's; the memory is one."""
    check(code, WRITES)


def test_a_write_through_data_sees_where_its_operand_overlaps() -> None:
    """Memory is compared, not counters: torch refuses, before anything is written."""
    for torch in (ours, real):
        q = torch.arange(16.0).view(4, 4)
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            q.data.add_(q.t())
        assert torch.equal(q, torch.arange(16.0).view(4, 4))


ENCODER = """
import warnings
torch.manual_seed(1)
def encoder(outer={}, **settings):
    layer = torch.nn.TransformerEncoderLayer(
        8, settings.pop("heads", 2), 16, batch_first=settings.pop("batch_first", True), **settings)
    return torch.nn.TransformerEncoder(layer, 2, torch.nn.LayerNorm(8), **outer)
sequence = torch.randn(2, 5, 8)
end = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
start = end.flip(1)
def run(module, padding, grad=False, training=False, mask=None):
    with torch.set_grad_enabled(grad), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*nested tensors is in prototype")
        return module.train(training)(sequence, mask, padding).detach()
"""


@pytest.mark.parametrize(
    "code",
    [
        "run(encoder(), end)", "run(encoder(activation='gelu'), end)", "run(encoder(), start)",
        "run(encoder(dropout=0.0), end, training=True)", "run(encoder(), end, grad=True)",
        "run(encoder(), end, mask=torch.eye(5) > 1)", "run(encoder(norm_first=True), end)",
        "run(encoder(dict(enable_nested_tensor=False)), end)",
        "encoder(batch_first=False).use_nested_tensor",
        "encoder(bias=False).use_nested_tensor", "encoder(heads=1).use_nested_tensor",
        "encoder(activation=torch.tanh).use_nested_tensor", "encoder().use_nested_tensor",
        "torch.nn.TransformerEncoder(torch.nn.Linear(2, 2), 1).use_nested_tensor",
        "run(encoder(), torch.zeros(2, 5).masked_fill(end, float('-inf')))",
    ],
)  # fmt: skip
def test_padding_is_left_out_of_an_encoders_result_where_torch_does(code: str) -> None:
    """Zeros before the last norm, in evaluation without gradients; a warning says where never."""
    check(code, ENCODER, rtol=1e-5)


@pytest.mark.parametrize(
    "code",
    [
        "s(3).draw(9)", "s(1).draw(), s(1).draw(1)", "e.draw(2), e.draw(3), e.draw(), e.quasi",
        "s(40).draw(70)[-3:]", "s(21201).draw(3)[:, -5:]", "s(4, scramble=True, seed=5).draw(17)",
        "s(4, True, 5).sobolstate, s(4, True, 5).shift", "s(6, scramble=True).draw(5)",
        "s(6, scramble=True), torch.rand(2)", "e.fast_forward(5).draw(4), e.num_generated",
        "e.fast_forward(1).fast_forward(7).draw(2)", "e.draw(4), e.reset().draw(2)",
        "e.draw_base2(3), e.draw_base2(3)", "e.draw(3), e.draw_base2(3)", "s(0)", "s(21202)",
        "e.draw(4, dtype=torch.float64)", "(lambda o: (e.draw(4, out=o), o))(torch.empty(0))",
        "str(s(2)), str(s(2, True)), str(s(2, True, 7))", "s(3).sobolstate",
        "e.fast_forward(2 ** 20).draw(2)", "s(7).draw(3, dtype=torch.bfloat16)",
    ],
)  # fmt: skip
def test_sobol_points_are_torchs(code: str) -> None:
    """The sequence, its scrambling by the generator's numbers, and where it goes on."""
    check(code, "torch.manual_seed(4); s = torch.quasirandom.SobolEngine; e = s(5)")


@pytest.mark.parametrize(
    "code",
    [
        "F.relu(y)", "y.relu_()", "F.leaky_relu(y)", "F.hardtanh(y)", "F.relu6(y)", "F.rrelu(y)",
        "F.threshold(y, 0.1, 0.0)", "F.softshrink(y)", "F.hardshrink(y)", "y.abs()", "y.clamp(-1)",
        "y.floor() + 2 * y", "y.sin()",
    ],
)  # fmt: skip
def test_second_derivatives_of_kinks_are_zeros_not_missing(code: str) -> None:
    """Of a gradient penalty: a bias before relu gets zeros (and weight decay), as in PyTorch, where
    the rule is zeros; where torch has none, the bias gets None."""
    prepare = f"""
y = x.requires_grad_() @ (w := torch.ones(4, 4, requires_grad=True)) * 1 + (
    b := torch.tensor([0.1, -0.2, 0.3, 0.0], requires_grad=True))
(g,) = torch.autograd.grad(({code}).sum(), x, create_graph=True)
"""
    check("torch.autograd.grad(g.square().sum(), [w, b], allow_unused=True)", prepare, rtol=1e-5)


@pytest.mark.parametrize(
    "code",
    [
        "torch.cat([x, x], axis=1)", "torch.stack([x, x], axis=1)", "torch.concat([x], axis=-1)",
        "x.sum(axis=1, keepdims=True)", "x.unsqueeze(axis=0).squeeze(axis=0)", "x.unbind(axis=1)",
        "torch.softmax(x, axis=0)", "torch.chunk(x, 2, axis=1)",
        "x.narrow(axis=0, start=0, length=1)",
        "torch.select(x, axis=1, index=0)", "torch.amax(a=x, axis=1)",
        "torch.nn.functional.pad(input=x, pad=(1, 1), mode='constant', value=3.0)",
    ],
)  # fmt: skip
def test_numpys_names_of_arguments_are_taken(code: str) -> None:
    """PyTorch's native functions take ``axis``, ``keepdims``, ``x`` and ``a``, undocumented."""
    check(code)


def test_names_that_libraries_take_for_annotations_exist() -> None:
    """kornia writes torch.torch.Tensor, pyro imports MAP_LOCATION."""
    from mindtorch.torch.serialization import MAP_LOCATION

    assert ours.torch is ours  # type: ignore[attr-defined]
    assert str in typing.get_args(MAP_LOCATION)


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode", "enable_grad"])
@pytest.mark.parametrize("call", ["p.numpy()", "np.asarray(p)", "p.__array__()"])
def test_parameters_are_arrays_where_no_gradient_is_recorded(call: str, mode: str) -> None:
    """botorch hands parameters to scipy under no_grad; else torch asks for `detach`."""
    prepare = f"""
import numpy as np
p = torch.nn.Parameter(torch.ones(2))
with torch.{mode}():
    try:
        made = torch.tensor({call})
    except RuntimeError as error:
        made = str(error)
"""
    check("made", prepare)


LISTS = [
    "[torch.tensor([0, 1]), torch.tensor([1, 2])]", "[[0, 1], [1, 2]]", "[(0, 1), (1, 2)]",
    "[0, [1, 2]]", "[[0, 1]]", "[torch.tensor(0), torch.tensor(1)]", "[slice(0, 2), 1]",
    "[torch.tensor([True, False, True])]", "[range(2)]", "[0, 2]", "[1.0]", "[True, False, True]",
    "[[[0]], [[1]]]", "[[0, 1]] * 40",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("item", LISTS)
def test_lists_index_one_axis_after_another_where_torch_says_so(item: str) -> None:
    """pytorch-metric-learning writes ``mat[[rows, columns]]``."""
    check(f"x[{item}]", "x = x[:3, :4].clone()")
    check("x", f"x = x[:3, :4].clone(); x[{item}] = -1.0")


def test_an_index_list_is_warned_of_at_its_line() -> None:
    with pytest.warns(UserWarning, match="^Using a non-tuple sequence") as seen:
        ours.ones(3, 4)[[[0, 1], [1, 2]]]
    assert seen[0].filename == __file__


def test_a_leaf_is_cast_once_for_all_products_of_an_autocast_block() -> None:
    """Its gradients are added up in bfloat16 then, whether it has two axes or more."""
    prepare = """
def loss():
    with torch.autocast("cpu", torch.bfloat16):
        return (x @ a + x @ b).float().pow(3).sum()
x = torch.randn(2, 3, 4, requires_grad=True); a, b = torch.randn(2, 4, 5)
"""
    check("torch.autograd.grad(loss(), x)[0]", prepare)
