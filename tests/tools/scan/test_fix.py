"""`mindtorch scan --fix`: a patch of the import line and of training loops, and of nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest

from mindtorch import module_hooker
from mindtorch.module_hooker import torch_disable, torch_pop
from mindtorch.tools import cli
from mindtorch.tools.scan.fix import fix_source, patch_of

LINE = "from mindtorch.tools import mstorch_enable  # noqa: F401\n"


def fixed(source: str, loops: bool = False) -> tuple[str, list[str]]:
    text = textwrap.dedent(source).lstrip("\n")
    fix = fix_source(Path("train.py"), text.encode(), loops)
    return fix.after.decode(), fix.told


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch\n", LINE + "import torch\n"),
        ('"""Doc."""\n\nimport torch\n', '"""Doc."""\n\n' + LINE + "import torch\n"),
        (
            "from __future__ import annotations\n\nimport os\nimport torch\n",
            "from __future__ import annotations\n\n" + LINE + "import os\nimport torch\n",
        ),
        ("# licence\n\nimport torch\n", "# licence\n\n" + LINE + "import torch\n"),
        ("x = 1\n\n# why\nimport torch\n", "x = 1\n\n" + LINE + "# why\nimport torch\n"),
        (
            "try:\n    import torch\nexcept ImportError:\n    torch = None\n",
            LINE + "try:\n    import torch\nexcept ImportError:\n    torch = None\n",
        ),
        ("x = 1\n", "x = 1\n"),
        (LINE + "import torch\n", LINE + "import torch\n"),
        (
            "from mindtorch.tools import mstorch_enable\nimport torch\n",
            "from mindtorch.tools import mstorch_enable\nimport torch\n",
        ),
        ("import torch\nx = 1", LINE + "import torch\nx = 1"),
        ("import torch\r\nx = 1\r\n", LINE.replace("\n", "\r\n") + "import torch\r\nx = 1\r\n"),
    ],
)
def test_the_line_comes_before_the_first_import(before: str, after: str) -> None:
    """Once, after `__future__`, and every other byte stays."""
    assert fix_source(Path("x.py"), before.encode(), False).after == after.encode()


LOOP = '''
import torch


def train(model, loader, optimizer, loss_fn):
    losses = []
    for i, (x, y) in enumerate(loader):  # batches
        x = x * 2
        optimizer.zero_grad()
        # forward
        out = model(x)  # logits
        loss = loss_fn(out, y)
        # backward
        loss.backward()
        optimizer.step()
        losses.append(loss.item() + 0 * out.sum().item() + i)
    return losses
'''

REWRITTEN = '''
from mindtorch.tools import mstorch_enable  # noqa: F401
from mindtorch import value_and_grad
import torch


def train(model, loader, optimizer, loss_fn):
    losses = []
    def forward_fn(x, y):
        x = x * 2
        # forward
        out = model(x)  # logits
        loss = loss_fn(out, y)
        return loss, out
    grad_fn = value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)
    for i, (x, y) in enumerate(loader):  # batches
        # backward
        (loss, out), grads = grad_fn(x, y)
        optimizer.step(grads)
        losses.append(loss.item() + 0 * out.sum().item() + i)
    return losses
'''


def test_a_training_loop_becomes_value_and_grad() -> None:
    """What is used afterwards is returned, comments stay."""
    assert fixed(LOOP, loops=True) == (REWRITTEN.lstrip("\n"), [])
    assert "value_and_grad" not in fixed(LOOP)[0]


def run(source: str) -> Any:
    """The losses of `train` on a small model."""
    before = len(module_hooker._stack)
    torch_disable()
    try:
        names: dict[str, Any] = {}
        exec(source, names)
        torch = names["torch"]
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(), torch.nn.Tanh())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        loader = [(torch.randn(5, 3), torch.randn(5, 4)) for _ in range(4)]
        return names["train"](model, loader, optimizer, torch.nn.functional.mse_loss)
    finally:
        while len(module_hooker._stack) > before:  # the source may have switched as well
            torch_pop()


def test_the_rewritten_loop_computes_the_same() -> None:
    """Bit for bit, dropout included."""
    assert run(fixed(LOOP, loops=True)[0]) == run(LOOP)


def test_two_loops_have_two_functions() -> None:
    """And a name of the user's is not taken."""
    body = "    for x in {}:\n        o.zero_grad()\n        l = m(x)\n        l.backward()\n" \
           "        o.step()\n"  # fmt: skip
    source = "import torch\ndef f(a, b, m, o):\n    grad_fn = 1\n" + body.format("a") + body.format(
        "b"
    )
    text, told = fixed(source, loops=True)
    assert told == []
    compile(text, "x", "exec")
    assert text.count("grad_fn_1 = value_and_grad(forward_fn, ") == 1
    assert text.count("grad_fn_2 = value_and_grad(forward_fn_2, ") == 1


BODY = """
import torch
for x, y in loader:
    optimizer.zero_grad()
    loss = loss_fn(model(x), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("loss.backward()", "loss.backward(retain_graph=True)", "has arguments"),
        ("    optimizer.step()", "    clip()\n    optimizer.step()", "not followed by"),
        ("    optimizer.step()", "    if x:\n        optimizer.step()", "not followed by"),
        ("optimizer.step()", "optimizer.step(closure)", "not followed by"),
        ("    optimizer.zero_grad()\n", "", "gradients may be summed up"),
        ("loss.backward()", "loss.backward()\n    loss.backward()", "more than one"),
        ("optimizer.step()", "optimizer.step()\n    print(w.grad)", "looks at .grad"),
        ("loss = loss_fn", "with c:\n        loss = loss_fn", "is not assigned right before"),
        ("loss = loss_fn", "self.a = loss = loss_fn", "sets attributes"),
        ("loss_fn(model(x), y)", "loss_fn((z := model(x)), y)", "assigns in an expression"),
    ],
)
def test_a_loop_that_might_mean_something_else_is_left(old: str, new: str, why: str) -> None:
    """And told, with its line."""
    text, told = fixed(BODY.replace(old, new), loops=True)
    assert "value_and_grad" not in text
    assert len(told) == 1 and why in told[0] and told[0].startswith("line 2: ")


def test_only_files_that_are_run_are_fixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Printed first; with --apply the files change, their mode stays; git takes the text."""
    monkeypatch.chdir(tmp_path)
    main = "import torch\nif __name__ == '__main__':\n    print(torch)"
    (tmp_path / "train.py").write_text(main)
    (tmp_path / "train.py").chmod(0o750)
    (tmp_path / "model.py").write_text("import torch\n")
    assert cli.main(["scan", "--fix", "."]) == 0
    patch = capsys.readouterr().out
    assert patch.count("+++") == 1 and "+++ b/train.py" in patch
    assert (tmp_path / "train.py").read_text() == main
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "train.py", tmp_path / "copy")
    subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd="copy", check=True)
    assert (tmp_path / "copy" / "train.py").read_text() == LINE + main
    shutil.rmtree(tmp_path / "copy")
    assert cli.main(["scan", "--fix", "--apply", "."]) == 0
    capsys.readouterr()
    assert (tmp_path / "train.py").read_text() == LINE + main
    assert (tmp_path / "train.py").stat().st_mode & 0o777 == 0o750
    assert sorted(os.listdir(tmp_path)) == ["model.py", "train.py"]
    assert cli.main(["scan", "--fix", "--apply", "."]) == 0
    assert capsys.readouterr().out == ""


def test_a_file_without_a_last_newline_has_a_valid_patch() -> None:
    """diff's own mark."""
    fix = fix_source(Path("x.py"), b"import torch", False)
    assert patch_of(fix).endswith("import torch\n\\ No newline at end of file\n")


@pytest.mark.parametrize("options", [["--loops"], ["--apply"]])
def test_flags_of_fix_alone_are_refused(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """They would do nothing."""
    assert cli.main(["scan", *options, "."]) == 2
    assert "go with --fix" in capsys.readouterr().err


def test_a_broken_file_is_told_and_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, and no patch of it."""
    (tmp_path / "bad.py").write_bytes(b"import torch\ndef (\n__name__ __main__")
    assert cli.main(["scan", "--fix", "--apply", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and "bad.py: is no Python" in captured.err
