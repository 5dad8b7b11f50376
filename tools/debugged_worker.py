"""A process that torchrun starts where ENABLE_MS_DEBUGGER asks for the debugger."""

import argparse
import sys

from .debugger.protocol import LEVELS, ObservationError
from .distributed_worker import main
from .run_observed import run_observed

if __name__ == "__main__":
    options = argparse.Namespace(
        watch=None, debugger=True, dump=None, torch_record=None, level=LEVELS[1], watchpoint=[],
        script=next((x for x in sys.argv[1:] if x != "--module"), ""),
    )  # fmt: skip
    statuses: list[int] = []
    try:
        run_observed(options, lambda: statuses.append(main(sys.argv[1:])))
    except ObservationError as error:
        print(f"torchrun: {error}", file=sys.stderr)
        statuses.append(2)
    sys.exit(statuses[0])
