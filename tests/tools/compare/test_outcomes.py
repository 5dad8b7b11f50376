"""`mindtorch compare` on scripts that do not do what a comparison hopes for: what is said, and the
exit status. Whole commands are exhaustive (each starts two to four processes); what can be seen
without processes is tested in this one."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindtorch.tools.cli import main
from mindtorch.tools.compare.module_source import attributes_of, describe
from mindtorch.tools.compare.record_format import (
    ARRAYS,
    ArrayReader,
    ArrayWriter,
    RecordNotWrittenError,
)
from mindtorch.tools.compare.repro_writer import PROGRAM, quoted
from mindtorch.tools.compare.run_frameworks import RunFailedError, ending_of, run_process
from tests.support.compare_in_process import compared
from tests.support.compare_programs import PROGRAMS

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the comparison is with real torch"
)
BASE = """
import os, signal, sys, time
import torch
from torch import nn
second = os.environ["MINDTORCH_COMPARE_RUN"] == "candidate"
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
for step in range(4):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    if step == 2:
        FAULT
"""


@needs_torch
def test_a_dropout_of_a_transposed_tensor_agrees(tmp_path: Path) -> None:
    """Random numbers are drawn in the order of memory, so the second look must lay its inputs out
    as they were; and it draws from the state of the first side, where the sides' own differ."""

    def program(torch: Any, fault: str, steps: int) -> None:
        class Net(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first = torch.nn.Linear(6, 6)
                self.drop = torch.nn.Dropout(0.4)
                self.last = torch.nn.Linear(6, 1)

            def forward(self, x: Any) -> Any:
                if fault:
                    x = x.clone()
                return self.last(self.drop(self.first(x).transpose(0, 1)))

        net, x = Net(), torch.randn(5, 3, 6)
        net(x).square().sum().backward()

    outcome = compared(program, "one call more", tmp_path)
    assert outcome.real is not None and outcome.real.what == "call"
    row = next(row for row in outcome.detail.rows if row.label == "drop")
    assert row.cause == "" and outcome.detail.rerun_failures == []


@needs_torch
def test_packed_sequences_and_masks_are_watched(tmp_path: Path) -> None:
    """A named tuple whose class takes nothing but tensors; an argument that one side leaves out; a
    mask that PyTorch's encoder hands on in another form; a generator that each call moves on;
    and the gradient of the squares of a normalized layer, which is nothing but rounding."""

    def program(torch: Any, fault: str, steps: int) -> None:
        rnn = torch.nn.utils.rnn

        class Net(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.gru = torch.nn.GRU(3, 4, batch_first=True)
                self.attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)

            def forward(self, x: Any) -> Any:
                packed = rnn.pack_padded_sequence(x, torch.tensor([4, 2]), batch_first=True)
                y, _ = rnn.pad_packed_sequence(self.gru(packed)[0], batch_first=True)
                mask = torch.ones(4, 4, dtype=torch.bool).triu(1)
                return self.attention(y, y, y, attn_mask=None if fault else mask)[0]

        layer = torch.nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)
        encoder = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        given = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(7))
        padding = torch.tensor([[False] * 4, [False, False, True, True]])
        encoder(Net()(given), src_key_padding_mask=padding).square().sum().backward()

    assert compared(program, "", tmp_path / "same").status == 0
    outcome = compared(program, "no mask", tmp_path / "other")
    assert outcome.real is not None
    assert (outcome.real.phase, outcome.real.what) == ("forward", "arguments")
    assert (outcome.real.name, outcome.real.path) == ("attention", "Net")


@needs_torch
def test_a_run_with_fewer_steps_is_a_difference(tmp_path: Path) -> None:
    """Every step that both made agrees, and looking closer at one would not show it."""

    def program(torch: Any, fault: str, steps: int) -> None:
        layer = torch.nn.Linear(3, 1)
        optimizer = torch.optim.SGD(layer.parameters(), 0.1)
        for _ in range(steps - bool(fault)):
            layer(torch.ones(2, 3)).sum().backward()
            optimizer.step()

    outcome = compared(program, "fewer", tmp_path, frameworks="torch,torch", steps=3)
    assert (outcome.kind, outcome.status) == ("differ", 1)
    assert str(outcome.real) == "number of steps at step 3 (3 against 2)"


@needs_torch
def test_calls_that_a_record_does_not_hold_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of four calls are recorded: the verdict must not read as if all had been."""

    def program(torch: Any, side: str, fault: int) -> None:
        (torch.ones(2, requires_grad=True) * 2).exp().sum().backward()

    monkeypatch.setattr("mindtorch.tools.compare.recorder.MOST_EVENTS", 2)
    words = compared(program, "one call too many", tmp_path).words()
    assert "calls beyond what a record holds, not looked at by themselves: 2" in words


@needs_torch
def test_what_a_model_is_given_first_is_data(tmp_path: Path) -> None:
    """Made by something that was not recorded: the model is not at fault. (In this process indexing
    is not.)"""

    def program(torch: Any, fault: str, steps: int) -> None:
        rows = torch.ones(4, 3).cumsum(0)
        torch.nn.Linear(3, 1)(rows[1:3] if fault else rows[:2]).sum().backward()

    outcome = compared(program, "scaled", tmp_path, frameworks="torch,torch")
    assert outcome.real is not None and outcome.reproduction is None
    assert (outcome.real.phase, outcome.real.path, outcome.real.name) == ("data", "", "Linear")


@pytest.mark.exhaustive
@needs_torch
def test_the_program_that_shows_a_difference_shows_it_under_both(tmp_path: Path) -> None:
    """Dropout of a transposed tensor: each side's call gives again what that side had, from the
    random state and in the order of memory of the first."""

    def program(torch: Any, fault: str, steps: int) -> None:
        x = (torch.arange(6.0).reshape(3, 2) + 1).requires_grad_()
        torch.nn.Dropout(0.3 if fault else 0.6)(x.t()).sum().backward()

    outcome = compared(program, "another share", tmp_path)
    assert outcome.reproduction is not None and outcome.real is not None
    assert (outcome.real.name, outcome.real.what) == ("Dropout", "output")
    done = subprocess.run(
        [sys.executable, str(outcome.reproduction)], capture_output=True, text=True, cwd=tmp_path
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 4, done.stdout + done.stderr
    assert lines[0] == "torch output 0: 0.00e+00 from what torch had"
    assert float(lines[1].split()[3]) > 0.1 and float(lines[2].split()[3]) > 0.1
    assert lines[3] == "mindtorch output 0: 0.00e+00 from what mindtorch had"


def times(x: Any, factor: float) -> Any:
    """What the class below needs of this module."""
    return x * factor


@needs_torch
def test_the_program_sets_what_the_call_was_made_in(tmp_path: Path) -> None:
    """Under autocast, in a class of the script's own, with what that uses: the gradient differs by
    as much as the comparison says. Without autocast the product would have other bits."""

    def program(torch: Any, fault: str, steps: int) -> None:
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, y: Any) -> Any:
                ctx.save_for_backward(x, y)
                return torch.mm(x, y)

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                x, y = (each.to(gradient.dtype) for each in ctx.saved_tensors)
                return gradient @ y.T, times(x.T @ gradient, 1.5 if fault else 1.0)

        class Net(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight = torch.nn.Parameter(torch.randn(5, 3))

            def forward(self, x: Any) -> Any:
                return Product.apply(x, self.weight)

        Net()(torch.randn(4, 5)).float().square().sum().backward()

    outcome = compared(program, "gradient", tmp_path, "--amp")
    real = outcome.real
    assert outcome.reproduction is not None and real is not None, outcome.words()
    assert (real.phase, real.what, real.name) == ("backward", "backward pass", "Product in Net")
    done = subprocess.run(
        [sys.executable, str(outcome.reproduction)], capture_output=True, text=True, cwd=tmp_path
    )
    found = {}
    for line in done.stdout.splitlines():
        head, tail = line.split(": ")
        found[head, tail.split()[-2]] = float(tail.split()[0])
    assert done.returncode == 0 and len(found) == 8, done.stdout + done.stderr
    own = {(head, other): x for (head, other), x in found.items() if head.split()[0] == other}
    assert set(own.values()) == {0.0}
    across = found["mindtorch gradient of input_1", "torch"]
    assert across == pytest.approx(real.value, rel=0.01) and across > 0.1
    assert found["torch gradient of input_1", "mindtorch"] == across


@needs_torch
@pytest.mark.parametrize(
    "make",
    [
        "Conv2d(3, 8, 3, padding=1, padding_mode='reflect')",
        "RNN(2, 3, nonlinearity='relu')",
        "AvgPool2d(2, padding=1, count_include_pad=False)",
        "Upsample(scale_factor=2, mode='bilinear', align_corners=True)",
    ],
)
def test_the_program_makes_a_layer_again(make: str) -> None:
    """Also with what its repr does not tell, or tells without quotes."""
    torch = importlib.import_module("torch")
    layer = eval(f"torch.nn.{make}", {"torch": torch})
    again = eval(f"torch.nn.{quoted(describe(layer))}", {"torch": torch})
    names: dict[str, Any] = {}
    exec(PROGRAM[PROGRAM.index("def settle") : PROGRAM.index("def tensor")], names)
    names["settle"](again, layer.state_dict(), eval(attributes_of(layer)))
    known = {name: value for name, value in vars(layer).items() if name[0] != "_"}
    assert {name: vars(again)[name] for name in known} == known


@needs_torch
def test_a_layer_made_otherwise_is_told_where_rounding_hides_it(tmp_path: Path) -> None:
    """In bfloat16 an epsilon of a thousandth changes less than a rounding does."""
    outcome = compared(PROGRAMS["mlp"], "epsilon", tmp_path, "--amp", steps=1)
    assert outcome.kind == "differ" and outcome.real is not None, outcome.words()
    assert (outcome.real.phase, outcome.real.path) == ("forward", "norm")
    assert "eps=0.001" in outcome.real.note


def test_a_record_that_cannot_be_written_ends_the_run() -> None:
    """As no error of the script's, which it might handle."""
    writer = ArrayWriter(Path("/dev/full"), 2**20)
    with pytest.raises(RecordNotWrittenError, match="No space left"):
        writer.add(np.ones(30_000), "float64", store=True)
    with pytest.raises(OSError, match="No space left"):
        writer.close()
    assert not issubclass(RecordNotWrittenError, Exception)


def test_what_a_killed_side_wrote_can_be_read(tmp_path: Path) -> None:
    """All arrays that are there as a whole: of any shape and type, and half of the last one."""
    writer = ArrayWriter(tmp_path / ARRAYS, 2**20)
    given = [np.array(2.5), np.zeros((0, 3)), np.array([True, False]), np.ones(3, np.complex64)]
    seen = [writer.add(each, str(each.dtype), store=True) for each in given]
    assert np.array_equal(writer.read(seen[2]), given[2])
    seen.append(writer.add(np.arange(99.0), "float64", store=True))
    writer.flush()  # and nothing more
    os.truncate(tmp_path / ARRAYS, writer.size - 1)
    reader = ArrayReader(tmp_path)
    for each, found in zip(given, seen, strict=False):
        assert reader[found].dtype == each.dtype and np.array_equal(reader[found], each)
    assert seen[-1].digest not in reader.places
    reader.close()
    writer.close()


def test_a_process_that_takes_too_long_is_ended_with_what_it_started() -> None:
    """A child of its own holds the pipes open: without it waiting would never end."""
    sleep = "import subprocess, sys; subprocess.Popen(['sleep', '60']); print('begun', flush=True)"
    command = [sys.executable, "-c", sleep + "; sys.stdin.read(); import time; time.sleep(60)"]
    status, output, _ = run_process(command, 2.0)
    assert (status, output) == (None, "begun\n")
    assert ending_of(status, 2.0) == "not at its end after 2 s"
    assert run_process([sys.executable, "-c", sleep])[0] == 0
    assert ending_of(-9, None) == "killed by SIGKILL"


@pytest.mark.parametrize("command", [["compare"], ["certify"]])
def test_without_pytorch_it_says_what_to_install(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Not a traceback out of a process."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    script = tmp_path / "train.py"
    script.write_text("import torch")
    assert main([*command, str(script)]) == 2
    assert "real PyTorch is not installed; pip install" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("AssertionError: Torch not compiled with CUDA enabled", True),
        ('    assert torch.cuda.is_available(), "no device"', True),
        ("CUDA is not available, exiting", True),
        ("RuntimeError: This script requires a GPU.", True),
        ("Error: no GPU found", True),
        ("ValueError: GPU memory limit of 3 is not a number", False),
        ("TypeError: embed() missing 1 required positional argument", False),
    ],
)
def test_a_missing_gpu_is_recognized(said: str, wanted: bool) -> None:
    """By PyTorch's words, and by those of scripts that look for one themselves."""
    assert RunFailedError("torch", "exit status 1", [said]).needs_gpu is wanted


OUTCOMES = {
    "left": ("os._exit(0) if second else None", 1, "differ",
             "ended itself at once (os._exit) under mindtorch"),
    "killed": ("os.kill(os.getpid(), signal.SIGKILL if second else 0)", 2, "failed",
               "failed under mindtorch (killed by SIGKILL), after 3 steps"),
    "exits": ("sys.exit(3)", 2, "failed", "(exit status 3), after 3 steps"),
    "leaves": ("sys.exit(0)", 0, "agree", "agree"),
    "hangs": ("time.sleep(600)", 2, "failed", "not at its end after 25 s"),
    "diverges": ("if second: break", 1, "differ", "number of steps at step 4 (4 against 3)"),
    "needs a GPU": ("model.cuda()", 2, "failed", "it needs a GPU, and there is none here"),
    "asks": ("input('model? ')", 2, "failed", "it asks for input, and there is none"),
    "unstable": ("x += time.time_ns() % 997", 2, "unstable", "NOT DETERMINISTIC"),
    "syntax": ("for in", 2, "failed", "SyntaxError: invalid syntax"),
}  # fmt: skip


@pytest.mark.exhaustive
@needs_torch
@pytest.mark.parametrize("name", OUTCOMES)
def test_each_bad_script_has_its_outcome(name: str, tmp_path: Path) -> None:
    """The exit status, the verdict in JSON and words that say what happened."""
    fault, status, verdict, text = OUTCOMES[name]
    script, result = tmp_path / "script.py", tmp_path / "result.json"
    script.write_text(BASE.replace("FAULT", fault))
    limit = "25" if name == "hangs" else "300"  # a busy machine is slow, too
    command = [sys.executable, "-m", "mindtorch", "compare", "--threads", "1", "--timeout", limit]
    done = subprocess.run(
        [*command, "--json", str(result), str(script)], capture_output=True, text=True
    )
    words = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == status, words
    assert text in words
    assert json.loads(result.read_text())["verdict"] == verdict


@pytest.mark.exhaustive
@needs_torch
def test_a_package_is_compared_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-m package.train`, as Python runs it: with relative imports and its own arguments."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "net.py").write_text("from torch import nn\nmake = lambda n: nn.Linear(n, 1)\n")
    (package / "train.py").write_text(
        "import sys\nimport torch\nfrom .net import make\n"
        "make(int(sys.argv[1]))(torch.ones(2, 3)).sum().backward()\n"
    )
    monkeypatch.chdir(tmp_path)
    command = ["compare", "--frameworks", "torch,torch", "--threads", "1", "-m", "package.train"]
    assert main([*command, "3"]) == 0


@pytest.mark.exhaustive
@needs_torch
def test_a_step_that_the_script_compiles_is_seen_op_by_op(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PyTorch's compiler would trace our wrappers, and what is compiled shows no layers."""
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "model = torch.nn.Linear(4, 2)\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "x = torch.randn(16, 4)\n"
        "@torch.compile\n"
        "def step():\n"
        "    optimizer.zero_grad()\n"
        "    model(x).square().mean().backward()\n"
        "    optimizer.step()\n"
        "for _ in range(3):\n"
        "    step()\n"
    )
    assert main(["compare", "--threads", "1", str(script)]) == 0
    assert "Linear" in capsys.readouterr().out
