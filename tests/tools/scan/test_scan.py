"""`mindtorch scan`: names are found through every way of importing them, judged by the real
namespaces, and bad input has a clear outcome."""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path

import pytest

from mindtorch.known_gaps import GAPS
from mindtorch.tools import cli
from mindtorch.tools.scan.notes import NOTES, REFUSED_METHODS
from mindtorch.tools.scan.scanning import Finding, scan, scan_source
from tests.support.paths import ROOT


def found(source: str) -> list[tuple[str, str, int]]:
    """(name, status, line) of each use in a text, imports left out."""
    findings = scan_source(textwrap.dedent(source).lstrip("\n"))
    return [
        (f.verdict.name, f.verdict.status, f.use.line) for f in findings if f.use.kind != "import"
    ]


def missing(source: str) -> list[str]:
    return [name for name, status, _ in found(source) if status == "missing"]


def only(source: str, name: str) -> Finding:
    """The last finding of a name that is no import."""
    findings = scan_source(textwrap.dedent(source))
    return [f for f in findings if f.verdict.name == name and f.use.kind != "import"][-1]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import torch\ntorch.nope()", "torch.nope"),
        ("import torch as T\nT.nope()", "torch.nope"),
        ("from torch import nn\nnn.Nope()", "torch.nn.Nope"),
        ("import torch.nn as n\nn.Nope()", "torch.nn.Nope"),
        ("import torch.nn.functional as F\nF.nope()", "torch.nn.functional.nope"),
        ("import torch.nn\ntorch.nn.nope()", "torch.nn.nope"),
        ("import torch\nF = torch.nn.functional\nF.nope()", "torch.nn.functional.nope"),
        ("import torch\na, F = 1, torch.nn.functional\nF.nope()", "torch.nn.functional.nope"),
        ("import torch\nif (F := torch.fft):\n    F.nope()", "torch.fft.nope"),
        ("from torch.nn import *\nclass A(Module):\n    x = Linear.nope", "torch.nn.Linear.nope"),
        ("def f():\n    import torch\n    def g():\n        return torch.nope", "torch.nope"),
        ("def f():\n    return torch.nope\nimport torch", "torch.nope"),
        ("import mindtorch.torch as torch\ntorch.nope", "torch.nope"),
        ("from mindtorch import torch\ntorch.nope", "torch.nope"),
        ("import torch\nf = lambda x: torch.nope(x)", "torch.nope"),
        ("import torch\n[torch.nope(x) for x in y]", "torch.nope"),
        ("import torch\n@torch.nope\ndef f(): pass", "torch.nope"),
        ("import torch\ndef f(x: torch.nope): pass", "torch.nope"),
        ("import mindspore as ms\nms.nope", "mindspore.nope"),
        ("from mindspore import nn\nnn.Nope()", "mindspore.nn.Nope"),
        ("import torch\nf = getattr(torch, 'nope')", "torch.nope"),
        ("import torch\nF = getattr(torch, 'fft')\nF.nope()", "torch.fft.nope"),
        ("import importlib\nF = importlib.import_module('torch.fft')\nF.nope", "torch.fft.nope"),
        ("import torch\nx = torch.zeros(3)\ny = (x + 1).t()\ny.to_mkldnn()",
         "torch.Tensor.to_mkldnn"),
        ("import torch\ndef f(x: torch.Tensor):\n    return x.to_mkldnn(x)",
         "torch.Tensor.to_mkldnn"),
        ("def f(x):\n    return x.to_mkldnn(x)", "torch.Tensor.to_mkldnn"),
    ],
)  # fmt: skip
def test_a_missing_name_is_found(source: str, name: str) -> None:
    """However it was imported, and whatever it is called in the file."""
    assert missing(source) == [name]


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ndef f(torch):\n    return torch.nope",
        "import torch\ndef f():\n    torch = g()\n    return torch.nope",
        "import torch\n[torch.nope for torch in x]",
        "import torch\nclass A:\n    torch = 1\n    x = torch.nope",
        "import torch\ngetattr(torch, name)",
        "from .torch import nn\nnn.nope",
        "from torch.nn import *\ndir().nope",
        "import torch\nx = torch.zeros(3)\nx.my_own_attribute",
        "import torch\nx = []\nif x:\n    x = torch.zeros(3)\nx.solve()",
        "import torch\nclass A:\n    def solve(self): pass\n    def f(self): self.solve()",
    ],
)
def test_what_is_no_name_of_torch_is_left_alone(source: str) -> None:
    """Names of the user's own, shadowed names, texts, and objects that may be anything."""
    assert missing(source) == []


def test_supported_names_have_lines() -> None:
    """A list of what is used, by line."""
    source = """
        import torch.nn.functional as F
        from torch import nn, Tensor

        class Net(nn.Module):
            def forward(self, x: Tensor):
                return F.relu(x).view(1, -1)
    """
    assert found(source) == [
        ("torch.nn.Module", "supported", 4),
        ("torch.Tensor", "supported", 5),
        ("torch.nn.functional.relu", "supported", 6),
        ("torch.Tensor.view", "supported", 6),
    ]


def test_branches_bind_either_name() -> None:
    """A fallback for an old version is no finding: one of the two works."""
    source = """
        try:
            from torch.nope import autocast
        except ImportError:
            from torch.amp import autocast
        autocast("cpu")
    """
    assert found(source) == [("torch.amp.autocast", "supported", 5)]


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    torch.nope()\nexcept AttributeError:\n    pass",
        "if hasattr(torch, 'nope'):\n    torch.nope()",
        "f = getattr(torch, 'nope', None)",
        "if torch.__version__ > '9':\n    torch.nope()",
        "x = torch.nope() if HAS_NOPE else None",
        "x = hasattr(torch, 'nope') and torch.nope()",
        "if hasattr(torch, 'nope'):\n    def f():\n        torch.nope()",
    ],
)
def test_a_program_that_asks_first_does_not_fail(source: str) -> None:
    """Guarded uses are listed and do not decide the exit status."""
    findings = [f for f in scan_source(f"import torch\n{source}") if f.verdict.status == "missing"]
    assert [f.failing for f in findings] == [False]


def test_a_handler_for_something_else_guards_nothing() -> None:
    """KeyError is not what a missing name raises."""
    source = "import torch\ntry:\n    torch.nope()\nexcept KeyError:\n    pass"
    assert only(source, "torch.nope").failing


def test_differences_depend_on_arguments() -> None:
    """An LSTM differs only where it projects; what is as in PyTorch is no difference at all."""
    source, name = "import torch\ntorch.nn.LSTM(2, 3{})", "torch.nn.LSTM"
    assert only(source.format(""), name).verdict.status == "supported"
    assert only(source.format(", proj_size=1"), name).verdict.status == "different"
    for same in ("torch.utils.data.DataLoader", "torch.cuda.is_available",
                 "torch.backends.cudnn.benchmark", "torch.nn.init.trunc_normal_"):  # fmt: skip
        source = f"import torch\n{same}(d, pin_memory=True)"
        assert only(source, same).verdict.status == "supported", same


def test_names_that_only_raise_are_missing_when_called() -> None:
    """A package may import and mention them; calling one is what fails."""
    source = "from torch.export import draft_export\nf = draft_export\ndraft_export(m)"
    statuses = [f.verdict.status for f in scan_source(source)]
    assert statuses == ["different", "different", "missing"]


def test_removed_names_say_what_to_use() -> None:
    """The old name's successor, and for a slip of the pen the nearest name."""
    assert "torch.linalg.eigh" in only("import torch\ntorch.symeig(x)", "torch.symeig").verdict[2]
    slip = only("import torch\ntorch.nn.Liner(1)", "torch.nn.Liner")
    assert slip.verdict.reason == "not in mindtorch; did you mean Linear?"


def test_setting_an_unknown_option_is_told() -> None:
    """It would be ignored in silence when it runs."""
    use = only("import torch\ntorch.backends.cudnn.nope = True", "torch.backends.cudnn.nope")
    assert (use.verdict.status, use.verdict.reason) == (
        "different", "can be set, and nothing reads it",
    )  # fmt: skip


def test_notes_quote_rows_that_exist() -> None:
    """A row of the table of gaps that was renamed or filled must leave the notes."""
    names = [gap.name for gap in GAPS]
    quoted = {n.text.removeprefix("gap:") for n in NOTES if n.text.startswith("gap:")}
    assert [q for q in quoted if not any(name.startswith(q) for name in names)] == []


def test_tensors_have_all_methods_of_pytorchs() -> None:
    """So a method that is not found is an attribute of the user's own."""
    import torch

    import mindtorch.torch as ours

    theirs = {name for name in dir(torch.Tensor) if not name.startswith("_")}
    assert theirs <= set(dir(ours.Tensor))
    for name in REFUSED_METHODS:
        with pytest.raises(NotImplementedError):
            getattr(ours.ones(2), name)()


def test_migrated_programs_use_only_what_there_is() -> None:
    """They run, so nothing in them may be called missing."""
    names = ("mindspore_style", "mindtorch_style", "min_gpt.py", "gat.py", "ppo.py", "maml.py")
    result = scan([ROOT / "migration_examples" / name for name in names])
    assert [f for f in result.findings if f.verdict.status in ("missing", "unknown")] == []
    assert result.status == 0 and result.files == 8


def write(folder: Path, **files: str | bytes) -> Path:
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / f"{name}.py").write_bytes(data)
    return folder


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"import torch\n\x00\x01", "is no Python: source code string cannot contain null bytes"),
        (b"def (", "is no Python: invalid syntax (line 1)"),
        (b"s = '\xff'", "is no Python: "),
        (b"x = " + b"(" * 5000 + b")" * 5000, "is no Python: too many nested parentheses"),
        (b"x = " + b"+".join([b"y"] * 20000), "is nested too deeply"),
        (b"#" * 2**20, "is larger than 0.5 MiB (1.0 MiB)"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    content: bytes, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest is scanned, and the exit status says that not all was."""
    write(tmp_path, bad=content, good="import torch\ntorch.zeros(1)")
    assert cli.main(["scan", str(tmp_path), "--max-size", "0.5", "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert told["not_read"][str(tmp_path / "bad.py")].startswith(reason)
    assert (told["files"], told["uses"]["all"]) == (1, 2)


def test_odd_files_and_links_in_circles_end(tmp_path: Path) -> None:
    """A pipe would wait for ever, a circle of links never end, a link lead nowhere."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path / "a")
    (tmp_path / "again").symlink_to(tmp_path / "a")
    (tmp_path / "nowhere.py").symlink_to("nothing")
    os.mkfifo(tmp_path / "pipe.py")
    write(tmp_path / "a", one="import torch\n")
    write(tmp_path / "a" / "b", two="")
    result = scan([tmp_path])
    assert (result.files, result.lines) == (2, 1)
    assert {Path(p).name: why for p, why in result.refused.items()} == {
        "nowhere.py": "No such file or directory", "pipe.py": "is no ordinary file",
    }  # fmt: skip


def test_a_folder_that_may_not_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a code base looks better than it is. (Root may read all: the refusal is staged.)"""
    write(tmp_path, one="")
    (tmp_path / "closed").mkdir()
    listing = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    monkeypatch.setattr(os, "scandir", refusing)
    result = scan([tmp_path])
    assert result.refused == {str(tmp_path / "closed"): "Permission denied"}
    assert result.status == 2


def test_declared_encodings_and_empty_files_are_read(tmp_path: Path) -> None:
    """A file may say that it is Latin-1."""
    text = "# -*- coding: latin-1 -*-\nimport torch\ns = 'é'\ntorch.nope(s)\n"
    write(tmp_path, latin=text.encode("latin-1"), empty="")
    result = scan([tmp_path])
    assert (result.files, result.refused) == (2, {})
    assert [f.use.line for f in result.findings if f.failing] == [4]


def test_virtual_environments_caches_and_excluded_names_are_left_out(tmp_path: Path) -> None:
    """A code base is what people wrote."""
    for name in ("env", ".hidden", "__pycache__", "old", "kept"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, code="import torch")
    (tmp_path / "env" / "pyvenv.cfg").touch()
    result = scan([tmp_path], exclude=["old"])
    assert {f.file for f in result.findings} == {str(tmp_path / "kept" / "code.py")}


def test_long_chains_of_methods_take_linear_time() -> None:
    """A chain of sixty calls must not double the work at each link: that would take years."""
    source = "import torch\nx = torch.zeros(1)" + ".abs()" * 60 + "\ny = z" + ".f()" * 60
    assert len(found(source)) == 61


def test_the_report_names_files_lines_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text for people, the same without a terminal."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, train="import torch\ntorch.symeig(x)\ntorch.relu(x)\ntorch.jit.script(f)\n")
    assert cli.main(["scan", "train.py"]) == 1
    assert capsys.readouterr().out == textwrap.dedent("""\
        not supported
          torch.symeig
              not in PyTorch 2.13 either; use torch.linalg.eigh
              train.py:2

        supported with a difference
          torch.jit.script
              is compiled from Python: no graph of TorchScript, and a file that torch does not read
              train.py:4

        1 files, 4 lines read
        supported: 3 of 4 names (75.0 %), 3 of 4 uses (75.0 %); 1 names with a difference
    """)


def test_a_path_that_is_not_there_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    """CI must notice a wrong path."""
    assert cli.main(["scan", "/nowhere/at/all"]) == 2
    assert "no such file or folder: /nowhere/at/all" in capsys.readouterr().err


def notebook(*cells: str | list[str], **metadata: object) -> bytes:
    code = [{"cell_type": "code", "source": cell} for cell in cells]
    text = {"cell_type": "markdown", "source": "torch.nope"}
    return json.dumps({"cells": [text, *code], "metadata": metadata, "nbformat": 4}).encode()


def test_notebooks_are_read_cell_by_cell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names live on from cell to cell, what IPython alone understands is skipped, and a place is a
    cell and a line in it."""
    monkeypatch.chdir(tmp_path)
    cells = (
        ["import torch\n", "%matplotlib inline"],
        "!pip install x\nfiles = !ls\nfor i in y:\n    %time f()\n    torch.nope()\ntorch.zeros?",
        "%%bash\nfor f in *; do torch.nope; done",
        "%%time\ntorch.nope(1)",
    )
    Path("a.ipynb").write_bytes(notebook(*cells))
    assert cli.main(["scan", "."]) == 1
    assert "a.ipynb cell 3:5; a.ipynb cell 5:2\n" in capsys.readouterr().out
    found = [(f.cell, f.use.line) for f in scan([Path()]).findings]
    assert found == [(2, 1), (3, 5), (5, 2)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "is no notebook of version 4"),
        (b"[1]", "is no notebook of version 4"),
        (b'{"cells": [{}]}', "is no notebook of version 4"),
        (notebook("def ("), "is no Python: invalid syntax (cell 2, line 1)"),
        (notebook("x <- 1", kernelspec={"language": "R"}), "is a notebook of R"),
    ],
)
def test_a_notebook_that_cannot_be_read_is_named(
    content: bytes, reason: str, tmp_path: Path
) -> None:
    """As a file that is no Python is."""
    path = tmp_path / "a.ipynb"
    path.write_bytes(content)
    result = scan([tmp_path])
    assert result.refused == {str(path): reason} and result.status == 2


def test_a_missing_name_is_not_told_to_be_kept() -> None:
    """What is said of the names of a module that are there is not said of those that are not."""
    names = ("torch.backends.cudnn.nope", "torch.cuda.nope", "torch.overrides.nope", "torch.uint9")
    for name in names:
        verdict = only(f"import torch\n{name}", name).verdict
        assert (verdict.status, verdict.reason) == ("missing", "not in mindtorch")


def test_a_name_stands_in_one_list_and_files_are_summed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name with two reasons stood twice; of many files nothing said which to look at."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.py").write_text(
        "import torch\ntorch.symeig(x)\ntorch.nn.LSTM(2, 3)\ntorch.nn.LSTM(2, 3, proj_size=1)\n"
        "torch.jit.script(f)\n"
    )
    (tmp_path / "better.py").write_text("import torch\ntorch.jit.script(f)\n")
    (tmp_path / "good.py").write_text("import torch\ntorch.relu(x)\n")
    assert cli.main(["scan", "."]) == 1
    whole = capsys.readouterr().out
    for name in ("torch.symeig", "torch.nn.LSTM", "torch.jit.script"):
        assert whole.count(f"  {name}\n") == 1
    summary = """files
  bad.py: 1 not supported, 2 with a difference, of 4 names
  better.py: 1 with a difference, of 2 names
  1 other file: all names are supported
"""
    assert summary in whole
    assert cli.main(["scan", "--short", "."]) == 1
    short = capsys.readouterr().out
    assert short.startswith(summary) and "symeig" not in short and "3 files, " in short
