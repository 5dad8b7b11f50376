"""A process that ``elastic_launch`` starts: calls the function, and leaves what it gives."""

from __future__ import annotations

import multiprocessing.spawn
import os
import pickle
import sys
import traceback
from pathlib import Path

from mindtorch.module_hooker import torch_disable
from mindtorch.torch.distributed._failure import write_report


def main(folder: str) -> None:
    torch_disable()
    about, call = pickle.loads(Path(folder, "call").read_bytes())
    try:
        multiprocessing.spawn.prepare(about)  # the main module, where pickle finds functions
        function, args = pickle.loads(call)
        result = pickle.dumps(function(*args))
    except Exception as error:
        write_report("".join(traceback.format_exception(error)))
        raise
    Path(folder, f"result.{os.environ['RANK']}").write_bytes(result)


if __name__ == "__main__":
    main(sys.argv[1])
