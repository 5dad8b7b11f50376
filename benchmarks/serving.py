"""Measure `mindtorch serve` with LeNet: throughput, latency, connections, dying workers, exchanges.

The server is a process of its own on 127.0.0.1; the clients are coroutines of this process, which
repeat requests that were made beforehand. Each load is bounded in time (``--seconds``). The model's
own throughput is measured between the loads, in a process of its own on one thread.

    python benchmarks/serving.py [--seconds 4] [--rounds 3] [--only throughput latency ...]
    python benchmarks/serving.py --litserve PYTHON     # of an environment that has litserve
    python benchmarks/serving.py --bars --litserve PYTHON     # what serving has to hold, 4 minutes

``--bars`` measures whole batches only, and ends with a table of what was found beside its limit.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
LITSERVE = Path(__file__).with_name("_serving_litserve.py")

NET = '''
import torch
from torch import nn


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.conv1(x).relu(), 2)
        x = nn.functional.max_pool2d(self.conv2(x).relu(), 2)
        return self.fc3(self.fc2(self.fc1(x.flatten(1)).relu()).relu())
'''
CONFIG = '''
from mindspore_serving.server import register
from net import LeNet

model = register.declare_model(
    "lenet.pth", "PTH", module=LeNet, inputs=[("x", "float32", (1, 32, 32))],
    context=register.Context(thread_num=1), batch_size={batch},
)


@register.register_method(output_names=["y"])
def predict(x):
    return register.add_stage(model, x, outputs_count=1)
'''
SAVE = """
import sys
sys.path.insert(0, sys.argv[1])
from mindtorch.tools import mstorch_enable
import torch
from net import LeNet
torch.manual_seed(0)
torch.save(LeNet().state_dict(), sys.argv[2])
"""
OWN = """
import sys, time
sys.path.insert(0, sys.argv[1])
from mindtorch.tools import mstorch_enable
import numpy as np, torch
from net import LeNet
torch.set_num_threads(1)
net = LeNet().eval()
batch = int(sys.argv[2])
x = np.random.rand(batch, 1, 32, 32).astype("float32")
if sys.argv[4] == "graph":
    from mindtorch import lite
    from mindtorch.lite import converter, importing
    model, context = lite.Model(), lite.Context()
    context.cpu.thread_num = 1
    model.build_from_graph(converter.finished(importing.from_model(net, [x], True)), context)
    run = lambda: model.predict([lite.Tensor.sharing(x)])
else:
    run = lambda: net(torch.from_numpy(x)).numpy()
times = []
with torch.no_grad():
    for _ in range(10):
        run()
    used = time.process_time()
    end = time.perf_counter() + float(sys.argv[3])
    while time.perf_counter() < end:
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
print(min(times), (time.process_time() - used) / len(times))
"""


def environment() -> dict[str, str]:
    return dict(os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1")


def make_models(folder: Path, batch: int) -> None:
    """A servable `lenet` with version 1."""
    (folder / "lenet" / "1").mkdir(parents=True)
    (folder / "lenet" / "net.py").write_text(NET)
    (folder / "lenet" / "servable_config.py").write_text(CONFIG.format(batch=batch))
    subprocess.run(
        [sys.executable, "-c", SAVE, str(folder / "lenet"), str(folder / "lenet/1/lenet.pth")],
        env=environment(), check=True,
    )  # fmt: skip


def own_seconds(
    folder: Path, batch: int, seconds: float, kind: str = "module"
) -> tuple[float, float]:
    """How long the model takes for a batch without a server, called as it is written or as the
    "graph" that a worker makes of it: the least, and what it needs of a processor on average, which
    is more where other processes share its caches."""
    given = subprocess.run(
        [sys.executable, "-c", OWN, str(folder / "lenet"), str(batch), str(seconds), kind],
        env=environment(), check=True, capture_output=True, text=True,
    )  # fmt: skip
    least, used = map(float, given.stdout.split())
    return least, used


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@dataclass
class Running:
    """A server."""

    process: subprocess.Popen[str]
    grpc: int
    rest: int

    def status(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.rest}/status") as given:
            found: dict[str, Any] = json.load(given)
        return found


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Running]:
    """Our server, while the block runs."""
    grpc, rest = free_port(), free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "mindtorch", "serve", str(folder), "--grpc", f"127.0.0.1:{grpc}",
         "--rest", f"127.0.0.1:{rest}", *options],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("lenet version"):
                break
        yield Running(process, grpc, rest)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


# -- clients


@dataclass
class Seen:
    """What clients saw.

    Attributes:
        seconds: of each request that was answered.
        failures: what was wrong with the others.
        span: how long the load lasted.
    """

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    span: float = 0.0

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.span

    @property
    def median_ms(self) -> float:
        return 1000 * statistics.median(self.seconds)


@dataclass
class Bar:
    """Something that serving has to hold.

    Attributes:
        found, limit: what was measured, and the most that it may be.
        unit: of both.
    """

    what: str
    found: float
    limit: float
    unit: str = ""

    def __str__(self) -> str:
        holds = "holds" if self.found <= self.limit else "MISSED"
        return f"{self.what:58} {self.found:9.2f} {self.limit:7.2f} {self.unit:4} {holds}"


Ask = Callable[[], Awaitable[str]]


async def load(clients: list[Ask], seconds: float) -> Seen:
    """Let each client ask again and again; an answer is "", or what is wrong."""
    seen = Seen()
    began = time.perf_counter()
    end = began + seconds

    async def one(ask: Ask) -> None:
        while (start := time.perf_counter()) < end:
            wrong = await ask()
            if wrong:
                seen.failures.append(wrong)
            else:
                seen.seconds.append(time.perf_counter() - start)

    await asyncio.gather(*(one(ask) for ask in clients))
    seen.span = time.perf_counter() - began
    return seen


def instances(rows: int) -> Any:
    import numpy as np

    return np.random.RandomState(0).rand(rows, 1, 32, 32).astype("float32")


def mindspore_request(rows: int) -> bytes:
    from mindtorch.serving.proto.ms_service_pb2 import NUMBERS, PredictRequest

    request = PredictRequest()
    request.servable_spec.name, request.servable_spec.method_name = "lenet", "predict"
    for row in instances(rows):
        tensor = request.instances.add().items["x"]
        tensor.dtype, tensor.data = NUMBERS["float32"], row.tobytes()
        tensor.shape.dims.extend(row.shape)
    data: bytes = request.SerializeToString()
    return data


def kserve_request(rows: int) -> bytes:
    from mindtorch.serving.proto.kserve import MESSAGES

    request = MESSAGES["ModelInferRequest"](model_name="lenet")
    request.inputs.add(name="x", datatype="FP32", shape=[rows, 1, 32, 32])
    request.raw_input_contents.append(instances(rows).tobytes())
    data: bytes = request.SerializeToString()
    return data


def grpc_clients(port: int, count: int, method: str, request: bytes) -> list[Ask]:
    """Clients with a connection each, which they make at their first request."""
    import grpc

    def client() -> Ask:
        calls: list[Any] = []

        async def ask() -> str:
            if not calls:
                options = [("grpc.use_local_subchannel_pool", 1)]
                channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}", options)
                calls.append(channel.unary_unary(method))
            try:
                reply = await calls[0](request, timeout=60)
            except grpc.aio.AioRpcError as error:
                return f"{error.code().name}: {error.details()}"
            return "" if len(reply) > 40 else repr(reply)

        return ask

    return [client() for _ in range(count)]


def http_request(path: str, body: bytes, **headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "host: 127.0.0.1", f"content-length: {len(body)}",
             *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
             "", ""]  # fmt: skip
    return "\r\n".join(lines).encode() + body


def rest_requests(rows: int) -> dict[str, bytes]:
    """By the name of the protocol."""
    x = instances(rows)
    listed = json.dumps({"instances": [{"x": row.tolist()} for row in x]}).encode()
    head = json.dumps({
        "inputs": [{"name": "x", "datatype": "FP32", "shape": list(x.shape),
                    "parameters": {"binary_data_size": x.nbytes}}],
        "outputs": [{"name": "y", "parameters": {"binary_data": True}}],
    }).encode()  # fmt: skip
    length = {"inference_header_content_length": str(len(head))}
    return {
        "mindspore": http_request("/model/lenet:predict", listed),
        "kserve": http_request("/v2/models/lenet/infer", head + x.tobytes(), **length),
    }


def http_clients(port: int, count: int, request: bytes) -> list[Ask]:
    """Clients with a connection each, which they make at their first request."""

    def client() -> Ask:
        streams: list[Any] = []

        async def ask() -> str:
            if not streams:
                streams[:] = await asyncio.open_connection("127.0.0.1", port)
            reader, writer = streams
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.split("\r\ncontent-length:")[1].split()[0])
            body = await reader.readexactly(length)
            return "" if head.split()[1] == "200" else f"{head.split()[1]} {body[:200]!r}"

        return ask

    return [client() for _ in range(count)]


PREDICT = "/mindspore.serving.proto.MSService/Predict"
INFER = "/inference.GRPCInferenceService/ModelInfer"


def clients_of(server: Running, protocol: str, count: int, rows: int) -> list[Ask]:
    kind, _, transport = protocol.partition(" ")
    if transport == "gRPC":
        if kind == "mindspore":
            return grpc_clients(server.grpc, count, PREDICT, mindspore_request(rows))
        return grpc_clients(server.grpc, count, INFER, kserve_request(rows))
    return http_clients(server.rest, count, rest_requests(rows)[kind])


PROTOCOLS = ("mindspore gRPC", "kserve gRPC", "kserve REST", "mindspore REST")


# -- what is measured


def processor_seconds(pid: int) -> float:
    """What a process has used so far, by the clock that Linux has for it."""
    return time.clock_gettime((~pid << 3) | 2)


def throughput(folder: Path, options: argparse.Namespace) -> list[Bar]:
    """Instances per second with 32 clients beside the model's own, and the processor's time that
    the model, the worker, the front and the clients need for a request of a whole batch."""
    best: dict[tuple[str, int], float] = {}
    used: dict[str, list[float]] = {}
    own = 0.0
    alone, graphs = list[float](), list[float]()
    with serving(folder) as server:
        worker = server.status()["versions"][0]["workers"][0]["pid"]
        pids = (worker, server.process.pid, os.getpid())
        for _ in range(options.rounds):
            for rows in (options.batch,) if options.bars else (1, 32, options.batch):
                least, mean = own_seconds(folder, options.batch, 1.0)
                own = max(own, options.batch / least)
                alone.append(mean)
                graphs.append(own_seconds(folder, options.batch, 1.0, "graph")[1])
                for protocol in PROTOCOLS:
                    clients = clients_of(server, protocol, 32, rows)
                    before = [processor_seconds(pid) for pid in pids]
                    seen = asyncio.run(load(clients, options.seconds))
                    after = [processor_seconds(pid) for pid in pids]
                    assert not seen.failures, seen.failures[:3]
                    best[protocol, rows] = max(best.get((protocol, rows), 0.0), rows * seen.rate)
                    if rows == options.batch:
                        found = [(b - a) / len(seen.seconds)
                                 for a, b in zip(before, after, strict=True)]  # fmt: skip
                        used[protocol] = min(used.get(protocol, found), found, key=sum)
    print(f"own throughput, batch {options.batch}, one thread: {own:,.0f} instances/s")
    for (protocol, rows), rate in best.items():
        print(f"  {protocol:15} {rows:3} instances a request: {rate:8,.0f} instances/s, "
              f"{rate / rows:6,.0f} requests/s, {own / rate:5.2f}x the model's time")  # fmt: skip
    print(f"processor time of {options.batch} instances: the model alone {1e6 * min(alone):.0f} to "
          f"{1e6 * max(alone):.0f} us, as a graph {1e6 * min(graphs):.0f} to "
          f"{1e6 * max(graphs):.0f}")  # fmt: skip
    for protocol, found in used.items():
        told = ", ".join(f"{name} {1e6 * each:.0f} us" for name, each in
                         zip(("worker", "front", "clients"), found, strict=True))  # fmt: skip
        for what, least in (("the model's time", min(alone)), ("its graph's", min(graphs))):
            apart, shared = (each / least for each in (max(found), sum(found) / 2))
            told += (f"; of {what} {apart:.2f}x with a core for each, {max(apart, shared):.2f}x on "
                     "two cores for all")  # fmt: skip
        print(f"  {protocol:15} {told}")
    whole = {protocol: rate for (protocol, rows), rate in best.items() if rows == options.batch}
    return [
        Bar(f"time of an instance by the model's own, {name}, 32 clients", own / rate, 1.3, "x")
        for name, rate in whole.items() if name != "mindspore REST"  # which is JSON
    ] + [
        Bar(f"the same in processor time, two cores for all, {name}",
            max(max(found), sum(found) / 2) / min(alone), 1.3, "x")
        for name, found in used.items() if name != "mindspore REST"
    ]  # fmt: skip


def latency(folder: Path, options: argparse.Namespace) -> list[Bar]:
    """Of one client with one instance, beside the model's own."""
    with serving(folder) as server:
        least, _ = own_seconds(folder, 1, 1.0)
        print(f"own time of one instance: {1000 * least:.3f} ms")
        bars = []
        for protocol in PROTOCOLS:
            medians = []
            for _ in range(options.rounds):
                seen = asyncio.run(load(clients_of(server, protocol, 1, 1), options.seconds))
                medians.append(seen.median_ms)
            print(f"  {protocol:15} median {min(medians):.3f} ms, "
                  f"{min(medians) - 1000 * least:.3f} more than the model")  # fmt: skip
            more = min(medians) - 1000 * least
            bars.append(Bar(f"median beyond the model's own, {protocol}, alone", more, 2.0, "ms"))
    return bars


def connections(folder: Path, options: argparse.Namespace) -> list[Bar]:
    """500 clients at once, each with a connection of its own."""
    failed = 0
    with serving(folder) as server:
        for protocol in ("mindspore gRPC", "kserve REST"):
            seen = asyncio.run(load(clients_of(server, protocol, 500, 1), options.seconds))
            print(f"500 connections, {protocol}: {len(seen.seconds):,} answered, "
                  f"{len(seen.failures)} failed, median {seen.median_ms:.0f} ms, "
                  f"longest {1000 * max(seen.seconds):.0f} ms")  # fmt: skip
            failed += len(seen.failures)
    return [Bar("requests that failed, 500 connections", failed, 0)]


def kills(folder: Path, options: argparse.Namespace) -> list[Bar]:
    """kill -9 of a worker each second, under load."""
    with serving(folder, "--workers", "2") as server:
        killed: list[int] = []

        async def kill() -> None:
            end = time.perf_counter() + 2 * options.seconds
            while time.perf_counter() < end:
                await asyncio.sleep(1.0)
                status = await asyncio.to_thread(server.status)
                workers = status["versions"][0]["workers"]
                if len(workers) == 2:
                    killed.append(max(workers, key=lambda worker: worker["batches"])["pid"])
                    os.kill(killed[-1], signal.SIGKILL)

        async def both(clients: list[Ask]) -> Seen:
            task = asyncio.create_task(kill())
            seen = await load(clients, 2 * options.seconds)
            await task
            return seen

        seen = asyncio.run(both(clients_of(server, "mindspore gRPC", 32, 1)))
    print(f"kill -9 of {len(killed)} workers: {len(seen.seconds):,} answered, "
          f"{len(seen.failures)} failed {seen.failures[:2]}, "
          f"longest {1000 * max(seen.seconds):.0f} ms")  # fmt: skip
    lost = len(seen.failures) + (not killed)
    return [Bar(f"requests that failed, {len(killed)} workers killed", lost, 0)]


def exchange(folder: Path, options: argparse.Namespace) -> list[Bar]:
    """New versions appear in the folder, under load."""
    with serving(folder, "--poll", "0.2") as server:
        versions: list[int] = []

        async def add() -> None:
            for number in (2, 3):
                await asyncio.sleep(1.0)
                shutil.copytree(folder / "lenet/1", folder / f"lenet/.{number}")
                (folder / f"lenet/.{number}").rename(folder / f"lenet/{number}")
                for _ in range(300):
                    await asyncio.sleep(0.1)
                    status = await asyncio.to_thread(server.status)
                    found = [version["version"] for version in status["versions"]]
                    if found == [number]:
                        versions.append(number)
                        break

        async def both(clients: list[Ask]) -> Seen:
            task = asyncio.create_task(add())
            seen = Seen()
            while not task.done():
                more = await load(clients, options.seconds)
                seen.seconds += more.seconds
                seen.failures += more.failures
            return seen

        seen = asyncio.run(both(clients_of(server, "mindspore gRPC", 32, 1)))
    for number in (2, 3):
        shutil.rmtree(folder / f"lenet/{number}")
    print(f"versions {versions} taken up: {len(seen.seconds):,} answered, "
          f"{len(seen.failures)} failed {seen.failures[:2]}")  # fmt: skip
    lost = len(seen.failures) + 2 - len(versions)
    return [Bar("requests that failed, two versions exchanged", lost, 0)]


def litserve(folder: Path, options: argparse.Namespace) -> list[Bar]:
    """The same model, clients and JSON, in turns with LitServe."""
    port = free_port()
    process = subprocess.Popen(
        [options.litserve, str(LITSERVE), str(folder / "lenet"), str(port), str(options.batch)],
        env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    rates: dict[str, list[float]] = {"mindtorch": [], "litserve": []}
    medians: dict[str, list[float]] = {"mindtorch": [], "litserve": []}
    row = instances(1)[0].tolist()
    theirs = http_request("/predict", json.dumps({"x": row}).encode(),
                          content_type="application/json")  # fmt: skip
    try:
        with serving(folder) as server:
            ours = rest_requests(1)["mindspore"]
            _wait_for(port)
            for _ in range(options.rounds):
                for name, at, request in (("mindtorch", server.rest, ours),
                                          ("litserve", port, theirs)):  # fmt: skip
                    for count, into in ((32, rates), (1, medians)):
                        clients = http_clients(at, count, request)
                        seen = asyncio.run(load(clients, options.seconds))
                        assert not seen.failures, (name, seen.failures[:3])
                        into[name].append(seen.rate if count == 32 else seen.median_ms)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for name in rates:
        print(f"REST, JSON, one instance a request: {name:10} {max(rates[name]):6,.0f} requests/s "
              f"with 32 clients, median {min(medians[name]):.2f} ms alone")  # fmt: skip
    most = {name: max(each) for name, each in rates.items()}
    least = {name: min(each) for name, each in medians.items()}
    return [
        Bar("time of a request by LitServe's, JSON, 32 clients",
            most["litserve"] / most["mindtorch"], 1.0, "x"),
        Bar("median by LitServe's, JSON, alone", least["mindtorch"] / least["litserve"], 1.0, "x"),
    ]  # fmt: skip


def _wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit("LitServe does not start")


MEASURED = {"throughput": throughput, "latency": latency, "connections": connections,
            "kills": kills, "exchange": exchange}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, help="of each load (4; with --bars 2.5)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bars", action="store_true", help="a table of what has to hold")
    parser.add_argument("--batch", type=int, default=64, help="the model's batch size")
    parser.add_argument("--only", nargs="*", choices=list(MEASURED), default=list(MEASURED))
    parser.add_argument("--litserve", metavar="PYTHON", help="compare with its LitServe")
    options = parser.parse_args()
    options.seconds = options.seconds or (2.5 if options.bars else 4.0)
    processor = next((line.split(":")[1].strip() for line in
                      Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
                     platform.processor())  # fmt: skip
    print(f"{processor}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as made:
        make_models(Path(made), options.batch)
        bars: list[Bar] = []
        for name in options.only:
            bars += MEASURED[name](Path(made), options)
        if options.litserve:
            bars += litserve(Path(made), options)
    if options.bars:
        print("\n" + "\n".join(map(str, bars)))


if __name__ == "__main__":
    main()
