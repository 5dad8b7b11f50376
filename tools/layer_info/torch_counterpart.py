"""A model's layers beside those of its real PyTorch counterpart, run in a process of its own."""

import contextlib
import importlib
import importlib.util
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mindtorch
from mindtorch.module_hooker import torch_enable

from ..compare.statistics import relative_difference, spread_of
from ..compare.tensor_probe import Named, Slot, template, tensors_in

__all__ = ["CounterpartError", "LayerDifference", "compare_with_torch", "main", "print_differences"]

FACTORY_HELP = (
    "pass `factory`, a function of no arguments that makes the model, or 'module:name' of one"
)


in_counterpart = False  # whether this process makes a counterpart


class ModelReached(BaseException):
    """A script that is imported for its model has come to `debug_layer_info`: what makes the model
    is known, and what follows, a training perhaps, is not run. No `Exception`: a script must not
    handle it."""


class CounterpartError(RuntimeError):
    """The counterpart could not be made or run; the text says what it said."""


class LayerDifference:
    """One call of one layer: the largest relative difference of its output, the largest distance
    of an element in units in the last place, and the cosine of both outputs as vectors."""

    def __init__(
        self, name: str, kind: str, output: float, ulp: float | None, cosine: float | None
    ):
        self.name = name
        self.kind = kind
        self.output = output
        self.ulp = ulp
        self.cosine = cosine

    def __repr__(self) -> str:
        return f"LayerDifference({self.name!r}, {self.kind!r}, output={self.output:.1e})"


def locate(model: Any, factory: Any) -> str:
    """`file or module`:`qualified name` of what makes the counterpart."""
    if isinstance(factory, str):
        if ":" not in factory:
            raise CounterpartError(
                f"factory {factory!r} is not of the form 'module:name'; {FACTORY_HELP}"
            )
        return factory
    made = factory if factory is not None else type(model)
    name = getattr(made, "__qualname__", "")
    if not name or "<" in name:
        raise CounterpartError(
            f"{made!r} cannot be found by its name in another process; {FACTORY_HELP}"
        )
    module = made.__module__
    if module.startswith(f"{mindtorch.__name__}.torch"):
        raise CounterpartError(
            f"the model is a {name}, torch's own class, which needs arguments; {FACTORY_HELP}"
        )
    if module == "__main__" or importlib.util.find_spec(module) is None:
        return f"{Path(inspect.getfile(made)).resolve()}:{name}"
    return f"{module}:{name}"


def values(module: Any, calls: list[Any], torch: Any) -> Callable[..., None]:
    """A hook that keeps the name and the outputs of each call."""
    names = {id(part): path for path, part in module.named_modules()}

    def hook(part: Any, inputs: Any, output: Any) -> None:
        arrays = [array_of(torch, each) for each in tensors_in(output, torch.Tensor)]
        calls.append((names[id(part)], type(part).__name__, arrays))

    return hook


def array_of(torch: Any, tensor: Any) -> np.ndarray:
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.to(torch.float32)
    return np.array(tensor.cpu().numpy())


def dtype_of(tensor: Any) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def run_model(torch: Any, model: Any, args: Any, kwargs: Any) -> list[tuple[str, str, list[Any]]]:
    """The outputs of every layer, in the order in which calls end; no gradients are kept."""
    calls: list[Any] = []
    hook = values(model, calls, torch)
    handles = [part.register_forward_hook(hook) for part in model.modules()]
    try:
        with torch.no_grad():
            model(*args, **kwargs)
    finally:
        for handle in handles:
            handle.remove()
    return calls


def compare_with_torch(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], factory: Any = None
) -> list[LayerDifference]:
    """Run `model` and its real PyTorch counterpart on the same input; compare the layers' outputs.

    Args:
        model: a module of mindtorch.
        args, kwargs: what it is called with; tensors, numbers, texts and nested lists of them.
        factory: what makes the counterpart: a function, or 'module:name' or 'file.py:name'. Without
            it the class of the model, which then must need no arguments.

    Raises:
        CounterpartError: the counterpart cannot be made, has other parameters, or fails.
    """
    torch = importlib.import_module("mindtorch.torch")
    place = locate(model, factory)
    state = torch.get_rng_state()
    kept = {name: array_of(torch, each) for name, each in model.state_dict().items()}
    calls = run_model(torch, model, args, kwargs)
    model.load_state_dict({name: torch.from_numpy(each) for name, each in kept.items()})
    torch.set_rng_state(state)
    seen: list[Any] = []
    shape = template([list(args), kwargs], torch.Tensor, seen)
    inputs = [array_of(torch, each) for each in seen]
    with tempfile.TemporaryDirectory(prefix="mindtorch-counterpart-") as folder:
        given = Path(folder) / "given.npz"
        arrays = {f"input.{at}": each for at, each in enumerate(inputs)}
        arrays |= {f"state.{name}": each for name, each in kept.items()}
        generator = np.array(state.numpy())
        np.savez(given, allow_pickle=False, generator=generator, **arrays)
        modes = {path: part.training for path, part in model.named_modules()}
        task = {"place": place, "shape": encode(shape), "modes": modes, "inputs": len(inputs)}
        task["dtypes"] = [dtype_of(each) for each in seen]
        own = (*model.named_parameters(), *model.named_buffers())
        task["kinds"] = {name: dtype_of(each) for name, each in own}
        (Path(folder) / "task.json").write_text(json.dumps(task))
        run_counterpart(Path(folder))
        theirs = json.loads((Path(folder) / "calls.json").read_text())
        with np.load(Path(folder) / "outputs.npz", allow_pickle=False) as outputs:
            return differences(theirs, outputs, calls)


def run_counterpart(folder: Path) -> None:
    """Run this module's `main` under real PyTorch."""
    variables = dict(os.environ, MINDTORCH_ENABLE="0")
    here = str(Path(mindtorch.__file__).resolve().parents[1])
    paths = [each or os.getcwd() for each in sys.path]
    variables["PYTHONPATH"] = os.pathsep.join([*paths, here])
    command = [sys.executable, "-m", "mindtorch.tools.layer_info.torch_counterpart", str(folder)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        text = "\n  ".join(lines[-8:])
        raise CounterpartError(
            f"the PyTorch counterpart could not be made or run; {FACTORY_HELP}:\n  {text}"
        )


def differences(theirs: Any, outputs: Any, ours: Any) -> list[LayerDifference]:
    """One row for each call that both made, in order."""
    rows = []
    for number, ((name, kind, arrays), (other, _, count)) in enumerate(
        zip(ours, theirs, strict=False)
    ):
        if name != other:
            raise CounterpartError(
                f"call {number + 1} is of {other!r} in PyTorch and {name!r} here"
            )
        value, ulp, cosine = 0.0, None, None
        for at in range(max(count, len(arrays))):
            key = f"{number}.{at}"
            if at >= count or at >= len(arrays):
                value = float("inf")
                continue
            a, b = outputs[key], arrays[at]
            value = max(value, relative_difference(a, b))
            spread = spread_of(a, b, str(a.dtype))
            if spread is not None and at == 0:
                ulp, cosine = spread.largest_ulp, spread.cosine
        rows.append(LayerDifference(name, kind, value, ulp, cosine))
    if len(theirs) != len(ours):
        raise CounterpartError(
            f"PyTorch makes {len(theirs)} calls of layers, mindtorch {len(ours)}"
        )
    return rows


def print_differences(rows: list[LayerDifference]) -> None:
    """The table, as `debug_layer_info(against="pytorch")` shows it."""
    print("\n>>> largest differences of the layers' outputs, mindtorch against pytorch :")
    width = max([len(row.name) for row in rows] + [7])
    kinds = max([len(row.kind) for row in rows] + [4])
    print(f"{'layer':<{width}}  {'kind':<{kinds}}  {'relative':>9}  {'ULP':>9}  {'cosine':>11}")
    for row in rows:
        ulp = "-" if row.ulp is None else f"{row.ulp:.0f}"
        cosine = "-" if row.cosine is None else f"{row.cosine:.9f}"
        relative = "0" if row.output == 0 else f"{row.output:.1e}"
        name = row.name or "(model)"
        print(f"{name:<{width}}  {row.kind:<{kinds}}  {relative:>9}  {ulp:>9}  {cosine:>11}")
    worst = max(rows, key=lambda row: row.output, default=None)
    if worst is not None and worst.output:
        print(f"the largest is that of {worst.name or 'the model'!s}")


# -- the arguments on their way --------------------------------------------------------------------


def encode(value: Any) -> Any:
    """A template as JSON."""
    if isinstance(value, Slot):
        return {"slot": value.position}
    if isinstance(value, dict):
        return {"dict": {name: encode(each) for name, each in value.items()}}
    if isinstance(value, Named):
        parts = [encode(each) for each in value.parts]
        packed = value.cls.__name__ == "PackedSequence"
        return {"packed": parts} if packed else {"list": parts, "tuple": True}
    if isinstance(value, (list, tuple)):
        return {"list": [encode(each) for each in value], "tuple": isinstance(value, tuple)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    kind = type(value).__name__
    raise CounterpartError(f"an argument of type {kind} cannot be given to the counterpart")


def decode(value: Any, tensors: list[Any]) -> Any:
    if "slot" in value:
        return tensors[value["slot"]]
    if "dict" in value:
        return {name: decode(each, tensors) for name, each in value["dict"].items()}
    if "packed" in value:
        rnn = importlib.import_module("torch.nn.utils.rnn")
        return rnn.PackedSequence(*(decode(each, tensors) for each in value["packed"]))
    if "list" in value:
        found = [decode(each, tensors) for each in value["list"]]
        return tuple(found) if value["tuple"] else found
    return value["value"]


def load_factory(place: str) -> Any:
    """What a place names; a file is imported without being run as a script."""
    source, _, name = place.rpartition(":")
    if source.endswith(".py"):
        spec = importlib.util.spec_from_file_location("counterpart_of_the_model", source)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        reached: Any = importlib.import_module(f"{__spec__.parent}.torch_counterpart")
        reached.in_counterpart = True
        with contextlib.suppress(reached.ModelReached):
            spec.loader.exec_module(module)
    else:
        module = importlib.import_module(source)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part)
    return found


def main(folder: Path) -> None:
    """The counterpart's side: make it, load the state, run it, write what its layers gave."""
    torch_enable()
    torch = importlib.import_module("torch")
    task = json.loads((folder / "task.json").read_text())
    model = load_factory(task["place"])()
    with np.load(folder / "given.npz", allow_pickle=False) as given:
        state = {
            name.removeprefix("state."): torch.from_numpy(given[name])
            for name in given.files
            if name.startswith("state.")
        }
        inputs = [torch.from_numpy(given[f"input.{at}"]) for at in range(task["inputs"])]
        inputs = [x.to(getattr(torch, y)) for x, y in zip(inputs, task["dtypes"], strict=True)]
        torch.set_rng_state(torch.from_numpy(given["generator"]))
        generator = torch.get_rng_state()
    for name, own in (*model.named_parameters(), *model.named_buffers()):
        if name in task["kinds"]:
            own.data = own.data.to(getattr(torch, task["kinds"][name]))
    model.load_state_dict(state)
    for path, part in model.named_modules():
        part.training = task["modes"].get(path, part.training)
    args, kwargs = decode(task["shape"], inputs)
    torch.set_rng_state(generator)
    calls = run_model(torch, model, args, kwargs)
    outputs = {f"{n}.{at}": x for n, call in enumerate(calls) for at, x in enumerate(call[2])}
    np.savez(folder / "outputs.npz", allow_pickle=False, **outputs)
    plain = [(name, kind, len(arrays)) for name, kind, arrays in calls]
    (folder / "calls.json").write_text(json.dumps(plain))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
