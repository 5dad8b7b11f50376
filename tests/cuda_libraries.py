"""What CUDA's libraries are asked for, and random numbers: run as a program in numba's simulator.

A stand-in for cupy, whose arrays are numpy's over the same memory, takes cupy's place. Each
function is one check; the program prints a JSON object of those that failed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys
import traceback
import types
import warnings
from typing import Any

import numpy as np

import mindtorch.torch
from mindtorch.engine import cuda
from mindtorch.kernels.cuda import vendor
from tests import cuda_simulator
from tests.cuda_program import raises

torch: Any = mindtorch.torch
asked: list[str] = []


def _noted(name: str, function: Any) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        asked.append(name)
        return function(*args, **options)

    return call


def _array(shape: Any, dtype: Any, pointer: Any, strides: Any) -> Any:
    """numpy's array over the bytes at an address, as cupy's constructor makes one."""
    size = max(pointer[0][1] - pointer[1], 1)
    held = (ctypes.c_uint8 * size).from_address(pointer[0][0] + pointer[1])
    return np.ndarray(shape, dtype, held, 0, strides)


def _stand_in() -> Any:
    """A module with those names of cupy that are used here."""
    fake: Any = types.ModuleType("cupy")
    fake.__dict__.update({k: v for k, v in vars(np).items() if not k.startswith("__")})
    for part in ("linalg", "fft"):
        names = {n: _noted(f"{part}.{n}", f) for n, f in vars(getattr(np, part)).items()
                 if callable(f) and not isinstance(f, type)}  # fmt: skip
        setattr(fake, part, types.SimpleNamespace(**names, LinAlgError=np.linalg.LinAlgError))
    fake.ndarray = _array
    fake.cuda = types.SimpleNamespace(
        UnownedMemory=lambda address, size, owner: (address, size),
        MemoryPointer=lambda memory, offset: (memory, offset),
        Stream=types.SimpleNamespace(null=contextlib.nullcontext()),
    )
    return fake


class _WithCupy:
    """A block in which the stand-in is cupy."""

    changed: Any = vendor

    def __enter__(self) -> None:
        self.before = self.changed.library
        fake, asking = _stand_in(), types.ModuleType("cupyx")
        asking.errstate = lambda linalg: contextlib.nullcontext()  # type: ignore[attr-defined]
        self.changed.library = lambda: fake
        sys.modules["cupyx"] = asking
        asked.clear()

    def __exit__(self, *error: Any) -> None:
        self.changed.library = self.before
        del sys.modules["cupyx"]


def transforms_and_factors_are_the_librarys() -> None:
    """Each op's values are the CPU's, and the library's function of that name was called."""
    torch.manual_seed(0)
    x, y = torch.randn(2, 3, 3, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)
    s = x @ x.mT + 3 * torch.eye(3)
    line, z = torch.randn(2, 6), torch.randn(2, 4, dtype=torch.complex64)
    linalg, fft = torch.linalg, torch.fft
    calls: list[tuple[Any, str, tuple[Any, ...]]] = [
        (fft.fftn, "fft.fftn", (z,)), (fft.ifft, "fft.ifftn", (z,)),
        (fft.rfft2, "fft.rfftn", (line,)), (fft.irfft, "fft.irfftn", (z,)),
        (linalg.inv, "linalg.inv", (x,)), (linalg.det, "linalg.det", (x,)),
        (linalg.slogdet, "linalg.slogdet", (x,)), (linalg.solve, "linalg.solve", (x, y)),
        (linalg.cholesky, "linalg.cholesky", (s,)), (linalg.eigvalsh, "linalg.eigh", (s,)),
        (linalg.svdvals, "linalg.svd", (x,)), (linalg.qr, "linalg.qr", (x,)),
        (linalg.pinv, "linalg.svd", (x[:, :2],)), (linalg.inv, "linalg.inv", (x.mT.to(z.dtype),)),
    ]  # fmt: skip
    with _WithCupy():
        for call, name, given in calls:
            expected = call(*given)
            before = len(asked)
            found = call(*[t.cuda() for t in given])
            assert name in asked[before:], (name, asked[before:])
            pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [
                (found, expected)]  # fmt: skip
            for mine, theirs in pairs:
                assert mine.is_cuda and torch.allclose(mine.cpu(), theirs, 1e-5, 1e-6), name


def what_the_library_refuses_the_host_explains() -> None:
    """A singular matrix: LAPACK's number of it, under torch's text."""
    singular = torch.zeros(2, 2, device="cuda")
    text = "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed"
    with _WithCupy():
        raises(torch.linalg.LinAlgError, text, lambda: torch.linalg.inv(singular))
        assert torch.linalg.inv_ex(singular).info.item() == 1
        assert torch.linalg.cholesky_ex(-singular - torch.eye(2, device="cuda")).info.item() == 1
        assert asked.count("linalg.inv") == 2


def complex_numbers_have_kernels() -> None:
    """Nothing goes through the host, and values are the CPU's: elementwise, folds, products."""
    x, y = (torch.complex(torch.randn(3, 3), torch.randn(3, 3)).to(torch.complex128) for _ in "xy")
    rows = torch.tensor([2, 0])
    calls: list[Any] = [
        lambda a, b: a * b / (a - b + 2j) ** 3, lambda a, b: a.exp().log1p() ** b,
        lambda a, b: a.tan() + b.asin(), lambda a, b: (a @ b).angle(), lambda a, b: a.abs() + b,
        lambda a, b: torch.where(a.real > 0, a, b.sgn()), lambda a, b: a.sum(0) + b.mean(),
        lambda a, b: a.prod(1), lambda a, b: torch.cat([a, b.conj()]).flip(0),
        lambda a, b: a.index_add(0, rows.to(a.device), b[:2]).to(torch.complex64),
        lambda a, b: torch.view_as_real(a.rsqrt())[..., 1] * b.imag, lambda a, b: (a == b).any(),
    ]  # fmt: skip
    engine: Any = cuda
    hosted: list[str] = []
    before = engine.through_host

    def noted(op: Any, *rest: Any) -> Any:
        hosted.append(op.name)
        return before(op, *rest)

    engine.through_host = noted
    try:
        for place, call in enumerate(calls):
            mine, expected = call(x.cuda(), y.cuda()), call(x, y)
            assert mine.dtype is expected.dtype and torch.allclose(
                mine.cpu().resolve_conj(), expected.resolve_conj(), 1e-6, 1e-6
            ), place
    finally:
        engine.through_host = before
    assert hosted == []


def images_are_sampled_in_all_modes() -> None:
    """Values and gradients of grid_sample, its modes and paddings, as on the CPU."""
    torch.manual_seed(1)
    sample, x, grid = torch.nn.functional.grid_sample, torch.randn(1, 2, 3, 4), torch.randn(1, 2, 2)
    for k, mode in enumerate(("bilinear", "nearest", "bicubic")):
        for padding in ("zeros", "border", "reflection"):
            results = []
            for device in ("cpu", "cuda"):
                leaves = [t.to(device).double().requires_grad_() for t in (x, grid[:, None] * 1.3)]
                out = sample(*leaves, mode, padding, k % 2 == 0)
                slopes = torch.autograd.grad((out * out).sum(), leaves)
                results.append([t.detach().cpu() for t in (out, *slopes)])
            for mine, expected in zip(*results, strict=True):
                assert torch.allclose(mine, expected, 1e-10, 1e-12), (mode, padding)


def philox_is_philox() -> None:
    """The published vectors of Philox4x32-10, and what is made of its words."""
    from mindtorch.kernels.cuda import philox

    vectors = (
        ((0,) * 4, (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((2**32 - 1,) * 4, (2**32 - 1,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
         "d16cfe09 94fdcceb 5001e420 24126ea1"),
    )  # fmt: skip
    for counter, key, expected in vectors:
        found = philox.stirred.fn(*map(np.uint64, (*counter, *key)))
        assert " ".join(f"{int(w):08x}" for w in found) == expected
    zero = philox.words(1, 0, 0).flat[:4].to_host()
    assert [f"{int(w):08x}" for w in zero] == vectors[0][2].split()


def numbers_of_cudas_own_stream() -> None:
    """Distributions, seeds, state, compiled calls; the CPU's numbers stay the default's."""
    torch.manual_seed(0)
    plain = torch.rand(4, device="cuda").tolist()
    torch.cuda.random.use_philox()
    try:
        torch.manual_seed(0)
        state, like = torch.cuda.get_rng_state(), {"device": "cuda"}
        assert state.numel() == 16 and torch.cuda.initial_seed() == 0
        first = torch.rand(400, **like)
        assert first.tolist()[:4] != plain and torch.rand(4, **like).tolist() != plain
        assert torch.cuda.get_rng_state().tolist()[8] == 8
        torch.cuda.set_rng_state(state)
        assert torch.rand(400, **like).equal(first)
        assert first.min() >= 0 and first.max() < 1 and abs(first.mean() - 0.5) < 0.05
        for kind in (torch.float32, torch.float64, torch.bfloat16):
            x = torch.randn(401, dtype=kind, **like).double()
            assert abs(x.mean()) < 0.15 and abs(x.std() - 1) < 0.15, kind
        whole = torch.randint(-3, 5, (400,), **like)
        assert sorted(set(whole.tolist())) == list(range(-3, 5)) and whole.dtype is torch.int64
        assert sorted(torch.randperm(50, **like).tolist()) == list(range(50))
        assert torch.randperm(50, **like).tolist() != list(range(50))
        kept = torch.nn.functional.dropout(torch.ones(400, **like), 0.25)
        assert set(kept.tolist()) == {0.0, np.float32(1 / 0.75)}
        assert 260 < kept.count_nonzero() < 340
        coins = torch.empty(400, dtype=torch.bool, **like).bernoulli_(0.25)
        assert 60 < coins.sum() < 140
        waits = torch.empty(400, **like).exponential_(2.0)
        assert waits.min() > 0 and abs(waits.mean() - 0.5) < 0.1
        cauchy = torch.empty(3, **like).cauchy_()  # drawn on the host
        assert cauchy.is_cuda
        run = torch.compile(lambda x: x + torch.rand_like(x))
        zero = torch.zeros(3, **like)
        torch.cuda.manual_seed(7)
        found = [run(zero).tolist() for _ in range(2)]
        torch.cuda.manual_seed(7)
        assert found == [torch.rand(3, **like).tolist() for _ in range(2)]
        host = torch.rand(2)
        raises(RuntimeError, "RNG state is wrong size", lambda: torch.cuda.set_rng_state(
            torch.zeros(5, dtype=torch.uint8)))  # fmt: skip
    finally:
        torch.cuda.random.use_philox(False)
    torch.manual_seed(0)
    assert torch.rand(4, device="cuda").tolist() == plain and host.numel() == 2


CHECKS = [f for f in list(globals().values())
          if getattr(f, "__module__", "") == __name__ and hasattr(f, "__code__")
          and not f.__name__.startswith("_") and f.__code__.co_argcount == 0]  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore")
    cuda_simulator.install()
    failed: dict[str, str] = {}
    for check in CHECKS:
        try:
            check()
        except Exception:
            failed[check.__name__] = traceback.format_exc()[-1500:]
    print(json.dumps({"checks": len(CHECKS), "failed": failed}))


if __name__ == "__main__":
    main()
