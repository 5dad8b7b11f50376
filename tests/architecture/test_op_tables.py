"""Facts stand where their subject is declared: no table of names elsewhere repeats them.

Tables keyed by ops and public functions are counted (`budget.json`). Those of kernels keyed by
scalar functions are refused here: what loops know of one is a decorator above it.
"""

from __future__ import annotations

from pathlib import Path

from mindtorch.kernels.codegen.typed_scalar import definitions
from tests.architecture.patterns import tables_by_name


def test_kernels_keep_no_table_of_scalar_functions() -> None:
    assert not tables_by_name(frozenset(definitions()), parts=("kernels",))


def test_such_a_table_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "kernels" / "cpu"
    folder.mkdir(parents=True)
    table = '_LIGHT = frozenset("add multiply relu where square".split())'
    (folder / "loops.py").write_text(table)
    found = tables_by_name(frozenset(definitions()), tmp_path, ("kernels",))
    assert [line.partition(" ")[2] for line in found] == ["_LIGHT (5 names)"]
