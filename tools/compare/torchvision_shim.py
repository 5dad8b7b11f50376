"""Let torchvision be imported beside a PyTorch for which its compiled operators were not built.

torchvision registers shape rules for operators that its C++ library declares. Where that library
does not load (a CUDA build beside a CPU torch) real torch raises `operator torchvision::nms does
not exist` and the whole package fails, although its models, transforms and data sets need none of
them. Declaring the names is enough; calling such an operator still fails, with torch's message.
"""

import importlib
import importlib.machinery
import re
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["declare_before_import"]

# The libraries that declare operators live as long as the process, as torchvision's own would.
_libraries: list[Any] = []


def _loads(torch: Any, folder: Path) -> bool:
    """Whether torchvision's compiled operators can be had from torch."""
    libraries = sorted(folder.glob("_C*.so"))
    try:
        for library in libraries:
            torch.ops.load_library(str(library))
    except (ImportError, OSError):
        return False
    return bool(libraries)


def _schema(name: str, parameters: str) -> str:
    """A schema with the number of arguments that a shape rule has."""
    kinds = ["float" if "threshold" in part else "Tensor" for part in parameters.split(",")]
    names = [part.partition(":")[0].partition("=")[0].strip() for part in parameters.split(",")]
    signature = ", ".join(f"{kind} {each}" for kind, each in zip(kinds, names, strict=True))
    return f"{name}({signature}) -> Tensor"


def _declare(folder: Path) -> None:
    torch = importlib.import_module("torch")
    if _loads(torch, folder):
        return
    rules = folder / "_meta_registrations.py"
    pattern = r'register_fake\("torchvision::(\w+)"\)\s*def \w+\(([^)]*)\)'
    library = torch.library.Library("torchvision", "DEF")
    for name, parameters in re.findall(pattern, rules.read_text() if rules.exists() else ""):
        library.define(_schema(name, parameters))
    _libraries.append(library)


class _Declarer(MetaPathFinder):
    """Sees the first import of torchvision, declares what it misses, and leaves."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname == "torchvision":
            sys.meta_path.remove(self)
            spec = importlib.machinery.PathFinder.find_spec(fullname, path)
            for folder in (spec and spec.submodule_search_locations) or []:
                _declare(Path(folder))
        return None


def declare_before_import() -> None:
    """Declare torchvision's operators to real torch when torchvision is imported, not earlier."""
    if "torchvision" not in sys.modules:
        sys.meta_path.insert(0, _Declarer())
