"""`repro.py` and `repro.npz`: a difference by itself, for the two frameworks and nothing else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch.kernels.files import replacing, write_whole

from .agreement import Difference
from .distance import Side
from .records import Event, Recorded

__all__ = ["write_reproduction"]

PROGRAM = '''"""{title}

Found by `mindtorch compare {script}`. Run it with `python {name}`: it makes the call on the first
side's recorded values under PyTorch and under mindtorch, and compares both with what was recorded
(in {archive}, beside this file).
"""

import importlib
import math
import sys
from pathlib import Path

import numpy as np

ARRAYS = np.load(Path(__file__).with_name("{archive}"))
SIDES = {sides!r}


def call(torch, side):
    """The call as `side` made it."""
    nn, F, Tensor = torch.nn, torch.nn.functional, torch.Tensor
    state = {{
        key.removeprefix("state."): tensor(torch, key) for key in ARRAYS if key.startswith("state.")
    }}
    inputs = [tensor(torch, f"input.{{at}}") for at in range({inputs})]
{body}


def tensor(torch, key):
    """A recorded array as a tensor of its own dtype, laid out in memory as it was."""
    dtypes, axes = {dtypes!r}, {axes!r}
    order = axes.get(key, range(ARRAYS[key].ndim))
    found = torch.from_numpy(np.array(ARRAYS[key].transpose(order), order="C"))
    found = found.permute(tuple(np.argsort(order)))
    return found.to(getattr(torch, dtypes[key])) if key in dtypes else found


def arrays_of(torch, result):
    """The tensors of a nested result, as arrays."""
    if isinstance(result, torch.Tensor):
        return [result.detach().to(torch.float64).numpy()]
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        return [array for each in result for array in arrays_of(torch, each)]
    return []


def main():
    from mindtorch.module_hooker import torch_disable, torch_enable

    for label, side in SIDES.items():
        torch_enable() if side == "torch" else torch_disable()  # what `import torch` gives
        library = importlib.import_module("torch")
        importlib.import_module("torch.nn.functional")
        if "generator" in ARRAYS:
            library.set_rng_state(library.from_numpy(ARRAYS["generator"].copy()))
        try:
            with library.no_grad():
                found = arrays_of(library, call(library, label))
        except Exception as error:  # the script's own class may need more of the script
            print(f"{{label}}: the call needs more than is here: {{error!r}}")
            return 2
        for at, array in enumerate(found):
            for other in SIDES:
                key = f"output.{{at}}.{{other}}"
                if key in ARRAYS:
                    recorded = ARRAYS[key].astype(np.float64)
                    if recorded.shape != array.shape:
                        print(f"{{label}} output {{at}}: shape {{array.shape}}, "
                              f"{{other}} had {{recorded.shape}}")
                        continue
                    apart = np.abs(array - recorded).max(initial=0)
                    size = max(np.abs(recorded).max(initial=0), 1e-300)
                    print(f"{{label}} output {{at}}: {{apart / size:.2e}} from what {{other}} had")
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''

PREFIX = {"torch": "torch.", "functional": "F.", "linalg": "torch.linalg.", "fft": "torch.fft."}


def write_reproduction(
    difference: Difference, sides: tuple[Side, Side], script: str, folder: Path
) -> Path | None:
    """Write the two files for a difference that has a call whose input was kept; the program's
    path."""
    events = (difference.first, difference.second)
    chosen = difference.first or difference.second
    if chosen is None or difference.what.startswith("input"):
        return None  # no call, or one that is right with what it is given
    owner = sides[0] if difference.first else sides[1]
    arrays: dict[str, np.ndarray] = {}
    dtypes: dict[str, str] = {}
    axes: dict[str, tuple[int, ...]] = {}

    def keep(key: str, side: Side, recorded: Recorded | None) -> bool:
        if recorded is None or not recorded.stored:
            return False
        arrays[key] = side.arrays[recorded]
        if recorded.axes:
            axes[key] = recorded.axes
        if recorded.dtype == "bfloat16":
            dtypes[key] = recorded.dtype
        return True

    if chosen.kind == "module" and not owner.record.sources.get(chosen.name):
        if "(" not in chosen.description:
            return None  # one of torch's own whose arguments are not known
    kept = [keep(f"input.{at}", owner, each) for at, each in enumerate(chosen.inputs)]
    if not all(kept):
        return None
    for name, each in state_of(chosen, owner).items():
        keep(f"state.{name}", owner, each)
    keep("generator", owner, chosen.drawn_from)
    for side, event in zip(sides, events, strict=True):
        for at, each in enumerate(event.outputs if event else ()):
            keep(f"output.{at}.{side.name}", side, each)
        for at, gradient in enumerate(event.gradients if event else ()):
            keep(f"output_gradient.{at}.{side.name}", side, gradient)
    path = folder / "repro.py"
    archive = folder / "repro.npz"
    with replacing(archive) as file:
        np.savez(file, allow_pickle=False, **arrays)
    known = {side.name: side.record.side for side, x in zip(sides, events, strict=True) if x}
    text = PROGRAM.format(
        title=f"{difference}".replace('"""', "'''").replace("\\", "/") + ".",
        script=Path(script).name,
        name=path.name,
        archive=archive.name,
        sides=known,
        inputs=len(chosen.inputs),
        body=body_of(sides, events),
        dtypes=dtypes,
        axes={key: order for key, order in axes.items() if key.startswith("input.")},
    )
    write_whole(path, text)
    return path


def state_of(event: Event, side: Side) -> dict[str, Recorded]:
    """A module's parameters and buffers before the call."""
    if event.state:
        return event.state
    tables: Sequence[dict[str, Recorded]] = (side.record.parameters, side.record.buffers)
    start = f"{event.path}."
    found = {}
    for table in tables:
        for name, each in table.items():
            if name.startswith(start):
                found[name.removeprefix(start)] = each
            elif event.path == side.record.model:
                found[name] = each
    return found if event.kind == "module" else {}


def body_of(sides: tuple[Side, Side], events: tuple[Event | None, Event | None]) -> str:
    """The statements that make the call, for each side as it made it."""
    lines: list[str] = []
    for side, event in zip(sides, events, strict=True):
        if event is None:
            continue
        lines.append(f"if side == {side.name!r}:")
        lines += [f"    {each}" for each in statements(side, event)]
    return "\n".join(f"    {line}" for line in lines)


def statements(side: Side, event: Event) -> list[str]:
    args, kwargs = event.arguments if event.arguments else ([], {})
    counter = iter(range(len(event.inputs)))
    given = [expression(each, counter) for each in args]
    given += [f"{name}={expression(each, counter)}" for name, each in kwargs.items()]
    inner = ", ".join(given)
    if event.kind == "op":
        name = f"{PREFIX.get(event.description, 'Tensor.')}{event.name}"
        if event.name == "__setitem__" or (event.name.endswith("_") and event.name[:2] != "__"):
            return [f"{name}({inner})", "return inputs[0]"]
        return [f"return {name}({inner})"]
    source = side.record.sources.get(event.name, "")
    if source:
        quoted = source.replace("'''", '"""')
        return [
            "# the script's own class, with the parameters, buffers and numbers that it had",
            f"source = '''{quoted}'''.strip()",
            "names = dict(vars(torch), torch=torch, nn=nn, F=F, math=math, np=np)",
            "exec(source, names)",
            f"module = names[{event.name!r}].__new__(names[{event.name!r}])",
            "nn.Module.__init__(module)",
            f"vars(module).update({side.record.attributes.get(event.path, {})!r})",
            "for key, value in state.items():",
            "    module.register_parameter(key.replace('.', '_'), nn.Parameter(value, False))",
            f"return module({inner})",
        ]
    training = "train" if event.trained else "eval"
    return [
        f"module = nn.{event.description}.{training}()",
        "module.load_state_dict(state)",
        f"return module({inner})",
    ]


def expression(value: Any, counter: Any) -> str:
    """An argument as source text; tensors are taken in order."""
    if value == "tensor":
        return f"inputs[{next(counter)}]"
    if isinstance(value, list):
        return "[" + ", ".join(expression(each, counter) for each in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {expression(v, counter)}" for k, v in value.items()) + "}"
    if isinstance(value, str) and value.startswith("[") and value.count(":") == 2:
        parts = value[1:-1].split(":")
        return f"slice({', '.join(parts)})"
    if isinstance(value, str) and value.rpartition(".")[2] in DTYPES:
        return f"torch.{value.rpartition('.')[2]}"
    return repr(value) if value != "ellipsis" else "..."


DTYPES = {
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool",
    "complex64", "complex128",
}  # fmt: skip
