"""Run one program of `mindtorch warm` and say what became of its kernels.

The last line on standard output is JSON: how many functions were compiled, and why one could not be
written.
"""

from __future__ import annotations

import json
import sys

from mindtorch.kernels.codegen.jit import statistics

from ..run_script import end_with_parent
from .programs import PROGRAMS


def main() -> None:
    end_with_parent()
    PROGRAMS[sys.argv[1]].run()
    print(json.dumps({"compiled": statistics.compiled, "unwritten": statistics.unwritten}))


if __name__ == "__main__":
    main()
