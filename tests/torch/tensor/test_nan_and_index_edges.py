"""What PyTorch's own tests look at and programs seldom meet: nan, zero divisors, odd indices."""

import pytest

from tests.support.surface import check


@pytest.mark.parametrize(
    "code",
    [
        "7 // n", "n % n", "torch.fmod(n, 0)", "n // 0", "n.clone().remainder_(n)",
        "torch.div(n, n, rounding_mode='floor')", "torch.div(n, n, rounding_mode='trunc')",
        "torch.floor_divide(n[::2], n[1::2])", "torch.remainder(n[1::2], n[1::2])",
        "7 // n.float()", "n.float() % 0", "torch.empty(0, dtype=torch.int64) // 0",
    ],
)  # fmt: skip
def test_whole_numbers_are_not_divided_by_zero(code: str) -> None:
    """torch's RuntimeError says ZeroDivisionError; zeros between strides are no divisors."""
    check(code, "n = torch.tensor([0, 3, 0, 5])")


NAN = "y = torch.tensor([1.0, float('nan'), 3.0, float('nan')], requires_grad=True)"


@pytest.mark.parametrize(
    "code",
    [
        "y.max()", "y.min()", "y.median()", "y.nanmedian()", "y.max(0).values", "y.quantile(0.3)",
        "y.nanquantile(0.3)", "y.amax(0, keepdim=True)[0]",
    ],
)  # fmt: skip
def test_the_gradient_of_order_statistics_where_there_are_nans(code: str) -> None:
    """All nan share the gradient of an extreme or median of all; a quantile's goes to the last."""
    check(f"torch.autograd.grad({code}, y)", NAN)


@pytest.mark.parametrize(
    "code",
    [
        "x[torch.tensor([0, 1], dtype=torch.int16)]", "x[torch.tensor([0], dtype=torch.int8)]",
        "x[torch.tensor([0, 1], dtype=torch.int32)]", "x[np.array([0, 1], np.int16)]",
        "x.__setitem__((0, 0), torch.ones(2))", "x.__setitem__(0, torch.ones(2, 3))",
        "x.__setitem__(0, torch.ones(1, 1, 3))", "x.long().__setitem__((0, 0), 1j)",
        "+x.bool()", "torch.hstack(x)", "x.resize_(-2)",
    ],
)  # fmt: skip
def test_odd_indices_and_values_are_refused_as_in_torch(code: str) -> None:
    """Shorter whole numbers are no indices, and a value may not have more axes than its place."""
    check(code, "import numpy as np; x = torch.arange(6.0).reshape(2, 3)")


@pytest.mark.parametrize(
    "code",
    [
        "p.register_hook(lambda g: 5); (p * 3).sum().backward()",
        "p.register_hook(lambda g: torch.ones(4)); (p * 3).sum().backward()",
        "p.requires_grad = 'yes'",
        "torch.autograd.grad([p * 2, p.sum()], [p], [torch.ones(3)])",
        "torch.autograd.backward([p.sum()], [torch.ones(()), torch.ones(())])",
    ],
)
def test_what_hooks_and_callers_hand_to_backward_is_looked_at(code: str) -> None:
    """A hook's result takes the gradient's place: it must be a tensor of its shape."""
    check("[outcome]", f"""
p = torch.ones(3, requires_grad=True)
try:
    {code}
    outcome = p.grad
except Exception as error:
    outcome = type(error).__name__, str(error)
""")


@pytest.mark.parametrize(
    "code",
    [
        "z.sort()", "z.msort()", "z.argsort()", "z.topk(1)", "z.kthvalue(1)", "z.median()",
        "z.median(0)", "z.mode()", "z.max(0)", "z.cummax(0)", "z.unique()", "z.floor()",
        "z.clamp(0)",
    ],
)  # fmt: skip
def test_complex_numbers_have_no_order(code: str) -> None:
    """A result that looks at the real parts would be wrong in silence."""
    check(code, "z = torch.zeros(2, dtype=torch.complex64)")


@pytest.mark.parametrize(
    "code",
    [
        "torch.histc(x, bins=0)", "torch.histc(x, min=3, max=1)", "torch.histc(x.long())",
        "torch.histc(x * float('nan'))", "torch.bincount(x.long()[0], x[0, :1])",
        "torch.bincount(x.long()[0], minlength=-1)", "torch.quantile(x, torch.tensor([[0.5]]))",
        "torch.quantile(x, torch.tensor([0.5], dtype=torch.float64))", "x.squeeze((0, 0))",
        "torch.block_diag(x, x[None])", "torch.unique(x, dim=2)", "torch.unique(x, dim=-1)",
        "torch.randperm(300, dtype=torch.uint8)", "torch.tensordot(x, x, 1)",
        "torch.tensordot(x[:1].int(), x.int(), ([0], [0]))",
        "torch.tensordot(x, x, 5)", "torch.randperm(3, dtype=torch.uint8).sum()",
    ],
)  # fmt: skip
def test_arguments_out_of_bounds_raise_torchs_errors(code: str) -> None:
    """Not numpy's, and no results where torch has none."""
    check(code, "x = torch.arange(6.0).reshape(2, 3)")


@pytest.mark.parametrize(
    "code",
    [
        "torch.ones(4, 2).index_put((m,), torch.tensor(5.0), accumulate=True)",
        "torch.empty(0).set_(x.untyped_storage(), 1, (2,), (2,))",
        "torch.empty(0).set_(torch.TypedStorage(wrap_storage=x.untyped_storage(),"
        " dtype=torch.float32, _internal=True), 1, (2,), (2,))",
        "str(torch.finfo(torch.float8_e5m2))", "str(torch.finfo(torch.float8_e4m3fn))",
        "torch.finfo(torch.float32) == torch.finfo()",
        "torch.iinfo(torch.int8) == torch.iinfo(torch.uint8)",
        "copy.deepcopy(torch.ops.aten.add)(x, 1)", "torch.frombuffer([1], dtype=torch.int8)",
        "x.__dlpack__(stream=object())", "x.to_sparse().__dlpack__()",
        "torch.testing.make_tensor((9,), dtype=torch.uint64, device='cpu')",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8:UserWarning")
def test_masks_of_bytes_storages_limits_and_buffers(code: str) -> None:
    """What PyTorch's own test files ask for, value by value and error by error."""
    before = "import copy; torch.manual_seed(0); x = torch.arange(6.0);"
    check(code, f"{before} m = torch.tensor([0, 1, 0, 0], dtype=torch.uint8)")


@pytest.mark.parametrize(
    "code",
    [
        "torch.randint(high=5, size=(3,))", "c.real = torch.ones(3); c", "c.imag = 2.0; c",
        "x = x.clone(); x.real = -1; x", "x.imag = 1", "torch.linspace(0, 1j, 3)",
        "torch.logspace(0, 1j, 3)", "torch.range(1, 7, 2, dtype=torch.int32, device='cpu')",
        "torch.randperm(300, out=torch.empty(300, dtype=torch.uint8))",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:torch.range is deprecated:UserWarning")
def test_forms_of_calls_that_are_rare(code: str) -> None:
    """Names for what is mostly given by position; parts that are set; ends that are complex."""
    check(code, "torch.manual_seed(0); x = torch.arange(6.0); c = torch.zeros(3) * 1j;")
