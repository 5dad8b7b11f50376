"""The import leaves Python's collector of cycles as it found it."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from mindtorch.kernels.support.gc_pause import gc_paused


def test_what_is_made_meanwhile_is_walked_over_in_the_last_generation_only() -> None:
    code = """
import gc
from mindtorch.kernels.support.gc_pause import gc_paused
gc.collect()
with gc_paused():
    assert not gc.isenabled()
    made = [[] for _ in range(100)]
    made.append(made)
assert gc.isenabled()
last = {id(each) for each in gc.get_objects(generation=2)}
assert {id(made), *map(id, made)} <= last
del made, last
assert gc.collect() >= 1  # garbage among it is found as ever
"""
    subprocess.run([sys.executable, "-c", code], check=True)  # here the tests freeze objects


def test_an_error_inside_turns_the_collector_on_again() -> None:
    with pytest.raises(ImportError), gc_paused():
        raise ImportError
    assert gc.isenabled()


@pytest.mark.parametrize("before", ["gc.disable()", "gc.freeze()", "pass"])
def test_an_import_changes_no_setting(before: str) -> None:
    """Where a program has frozen objects, none is added to them and none taken."""
    look = "print(gc.isenabled(), gc.get_freeze_count() > 0, gc.get_threshold())"
    code = f"import gc; {before}; {look}; import mindtorch.torch; {look}"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    first, second = result.stdout.splitlines()
    assert first == second
