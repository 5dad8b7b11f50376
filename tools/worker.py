"""A process that torchrun starts: `python -m mindtorch.tools.worker [--module] script arguments`.

`import torch` gives mindtorch there, and what the script raises is left for torchrun to read.
"""

import runpy
import sys
import traceback

from mindtorch.module_hooker import torch_disable

from .script import ScriptNotFoundError, execute, report_failure


def main(arguments: list[str]) -> int:
    """The exit status of the script."""
    as_module = arguments[:1] == ["--module"]
    name, *rest = arguments[1:] if as_module else arguments
    torch_disable()
    try:
        if as_module:
            sys.argv = [name, *rest]
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            execute(name, rest)
    except ScriptNotFoundError as error:
        print(f"torchrun: {error}", file=sys.stderr)
        return 2
    except SystemExit:
        raise
    except BaseException as error:
        from mindtorch.torch.distributed._failure import write_report

        write_report("".join(traceback.format_exception(error)))
        return report_failure(error, name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
