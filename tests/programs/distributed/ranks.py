"""Starts a program in several processes, forked from one that has imported the library.

``python ranks.py <count> <namespace> <program> <argument> ...``: each process finds its number in
RANK and the other variables that torchrun sets, and where an argument is "RANK". One import in
place of ``count`` of them, and numba's with it, is half of the time of most tests' jobs. The
status is 0 if all end with 0; when one does not, the others are ended ten seconds later.
"""

from __future__ import annotations

import gc
import importlib
import os
import runpy
import signal
import socket
import sys
import time

# what most programs import
OFTEN = ("nn.functional", "optim", "distributed.fsdp", "distributed.tensor")


def main(count: int, namespace: str, program: str, *arguments: str) -> int:
    for module in ("distributed", *OFTEN):
        importlib.import_module(f"{namespace}.{module}")
    if namespace == "mindtorch.torch":
        for module in ("codegen.jit", "cpu.elementwise", "cpu.matmul", "cpu.reduction"):
            importlib.import_module(f"mindtorch.kernels.{module}")
    gc.freeze()  # what is there is no garbage, and its pages stay shared
    if "MASTER_PORT" not in os.environ:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    children = []
    for rank in range(count):
        child = os.fork()
        if not child:
            own = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count}
            os.environ |= {name: str(value) for name, value in own.items()}
            sys.argv = [program, *(str(rank) if each == "RANK" else each for each in arguments)]
            runpy.run_path(program, run_name="__main__")
            return 0
        children.append(child)
    return ended(children)


def ended(children: list[int]) -> int:
    """Waits for the processes; 1 if one has not ended well."""
    left, failed, limit = set(children), False, float("inf")
    while left:
        for child in list(left):
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                left.discard(child)
                if status and not failed:
                    failed, limit = True, time.monotonic() + 10
        if time.monotonic() > limit:
            for child in left:
                os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    return int(failed)


if __name__ == "__main__":
    number, *words = sys.argv[1:]
    sys.exit(main(int(number), *words))
