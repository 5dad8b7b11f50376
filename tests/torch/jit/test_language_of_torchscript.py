"""What TorchScript computes of numbers, texts and containers; and every op of torch's table."""

import io
import math
from typing import Any, Dict, List  # noqa: UP035  TorchScript's

import pytest
import torch as real

import mindtorch.torch as torch
from tests.torch.jit.test_archives_of_torchscript import ours, same, saved

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


class Texts(real.nn.Module):
    def forward(self, x: real.Tensor, a: str, n: int):
        names: List[str] = [a, "b"]  # noqa: UP006
        rates: Dict[str, float] = {"q": 1.5}  # noqa: UP006
        places: Dict[int, List[int]] = {1: [2]}  # noqa: UP006
        numbers = [1.0, 2.5, 0.1, 1e30, 1e-10, float("inf")]
        print(1.0, 2.5, 123456789.123, True, None, names, rates, places, (1, "a"), numbers, 1 + 2j)
        shown = f"{0.1} {names} {rates} {(1, a)} {x.dtype}"
        parts = ["a b".split(), "A,b".lower().split(","), [",".join(names)], list("ab")]
        more = ["%s %d" % (a, n), a.title(), a.replace("a", "+"), a[-1], "x".zfill(n)]  # noqa: UP031
        more += [hex(n), chr(98)]
        found = [a.find("c"), len(a), ord("a"), int("3"), names.index("b"), names.count("b")]
        tests = [a.startswith("x"), "b" in a, "z" in rates, a.isupper(), a == "abc", names == names]
        return shown, parts, more, found, tests, str(numbers), str(1.0) + str(names)


class Numbers(real.nn.Module):
    def forward(self, x: float, n: int):
        whole = [n // 2, -n // 2, n % 3, -n % 3, n & 1, n | 4, n ^ 1, n << 2, abs(-n), min(n, 2)]
        real_ = [n / 2, x // 2, -x % 2, x**0.5, math.sqrt(x), math.log(x), math.exp(n), math.erf(x)]
        real_ += [math.atan2(x, 1.0), math.pow(x, n), math.fmod(x, 2.0), round(x)]
        whole += [math.floor(x), math.ceil(x), math.factorial(n), math.gcd(n, 6), int(x)]
        items = [3, 1, 2]
        items.append(n)
        items.extend([7, 7])
        items.insert(1, 9)
        last = items.pop()
        items.remove(9)
        items.reverse()
        ordered = sorted(items)
        items.sort()
        del items[0]
        items[0] = 8
        pairs = {i: str(i) for i in items}
        pairs[4] = "four"
        pairs.update({5: "five"})
        taken = pairs.pop(4)
        pairs.setdefault(6, "six")
        keys = list(pairs.keys())
        joined = [k + 1 for k in keys] + items[1:] + items[::2]
        joined += [len(pairs), last, sum(items), max(items)]
        walked = 0
        for i, (k, v) in enumerate(pairs.items()):
            if k == 2:
                continue
            walked += i * k + len(v)
        for a, b in zip(items, keys):  # noqa: B905  TorchScript's zip has no strict
            walked += a * b
        return whole, real_, items, ordered, taken, joined, walked, pairs.get(9, "none"), 1j * x


@pytest.mark.parametrize("text,n", [("abc", 3), ("X", 11)])
def test_texts_are_as_in_torch(text: str, n: int, capfd: pytest.CaptureFixture[str]) -> None:
    """Formats, prints (all digits, no quotes), and the methods of str."""
    made = real.jit.script(Texts())
    found = torch.jit.load(saved(made))
    capfd.readouterr()
    wanted = made(real.ones(2), text, n)
    printed = capfd.readouterr().out
    same(wanted, found(torch.ones(2), text, n))
    assert capfd.readouterr().out == printed


@pytest.mark.parametrize("x,n", [(2.5, 3), (0.75, 5)])
def test_numbers_and_containers_are_as_in_torch(x: float, n: int) -> None:
    """Division, powers and roundings; what changes lists and dictionaries; loops over them."""
    made = real.jit.script(Numbers())
    same(made(x, n), torch.jit.load(saved(made))(x, n))


def samples(op: Any) -> list[Any]:
    try:
        return list(op.sample_inputs("cpu", real.float32, requires_grad=False))[:6]
    except Exception:
        return []


def traced(op: Any, sample: Any) -> tuple[Any, tuple[Any, ...]]:
    """The trace of one call, and its tensors."""
    leaves, spec = real.utils._pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, real.Tensor)]

    def call(*tensors: Any) -> Any:
        given = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        x, args, kwargs = real.utils._pytree.tree_unflatten(given, spec)
        return op.op(x, *args, **kwargs)

    tensors = tuple(leaves[i].detach().clone() for i in places)
    return real.jit.trace(call, tensors, check_trace=False), tensors


# vectors that are known up to their sign or order, numbers nobody has set, sparse results, types
# that numpy lacks, sizes that do not follow from the scales beside them
LEFT = {
    "linalg.eig", "linalg.eigh", "svd_lowrank", "pca_lowrank", "to_sparse", "sparse.mm",
    "sparse.sampled_addmm",
    "bfloat16", "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided",
    "empty_permuted", "matrix_exp", "chalf", "_upsample_bilinear2d_aa",
}  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
def test_traces_of_every_op_of_torchs_table_compute_the_same() -> None:
    """An op whose trace real torch can save and load gives torch's numbers from that file."""
    from torch.testing._internal.common_methods_invocations import op_db

    wrong, right = [], 0
    for op in op_db:
        if real.float32 not in op.supported_dtypes("cpu") or op.name in LEFT:
            continue
        for sample in samples(op):
            try:
                made, tensors = traced(op, sample)
                file = io.BytesIO(saved(made).getvalue())
                real.manual_seed(0)
                wanted = real.jit.load(io.BytesIO(file.getvalue()))(*[t.clone() for t in tensors])
            except Exception:
                continue
            try:
                torch.manual_seed(0)
                same(wanted, torch.jit.load(file)(*map(ours, tensors)), 1e-4)
                right += 1
            except Exception as error:
                wrong.append(f"{op.name}: {type(error).__name__}: {error}")
    assert right > 1700 and not wrong, "\n".join(wrong)
