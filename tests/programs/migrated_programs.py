"""Runs programs of migration_examples one after another in this process, and tells what they print.

``python migrated_programs.py <script> ...`` writes one line of JSON: {script: text}. Modes that a
program sets are put back before the next one; torch stays mindtorch, as each of them asks.
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
import warnings


def printed(script: str) -> str:
    """What the script prints, or the end of its traceback."""
    import mindtorch.mindspore as ms

    text = io.StringIO()
    with contextlib.redirect_stdout(text), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            runpy.run_path(script, run_name="__main__")
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
            ms.reset_auto_parallel_context()
    return text.getvalue()


if __name__ == "__main__":
    found = {}
    for each in sys.argv[1:]:
        try:
            found[each] = printed(each)
        except Exception as error:
            found[each] = f"{type(error).__name__}: {error}"
    print(json.dumps(found))
