"""Which elementwise functions have PyTorch's bits: a table for docs/function-bits.md.

    python benchmarks/function_bits.py [--write]

PyTorch runs once for each ATEN_CPU_CAPABILITY. A function whose bits differ between these has no
bits of its own, only those of a processor; of the others it is counted how many of ours are equal.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from training import machine

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "function-bits.md"
CAPABILITIES = ("default", "avx2", "avx512")
TYPES = ("float32", "float64", "bfloat16", "float16")
COUNT = 100_003  # odd, so that the last elements are not a whole vector

SIGNED = """exp exp2 expm1 tanh sigmoid erf erfc sin cos tan asinh atan sinh cosh square
reciprocal lgamma digamma""".split()
POSITIVE = "log log2 log10 log1p sqrt rsqrt".split()
UNIT = "asin acos atanh erfinv logit".split()
ABOVE_ONE = ["acosh"]
LAYERS = """gelu silu softplus elu selu mish hardswish logsigmoid softsign
tanhshrink""".split()
PAIRS = "atan2 hypot".split()
POWERS = (2.0, 3.0, 0.5, -0.5, -1.0, -2.0, 2.5, -1.5, 0.3)


def inputs(name: str) -> Any:
    """Numbers of many sizes on which the function is defined."""
    draw = np.random.default_rng(0)
    x = draw.standard_normal(COUNT) * np.exp(2 * draw.standard_normal(COUNT))
    if name in UNIT:
        return np.tanh(x) if name != "logit" else 0.5 + 0.5 * np.tanh(x)
    if name in POSITIVE or name.startswith("pow"):
        return np.abs(x)
    return 1 + np.abs(x) if name in ABOVE_ONE else x


def cases(torch: Any) -> Any:
    """(name, function of a tensor) for each row of the table."""
    for name in (*SIGNED, *POSITIVE, *UNIT, *ABOVE_ONE):
        yield name, getattr(torch, name)
    for name in LAYERS:
        yield name, getattr(torch.nn.functional, name)
    yield "gelu(tanh)", lambda x: torch.nn.functional.gelu(x, approximate="tanh")
    for name in PAIRS:
        function = getattr(torch, name)
        yield name, lambda x, f=function: f(x, x.flip(0))
    for exponent in POWERS:
        yield f"pow({exponent})", lambda x, p=exponent: x**p


def results(module: str, path: str) -> None:
    """Write the results of all functions, as float64, to a file."""
    torch = importlib.import_module(module)
    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    for name, function in cases(torch):
        for kind in TYPES:
            x = torch.from_numpy(inputs(name)).to(getattr(torch, kind))
            found[f"{name} {kind}"] = function(x).double().numpy()
    np.savez(path, **found)


def measured() -> dict[str, str]:
    """What the table says of each function and type."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: os.path.join(folder, f"{name}.npz") for name in (*CAPABILITIES, "ours")}
        for name, path in paths.items():
            module = "mindtorch.torch" if name == "ours" else "torch"
            environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
            if name != "ours":
                environment["ATEN_CPU_CAPABILITY"] = name
            command = [sys.executable, __file__, "--child", module, path]
            subprocess.run(command, env=environment, check=True)
        loaded = {name: np.load(path) for name, path in paths.items()}
        return {key: _said([loaded[c][key] for c in CAPABILITIES], loaded["ours"][key])
                for key in loaded["ours"].files}  # fmt: skip


def _said(torchs: list[Any], ours: Any) -> str:
    def equal(a: Any, b: Any) -> Any:
        return (a == b) | (np.isnan(a) & np.isnan(b))

    shares = [float(equal(each, ours).mean()) for each in torchs]
    same = all(equal(torchs[0], other).all() for other in torchs[1:])
    text = ["all" if share == 1 else f"{100 * share:.2f} %" for share in shares]
    return text[0] if same else " / ".join(text)


def page(table: dict[str, str]) -> str:
    names = list(dict.fromkeys(key.rsplit(" ", 1)[0] for key in table))
    lines = [
        "# Which functions have PyTorch's bits",
        "",
        f"Of {COUNT:,} numbers of many sizes, the share whose result is the same to the last bit",
        "as PyTorch 2.13's. Measured by `python benchmarks/function_bits.py --write` on",
        f"{machine()}.",
        "",
        "One entry: PyTorch's own bits are the same under `ATEN_CPU_CAPABILITY` default, avx2 and",
        "avx512. Three entries: they are not, and each is compared. Many of the functions are",
        "those of Intel's MKL there, which has other instructions for other makers' processors, so",
        "shares differ in the last places on another machine. Ours are more often the numbers that",
        "are nearest to the true values; `sqrt` is rounded correctly everywhere, MKL's is not.",
        "",
        f"| function | {' | '.join(TYPES)} |",
        f"| --- |{' --- |' * len(TYPES)}",
    ]
    lines += [
        f"| `{name}` | {' | '.join(table[f'{name} {kind}'] for kind in TYPES)} |" for name in names
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Which functions have PyTorch's bits.")
    parser.add_argument("--write", action="store_true", help="write docs/function-bits.md")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        results(*arguments.child)
        return
    text = page(measured())
    if arguments.write:
        PAGE.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
