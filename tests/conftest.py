"""What every test module shares."""

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Examples are the same on every run of CI; a developer's runs look for new ones.
settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "developer")

# Graphs are verified after each pass, in processes that tests start, too.
os.environ.setdefault("MINDTORCH_VERIFY", "1")

# Tests count what is compiled: kernels that a developer has installed would be found.
os.environ.setdefault("MINDTORCH_INSTALLED_KERNELS", "0")

# Workers share the processors: threads of OpenMP (PyTorch's) and of OpenBLAS that wait for work in
# a loop would take more than half of the time from those that have some. Read when they are loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # 2^4 cycles; 2^26 else

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background by a script
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """No search for garbage while a million objects are made that all stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.fixture(scope="session")
def repository() -> Path:
    """The top folder of the checkout."""
    return Path(__file__).resolve().parent.parent


# PyTorch's compiler wraps or adds these at its first call; they behave as before.
WRAPPED = {"Module.__init__", "Module.__setstate__", "Module.___needs_generation_tag_patch"}
# copyreg and who reads annotations leave these at a class
LEFT_BY_LOOKING = {"__slotnames__", "__annotations__"}
MODES = ("get_default_dtype", "is_grad_enabled", "are_deterministic_algorithms_enabled")


def _what_all_tests_share() -> dict[str, Any]:
    """The members of PyTorch's Tensor and modules, and the modes of both namespaces."""
    found: dict[str, Any] = {}
    for name in ("torch", "mindtorch.torch"):
        namespace = sys.modules.get(name)
        if hasattr(namespace, "nn"):
            found |= {f"{name}.{mode}": getattr(namespace, mode)() for mode in MODES}
    if "torch.get_default_dtype" in found:
        torch = sys.modules["torch"]
        kinds = [kind for kind in vars(torch.nn).values() if isinstance(kind, type)]
        for kind in (torch.Tensor, *kinds):
            parts = vars(kind).items()
            found |= {
                f"{kind.__qualname__}.{key}": id(part)
                for key, part in parts
                if key not in LEFT_BY_LOOKING
            }
    return found


@pytest.fixture(autouse=True, scope="module")
def _few_objects() -> None:
    """Neither the collector of cycles nor a capture sees the million objects of pytest, PyTorch
    and the files before this one: a capture looks at all it can see, for half a second else.
    What it is to find, a test makes itself, and not the file when it is imported."""
    gc.collect()
    gc.freeze()  # for each file anew: one leaves the syntax trees of all sources, another sympy


@pytest.fixture(autouse=True, scope="module")
def _torch_is_left_as_found() -> Iterator[None]:
    """A file of tests changes no class or mode that the files after it compare with."""
    before = _what_all_tests_share()
    yield
    if before:  # else this file has loaded the namespaces itself
        after = _what_all_tests_share()
        names = after.keys() & before.keys()
        if "torch.get_default_dtype" in before:  # else this file may have loaded it
            names |= {name for name in after if not name.startswith("mindtorch.")}
        changed = [name for name in names - WRAPPED if after[name] != before.get(name)]
        assert not changed, f"left changed: {sorted(changed)[:20]}"
