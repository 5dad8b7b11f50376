"""torch.jit.load of files that nobody trusts: nothing is executed, errors say what is wrong."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch as real

import mindtorch.torch as torch

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
HEAD = """class A(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
"""
FORWARD = """  def forward(self: __torch__.A, x: Tensor) -> Tensor:
"""
STATE = b"\x80\x02c__torch__\nA\n)\x81}(X\x08\x00\x00\x00training\x88ub."


def archive(code: str, data: bytes = STATE, constants: bytes = b"\x80\x02).") -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, content in (
            ("data.pkl", data), ("constants.pkl", constants), ("version", b"3"),
            ("code/__torch__.py", code.encode()),
        ):  # fmt: skip
            made.writestr(f"a/{name}", content)
    file.seek(0)
    return file


def with_body(*lines: str) -> str:
    return HEAD + FORWARD + "".join(f"    {line}\n" for line in lines)


def test_the_smallest_archive_runs() -> None:
    """What the others change."""
    code = with_body("return torch.add(x, 1)")
    assert torch.jit.load(archive(code))(torch.ones(2)).tolist() == [2, 2]
    assert real.jit.load(archive(code))(real.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.system('true')\n", "x = 1\n", "def f(*a): return a\n",
        "@decorated\ndef f(a: Tensor) -> Tensor:\n  return a\n",
        with_body("import os", "return x"), with_body("return (lambda: x)()"),
        with_body("return [y for y in x]"), with_body("return x if x else x"),
        with_body("global y", "return x"), with_body("return __import__('os')"),
        with_body("exec('1')", "return x") + "@", with_body("return x.__class__"),
        with_body("return torch.__class__"), with_body("return f'{x}'"),
        with_body("try:", "  return x", "except:", "  return x"), with_body("return b'1'"),
        with_body("return await x"), with_body("yield x"), with_body("return x + x"),
        with_body("return x == x"), with_body("while x:", "  pass", "else:", "  pass"),
        with_body("class B:", "  pass", "return x"), with_body("return " + "(" * 160 + ")" * 160),
        with_body("return " + "-" * 5000 + "1"), HEAD + "  for x in y:\n    pass\n",
        HEAD + "  w : Unknown[int]\n", HEAD + "  w : f(x)\n", with_body("return torch.f(*x)"),
        with_body("return torch.f(**x)"), with_body("return CONSTANTS.d"),
        with_body("[a, b] = x", "return x"), with_body("a = b = x", "return x"),
    ],
)  # fmt: skip
def test_code_of_other_forms_is_refused(code: str) -> None:
    """When it is loaded, or when it is reached where it is a form with an unknown name."""
    with pytest.raises(RuntimeError) as error:
        torch.jit.load(archive(code))(torch.ones(2))
    assert "torch.jit.load" in str(error.value) or "TorchScript" in str(error.value)


@pytest.mark.parametrize(
    "line,what",
    [
        ("return self._parameters", "has no attribute '_parameters'"),
        ("return self.__dict__", "has no attribute '__dict__'"),
        ("return self._script_class", "has no attribute '_script_class'"),
        ("return (x).numpy()", "has no method 'numpy'"),
        ("return (self).register_forward_hook(x)", "has no method"),
        ("self.other = x", "has no attribute 'other' to set"),
        ("return getattr(self, '__class__')", "has no attribute '__class__'"),
        ("return torch.from_file('/tmp/x', True, 4)", "operator aten::from_file"),
        ("return torch.load('x')", "operator aten::load"),
        ("return torch.save(x, 'x')", "operator aten::save"),
        ("return torch.numpy(x)", "operator aten::numpy"),
        ("return ops.os.system('true')", "operator ops.os.system"),
        ("return ops.prim.PythonOp(x)", "operator ops.prim.PythonOp"),
        ("return __torch__.missing(x)", "does not define __torch__.missing"),
        ("return CONSTANTS.c3", "no constant 3"),
        ("return y", "name 'y' is not defined"),
        ("return eval('1')", "name 'eval' is not defined"),
        ("a, b, = [x]", "has 1 elements, but expected 2"),
    ],
)
def test_what_is_not_the_programs_own_is_out_of_reach(line: str, what: str) -> None:
    """Attributes of Python objects, files, modules: a call fails with the name."""
    module = torch.jit.load(archive(with_body(line, "return x")))
    with pytest.raises(RuntimeError, match=what):
        module(torch.ones(2))


class Harmful:
    def __reduce__(self) -> Any:
        return os.mkdir, ("harm",)


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(Harmful(), 2), b"\x80\x02c__torch__\nB\n)\x81}b.", b"\x80\x02N.", b"", b"\x80",
        b"\x80\x02c__torch__\nA\n)R.", b"\x80\x02c__torch__\nA\n)\x81Nb.",
        b"\x80\x02ctorch.jit._pickle\nrestore_type_tag\n)R.", b"\x80\x02(l.", STATE[:-3],
    ],
)  # fmt: skip
def test_pickles_that_ask_for_more_are_refused(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is called but what TorchScript's pickles call."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises((RuntimeError, pickle.UnpicklingError, EOFError)):
        torch.jit.load(archive(with_body("return x"), data))
    with pytest.raises((RuntimeError, pickle.UnpicklingError, EOFError)):
        torch.jit.load(archive(with_body("return x"), STATE, data))(torch.ones(1)).nothing
    assert not (tmp_path / "harm").exists()


def test_every_cut_of_a_real_archive_is_an_error() -> None:
    """A file that was not copied whole: an error, whatever is missing."""
    file = io.BytesIO()
    real.jit.save(real.jit.script(real.nn.Linear(2, 2)), file)
    whole = file.getvalue()
    for end in range(0, len(whole) - 1, 97):
        with pytest.raises((RuntimeError, pickle.UnpicklingError, EOFError)):
            torch.jit.load(io.BytesIO(whole[:end]))


def test_other_files_are_refused_by_what_they_are(tmp_path: Path) -> None:
    """A state_dict, a folder, no file."""
    torch.save({"a": 1}, tmp_path / "other.pt")
    with pytest.raises(RuntimeError, match="was not written by"):
        torch.jit.load(tmp_path / "other.pt")
    with pytest.raises(ValueError, match="does not exist"):
        torch.jit.load(str(tmp_path / "none.pt"))
    with pytest.raises(ValueError, match="is a directory"):
        torch.jit.load(str(tmp_path))
