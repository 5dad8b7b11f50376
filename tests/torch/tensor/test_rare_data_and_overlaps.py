"""Odd data, storages by type, memory read while it is written to, bounds: as in PyTorch."""

import warnings

import numpy as np
import pytest
import torch as real

import mindtorch.torch as ours
from tests.support.surface import check


@pytest.fixture(autouse=True, scope="module")
def _told() -> None:
    """What both warn of once in a process is not what these tests are about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for torch in (ours, real):
            torch.ones(1).storage()
            torch.tensor([np.ones(1)])


DATA = [
    "[np.ones(2), [1., 2.]]", "[1., [2.]]", "[[2], [[3]]]", "[[[3]], [2]]", "[[], [1]]",
    "[np.ones((3, 3)), np.ones((3, 0))]", "[1., np.ones(3)]", "[torch.ones(2), [1, 2]]",
    "[[1, 2], torch.ones(2)]", "[range(2), [1, 2]]", "[0, 'a']", "['a']", "Odd()", "Good()",
    "(float('nan'), 0, 2**70)", "[1, None]",
]  # fmt: skip
CLASSES = """
class Odd:
    def __len__(self): return 2
    def __getitem__(self, i): raise TypeError
class Good(Odd):
    def __getitem__(self, i): return [1.0, 2.0][i]
"""


@pytest.mark.parametrize("data", DATA)
def test_tensors_of_odd_data(data: str) -> None:
    """Arrays, ranges and tensors among lists; what has another length; what is no number."""
    kind = ", dtype=torch.bool" if "70" in data else ""
    check(f"torch.tensor({data}{kind})", f"import numpy as np\n{CLASSES}")


@pytest.mark.parametrize(
    "code",
    [
        "torch.IntStorage.from_buffer(bytearray(range(8)), 'big').tolist()",
        "torch.FloatStorage.from_buffer(bytearray(5), 'native')",
        "torch.FloatStorage([1.5, 2.0]).int().tolist()",
        "isinstance(torch.FloatStorage(2), torch.FloatStorage)",
        "isinstance(torch.FloatStorage(2), torch.IntStorage)",
        "torch.FloatStorage([1.0, 2.0]).copy_(torch.IntStorage([3, 4])).tolist()",
        "torch.FloatStorage(1, 2)", "torch.FloatStorage(dtype=torch.int)",
        "torch.FloatStorage(torch.ones(2))", "torch.UntypedStorage('a')",
        "torch.TypedStorage([1, 2], device='meta')[0]", "torch.tensor(torch.FloatStorage([1.0]))",
        "torch.tensor([1, 2]).set_(torch.FloatStorage([1.0]))",
        "torch.from_numpy(np.zeros(2)).resize_(1).shape",
        "torch.empty(3, 4).t().resize_as_(torch.empty(4, 3)).stride()",
        "torch.zeros(3).resize_as_(torch.zeros(2, 3, 4, 5), memory_format=torch.channels_last)"
        ".stride()",
    ],
)  # fmt: skip
def test_storages_of_one_type(code: str) -> None:
    """What the classes FloatStorage, IntStorage, ... make and refuse; sizes over storages."""
    check(code, "import numpy as np")


@pytest.mark.parametrize(
    "code",
    [
        "y[i] = y[:3]", "y[i] = y[0]", "y[y > 2] = y[0]", "y[y > 2] = y[:3]", "i[i] = i",
        "y.masked_fill_(y > 2, y[0])", "y.index_add_(0, i, y[:3])", "y.index_copy_(0, i, y[3:])",
        "i.index_fill_(0, i, 0)", "y.scatter_(0, i, y[:3])", "y.index_put_((i,), y[:3])",
        "z = from_dlpack(to_dlpack(y)); z[0] = 9.0",
        "torch.linspace(0, 3, 4, out=y.view(2, 3)[:, 1:])",
        "torch.arange(4, out=y.view(2, 3)[:, 1:])",
        "torch.rand(7, 3, 3)[:, 1].fill_diagonal_(5.0, wrap=True)",
        "torch.asarray(memoryview(a))[0] = 1.0; y = torch.from_numpy(a)",
    ],
)  # fmt: skip
def test_what_is_written_to_and_read(code: str) -> None:
    """Memory shared by the two sides of a write: refused, or written as PyTorch writes it."""
    before = (
        "import numpy as np; from torch.utils.dlpack import from_dlpack, to_dlpack;"
        "y = torch.arange(6.0); i = torch.tensor([2, 1, 0]); a = np.arange(4, dtype=np.float32);"
    )
    check(f"{code}; y, i", before)


@pytest.mark.parametrize(
    "code",
    [
        "torch.full((2,), g)", "torch.arange(g)", "torch.add(x, x, alpha=g)", "x.uniform_(0, g)",
        "torch.full((2,), torch.tensor(2))", "float(torch.tensor(1.5j))",
        "float(torch.tensor(2 + 0j))", "x.uniform_(-3e38, 3e38)", "x.uniform_(0, 1e39)",
        "torch.empty(2, dtype=torch.int16).random_(-2**15, None)",
        "torch.empty(2, dtype=torch.half).random_(-2**20, 5)",
        "torch.randint(6, (2,), dtype=torch.complex64)",
        "torch.meshgrid(x.int(), x, indexing='ij')", "torch.empty_strided((2,), ())",
        "torch.repeat_interleave(torch.arange(4).reshape(2, 2))", "torch.repeat_interleave(x)",
        "torch.diff(x[None], prepend=x)", "torch.Size(x)", "x.new(size=(2, 3)).shape",
        "x.dim_order(ambiguity_check=True)", "torch.zeros(2, 1).dim_order(ambiguity_check=True)",
        "x.int().type(torch.Tensor).dtype", "format(torch.empty((), device='meta'))",
        "copy.deepcopy(torch.Generator().manual_seed(3)).get_state().sum()",
        "torch.asarray([1], copy=False)", "torch.asarray(x, dtype=torch.half, copy=False)",
        "torch.asarray(torch.utils.dlpack.to_dlpack(x))", "torch.frombuffer(bytearray(2),"
        " dtype=torch.int8, count=0)", "torch.zeros(2, out=x, layout=torch.sparse_coo)",
        "torch.Tensor(2, device='meta')", "torch.tensor_split(x, torch.tensor(1.5))",
        "torch.tensor(5.0).to_sparse().to_dense()", "x.unfold(0, -1, 1)",
        "torch.arange(12.0)[::2].ravel().stride()", "torch.linalg.norm(x[None], 'fro', 0)",
        "torch.einsum(x[None].expand(2, 2), [30, 0])", "torch.einsum(x[None], [52, 0])",
        "torch.einsum('', [])", "torch.einsum(torch.arange(6.0).view(2, 3), [0, 30])",
        "torch.return_types.max((1, 2))", "torch.return_types.max([1])", "torch.finfo('float')",
        "reversed(torch.arange(3))", "x[0].index_add(0, x.long()[:1], x[:1])",
        "loop = []; loop.append(loop); torch.tensor(loop)",
        "torch.iinfo(int).max", "torch._segment_reduce(x, 'sum', lengths=torch.tensor([1, 1]))",
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit(code: str) -> None:
    """Tensors for numbers, numbers beyond a type, names and forms that few programs use."""
    before = "import copy; torch.manual_seed(0); g = torch.ones((), requires_grad=True);"
    check(code, f"{before} x = torch.ones(2)")


DIRTY = """
class Add(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.mark_dirty(a)
        return a.add_(b)
    @staticmethod
    def backward(ctx, g):
        return g, 3 * g
x = torch.arange(1.0, 5.0, requires_grad=True); y = torch.ones(2, requires_grad=True)
z = torch.tensor([1 + 2j, -0.5j], requires_grad=True); a = x.clone()
"""


@pytest.mark.parametrize(
    "code",
    [
        "a.retain_grad(); (a * 2).sum(); a.mul_(3); (a * a).sum().backward(); a.grad, x.grad",
        "Add.apply(a[1:3], y); Add.apply(a[:2], y); (a * a).sum().backward(); x.grad, y.grad",
        "torch.pow(torch.tensor([-1.0, 2.0]), z).abs().sum().backward(); z.grad",
    ],
)  # fmt: skip
def test_gradients_of_rare_writes(code: str) -> None:
    """A kept gradient is of the tensor as it is now; views written by functions of one's own."""
    check(code, DIRTY)


def test_a_generator_is_cloned_with_its_state() -> None:
    generator = ours.Generator()
    generator.manual_seed(3)
    ours.rand(5, generator=generator)
    cloned = generator.clone_state()
    assert type(cloned) is ours.Generator and cloned is not generator
    drawn = ours.randn(20, generator=generator)
    assert ours.randn(20, generator=cloned).equal(drawn)
    assert not ours.randn(20, generator=cloned).equal(drawn)
