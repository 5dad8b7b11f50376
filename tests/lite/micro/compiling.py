"""Generated C code, compiled with every warning as an error and run under sanitizers."""

import shutil
import subprocess
from pathlib import Path

import numpy as np

FLAGS = [
    "-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow",
    "-Wstrict-prototypes", "-Wmissing-prototypes", "-Werror", "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
]  # fmt: skip


def compiled(folder: Path) -> Path:
    """The example of a project as a program."""
    assert shutil.which("gcc"), "these tests need gcc"
    program = folder / "example"
    sources = sorted(map(str, folder.glob("*.c")))
    made = subprocess.run(
        ["gcc", *FLAGS, "-o", str(program), *sources, "-lm"], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return program


def outputs(program: Path, calls) -> list[np.ndarray]:
    """What the program prints for each call, whose arrays it reads one after another."""
    lines = [
        " ".join(repr(float(x)) for array in arrays for x in np.asarray(array).reshape(-1))
        for arrays in calls
    ]
    ran = subprocess.run(
        [str(program)], input="\n".join(lines), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return [np.array(line.split(), np.float64) for line in ran.stdout.splitlines()]


def assert_within_rounding(got, ours, exact, what="", scale=0.0, terms=64) -> None:
    """Within what float32 rounds: the distance to float64 is a few times ours and sixteen units in
    the last place of the largest number.

    Args:
        scale: the largest number that rounds on the way, where sums of it cancel.
        terms: of the longest sum. Plain loops round a partial sum ``terms / 2`` times on average,
            ours, which adds in pairs, ``log2(terms)`` times.
    """
    got, ours, exact = (np.asarray(x, np.float64).reshape(-1) for x in (got, ours, exact))
    assert got.shape == exact.shape, what
    finite = np.isfinite(exact)
    np.testing.assert_array_equal(got[~finite], exact[~finite])
    got, ours, exact = got[finite], ours[finite], exact[finite]
    scale = np.abs(exact).max(initial=scale)
    times = max(terms / 2 / np.log2(terms), 4)
    bound = times * np.abs(ours - exact).max(initial=0.0) + 16 * 2.0**-24 * scale
    worst = np.abs(got - exact).max(initial=0.0)
    assert worst <= bound, f"{what}: {worst} from float64, {bound} is allowed"
