"""What processes do in tests/torch/distributed/test_data_parallel.py when one of them fails.

``failing_rank_program.py <how>``: rank 1 raises, is killed, exits, hangs or is stopped between two
sums, or raises before the processes have met ("early").
"""

import os
import signal
import sys
import time
from datetime import timedelta
from typing import Any

import mindtorch.torch as torch
import mindtorch.torch.distributed as dist

TIMEOUT = 2


def fail(how: str) -> None:
    if how == "raise":
        raise KeyError("no such thing")
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "stop":  # it can tell nothing, as a process that hangs in native code
        os.kill(os.getpid(), signal.SIGSTOP)
    if how == "exit":
        sys.exit(3)
    if how == "leave":
        sys.exit(0)
    while how == "hang":
        time.sleep(0.1)


def main(how: str, rank: int = -1, path: str = "") -> None:
    given: dict[str, Any] = {}
    if path:
        given = {"init_method": f"file://{path}", "rank": rank, "world_size": 2}
    if how == "early":
        sys.stdout.write(f"summed at {time.time()}\n")
        sys.stdout.flush()
        if "1" in (os.environ.get("RANK"), os.environ.get("PMI_RANK"), str(rank)):
            raise KeyError("no such thing")
    dist.init_process_group("gloo", timeout=timedelta(seconds=TIMEOUT), **given)
    x = torch.ones(100000)
    dist.all_reduce(x)
    # one write: lines of several processes must not run into each other
    sys.stdout.write(f"summed at {time.time()}\n")
    sys.stdout.flush()
    if dist.get_rank() == 1:
        fail(how)
    dist.all_reduce(x)


def spawned(rank: int, how: str, path: str) -> None:
    main(how, rank, path)


if __name__ == "__main__":
    main(sys.argv[1])
