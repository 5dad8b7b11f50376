"""Compare our compiled training steps with those of torch.compile and of JAX, in turns.

    python benchmarks/compilers.py [--rounds 1] [--threads 1 2] [--only mlp lenet] [--write]
                                   [--jax-python /path/to/python]

torch.compile needs a C++ compiler. ``--jax-python`` names an interpreter that has ``jax``; without
it that column is left out.
"""

from __future__ import annotations

import argparse

from training import TITLES, WORKLOADS, in_turns, machine, summary, write

COMPARED = ("mlp", "lenet", "gpt", "resnet18", "tiny", "lstm")
NOT_IN_JAX = ("lstm",)


def row(name: str, threads: int, rounds: int, jax_python: str | None) -> str:
    """One workload, each side a process, in turns."""
    pythons = {"jax": jax_python} if jax_python and name not in NOT_IN_JAX else {}
    held = in_turns(name, threads, rounds, ("compiled", "torch.compile", *pythons), pythons)
    every = {side: summary(found) for side, found in held.items()}
    ours = every.pop("compiled")
    cells = [f"{ours[0] * 1e3:.2f} / {ours[1] * 1e3:.2f}"]
    for theirs in every.values():
        cells.append(f"{theirs[0] * 1e3:.2f} / {theirs[1] * 1e3:.2f}")
        cells.append(f"**{ours[0] / theirs[0]:.2f}** {ours[1] / theirs[1]:.2f}")
    if jax_python and not pythons:
        cells += ["", ""]
    first = " / ".join(f"{min(r['first'] for r in found):.1f}" for found in held.values())
    return f"| {TITLES[name]} | {threads} | {' | '.join(cells)} | {first} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", default=list(COMPARED), choices=list(WORKLOADS))
    parser.add_argument("--jax-python")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md's table")
    arguments = parser.parse_args()
    columns = "| compiled step | threads | ours min / median (ms) | torch.compile (ms) | ratio |"
    if arguments.jax_python:
        columns += " JAX (ms) | ratio |"
    columns += " first step of each (s) |"
    lines = [f"Machine: {machine()}. {arguments.rounds} rounds in turns.", "", columns]
    lines.append("|---" * (columns.count("|") - 1) + "|")
    print("\n".join(lines), flush=True)
    for name in arguments.only:
        for threads in arguments.threads:
            lines.append(row(name, threads, arguments.rounds, arguments.jax_python))
            print(lines[-1], flush=True)
    if arguments.write:
        write(lines, "<!-- compilers measured -->", "<!-- compilers end -->")


if __name__ == "__main__":
    main()
