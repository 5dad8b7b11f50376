"""What tensors on CUDA do besides computing: run as a program, on a GPU or in numba's simulator.

Each function is one check; the program prints a JSON object of those that failed.
"""

from __future__ import annotations

import copy
import importlib
import io
import json
import os
import pickle
import sys
import threading
import traceback
import warnings
from typing import Any

import numpy as np

import mindtorch.torch
from mindtorch.engine import kernel_gaps
from mindtorch.engine.ops import detection
from mindtorch.kernels.cuda import launch
from mindtorch.torch import nn
from tests.support import cuda_simulator
from tests.support.cuda_two_devices import on_two_devices, raises

torch: Any = mindtorch.torch


def the_namespace_knows_the_device() -> None:
    assert torch.cuda.is_available() and torch.cuda.device_count() == 1
    assert torch.cuda.current_device() == 0 and isinstance(torch.cuda.get_device_name(), str)
    x = torch.zeros(2, device="cuda")
    assert x.is_cuda and x.device == torch.device("cuda", 0) and x.get_device() == 0
    raises(RuntimeError, "invalid device ordinal", lambda: torch.zeros(1, device="cuda:5"))


def copies_keep_values_types_and_layouts() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int8, torch.bool,
                  torch.complex64):  # fmt: skip
        x = torch.arange(6).reshape(2, 3).to(dtype).t()
        y = x.cuda()
        assert y.stride() == x.stride() and y.dtype is x.dtype
        assert y.cpu().equal(x)
        if dtype is not torch.complex64:
            assert y.to("cpu", torch.float64).equal(x.to(torch.float64))
    z = torch.arange(10.0)[::2].cuda()
    assert z.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0] and z[1].item() == 2.0
    assert x.cuda() is not x and y.cuda() is y


def writes_through_views_reach_the_base() -> None:
    x = torch.zeros(3, 4, device="cuda")
    x[1] = 2.0
    x[:, 1] += 1
    x.view(-1)[0] = torch.tensor(5.0)
    x[2, 2:] = torch.tensor([7.0, 8.0])
    x.t()[3].fill_(-1)
    expected = np.zeros((3, 4))
    expected[1] = 2
    expected[:, 1] += 1
    expected[0, 0] = 5
    expected[2, 2:] = 7, 8
    expected[:, 3] = -1
    assert x.tolist() == expected.tolist()
    x.fill_diagonal_(3.0)
    assert x[2, 2].item() == 3.0


def gradients_cross_devices() -> None:
    x = torch.arange(3.0, requires_grad=True)
    y = x.cuda()
    assert y.grad_fn.name() == "ToCopyBackward0"
    (y * y).sum().backward()
    assert x.grad is not None and not x.grad.is_cuda and x.grad.tolist() == [0.0, 2.0, 4.0]


def mixed_devices_raise_and_numbers_do_not() -> None:
    x, y = torch.ones(2, device="cuda"), torch.ones(2)
    text = (
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and "
        "cpu!"
    )
    raises(RuntimeError, text, lambda: x + y)
    raises(RuntimeError, text, lambda: y * x)
    assert (x + torch.tensor(2.0)).tolist() == [3.0, 3.0]
    assert (torch.tensor(2.0) * x).is_cuda and (x * 2.5).tolist() == [2.5, 2.5]
    raises(TypeError, "can't convert cuda:0 device type tensor to numpy", x.numpy)


def out_of_memory_has_torchs_type() -> None:
    torch.cuda.set_per_process_memory_fraction(0.0)
    try:
        raises(
            torch.cuda.OutOfMemoryError, "CUDA out of memory. Tried to allocate",
            lambda: torch.empty(1 << 20, device="cuda"),
        )  # fmt: skip
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert torch.OutOfMemoryError is torch.cuda.OutOfMemoryError
    assert torch.zeros(3, device="cuda").tolist() == [0.0, 0.0, 0.0]


def memory_is_counted() -> None:
    torch.zeros(1, device="cuda")  # lets go of what a stream used before
    before = torch.cuda.memory_allocated()
    x = torch.empty(1000, device="cuda")
    assert torch.cuda.memory_allocated() >= before + 4000
    assert torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated()
    del x
    assert torch.cuda.memory_allocated() == before
    torch.cuda.empty_cache()


def bad_indices_are_reported_late() -> None:
    x = torch.arange(4.0, device="cuda")
    y = x[torch.tensor([1, 9], device="cuda")]
    raises(torch.AcceleratorError, "CUDA error: device-side assert triggered", y.tolist)
    table = nn.Embedding(3, 2, device="cuda")
    z = table(torch.tensor([7], device="cuda"))
    raises(RuntimeError, "index is out of range", z.tolist)
    scores = torch.zeros(2, 3, device="cuda", requires_grad=True)
    target, weight = torch.tensor([1, 7], device="cuda"), torch.ones(3, device="cuda")
    loss = nn.functional.cross_entropy(scores, target, weight)
    loss.backward()  # no class 7 is read here, either
    raises(torch.AcceleratorError, "index is out of range", loss.item)
    assert scores.grad is not None and scores.grad[1].tolist() == [0.0, 0.0, 0.0]
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def modules_move_and_are_saved() -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).cuda()
    assert all(p.is_cuda for p in net.parameters()) and all(b.is_cuda for b in net.buffers())
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    back = torch.load(file)
    assert back["0.weight"].is_cuda
    file.seek(0)
    host = torch.load(file, map_location="cpu")
    assert not host["0.weight"].is_cuda and host["0.weight"].equal(net[0].weight.detach().cpu())
    twin = copy.deepcopy(net)
    assert twin[0].weight.is_cuda and twin[0].weight.detach().cpu().equal(host["0.weight"])
    x = torch.arange(3, device="cuda")
    assert pickle.loads(pickle.dumps(x)).tolist() == [0, 1, 2]
    assert not net.cpu()[0].weight.is_cuda


def the_numbers_drawn_are_the_cpus() -> None:
    torch.manual_seed(3)
    x, mask = torch.randn(5), nn.functional.dropout(torch.ones(20), 0.5)
    torch.cuda.manual_seed(3)
    y = torch.randn(5, device="cuda")
    mine = nn.functional.dropout(torch.ones(20, device="cuda"), 0.5)
    assert y.cpu().equal(x) and mine.cpu().equal(mask) and y.is_cuda
    torch.manual_seed(1)
    weight = nn.Linear(4, 3).weight
    torch.manual_seed(1)
    assert nn.Linear(4, 3, device="cuda").weight.detach().cpu().equal(weight.detach())
    made = nn.init.trunc_normal_(torch.empty(20, device="cuda"))
    assert made.is_cuda and made.abs().max().item() <= 2


def other_libraries_share_the_memory() -> None:
    from numba import cuda

    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    found = x.__cuda_array_interface__
    assert found["shape"] == (2, 3) and found["typestr"] == "<f4" and found["data"][0] > 0
    raises(AttributeError, "non-CUDA tensor", lambda: torch.ones(1).__cuda_array_interface__)
    if not hasattr(cuda, "simulator") and torch.cuda.get_device_name() != "numba's CUDA simulator":
        held = cuda.to_device(np.arange(4, dtype=np.float32))
        shared = torch.as_tensor(held, device="cuda")
        shared += 1
        assert held.copy_to_host().tolist() == [1.0, 2.0, 3.0, 4.0]


def pinned_memory_is_host_memory() -> None:
    x = torch.arange(4.0)
    y = x.pin_memory()
    assert y.is_pinned() and not x.is_pinned() and y.equal(x) and y.pin_memory() is y
    assert y.to("cuda", non_blocking=True).tolist() == x.tolist()
    loader = torch.utils.data.DataLoader([torch.ones(2), torch.zeros(2)], 2, pin_memory=True)
    assert next(iter(loader)).is_pinned()


def streams_and_events_order_work() -> None:
    stream, start, end = torch.cuda.Stream(), *(
        torch.cuda.Event(enable_timing=True) for _ in range(2)
    )  # fmt: skip
    assert isinstance(stream, torch.cuda.Stream) and isinstance(start, torch.cuda.Event)
    start.record()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        x = torch.ones(4, device="cuda") * 2
        end.record()
    torch.cuda.current_stream().wait_stream(stream)
    x.record_stream(stream)
    torch.cuda.synchronize()
    assert x.tolist() == [2.0] * 4 and start.elapsed_time(end) >= 0 and end.query()
    raises(ValueError, "enable_timing=True", lambda: torch.cuda.Event().elapsed_time(end))


def compiled_calls_run_op_by_op() -> None:
    weight = torch.ones(3, device="cuda", requires_grad=True)
    step = torch.compile(lambda x: (x * weight).sum())
    loss = step(torch.arange(3.0, device="cuda"))
    loss.backward()
    assert loss.item() == 3.0 and weight.grad.tolist() == [0.0, 1.0, 2.0]


def two_threads_compute() -> None:
    results: dict[int, Any] = {}

    def work(k: int) -> None:
        x = torch.full((8,), float(k), device="cuda")
        for _ in range(3):
            x = x + 1
        results[k] = x.tolist()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: [k + 3.0] * 8 for k in range(2)}


def compiled_steps_are_eager_ones_to_the_bit() -> None:
    """Captured whole, and replayed where the body asks for data; small chains are fused, too."""
    from mindtorch.engine.compile.passes import fusion
    from mindtorch.kernels.cuda import graphs

    replays: list[Any] = []
    replay = graphs.Recording.replay

    def counted(self: Any) -> None:
        replays.append(self)
        replay(self)

    def trained(compiled: bool, asking: bool, mode: Any = None) -> Any:
        torch.manual_seed(0)
        weight = nn.Parameter(torch.randn(3).cuda())
        count = torch.zeros(2, device="cuda")
        optimizer = torch.optim.Adam([weight], lr=0.1)
        rate = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        x = torch.randn(2, 3).cuda()

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            y = nn.functional.dropout(nn.functional.gelu(x * weight), 0.3)
            count.add_(1)
            loss = ((y * 0.5 + 1).tanh() * y).sum()
            if asking and loss.item() > 9:
                raise AssertionError("a number of the host is wrong")
            loss.backward()
            optimizer.step()
            return loss

        run: Any = torch.compile(step, mode=mode) if compiled else step
        losses = []
        for _ in range(5):
            losses.append(run(x).item())
            rate.step()
        if compiled:
            assert run.traces == 1 and bool(run.eager) == asking, run.eager
        if mode:
            assert replays, "nothing was recorded"
        return losses, weight.tolist(), count.tolist()

    before, fusion.SMALLEST = fusion.SMALLEST, 4
    changed: Any = graphs.Recording
    changed.replay = counted
    try:
        expected = trained(False, False)
        assert trained(True, False) == expected
        assert trained(True, True) == expected
        assert trained(True, False, "reduce-overhead") == expected
        assert trained(True, True, "reduce-overhead") == expected
    finally:
        fusion.SMALLEST = before
        changed.replay = replay


def compiled_results_and_writes_keep_their_layouts() -> None:
    """Views, strided writes to arguments, gradients to arguments, draws, and a second stream."""
    torch.manual_seed(0)
    x = torch.randn(3, 4).cuda().t().requires_grad_()
    held = torch.zeros(4, 3, device="cuda")

    def function(x: Any, held: Any) -> Any:
        held.t()[1] = x[:, 1].detach() * 2
        noise = torch.rand_like(x)
        return (x * held + noise - noise).t(), x[1:, 0] * 2

    run, results = torch.compile(function, fullgraph=True), []
    for each in (function, run, run):
        held.zero_()
        x.grad = None
        a, b = each(x, held)
        (a.sum() + (b * b).sum()).backward()
        results.append([t.tolist() for t in (a, b, held, x.grad)] + [a.stride(), b.stride()])
        assert a.is_cuda and b.is_cuda
    for mine in results[1:]:
        for found, expected in zip(mine, results[0], strict=True):
            assert np.allclose(found, expected, 1e-6, 1e-6)
    with torch.cuda.stream(torch.cuda.Stream()):
        run(x, held)
    torch.cuda.synchronize()


def the_namespace_answers_where_there_is_a_device() -> None:
    """Memory, its snapshot, streams of others, reads on the host that are forbidden, forks."""
    cuda = torch.cuda
    x = torch.ones(16, device="cuda")
    assert any(b["address"] <= x.data_ptr() < b["address"] + b["total_size"]
               for b in cuda.memory_snapshot())  # fmt: skip
    assert cuda.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"] > 0
    assert cuda.max_memory_reserved() >= cuda.memory_reserved() > 0
    address = cuda.caching_allocator_alloc(64)
    cuda.memory.caching_allocator_delete(address)
    raises(RuntimeError, "invalid device pointer", lambda: cuda.caching_allocator_delete(address))
    cuda.set_sync_debug_mode("error")
    raises(RuntimeError, "called a synchronizing CUDA operation", x.tolist)
    cuda.set_sync_debug_mode(0)
    assert cuda.get_rng_state_all()[0].equal(torch.get_rng_state())
    from mindtorch.torch.cuda import comm

    assert comm.broadcast(x, [0])[0].equal(x) and comm.gather([x, x]).numel() == 32
    assert cuda.device_of(x).__enter__() is None and not cuda._is_in_bad_fork()
    child = os.fork()
    if not child:
        try:
            torch.ones(1, device="cuda")
        except RuntimeError as error:
            os._exit(7 if "Cannot re-initialize CUDA in forked subprocess" in str(error) else 8)
        os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def packed_sequences_run_through_recurrent_layers() -> None:
    """Their lengths stay on the host, as in torch; results and gradients are the CPU's."""
    results = []
    for device in ("cpu", "cuda"):
        torch.manual_seed(0)
        net, x = nn.GRU(2, 2, bidirectional=True).to(device), torch.randn(2, 2, 2).to(device)
        x.requires_grad_()
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([2, 1]))
        out, state = net(packed)
        ((out.data**2).sum() + state.sum()).backward()
        slopes = [p.grad for p in net.parameters()]
        results.append([t.detach().cpu() for t in (out.data, state, x.grad, *slopes)])
    for mine, expected in zip(results[1], results[0], strict=True):
        assert torch.allclose(mine, expected, 1e-5, 1e-6)


def autocast_follows_the_lists_of_cuda() -> None:
    """The types that torch documents for CUDA: float16 unless another one is asked for."""
    x = torch.rand(2, 2, device="cuda", requires_grad=True) + 0.5
    half, full, f = torch.float16, torch.float32, nn.functional
    h = (x @ x).half().detach()
    before = [h.exp(), h.log(), h**2, 1 / h, h.rsqrt(), h.sum(), h.softmax(0), x @ x]
    assert [y.dtype for y in before] == [*[half] * 7, full]
    with torch.autocast("cuda"):
        assert torch.is_autocast_enabled() and torch.get_autocast_dtype("cuda") is half
        h = x @ x
        lower = [h, f.linear(x, x), torch.addmm(x, x, x), torch.einsum("ij,jk->ik", x, x),
                 x.mv(x[0]), f.conv2d(x[None, None], x[None, None]), h + h, h.relu(), h * 2]
        wide = [h.exp(), h.log(), h**2, h.pow(0.5), 1 / h, h.sum(), h.softmax(0), h.cumsum(0),
                h.norm(), f.layer_norm(h, (2,)), f.softplus(h), f.mse_loss(h, h), h.prod(),
                f.cross_entropy(h, torch.tensor([0, 1], device="cuda")), torch.cdist(h, h),
                f.cosine_similarity(h, h), x + h, torch.addcmul(x, h, h), h.rsqrt()]
        assert [k for k, y in enumerate(lower) if y.dtype is not half] == []
        assert [k for k, y in enumerate(wide) if y.dtype is not full] == []
        assert torch.addcmul(h, h, h).dtype is half and (x.double() @ x.double()).dtype is (
            torch.float64
        )
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is full
        raises(RuntimeError, "unsafe to autocast", lambda: f.binary_cross_entropy(h.sigmoid(), h))
    assert not torch.is_autocast_enabled()
    h.sum().backward()
    with torch.autocast("cuda", torch.bfloat16):
        assert (x @ x).dtype is torch.bfloat16


def the_gradient_scaler_leaves_out_infinite_steps() -> None:
    weight = nn.Parameter(torch.ones(3, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    scaler = torch.amp.GradScaler("cuda", init_scale=4.0, growth_interval=1)
    assert scaler.is_enabled()
    for factor, value, scale in ((1.0, 0.5, 8.0), (float("inf"), 0.5, 4.0), (-1.0, 1.0, 8.0)):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert weight.tolist() == [value] * 3 and scaler.get_scale() == scale
    assert scaler._scale.is_cuda


def graphs_replay_what_was_issued() -> None:
    """Nothing is computed while recording; draws are new at each replay, as without a graph."""
    x, total = torch.ones(3, device="cuda"), torch.zeros(3, device="cuda")
    recorded = torch.cuda.CUDAGraph()
    raises(RuntimeError, "without a preceding successful capture", recorded.replay)
    torch.manual_seed(0)
    with torch.cuda.graph(recorded):
        assert torch.cuda.is_current_stream_capturing()
        y = (x * 2 + torch.rand(3, device="cuda")).clone()
        total += y
        raises(RuntimeError, "operation not permitted when stream is capturing", total.tolist)
    assert not torch.cuda.is_current_stream_capturing() and total.tolist() == [0.0] * 3
    expected = torch.zeros(3)
    for value in (1.0, 5.0):
        x.fill_(value)
        recorded.replay()
        expected += y.cpu()
    assert total.cpu().allclose(expected)
    torch.manual_seed(0)
    drawn = torch.rand(3), torch.rand(3)
    assert y.cpu().equal(drawn[1] + 10) and not drawn[0].equal(drawn[1])
    raises(RuntimeError, "already owns a captured graph", recorded.capture_begin)


def graphed_callables_have_the_gradients_of_eager_ones() -> None:
    torch.manual_seed(0)
    weight = torch.randn(2, 3, device="cuda", requires_grad=True)

    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(weight.detach().clone())

        def forward(self, x: Any) -> Any:
            return (x * self.weight).tanh()

    module = Scale()
    sample = torch.zeros(2, 3, device="cuda", requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(module, (sample,))
    assert graphed is module
    for k in range(2):
        x = torch.randn(2, 3).cuda().requires_grad_()
        again = x.detach().clone().requires_grad_()
        module.weight.grad = weight.grad = None
        (graphed(x) * (k + 1)).sum().backward()
        ((again * weight).tanh() * (k + 1)).sum().backward()
        assert x.grad.equal(again.grad) and module.weight.grad.equal(weight.grad)


def the_drivers_graphs_are_begun_and_ended_around_host_calls() -> None:
    """A fake of the driver's functions: what a real one is asked for, in order."""
    from mindtorch.kernels.cuda import graphs

    asked: list[Any] = []

    def answer(name: str) -> Any:
        def call(*args: Any) -> Any:
            asked.append(name)
            more = ("cuStreamEndCapture", "cuGraphInstantiate", "cuThreadExchangeStreamCaptureMode")
            return (0, name) if name in more else (0,)

        return call

    names = ("cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate", "cuGraphLaunch",
             "cuGraphDestroy", "cuGraphExecDestroy", "CUstreamCaptureMode", "CUstream",
             "cuThreadExchangeStreamCaptureMode")  # fmt: skip
    fake: Any = type("Fake", (), {name: staticmethod(answer(name)) for name in names})
    recording = graphs.Recording(graphs.Driver(fake))
    done: list[int] = []
    with recording:
        graphs.on_host(lambda: done.append(1))
    capture = ["cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate", "cuGraphDestroy"]
    relaxed = "cuThreadExchangeStreamCaptureMode"  # so that memory may be taken, and set back
    assert [n for n in asked if n.startswith("cu")] == [
        capture[0], relaxed, *capture[1:], *capture, relaxed
    ] and not done  # fmt: skip
    recording.replay()
    recording.replay()
    assert asked.count("cuGraphLaunch") == 4 and done == [1, 1]
    fake.cuStreamBeginCapture = staticmethod(lambda *args: (901,))
    raises(torch.AcceleratorError, "CUDA error: 901", graphs.Recording(graphs.Driver(fake)).begin)
    assert graphs.active() is None


def ops_of_the_host_and_complex_numbers_work() -> None:
    x = torch.eye(3, device="cuda") * 2
    assert torch.linalg.inv(x).is_cuda and kernel_gaps.on_host("linear_solvers.inverse")
    z = torch.fft.fft(torch.ones(4, device="cuda"))
    assert z.is_cuda and (z * z.conj()).real.tolist() == [16.0, 0.0, 0.0, 0.0]


def several_devices_are_kept_apart() -> None:
    """Two devices of the simulator, which share one memory: every launch is told the arrays of the
    device that is current then. On a machine with one GPU there is nothing to ask."""
    from mindtorch.kernels.cuda import streams

    changed: Any = streams
    if launch.SIMULATED:
        changed.SIMULATED_DEVICES = 2
    try:
        if torch.cuda.device_count() > 1:
            on_two_devices(streams)
    finally:
        changed.SIMULATED_DEVICES = 1
        streams.set_device(0)


def helpers_stay_on_the_device() -> None:
    x = torch.tensor([[3.0, -1.0], [0.0, 2.0]], device="cuda")
    for made in (x[x > 0], x.nonzero(), x.unique(), torch.where(x > 0)[0], x.sort()[0],
                 x.masked_select(x > 0), x[[1, 0]], x[torch.tensor([1])],
                 nn.functional.one_hot(torch.tensor([1, 0], device="cuda"), 3),
                 torch.arange(3, device="cuda"), torch.eye(2, device="cuda"),
                 torch.linspace(0, 1, 3, device="cuda"), x.new_zeros(2), torch.zeros_like(x),
                 torch.bincount(torch.tensor([1, 1], device="cuda")),
                 nn.functional.interpolate(x[None, None], scale_factor=2)):  # fmt: skip
        assert made.is_cuda
    assert x[x > 0].tolist() == [3.0, 2.0] and x.unique().tolist() == [-1.0, 0.0, 2.0, 3.0]
    torch.nn.utils.clip_grad_norm_([x], 1.0)


def ops_of_detection_models_run_on_copies() -> None:
    x = torch.arange(48.0).reshape(1, 3, 4, 4)
    rois = torch.tensor([[0.0, 0, 0, 2, 3]])

    def call(x: Any, rois: Any) -> Any:
        return detection.roi_align(
            x, rois, spatial_scale=1.0, size=(2, 2), sampling_ratio=1, aligned=True
        )

    leaf = x.cuda().requires_grad_()
    found = call(leaf, rois.cuda())
    assert found.is_cuda and found.cpu().equal(call(x, rois))
    found.sum().backward()
    assert leaf.grad.is_cuda and leaf.grad.sum().item() == 12
    assert kernel_gaps.on_host("detection.roi_align")


def sums_of_sparse_tensors_stay_on_the_device() -> None:
    x = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    y = torch.tensor([[0.0, 0.0, 4.0], [5.0, 0.0, 0.0]])
    found = x.cuda().to_sparse() + y.cuda().to_sparse()
    assert found.is_cuda and found.to_dense().cpu().equal(x + y)


CHECKS = [f for f in list(globals().values())
          if getattr(f, "__module__", "") == __name__ and f.__code__.co_argcount == 0]  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore")
    cuda_simulator.install()
    failed: dict[str, str] = {}
    checks = list(CHECKS)
    if not launch.SIMULATED:  # there tests/programs/cuda_libraries.py is a program of its own
        checks += importlib.import_module("tests.programs.cuda_libraries").ON_A_GPU
    for count, check in enumerate(checks):
        if "--lines" in sys.argv:
            going = {**failed, check.__name__: "it did not end"}
            print(json.dumps({"checks": count, "failed": going}), flush=True)
        try:
            check()
        except Exception:
            failed[check.__name__] = traceback.format_exc()[-1500:]
    print(json.dumps({"checks": len(checks), "failed": failed, "done": True}))


if __name__ == "__main__":
    main()
