"""What CUDA's libraries are asked for, and random numbers: run as a program in numba's simulator.

A stand-in for cupy, whose arrays are numpy's over the same memory, takes cupy's place. Each
function is one check; the program prints a JSON object of those that failed.
"""

from __future__ import annotations

import functools
import json
import tempfile
import threading
import traceback
import warnings
from typing import Any

import numpy as np

import mindtorch.torch
from mindtorch.engine.devices import cuda
from tests.programs.cuda_vectors import VECTORS
from tests.support import cuda_simulator
from tests.support.cuda_stand_ins import Cudnn, Meeting, Nccl, WithCupy, asked
from tests.support.cuda_two_devices import raises

torch: Any = mindtorch.torch


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
    with WithCupy():
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
    with WithCupy():
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
        rounds = getattr(philox.stirred, "py_func", philox.stirred)
        found = rounds(*map(np.uint64, (*counter, *key)))
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
        assert torch.cuda.get_rng_state().tolist()[8] == 8 == torch.cuda._get_rng_state_offset()
        torch.cuda._set_rng_state_offset(4)
        assert torch.rand(4, **like).equal(torch.rand(4, **like)) is False
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
        x = torch.ones(64, **like).requires_grad_()
        dropped: Any = torch.nn.functional.dropout
        kept = torch.utils.checkpoint.checkpoint(lambda t: dropped(t) * t, x, use_reentrant=False)
        kept.sum().backward()
        assert x.grad.equal(kept.detach() * 2)  # the mask of the first time
        host = torch.rand(2)
        raises(RuntimeError, "RNG state is wrong size", lambda: torch.cuda.set_rng_state(
            torch.zeros(5, dtype=torch.uint8)))  # fmt: skip
    finally:
        torch.cuda.random.use_philox(False)
    torch.manual_seed(0)
    assert torch.rand(4, device="cuda").tolist() == plain and host.numel() == 2


def each_device_has_a_stream_of_its_own() -> None:
    """Seeds of one device and of all, states by device, the middle of another device's stream."""
    from mindtorch.kernels.cuda import streams

    changed: Any = streams
    changed.SIMULATED_DEVICES = 2
    torch.cuda.random.use_philox()

    def drawn(index: int) -> Any:
        return torch.rand(3, device=f"cuda:{index}").tolist()

    try:
        torch.manual_seed(3)
        first = [drawn(0), drawn(0)]
        assert [drawn(1), drawn(1)] == first and first[0] != first[1]
        torch.cuda.manual_seed(3)
        states = torch.cuda.get_rng_state_all()
        assert [int(s[8]) for s in states] == [0, 8] == [
            torch.cuda._get_rng_state_offset(f"cuda:{k}") for k in range(2)]  # fmt: skip
        assert drawn(0) == first[0] and drawn(1) not in first
        with torch.cuda.device(1):
            torch.cuda.manual_seed(4)
            assert torch.cuda.initial_seed() == 4
        assert torch.cuda.initial_seed() == 3 and drawn(0) == first[1]
        torch.cuda.set_rng_state(states[0], 1)
        assert drawn(1) == first[0] and torch.cuda.get_rng_state("cuda:1").tolist()[8] == 4
        with torch.random.fork_rng():
            torch.cuda.manual_seed_all(9)
            assert drawn(0) == drawn(1) and torch.cuda.initial_seed() == 9
            torch.cuda.seed_all()
            assert drawn(0) == drawn(1)
            torch.cuda.seed()
            assert drawn(0) != drawn(1)
        assert drawn(1) == first[1] and torch.cuda.initial_seed() == 3
        torch.cuda.set_rng_state_all(states)
        assert torch.cuda.get_rng_state_all()[1].equal(states[1])
    finally:
        torch.cuda.random.use_philox(False)
        changed.SIMULATED_DEVICES = 1


def switches_of_products_reach_the_library() -> None:
    """What cuBLAS is told before a product, by the switches of torch.backends.cuda.matmul."""
    switches, x = torch.backends.cuda.matmul, torch.eye(2, device="cuda")
    with WithCupy():
        for kind, name in ((x, "allow_tf32"), (x.half(), "allow_fp16_accumulation")):
            for on in (True, False):
                setattr(switches, name, on)
                assert (kind @ kind).tolist() == x.tolist()
    once = ["float32 77", "float16 64"]  # what it is asked first: whether it knows the type
    assert asked == [once[0], "float32 77", "float32 68", once[1], "float16 64", "float16 68"]


def products_of_all_layouts_are_cublas_own() -> None:
    """Transposed, sliced, broadcast and batched operands of each type, told to cuBLAS by pitches
    and steps; what it cannot read so is copied."""
    torch.manual_seed(0)
    linear: Any = torch.nn.functional.linear
    x, y, z = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 5, 6), torch.randn(6, 5)
    calls: list[Any] = [
        lambda x, y, z: x @ y, lambda x, y, z: x[0] @ y, lambda x, y, z: x @ z.t(),
        lambda x, y, z: x.mT.contiguous().mT @ y[:, :1],
        lambda x, y, z: x[..., ::2] @ y[..., ::2, :],
        lambda x, y, z: x.transpose(0, 1) @ y.transpose(0, 1), lambda x, y, z: x[0, 0, 1] @ z.t(),
        lambda x, y, z: x[0, 0, :, :1] @ z[:1, :1], lambda x, y, z: x[..., 1:4] @ y[..., 1:4, 2:],
        lambda x, y, z: linear(x, z, z[:, 0]), lambda x, y, z: z[:, 1:2] @ z[1:2],
        lambda x, y, z: torch.baddbmm(x[0] @ y[0], x[1], y[1]),
        lambda x, y, z: x.mT[0, 1] @ x[1, 1],
    ]  # fmt: skip
    with WithCupy():
        for dtype, near in ((torch.float32, 1e-5), (torch.float64, 1e-12), (torch.float16, 2e-2),
                            (torch.bfloat16, 1e-1), (torch.complex64, 1e-5)):  # fmt: skip
            for number, call in enumerate(calls):
                given = [t.to(dtype) for t in (x, y, z)]
                before = len(asked)
                found = call(*[t.cuda() for t in given])
                assert len(asked) > before, number
                assert torch.allclose(found.cpu(), call(*given), near, near), (dtype, number)


def attention_is_made_of_products() -> None:
    """Scores by cuBLAS some heads at a time, with masks, causal, and in 16 bits; a query that sees
    nothing gets zeros."""
    from mindtorch.kernels.cuda import attention_products

    changed, attend = attention_products, torch.nn.functional.scaled_dot_product_attention
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 2)
    hidden = torch.zeros(2, 1, 3, 5)
    hidden[0, 0, 1], hidden[1, 0, :, 2] = -float("inf"), -float("inf")
    most, changed.SCORES = changed.SCORES, 200
    try:
        for dtype, near in ((torch.float32, 1e-5), (torch.float64, 1e-12), (torch.float16, 1e-2)):
            cases: list[dict[str, Any]] = [{}, {"is_causal": True}, {"attn_mask": hidden}]
            for options in cases:
                results = []
                for device in ("cpu", "cuda"):
                    kind = torch.float64 if device == "cpu" else dtype
                    leaves = [x.to(device, kind, copy=True).requires_grad_() for x in (q, k, v)]
                    given = {name: x.to(device, kind) if torch.is_tensor(x) else x
                             for name, x in options.items()}  # fmt: skip
                    with WithCupy():
                        y = attend(*leaves, **given)
                        (y * y).sum().backward()
                        assert (len(asked) > 12) == (device == "cuda"), asked
                    results.append([x.detach().cpu() for x in (y, *[x.grad for x in leaves])])
                for mine, expected in zip(*results[::-1], strict=True):
                    worst = (mine.double() - expected).abs().max()
                    assert worst <= near * expected.abs().max(), (dtype, options.keys(), worst)
    finally:
        changed.SCORES = most


def windows_are_written_for_cublas() -> None:
    """Convolution and its gradients by products, some images at a time; 16-bit floats stay such."""
    from mindtorch.kernels.cuda import convolution

    changed, conv2d = convolution, torch.nn.functional.conv2d
    most, changed.WINDOWS = changed.WINDOWS, 700
    cases = [((3, 2), 1, 1, 1), ((3, 2), 2, 0, 2), ((1, 1), 1, 0, 1), ((1, 1), 2, 0, 2)]
    try:
        for dtype, near in ((torch.float32, 1e-5), (torch.float16, 2e-2)):
            for window, stride, padding, groups in cases:
                torch.manual_seed(0)
                x, weight = torch.randn(3, 2, 5, 4), torch.randn(4, 2 // groups, *window)
                bias, results = torch.randn(4), []
                for device in ("cpu", "cuda"):
                    kind = dtype if device == "cuda" else torch.float32
                    leaves = [t.to(device, kind, copy=True).requires_grad_()
                              for t in (x, weight, bias)]  # fmt: skip
                    with WithCupy():
                        y = conv2d(*leaves, stride, padding, 1, groups)
                        (y * y).sum().backward()
                        said = asked.count(f"{str(dtype)[6:]} 68")
                    assert (said >= 3) == (device == "cuda"), (said, device)
                    results.append([y.detach().cpu(), *[t.grad.cpu() for t in leaves]])
                for mine, expected in zip(results[1], results[0], strict=True):
                    top = float(expected.abs().max())
                    assert (mine.float() - expected).abs().max() <= near * top, (window, dtype)
    finally:
        changed.WINDOWS = most


def convolutions_are_cudnns() -> None:
    """One to three axes, groups, strides, transposed, 16-bit floats: what cuDNN is told and gives;
    its switches, and what it refuses."""
    from mindtorch.kernels.cuda import cudnn

    f, flags = torch.nn.functional, torch.backends.cudnn
    changed: Any = cudnn
    calls: list[Any] = [
        lambda x, w: f.conv1d(x, w[..., 0], stride=2, padding=1),
        lambda x, w: f.conv2d(x[..., None].expand(2, 4, 6, 3), w, w[:, 0, 0, 0], 1, 1, 1, 2),
        lambda x, w: f.conv_transpose1d(x[:, :2], w[:2, :, 0], stride=2, output_padding=1),
        lambda x, w: f.conv3d(x[..., None, None] + w[0, 0, 0, 0], w[..., None], dilation=(2, 1, 1)),
    ]  # fmt: skip
    shapes = [(4, 4, 3, 1), (4, 2, 3, 2), (4, 2, 3, 2), (4, 4, 3, 1)]
    held = changed.library
    try:
        for dtype, near, modes in ((torch.float32, 1e-5, (0,)), (torch.float16, 1e-2, (1, 2))):
            for number, (call, shape) in enumerate(zip(calls, shapes, strict=True)):
                library = Cudnn()
                changed.library = lambda held=library: held
                changed._problems.clear()
                torch.manual_seed(0)
                x, w, results = torch.randn(2, 4, 6), torch.randn(*shape), []
                for device in ("cpu", "cuda"):
                    kind = dtype if device == "cuda" else torch.float32
                    leaves = [t.to(device, kind, copy=True).requires_grad_() for t in (x, w)]
                    y = call(*leaves)
                    (y * 0.1).sum().backward()
                    results.append([y.detach().cpu(), *[t.grad.cpu() for t in leaves]])
                kinds = {"Forward", "BackwardData", "BackwardFilter", "create"}
                kinds |= {f"mode {mode}" for mode in modes}
                assert set(library.calls) == kinds, (number, library.calls)
                for mine, expected in zip(results[1], results[0], strict=True):
                    top = float(expected.abs().max())
                    assert (mine.float() - expected).abs().max() <= near * top, (number, dtype)
        x, w = torch.randn(1, 1, 4, 4, device="cuda"), torch.randn(1, 1, 3, 3, device="cuda")
        expected = f.conv2d(x.cpu(), w.cpu())
        for options, refuses, asked_for in (
            ({"enabled": True, "allow_tf32": False}, False, "mode 3"), ({}, False, ""),
            ({"enabled": True, "fp32_precision": "tf32"}, False, "mode 0"),
            ({"enabled": True}, True, "mode 0"),
        ):  # fmt: skip
            library = Cudnn(refuses)
            changed.library = lambda held=library: held
            changed._problems.clear()
            with flags.flags(**options):
                found = f.conv2d(x, w)
            assert torch.allclose(found.cpu(), expected, 1e-5, 1e-5)
            assert (asked_for in library.calls) == bool(asked_for), (options, library.calls)
            assert ("Forward" in library.calls) == (bool(asked_for) and not refuses)
        assert flags.is_available() and flags.is_acceptable(x) and not flags.is_acceptable(x.cpu())
    finally:
        changed.library = held
        changed._problems.clear()


def errors_of_the_driver_are_torchs() -> None:
    """A lost device in a launch, a copy and a wait; a driver that is too old or finds no device."""
    from mindtorch.kernels.cuda import errors, streams

    class CudaAPIError(Exception):
        code = 700

    def refused(*args: Any, **options: Any) -> Any:
        raise CudaAPIError("[700] Call to cuMemcpy results in UNKNOWN_CUDA_ERROR")

    class CUDAError(Exception):
        """cuda.core's, which launches by numba-cuda raise."""

    def launched() -> None:
        raise CUDAError("CUDA_ERROR_ILLEGAL_ADDRESS: While executing a kernel, the device ...")

    changed: Any = streams
    waiting, x = changed.cuda, torch.zeros(1, device="cuda")
    for place, name, call in (
        (waiting, "synchronize", torch.cuda.synchronize),
        (type(x.flat.carrier), "copy_to_host", x.tolist),
    ):
        before = getattr(place, name)
        setattr(place, name, refused)
        try:
            raises(torch.AcceleratorError, "CUDA error: an illegal memory access was", call)
        finally:
            setattr(place, name, before)
    said = "CUDA error: an illegal memory access was encountered\n"
    for raising in (refused, launched):
        told = functools.partial(errors.raised_as_torchs, raising)
        raises(torch.AcceleratorError, said, told)
    raises(ZeroDivisionError, "", lambda: errors.raised_as_torchs(lambda: 1 // 0))
    held = {name: getattr(waiting, name, None) for name in ("is_available", "cuda_error")}
    engine: Any = cuda
    counted = engine.device_count
    changed.SIMULATED, waiting.is_available = False, lambda: False
    engine.device_count = lambda: 0
    try:
        for said, text in (
            ("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "The NVIDIA driver on your system is too old"),
            ("CUDA_ERROR_NO_DEVICE (100)", "No CUDA GPUs are available"),
            ("libcuda.so cannot be found", "Found no NVIDIA driver on your system"),
            ("CUDA_ERROR_UNKNOWN (999)", "CUDA initialization: CUDA_ERROR_UNKNOWN"),
        ):
            waiting.cuda_error = lambda said=said: said
            raises(RuntimeError, text, lambda: torch.ones(1, device="cuda"))
            raises(RuntimeError, text, torch.cuda.init)
        waiting.cuda_error, changed._driver_answers = lambda: None, lambda: True
        raises(RuntimeError, "numba-cuda does not find NVVM", torch.cuda.init)
    finally:
        engine.device_count, changed.SIMULATED = counted, True
        for name, value in held.items():
            setattr(waiting, name, value)


def failed_allocations_say_why() -> None:
    """Memory that is used up is one error, memory that was touched wrongly before is another."""
    from mindtorch.kernels.cuda import memory

    class CudaAPIError(Exception):
        code = 2

    class OutOfMemoryError(Exception):
        """cupy's."""

    class CUDARuntimeError(Exception):
        """cupy's, whose number has another name."""

        status = 700

    def fails(kind: Any) -> Any:
        raise kind("Call to cuMemAlloc results in an answer")

    changed: Any = memory
    held = {name: getattr(changed, name) for name in ("SIMULATED", "_take", "empty_cache")}
    emptied: list[int] = []
    changed.SIMULATED, changed.empty_cache = False, lambda: emptied.append(1)
    changed.limits[0] = 1 << 30  # so that the device need not be asked for its size
    try:
        for kind, error, text in (
            (CudaAPIError, torch.OutOfMemoryError, "CUDA out of memory. Tried to allocate"),
            (OutOfMemoryError, torch.OutOfMemoryError, "of which"),
            (CUDARuntimeError, torch.AcceleratorError, "an illegal memory access was encountered"),
        ):
            changed._take = lambda size, kind=kind: fails(kind)
            raises(error, text, lambda: torch.ones(1, device="cuda"))
        assert len(emptied) == 2
    finally:
        del changed.limits[0]
        for name, value in held.items():
            setattr(changed, name, value)


def two_ranks_meet_in_nccl() -> None:
    """Each collective of torch.distributed on tensors of CUDA, and a bucket of DDP, by two threads
    that stand for two processes: results, and NCCL's calls in the same order in both."""
    from mindtorch.kernels.cuda import nccl as own
    from mindtorch.torch.distributed import _device
    from mindtorch.torch.nn.parallel._reducer import Reducer

    dist: Any = torch.distributed
    fake, binding, shared = Nccl(), own, dict[str, Any]()
    changed: Any = binding
    before, changed.library = changed.library, lambda: fake
    results: list[Any] = [None, None]

    def work(rank: int) -> None:
        group: Any = Meeting(rank, shared, fake.meeting)
        group.device = _device.NcclCollectives(group)
        like = {"device": "cuda"}
        x = torch.arange(4.0, **like) + rank
        dist.all_reduce(x, group=group)
        top = torch.tensor([rank, 5 - rank], **like)
        dist.all_reduce(top, dist.ReduceOp.MAX, group, async_op=True).wait()
        root = torch.full((2,), float(rank), **like)
        dist.broadcast(root, group_src=1, group=group)
        both = [torch.empty(1, **like) for _ in range(2)]
        dist.all_gather(both, torch.tensor([rank + 1.0], **like), group)
        part = torch.empty(2, **like)
        dist.reduce_scatter_tensor(part, torch.arange(4.0, **like), group=group)
        traded = torch.empty(2, **like)
        dist.all_to_all_single(traded, torch.tensor([10.0 * rank, 10.0 * rank + 1], **like),
                               group=group)  # fmt: skip
        weight = torch.nn.Parameter(torch.ones(2, **like))
        reducer = Reducer([weight], group, [1 << 20], False, False)
        weight.grad = torch.full((2,), 2.0 + 2 * rank, **like)
        reducer.prepare(set())
        reducer.take(weight)
        given = [torch.full((2,), rank + 1.0, **like), torch.full((1,), rank + 5.0, **like)]
        _device.broadcast_together(group, given, 1)
        assert [t.tolist() for t in given] == [[2.0, 2.0], [6.0]]
        raises(RuntimeError, "No backend type associated with device type cpu",
               lambda: dist.all_reduce(torch.ones(1), group=group))  # fmt: skip
        raises(RuntimeError, "Cannot use ReduceOp.BAND with NCCL",
               lambda: dist.all_reduce(top, dist.ReduceOp.BAND, group))  # fmt: skip
        group.device.close()
        found = (x, top, root, *both, part, traded, weight.grad)
        results[rank] = [t.tolist() for t in found]

    failed: list[Any] = []

    def guarded(rank: int) -> None:
        try:
            work(rank)
        except Exception:
            failed.append(traceback.format_exc())
            fake.meeting.abort()

    try:
        threads = [threading.Thread(target=guarded, args=(k,)) for k in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        changed.library = before
    assert not failed, failed[0]
    same = [[1.0, 3.0, 5.0, 7.0], [1, 5], [1.0, 1.0], [1.0], [2.0]]
    assert results[0] == [*same, [0.0, 2.0], [0.0, 10.0], [3.0, 3.0]], results[0]
    assert results[1] == [*same, [4.0, 6.0], [1.0, 11.0], [3.0, 3.0]], results[1]
    names = [[name for rank, name in fake.calls if rank == k] for k in range(2)]
    assert names[0] == names[1] == [
        "allReduce", "allReduce", "broadcast", "allGather", "reduceScatter", "allReduce",
        "broadcast", "broadcast", "destroy",
    ]  # fmt: skip


def one_process_trains_in_parallel_on_the_device() -> None:
    """DDP and collectives of tensors on CUDA without NCCL, over copies on the host."""
    dist: Any = torch.distributed
    with tempfile.TemporaryDirectory() as folder:
        store = dist.FileStore(folder + "/store", 1)
        alone = {"store": store, "rank": 0, "world_size": 1}
        raises(RuntimeError, "Distributed package doesn't have NCCL built in",
               lambda: dist.init_process_group("nccl", **alone))  # fmt: skip
        dist.init_process_group("gloo", store=store, rank=0, world_size=1)
        try:
            x = torch.arange(3.0, device="cuda")
            dist.all_reduce(x)
            dist.broadcast(x, 0)
            rows = [torch.empty(3, device="cuda")]
            dist.all_gather(rows, x)
            assert rows[0].tolist() == [0.0, 1.0, 2.0] == x.tolist()
            net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2).cuda())
            net(x).sum().backward()
            assert net.module.weight.grad.tolist() == [[0.0, 1.0, 2.0]] * 2
        finally:
            dist.destroy_process_group()


CHECKS = [f for f in list(globals().values())
          if getattr(f, "__module__", "") == __name__ and hasattr(f, "__code__")
          and not f.__name__.startswith("_") and f.__code__.co_argcount == 0]  # fmt: skip
CHECKS += VECTORS

# those that need no stand-in
ON_A_GPU = [complex_numbers_have_kernels, images_are_sampled_in_all_modes, philox_is_philox,
            numbers_of_cudas_own_stream, *VECTORS]  # fmt: skip


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
