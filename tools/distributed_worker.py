"""A process that torchrun starts: `... -m mindtorch.tools.distributed_worker [--module] script`.

`import torch` gives mindtorch there, and what the script raises is left for torchrun to read.
"""

import sys
import traceback
from pathlib import Path

from mindtorch.module_hooker import torch_disable
from mindtorch.torch.distributed._failure import write_report

from .run_script import ScriptNotFoundError, end_with_parent, execute, report_failure


def main(arguments: list[str]) -> int:
    """The exit status of the script."""
    as_module = arguments[:1] == ["--module"]
    name, *rest = arguments[1:] if as_module else arguments
    end_with_parent()
    torch_disable()
    try:
        execute(name, rest, Path.cwd() if as_module else None)
    except ScriptNotFoundError as error:
        print(f"torchrun: {error}", file=sys.stderr)
        return 2
    except SystemExit:
        raise
    except BaseException as error:
        write_report("".join(traceback.format_exception(error)))
        return report_failure(error)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
