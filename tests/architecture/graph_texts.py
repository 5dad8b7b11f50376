"""The graphs of seven models and of a training step of each, as text.

    python tests/architecture/graph_texts.py            # says which differ from tests/golden/graphs
    python tests/architecture/graph_texts.py --update   # writes them

A change that is to change no number changes none of these texts. They name ops, shapes and layouts,
in the order in which they run, as they were traced and after all passes; no kernels, which depend
on the processor.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FOLDER = REPOSITORY / "tests" / "golden" / "graphs"

if __name__ == "__main__":
    sys.path.insert(0, str(REPOSITORY))

# The workloads of benchmarks/training.py, with sizes that keep the texts short.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "mlp": ("mlp", {"batch": 16, "sizes": (64, 32, 32, 10)}),
    "lenet": ("lenet", {"batch": 4}),
    "gpt": ("gpt", {"batch": 2, "length": 8, "layers": 4, "width": 32}),
    "resnet18": ("resnet18", {"batch": 2, "width": 64, "side": 32}),
    "lstm": ("layered_lstm", {"batch": 2, "steps": 4, "width": 8}),
    "small_gpt": ("gpt", {"batch": 2, "length": 8, "width": 16}),
    "tiny": ("mlp", {"batch": 32, "sizes": (4, 64, 64, 2), "adam": True}),
}


def input_of(module: Any, step: Any) -> Any:
    """The tensor that a model is called with in its training step."""
    given: list[Any] = []
    handle = module.register_forward_pre_hook(lambda _, args: given.append(args[0]))
    step()
    handle.remove()
    return given[0]


def stable(text: str) -> str:
    """A graph's text, with its results in the order in which they are computed.

    Which of several results is returned first hangs on the addresses of tensors; the copies at a
    graph's end, of gradients into memory of their own, come in the same order.
    """
    lines = text.splitlines()
    copies = []
    while len(lines) > 1 and re.match(r"\s+%\d+: [^=]* = clone\(", lines[-2]):
        copies.append(lines.pop(-2))
    numbers = sorted(int(re.findall(r"%(\d+)", line)[0]) for line in copies)
    copies.sort(key=lambda line: int(re.findall(r"%(\d+)", line)[1]))
    renumbered = {}
    for number, line in zip(numbers, copies, strict=True):
        old = re.findall(r"%\d+", line)[0]
        renumbered[old] = f"%{number}"
        lines.insert(-1, line.replace(old, renumbered[old], 1))
    head, _, returned = lines[-1].partition("return ")
    values = [renumbered.get(value, value) for value in returned.split(", ")]
    values.sort(key=lambda value: int(value[1:] or -1))
    return "\n".join([*lines[:-1], f"{head}return {', '.join(values)}".rstrip()])


def described(explanation: Any) -> str:
    """The graphs of a compiled call, before and after all passes."""
    parts = [f"graphs: {explanation.graph_count}, calls between them: {explanation.host_calls}"]
    parts += [f"reason: {reason}" for reason in explanation.reasons]
    for traced, graph in zip(explanation.traced, explanation.graphs, strict=True):
        parts += ["", "as traced:", stable(traced)]
        parts += ["", "after all passes:", stable(str(graph))]
    return "\n".join(parts) + "\n"


def texts() -> dict[str, str]:
    """By the names of their files, the texts as they are now."""
    import mindtorch
    import mindtorch.torch as torch
    from mindtorch.kernels.cpu.matrix_products import amx
    from tests.support.models import build

    torch.set_num_threads(1)
    with patch.object(amx, "enabled", return_value=False):  # few processors have it
        return _texts(mindtorch, torch, build)


def _texts(mindtorch: Any, torch: Any, build: Any) -> dict[str, str]:
    found = {}
    for name, (model, sizes) in MODELS.items():
        modules, step = build(torch, model, **sizes)
        given = input_of(modules[0], step)
        found[f"{name}.txt"] = described(mindtorch.explain(modules[0])(given))
        _, step = build(torch, model, **sizes)
        explanation = mindtorch.explain(step.update)()
        found[f"{name}_step.txt"] = described(explanation)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Graphs of seven models as text.")
    parser.add_argument("--update", action="store_true", help="write tests/golden/graphs")
    arguments = parser.parse_args()
    differ = False
    for name, text in texts().items():
        path = FOLDER / name
        if arguments.update:
            FOLDER.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            continue
        before = path.read_text() if path.exists() else ""
        lines = list(difflib.unified_diff(before.splitlines(), text.splitlines(), name, n=1))
        differ = differ or bool(lines)
        print(*lines[:60], sep="\n", end="\n" if lines else "")
    sys.exit(int(differ))


if __name__ == "__main__":
    main()
