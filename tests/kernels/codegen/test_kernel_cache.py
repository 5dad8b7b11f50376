"""The cache of compiled kernels on disk: a second process compiles nothing."""

import hashlib
import io
import json
import math
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
import pytest

from mindtorch.kernels.codegen import jit as compiling
from mindtorch.kernels.codegen.compile_lock import Claim
from mindtorch.kernels.codegen.compile_message import Message
from mindtorch.kernels.codegen.jit import kernel
from mindtorch.kernels.codegen.numba_pipeline import Library
from mindtorch.kernels.codegen.signal_guard import held

STEP = """
import json, sys
import mindtorch.torch as torch
from mindtorch.kernels.codegen.jit import statistics
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for _ in range(2):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(torch.randn(4, 6)), torch.tensor([0, 1, 2, 0]))
    loss.backward()
    optimizer.step()
json.dump([statistics.compiled, statistics.loaded, loss.item()], sys.stdout)
"""


ONE_OP = """
import json, sys
import mindtorch.torch as torch
from mindtorch.kernels.codegen.jit import statistics
total = torch.ones(3).exp().sum()
json.dump([statistics.compiled, statistics.loaded, total.item()], sys.stdout)
"""


LINKED = """
import json, sys
import numpy as np
from mindtorch.kernels.codegen.jit import kernel, statistics

@kernel
def twice(x):
    return np.exp(x) * 2

@kernel
def more(x):
    return twice(x) + 1

@kernel
def less(x):
    return twice(x) - 1

twice(1.0)
caller = {"more": more, "less": less, "none": twice}[sys.argv[1]]
caller(1.0)
json.dump([statistics.compiled, statistics.loaded, caller(1.0), twice(2.0)], sys.stdout)
"""


# its code refers to environments of numba's own modules, and raises what they raise
RAISES = """
import json, sys
import numpy as np
from mindtorch.kernels.codegen.jit import kernel, statistics

@kernel
def made(n):
    return np.empty(n).sum() * 0 + np.zeros(2)[1]

texts = []
for n in (3, -1):
    try:
        texts.append(made(n))
    except Exception as error:
        texts.append(f"{type(error).__name__}: {error}")
json.dump([statistics.compiled, statistics.loaded, texts], sys.stdout)
"""


# whole files that no version of ours has written
ALIEN = (
    b"", pickle.dumps(5), pickle.dumps((None,) * 10), b"cno_such_module\nname\n.",
)  # fmt: skip


def run(
    directory: Path, seed: int = 0, program: str = STEP, *arguments: str, installed: Any = 0
) -> Any:
    """Kernels compiled, kernels loaded, and what comes out, of a process with this cache.

    The seed decides in which order the process meets the members of a set of strings.
    """
    environment = {
        **os.environ, "MINDTORCH_CACHE_DIR": str(directory), "PYTHONHASHSEED": str(seed),
        "MINDTORCH_INSTALLED_KERNELS": str(installed),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tmp_path_factory.mktemp("cache")
    return directory, run(directory)


def test_a_second_process_compiles_nothing(filled: Any) -> None:
    """The counter that stands in for the time a user would wait."""
    directory, (compiled, _, loss) = filled
    assert compiled > 0
    for seed in (1, 2, 5):  # a set of two strings has both orders among them
        again = run(directory, seed)
        assert again[0] == 0
        assert again[1] > 0
        assert again[2] == loss


def test_kernels_of_the_installation_are_read_and_never_written(tmp_path: Path) -> None:
    installed, own = tmp_path / "installed", tmp_path / "own"
    compiled, _, total = run(installed, program=ONE_OP)
    found = run(own, program=ONE_OP, installed=installed)
    assert (found[0], found[2]) == (0, total)
    assert not list(own.rglob("*.nbc"))
    files = sorted(installed.rglob("*.nbc"))
    for file in files:
        file.write_bytes(file.read_bytes()[:-1])
    sizes = [file.stat().st_size for file in files]
    found = run(own, program=ONE_OP, installed=installed)
    assert (found[0], found[2]) == (compiled, total)
    assert [file.stat().st_size for file in files] == sizes
    assert len(list(own.rglob("*.nbc"))) == compiled
    assert run(own, program=ONE_OP, installed=installed)[0] == 0


def test_a_kernel_from_the_cache_is_linked_with_one_compiled_now(tmp_path: Path) -> None:
    """Python calls machine code; callers are linked with intermediate code, a file of its own."""
    value, doubled = 2 * math.e, 2 * math.exp(2)
    assert run(tmp_path, 0, LINKED, "none") == [1, 0, value, doubled]
    assert run(tmp_path, 0, LINKED, "more") == [2, 1, value + 1, doubled]  # to be linked, and more
    assert run(tmp_path, 0, LINKED, "less") == [1, 2, value - 1, doubled]
    assert run(tmp_path, 0, LINKED, "less")[:2] == [0, 2]


def test_a_kernel_from_the_cache_raises_as_one_compiled_now(tmp_path: Path) -> None:
    first, second = run(tmp_path, 0, RAISES), run(tmp_path, 0, RAISES)
    assert first[:2] == [1, 0] and second[:2] == [0, 1]
    assert first[2] == second[2] == [0.0, "ValueError: negative dimensions not allowed"]


def test_kernels_of_another_processor_lie_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code for instructions that this one lacks would end the process."""
    here = compiling.cache_directory()
    with monkeypatch.context() as patched:
        patched.setenv("MINDTORCH_PROCESSOR", "native")
        native = compiling.cache_directory()
        patched.setattr(llvmlite.binding, "get_host_cpu_name", lambda: "another")
        assert compiling.cache_directory() not in (native, here)
    monkeypatch.setattr(numba.config, "CPU_NAME", "x86-64-v3")  # of NUMBA_CPU_NAME
    named = compiling.cache_directory()
    monkeypatch.setattr(numba.config, "CPU_FEATURES", "")
    assert len({here, named, compiling.cache_directory()}) == 3


def test_damaged_files_are_compiled_again(filled: Any) -> None:
    """A process killed while writing, or a full disk, must not decide what is computed."""
    directory, (_, _, loss) = filled
    files = sorted(directory.rglob("*.nbc"))
    files[0].write_bytes(files[0].read_bytes()[:100])
    files[1].write_bytes(b"")
    content = bytearray(files[2].read_bytes())
    content[len(content) // 2] ^= 1
    files[2].write_bytes(bytes(content))
    for file, payload in zip(files[3:], ALIEN, strict=False):
        file.write_bytes(hashlib.sha256(payload).digest() + payload)
    again = run(directory)
    assert 1 <= again[0] <= 7
    assert again[2] == loss
    assert run(directory)[0] == 0
    assert not list(directory.rglob("*.partial"))


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    """A file stands where the directory should be."""
    place = tmp_path / "taken"
    place.write_text("")
    compiled, loaded, total = run(place, program=ONE_OP)
    assert compiled > 0 and loaded == 0
    assert total == pytest.approx(3 * math.e, rel=1e-6)


def test_a_first_run_says_what_it_compiles_where_it_is_asked_to(tmp_path: Path) -> None:
    environment = {
        **os.environ, "MINDTORCH_CACHE_DIR": str(tmp_path), "MINDTORCH_COMPILE_MESSAGES": "1"
    }  # fmt: skip
    command = [sys.executable, "-c", ONE_OP]
    first, second = (
        subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        for _ in range(2)
    )
    assert "mindtorch: compiling pictures, once for this machine; " in first.stderr
    assert not second.stderr  # all is there


def test_messages_begin_after_two_seconds_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Half a minute of silence looks like a hang; output that goes to a file stays as it was."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def said(stream: io.StringIO, seconds: float, asked: str | None) -> str:
        if asked is None:
            monkeypatch.delenv("MINDTORCH_COMPILE_MESSAGES", raising=False)
        else:
            monkeypatch.setenv("MINDTORCH_COMPILE_MESSAGES", asked)
        monkeypatch.setattr(sys, "stderr", stream)
        message = Message()
        message.seconds, message.done = seconds, 7
        message.begin("outer")
        message.begin("inner")
        message.end()
        message.end()
        assert message.done == 9
        return stream.getvalue()

    late = "mindtorch: compiling inner, once for this machine; 7 kernels before it took 3 s"
    assert said(Terminal(), 0.0, None) == said(io.StringIO(), 3.0, None) == ""
    assert late in said(Terminal(), 3.0, None)
    assert said(Terminal(), 3.0, None).endswith("\r\x1b[K")
    assert said(Terminal(), 3.0, "0") == ""
    assert said(io.StringIO(), 3.0, "1").splitlines()[1] == late


def test_a_kernels_name_depends_on_what_it_calls_in_modules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A mended helper must not be hidden by kernels that were compiled with the old one."""
    from mindtorch.kernels.cpu.scalar_math import float32_math as mathematics
    from mindtorch.kernels.cpu.scalar_math import float64_math

    before = compiling.digest(mathematics._fmod32)
    monkeypatch.setattr(float64_math, "fmod_short", float64_math.atan2_short)
    assert compiling.digest(mathematics._fmod32) != before


def test_a_kernels_name_depends_on_tables_of_functions_and_their_order() -> None:
    table = {"one": lambda x: x + 1, "two": lambda x: x + 2}

    def chosen(x: int) -> Any:
        return [each(x) for each in table.values()]

    first = compiling.digest(chosen)
    assert compiling.digest(chosen) == first
    table["one"] = lambda x: x - 1
    second = compiling.digest(chosen)
    table["one"] = table.pop("one")
    assert len({first, second, compiling.digest(chosen)}) == 3


SHIFTS = """
import json, os, sys
from mindtorch.kernels.codegen.jit import kernel, statistics

def shifted(by):
    @kernel
    def shift(x):
        return x + by
    return shift

def found(amounts):
    results = []
    for by in amounts:
        compiled = shifted(by).dispatcher
        value = compiled(0.0)
        described = next(iter(compiled.overloads.values())).fndesc
        results.append([value, described.mangled_name, described.env_name])
    return results

amounts = [float(each) for each in sys.argv[2:]]
reading, writing = os.pipe()
child = os.fork()
if not child:
    os.write(writing, json.dumps(found(amounts[:int(sys.argv[1])])).encode())
    os._exit(0)
os.waitpid(child, 0)
results = json.loads(os.read(reading, 10000)) + found(amounts[int(sys.argv[1]):])
json.dump([statistics.loaded, results], sys.stdout)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="two of the processes are forked children")
def test_no_two_processes_name_functions_alike(tmp_path: Path) -> None:
    """A process may load machine code that several have compiled, each as the first one."""
    _, first = run(tmp_path, 0, SHIFTS, "1", "1", "2")
    _, second = run(tmp_path, 0, SHIFTS, "1", "3", "4")
    symbols = [name for _, *names in first + second for name in names]
    assert len(set(symbols)) == len(symbols) == 8
    loaded, together = run(tmp_path, 0, SHIFTS, "0", "1", "2", "3", "4")
    assert loaded == 4
    assert together == first + second


def test_a_signal_waits_until_a_kernel_is_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """numba lost one that came while it was handed the machine code, and its kernel with it."""
    monkeypatch.setattr(compiling, "_directories", (tmp_path,))  # where an earlier run left none
    given = Library._set_compiled_object

    def interrupted(*args: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return given(*args)

    @kernel
    def more(x: float) -> float:
        return x + 1.5

    handler = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Library, "_set_compiled_object", interrupted)
        more(np.float32(1))
    assert signal.getsignal(signal.SIGINT) is handler
    assert more(np.float32(1)) == 2.5


def test_a_signal_while_handlers_are_exchanged_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*args: Any) -> None:
        raise TimeoutError("the program's own")

    before = {n: signal.getsignal(n) for n in signal.valid_signals()}
    given, last = signal.signal, max(n for n, each in before.items() if callable(each))

    def exchanged(number: int, handler: Any) -> Any:
        if number == last and handler is not before[last]:
            raises()
        return given(number, handler)

    with monkeypatch.context() as patched:
        patched.setattr(signal, "signal", exchanged)
        with pytest.raises(TimeoutError, match="own"), held():
            pass
    assert {n: signal.getsignal(n) for n in before} == before
    signal.signal(signal.SIGALRM, raises)
    try:
        with pytest.raises(TimeoutError, match="own"), held():
            signal.raise_signal(signal.SIGALRM)
            noted = True
        assert noted
    finally:
        signal.signal(signal.SIGALRM, before[signal.SIGALRM])


def test_a_signal_ends_waiting_for_another_process(tmp_path: Path) -> None:
    def raises(number: int, frame: Any) -> None:
        raise TimeoutError("the program's own")  # an OSError, as those of locks are

    before = signal.signal(signal.SIGALRM, raises)
    first = Claim(tmp_path / "kernel")
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(TimeoutError, match="own"), held():
            Claim(tmp_path / "kernel", wait=60, alone=True)
    finally:
        signal.signal(signal.SIGALRM, before)
        first.release()
    assert not Claim(tmp_path / "kernel", wait=0).refused


def test_kernels_with_closures_and_arithmetic_of_arrays() -> None:
    @kernel
    def made(a: Any, b: Any) -> Any:
        def more(x: float) -> float:
            return x + 1

        pairs = [more(x) for x in range(3)]
        return (a * b + a).sum() + np.array([2.0, 5.0])[1] + pairs[2]

    assert made(np.arange(3.0), np.ones(3)) == 14


def test_a_call_from_python_and_an_entry_point_share_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "_directories", (tmp_path,))

    def add_one(x: Any) -> None:
        x[:] += 1

    def count(x: Any) -> int:
        return int(x.size)

    array = np.zeros(3)
    for function, signature in ((add_one, "void(float64[::1])"), (count, "int64(float64[::1])")):
        kernel(function)(array)
        before = compiling.statistics.compiled
        compiling.entry_point(kernel(function), signature)(array)
        assert compiling.statistics.compiled - before == (function is count)
    assert array.tolist() == [2, 2, 2]
