"""What a `servable_config.py` declares, and how it is read."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["CONFIG_FILE", "Method", "Servable", "Stage", "current", "read"]

CONFIG_FILE = "servable_config.py"

# where a value comes from: (0, i) is the method's i-th input, (n, i) the i-th output of stage n
Source = tuple[int, int]


@dataclass
class Stage:
    """One step of a method.

    Attributes:
        target: a function or a `Model`.
        sources: where its arguments come from.
        outputs_count: how many values it gives for each instance.
        batch_size: None: the function takes the values of one instance; else a list of tuples, so
            many at most (0: as many as there are).
        tag: its name in errors.
    """

    target: Any
    sources: tuple[Source, ...]
    outputs_count: int
    batch_size: int | None = None
    tag: str = ""


@dataclass
class Method:
    """A method of a servable: its inputs, stages, and which values are its outputs."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    stages: list[Stage] = field(default_factory=list)
    returned: tuple[Source, ...] = ()


@dataclass
class Servable:
    """What one directory serves.

    Attributes:
        name: of the directory.
        directory: where the configuration lies; versions are folders in it.
        models: the declared models.
        methods: the methods, by name, in the order of their registration.
    """

    name: str
    directory: Path
    models: list[Any] = field(default_factory=list)
    methods: dict[str, Method] = field(default_factory=dict)


_being_read: list[Servable] = []


def current() -> Servable:
    """The servable whose configuration is being read.

    Raises:
        RuntimeError: none is.
    """
    if not _being_read:
        raise RuntimeError(
            "Failed to obtain the directory of servable_config.py: models and methods are declared "
            "in that file, which the server reads"
        )
    return _being_read[-1]


@contextmanager
def declaring(servable: Servable) -> Iterator[None]:
    """Declarations in the block belong to `servable`."""
    _being_read.append(servable)
    try:
        yield
    finally:
        _being_read.pop()


def read(
    servable_directory: Path, name: str, default: Callable[[Servable], None] | None = None
) -> Servable:
    """Run `servable_directory/name/servable_config.py`, and give back what it declares.

    Args:
        servable_directory: the folder that holds servables.
        name: the servable's folder in it.
        default: declares something where there is no such file.

    Raises:
        RuntimeError: no such folder or file, or nothing is registered.
    """
    directory = servable_directory / name
    servable = Servable(name, directory)
    file = directory / CONFIG_FILE
    with declaring(servable):
        if file.is_file():
            _run(file)
        elif default is not None and directory.is_dir():
            default(servable)
        else:
            raise RuntimeError(f"servable '{name}': there is no {CONFIG_FILE} in {directory}")
    if not servable.methods:
        raise RuntimeError(f"There is no method registered for servable '{name}' in {file}")
    return servable


def _run(file: Path) -> None:
    sys.path.insert(0, str(file.parent))  # what lies beside can be imported
    spec = importlib.util.spec_from_file_location("servable_config", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["servable_config"] = module
    spec.loader.exec_module(module)
