"""Who may import whom, and what an import may cost."""

import ast
import re
import subprocess
import sys

import pytest

from tests.architecture.sources import (
    BY_NAME,
    REPOSITORY,
    Source,
    module_name,
    part_of,
    sources,
    statements,
)
from tests.architecture.sources import IMPORTED_AS as FOLDERS

# The layer of a file, and the layers it may import. "surface" is everything that users import.
MAY_IMPORT = {
    "kernels": {"kernels"},
    "engine": {"engine", "kernels"},
    "surface": {"surface", "engine", "kernels"},
    "tools": {"tools", "surface", "engine", "kernels"},
}
# The command line and the package itself are doors to the tools.
DOORS = {"mindtorch/__init__.py", "mindtorch/__main__.py"}


def below(*folders: str) -> list[Source]:
    """The sources of the folders."""
    found = [each for each in sources() if each.path.partition("/")[0] in folders]
    assert found
    return found


def read(path: str, text: str) -> Source:
    """A source that would lie at a path."""
    return Source(path, module_name(path), part_of(path) or "", text)


def layer(name: str) -> str | None:
    """The layer of an import name; None for other packages and for `mindtorch` itself."""
    first, _, rest = name.partition(".")
    if first != "mindtorch":
        return None
    second = rest.partition(".")[0]
    if second in ("", "*", "__version__"):
        return None
    return second if second in FOLDERS else "surface"


def wrong_way(source: Source) -> list[str]:
    """The imports of a source that go against the one direction."""
    here = layer(source.module) or "surface"
    allowed = set(MAY_IMPORT[here])
    if source.path in DOORS:
        allowed.add("tools")
    return [
        f"{source.path}:{line}: {here} imports {name}"
        for line, name in source.imported
        if (target := layer(name)) is not None and target not in allowed
    ]


@pytest.mark.parametrize("folder", ["mindtorch", "engine", "kernels", "tools"])
def test_imports_go_one_way(folder: str) -> None:
    """mindtorch -> engine -> kernels: a kernel that knows tensors could not be tested alone."""
    assert [line for source in below(folder) for line in wrong_way(source)] == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("kernels/cpu/a.py", "from mindtorch.engine import dispatch"),
        ("kernels/cpu/a.py", "def f():\n    import mindtorch.engine.dispatch"),
        ("kernels/cpu/a.py", "from mindtorch import tools"),
        ("kernels/a.py", "from ..engine import core"),
        ("kernels/cpu/a.py", "from ... import torch"),
        ("engine/dispatch.py", "from mindtorch import torch"),
        ("engine/dispatch.py", "import importlib\nimportlib.import_module('mindtorch.torch.nn')"),
        (
            "engine/ops/a.py",
            "from importlib import import_module as i\n__import__('mindtorch.tools')",
        ),
        ("mindtorch/torch/a.py", "from mindtorch.tools import compare"),
    ],
)
def test_an_import_against_the_direction_is_found(path: str, source: str) -> None:
    """The check above is only worth something if it sees every spelling."""
    assert len(wrong_way(read(path, source))) == 1


def past_the_engine(source: Source) -> list[str]:
    """The kernels that a source of the namespace calls itself."""
    helps = "mindtorch.kernels.support", "mindtorch.kernels.cpu.threads"
    return [
        f"{source.path}:{line}: {name}"
        for line, name in source.imported
        if name.startswith("mindtorch.kernels") and not name.startswith(helps)
    ]


def test_the_namespace_computes_by_ops() -> None:
    """A kernel called past the engine is in no graph, has no batching rule and no row among the
    gaps of devices. Files, errors, precision and the number of threads are no kernels."""
    for source in below("mindtorch"):
        assert past_the_engine(source) == []
    text = "def f():\n    from mindtorch.kernels.cpu import sort, threads"
    source = read("mindtorch/torch/a.py", text)
    assert past_the_engine(source) == ["mindtorch/torch/a.py:2: mindtorch.kernels.cpu.sort"]


@pytest.mark.parametrize("folder", ["mindtorch", "engine", "kernels"])
def test_the_library_never_imports_real_torch(folder: str) -> None:
    """PyTorch is a test oracle and the other side of `compare`, nothing we stand on."""
    foreign = [
        f"{source.path}:{line}"
        for source in below(folder)
        for line, name in source.imported
        if name.partition(".")[0] in ("torch", "torchvision", "functorch")
    ]
    assert foreign == []


# the sources that need to be parsed: an import statement or a call with one of the names
BARE = re.compile(
    r"""^\s*(?:import|from)\b.*(?<![.\w])(?:{0})\b|(?:{1})\(\s*f?["'](?:{0})\b""".format(
        "|".join(FOLDERS), "|".join(BY_NAME)
    ),
    re.MULTILINE,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f():\n    import os, engine.op", True), ("from tools import cli", True),
        ("import_module(\n    f'kernels.{name}')", True), ("import mindtorch.engine", False),
        ("from mindtorch import torch\nengine = tools", False),
    ],
)  # fmt: skip
def test_bare_names_are_seen_in_all_spellings(text: str, found: bool) -> None:
    assert bool(BARE.search(text)) == found
    bare = [name.partition(".")[0] in FOLDERS for _, name in read("tests/a.py", text).imported]
    assert any(bare) == found


@pytest.mark.parametrize(
    "folder",
    ["mindtorch", "engine", "kernels", "tools", "tests", "benchmarks", "migration_examples"],
)
def test_nobody_imports_a_folder_by_its_bare_name(folder: str) -> None:
    """`import engine` would load a second copy of every class under another name."""
    bare = [
        f"{source.path}:{line}"
        for source in below(folder)
        if BARE.search(source.text)
        for line, name in source.imported
        if name.partition(".")[0] in FOLDERS
    ]
    assert bare == []


@pytest.mark.parametrize("folder", ["engine", "kernels", "tools"])
def test_relative_imports_stay_within_their_folder(folder: str) -> None:
    """Across folders the import is absolute, so that a reader sees it leave."""
    leaving = []
    for source in below(folder):
        depth = source.package.count(".")
        for node, _ in statements(source.tree, True):
            if isinstance(node, ast.ImportFrom) and node.level > depth:
                leaving.append(f"{source.path}:{node.lineno}")
    assert leaving == []


def run_python(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a fresh interpreter in the top folder of the checkout."""
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("folder", sorted(FOLDERS))
def test_importing_a_folder_by_its_bare_name_fails(folder: str) -> None:
    """The guard says which name is meant."""
    result = run_python(f"import {folder}")
    assert result.returncode == 1
    assert f"ImportError: import mindtorch.{folder}, not the folder '{folder}'" in result.stderr


HEAVY = {"torch", "torchvision", "cupy", "jax", "onnx", "mpi4py"}


def modules_after_import(name: str) -> set[str]:
    """The modules that `import name` loads in a fresh interpreter."""
    result = run_python(f"import {name}, sys; print(*sys.modules)", "-W", "error")
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_importing_mindtorch_loads_nothing_heavy() -> None:
    """A command line that only prints its help must not wait for numba."""
    loaded = modules_after_import("mindtorch")
    assert loaded & (HEAVY | {"numba", "llvmlite", "scipy"}) == set()


def surface_packages() -> list[str]:
    """mindtorch and the packages below it, beside the kernels."""
    found = below("mindtorch", "engine", "tools")
    return sorted(each.package for each in found if each.path.endswith("__init__.py"))


def test_importing_all_packages_loads_neither_torch_nor_numba() -> None:
    """Real torch is never ours to load, and numba waits for the first kernel that is called."""
    loaded = modules_after_import(", ".join(surface_packages()))
    assert loaded & (HEAVY | {"numba", "llvmlite"}) == set()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", surface_packages())
def test_a_package_can_be_imported_first(name: str) -> None:
    """Whatever circle it is part of; names the package where the test above fails."""
    assert modules_after_import(name) & (HEAVY | {"numba", "llvmlite"}) == set()


def test_a_training_script_loads_no_compiler_before_it_compiles() -> None:
    """Modules, optimizers and loaders tell the compiler what changes without loading it."""
    loaded = "print('mindtorch.engine.compile.ir.ir' in sys.modules)"
    names = "mindtorch.torch.nn, mindtorch.torch.optim, mindtorch.torch.utils.data"
    assert run_python(f"import sys, {names}; {loaded}").stdout.strip() == "False"
    asked = "import sys, mindtorch.torch as torch; torch.compile(torch.relu); "
    assert run_python(asked + loaded).stdout.strip() == "True"
