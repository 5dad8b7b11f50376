"""`repro.py` and `repro.npz`: a difference by itself, for the two frameworks and nothing else."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch.kernels.support.atomic_file import replacing, write_whole

from .distance import Side
from .findings import Difference
from .record_format import Event, Recorded

__all__ = ["write_reproduction"]

PROGRAM = '''"""{title}

Found by `mindtorch compare {script}`. Run it with `python {name}`: it makes the call on the first
side's recorded values under PyTorch and under mindtorch, and compares both with what was recorded
(in {archive}, beside this file).
"""

import importlib
import math
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np

ARRAYS = np.load(Path(__file__).with_name("{archive}"))
SIDES = {sides!r}
MODES = {modes!r}
GRADIENTS = {gradients!r}
inf, nan = math.inf, math.nan


def call(torch, side, inputs, state):
    """The call as `side` made it: what it gave, and its parameters."""
    nn, F, Tensor = torch.nn, torch.nn.functional, torch.Tensor
{body}


def run(torch, side):
    """The arrays that the call gives, and the gradients that belong to them, by their names."""
    modes = MODES[side]
    torch.set_num_threads(modes["threads"])
    torch.set_default_dtype(getattr(torch, modes["dtype"]))
    torch.set_float32_matmul_precision(modes["precision"])
    torch.use_deterministic_algorithms(modes["deterministic"], warn_only=True)
    inputs = [tensor(torch, f"input.{{at}}") for at in range({inputs})]
    state = {{
        key.removeprefix("state."): tensor(torch, key) for key in ARRAYS if key.startswith("state.")
    }}
    if modes.get("cast"):
        wanted = getattr(torch, modes["cast"])
        inputs = [each.to(wanted) if each.is_floating_point() else each for each in inputs]
    leaves = {{}}
    for at, each in enumerate(inputs):
        if f"input_{{at}}" in GRADIENTS:
            leaves[f"input_{{at}}"] = each.requires_grad_()
            inputs[at] = each.clone()  # which the call may write to
    if "generator" in ARRAYS:
        torch.set_rng_state(torch.from_numpy(ARRAYS["generator"].copy()))
    with ExitStack() as stack:
        if modes["inference"]:
            stack.enter_context(torch.inference_mode())
        else:
            stack.enter_context(torch.set_grad_enabled(modes["gradients"]))
        if modes["autocast"]:
            stack.enter_context(torch.autocast("cpu", dtype=getattr(torch, modes["autocast"])))
        result, parameters = call(torch, side, inputs, state)
    outputs = tensors_of(torch, result)
    found = {{f"output {{at}}": array(torch, each) for at, each in enumerate(outputs)}}
    if GRADIENTS:
        leaves.update((f"parameter_{{name}}", each) for name, each in parameters.items())
        leaves = {{name: leaves[name] for name in GRADIENTS if name in leaves}}
        keys = [f"output_gradient.{{at}}" for at in range(len(outputs))]
        ends = [
            (each, tensor(torch, key)) for each, key in zip(outputs, keys) if key in ARRAYS
        ]
        pulled = torch.autograd.grad(
            [each for each, _ in ends], list(leaves.values()),
            [given.to(each.dtype) for each, given in ends], allow_unused=True,
        )
        for name, each in zip(leaves, pulled):
            if each is not None:
                found[f"gradient of {{name}}"] = array(torch, each)
    return found


def fill(nn, module, state):
    """Give a module the parameters and buffers that it had, and the parts that they belong to."""
    for key, value in state.items():
        *path, name = key.split(".")
        owner = module
        for part in path:
            if part not in owner._modules:
                owner.add_module(part, nn.Module())
            owner = owner._modules[part]
        tracked = f"parameter_{{key}}" in GRADIENTS
        owner.register_parameter(name, nn.Parameter(value, tracked))


def settle(module, state, attributes):
    """Give a layer its parameters, and what its repr does not tell."""
    missing = module.load_state_dict(state, strict=False, assign=True).missing_keys
    if any(not name.endswith("bias") for name in missing):
        raise RuntimeError(f"not known of the layer: {{missing}}")
    vars(module).update((x, y) for x, y in attributes.items() if x in vars(module))


def tensor(torch, key):
    """A recorded array as a tensor of its own dtype, laid out in memory as it was."""
    dtypes, axes = {dtypes!r}, {axes!r}
    order = axes.get(key, range(ARRAYS[key].ndim))
    found = torch.from_numpy(np.array(ARRAYS[key].transpose(order), order="C"))
    found = found.permute(tuple(np.argsort(order)))
    return found.to(getattr(torch, dtypes[key])) if key in dtypes else found


def array(torch, value):
    """A tensor's values, in double precision."""
    value = value.detach().cpu()
    return value.to(torch.complex128 if value.is_complex() else torch.float64).numpy()


def tensors_of(torch, result):
    """The tensors of a nested result."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        return [found for each in result for found in tensors_of(torch, each)]
    return []


def apart(found, recorded, size):
    """The greatest difference beside `size`; where one is not finite both must be the same."""
    finite = np.isfinite(found) & np.isfinite(recorded)
    if not np.array_equal(found[~finite], recorded[~finite], equal_nan=True):
        return math.inf
    return np.abs(found - recorded)[finite].max(initial=0) / (size or 1.0)


def main():
    from mindtorch.module_hooker import torch_disable, torch_enable

    for label, side in SIDES.items():
        torch_enable() if side == "torch" else torch_disable()  # what `import torch` gives
        library = importlib.import_module("torch")
        importlib.import_module("torch.nn.functional")
        try:
            found = run(library, label)
        except Exception as error:  # the script's own class may need more of the script
            print(f"{{label}}: the call needs more than is here: {{error!r}}")
            return 2
        for name, values in found.items():
            known = {{x: ARRAYS[f"{{name}}.{{x}}"] for x in SIDES if f"{{name}}.{{x}}" in ARRAYS}}
            sizes = [np.abs(each[np.isfinite(each)]).max(initial=0) for each in known.values()]
            for other, recorded in known.items():
                if recorded.shape != values.shape:
                    print(f"{{label}} {{name}}: shape {{values.shape}}, "
                          f"{{other}} had {{recorded.shape}}")
                    continue
                value = apart(values, recorded.astype(values.dtype), max(sizes))
                print(f"{{label}} {{name}}: {{value:.2e}} from what {{other}} had")
    return 0


if __name__ == "__main__":
    sys.exit(main())
'''

PREFIX = {
    "torch": "torch.", "functional": "F.", "tensor": "Tensor.", "linalg": "torch.linalg.",
    "fft": "torch.fft.", "special": "torch.special.",
}  # fmt: skip
# What a single call can show; of all else the cause lies outside it.
SHOWN = ("output", "backward pass", "arguments", "random draws")


def write_reproduction(
    difference: Difference, sides: tuple[Side, Side], script: str, folder: Path
) -> Path | None:
    """Write the two files for a difference that has a call whose input was kept; the program's
    path."""
    chosen, owner = difference.first, sides[0]
    if chosen is None or difference.second is None or difference.what not in SHOWN:
        return None
    events = (chosen, difference.second)
    wanted = difference.phase == "backward"
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

    if not all(is_known(side, event) for side, event in zip(sides, events, strict=True)):
        return None
    if chosen.kind == "module" and not (chosen.atomic and difference.second.atomic):
        return None  # its parts are modules themselves
    if len(chosen.inputs) != len(difference.second.inputs):
        return None
    if len({tuple((x, y.shape) for x, y in event.state.items()) for event in events}) > 1:
        return None  # each side's call needs parameters of its own
    kept = [keep(f"input.{at}", owner, each) for at, each in enumerate(chosen.inputs)]
    if not all(kept):
        return None
    for name, each in state_of(chosen, owner).items():
        keep(f"state.{name}", owner, each)
    keep("generator", owner, chosen.drawn_from)
    for side, event in zip(sides, events, strict=True):
        for at, each in enumerate(event.outputs if event else ()):
            keep(f"output {at}.{side.name}", side, each)
        for name, each in event.pulled.items() if event and wanted else ():
            keep(f"gradient of {name}.{side.name}", side, each)
    for at, gradient in enumerate(chosen.gradients if wanted else ()):
        keep(f"output_gradient.{at}", owner, gradient)
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
        modes={
            side.name: {"threads": side.record.threads, **event.modes}
            for side, event in zip(sides, events, strict=True)
            if event
        },
        gradients=sorted(chosen.pulled) if wanted else [],
        inputs=len(chosen.inputs),
        body=body_of(sides, events),
        dtypes=dtypes,
        axes={key: order for key, order in axes.items() if key.startswith("input.")},
    )
    write_whole(path, text)
    return path


def is_known(side: Side, event: Event) -> bool:
    """Whether there is a text for what is called: the script's own class, or a name of torch's
    with its arguments."""
    if side.record.sources.get(event.name):
        return True
    return event.description in PREFIX if event.kind == "op" else "(" in event.description


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
    source = side.record.sources.get(event.name, "")
    if event.kind == "op":
        if event.description in PREFIX:
            lines, name = [], f"{PREFIX[event.description]}{event.name}"
        else:  # an autograd.Function
            lines, name = defined(source), f"names[{event.name!r}].apply"
        if event.name == "__setitem__" or (event.name.endswith("_") and event.name[:2] != "__"):
            return [*lines, f"{name}({inner})", "return inputs[0], {}"]
        return [*lines, f"return {name}({inner}), {{}}"]
    if source:
        made = [
            *defined(source),
            f"module = names[{event.name!r}].__new__(names[{event.name!r}])",
            "nn.Module.__init__(module)",
            f"vars(module).update({event.attributes})",
            "fill(nn, module, state)",
        ]
    else:
        training = "train" if event.trained else "eval"
        made = [
            f"module = nn.{quoted(event.description)}.{training}()",
            f"settle(module, state, {event.attributes})",
        ]
    run = "torch.compile(module)" if event.modes.get("compiled") else "module"
    return [*made, f"return {run}({inner}), dict(module.named_parameters())"]


def quoted(description: str) -> str:
    """A module's repr with its texts in quotes, which some leave out."""
    named = r"=(?!(?:True|False|None|inf|nan)\b)([A-Za-z_]\w*)(?=[,)])"
    return re.sub(named, r"='\1'", description)


def defined(source: str) -> list[str]:
    """Statements that define the script's own class in `names`; annotations are left alone."""
    quoted = source.replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
    return [
        "# the script's own class, with what it uses and the values that it had",
        f"source = '''{quoted}'''",
        "names = dict(vars(torch), torch=torch, nn=nn, F=F, math=math, np=np, inf=inf, nan=nan)",
        "names['importlib'] = importlib",
        "exec('from __future__ import annotations\\n' + source, names)",
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
