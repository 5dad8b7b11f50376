"""What LLVM is told of the processor that kernels are compiled for."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import llvmlite.binding
from numba.core import config

from ..support.processors import PROCESSORS, V4, named, standing_for

# a kernel that calls such instructions by name is compiled with them
_BY_NAME = {
    "llvm.x86.avx512.vpdp": "avx512vnni",
    "llvm.x86.ldtilecfg": "amx-tile", "llvm.x86.tile": "amx-tile",
    "llvm.x86.tdpbf16ps": "amx-bf16", "llvm.x86.avx512bf16": "avx512bf16",
}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """A processor.

    Attributes:
        name: LLVM's name.
        features: what it has (``+fma``) and has not (``-avx512f``), joined by commas.
    """

    name: str
    features: str


@functools.cache
def _host() -> dict[str, bool]:
    try:
        return dict(llvmlite.binding.get_host_cpu_features())
    except RuntimeError:
        return {}


@functools.cache
def features() -> dict[str, bool]:
    """The instructions that loops may be written for, by LLVM's names: what this processor has, and
    the one that ``MINDTORCH_PROCESSOR`` names."""
    given = named()
    if given is None:
        return _host()
    level = PROCESSORS[given][1]
    more = {"avx512vnni" if level == V4 else "avxvnni"}
    return {name: has and name in level | more for name, has in _host().items()}


def extensions() -> dict[str, bool]:
    """The same, for instructions that are called by name: none where numba is told to compile for
    another processor, which may lack them."""
    return {} if config.CPU_NAME or config.CPU_FEATURES is not None else features()


def target() -> Target:
    """The processor that kernels are compiled for."""
    host, given = _host(), config.CPU_FEATURES
    if config.CPU_NAME or given is not None:  # NUMBA_CPU_NAME, NUMBA_CPU_FEATURES
        name = config.CPU_NAME or llvmlite.binding.get_host_cpu_name()
        return Target(name, whole_vectors(_flattened(host) if given is None else given))
    usual = standing_for(host)
    if usual is None:
        return Target(llvmlite.binding.get_host_cpu_name(), whole_vectors(_flattened(host)))
    level = PROCESSORS[usual][1]
    return Target(usual, whole_vectors(_flattened({name: name in level for name in host})))


def _flattened(host: dict[str, bool]) -> str:
    return ",".join(f"{'+' if has else '-'}{name}" for name, has in sorted(host.items()))


def whole_vectors(features: str) -> str:
    """The features of a processor, loops being given vectors as wide as its registers: LLVM takes
    half of these on Intel's processors with AVX-512, where other code may run slower beside wide
    ones. Kernels have wide ones anyway, in the tiles of their products. ``+prefer-256-bit`` in
    ``NUMBA_CPU_FEATURES`` leaves the choice to LLVM."""
    given = features.split(",")
    wide = "+avx512vl" in given and "+prefer-256-bit" not in given
    return f"{features},-prefer-256-bit" if wide else features


def machine(code: Any, module: Any = None) -> Any:
    """LLVM's machine for kernels, with the instructions that ``module`` asks for by name.

    Args:
        code: numba's code generator, which knows how machine code is to be loaded.
    """
    called = [each.name for each in module.functions if each.is_declaration] if module else []
    asked = {_BY_NAME[name] for name in _BY_NAME if any(each.startswith(name) for each in called)}
    return _machine(code, target(), frozenset(asked))


@functools.cache
def _machine(code: Any, processor: Target, asked: frozenset[str]) -> Any:
    if "avx512vnni" in asked and "+avx512vl" not in processor.features.split(","):
        asked = asked - {"avx512vnni"} | {"avxvnni"}
    options: dict[str, Any] = {"opt": config.OPT}
    code._customize_tm_options(options)
    options["cpu"] = processor.name
    options["features"] = ",".join([processor.features, *(f"+{each}" for each in sorted(asked))])
    return llvmlite.binding.Target.from_triple(
        llvmlite.binding.get_process_triple()
    ).create_target_machine(**options)
