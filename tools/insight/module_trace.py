"""The graph of a forward pass by modules: who ran, on what, for how long, and what led where."""

from __future__ import annotations

import threading
import time
from typing import Any

__all__ = ["ModuleTrace"]

_MOST_STEPS_BACK = 200


def _tensors(value: Any, torch: Any, depth: int = 0) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and depth < 4:
        return [each for part in value for each in _tensors(part, torch, depth + 1)]
    return []


class _Call:
    def __init__(self, path: str, kind: str) -> None:
        self.path, self.kind = path, kind
        self.seconds = 0.0
        self.calls = 0
        self.inputs: dict[str, None] = {}
        self.shape = ""
        self.parameters = 0
        self.has_children = False


class ModuleTrace:
    """Hooks of all modules, from `start` to `stop`.

    Paths are the modules' names below their outermost module, whose class they begin with. Where a
    module's input is no other module's output, the tape says which it was computed from. Passes
    without gradients are left out.
    """

    def __init__(self, torch: Any, modules: Any) -> None:
        self.torch, self.modules = torch, modules
        self.calls: dict[str, _Call] = {}
        self._thread = threading.get_ident()
        self._handles: list[Any] = []

    def start(self) -> None:
        """Look at every module's call from now on."""
        hooks = self.torch.nn.modules.module
        self._open: list[tuple[_Call, float]] = []
        self._made: dict[int, str] = {}
        self._nodes: dict[int, str] = {}
        self._held: list[Any] = []  # whose identities are keys must not be freed
        self.calls = {}
        self._paths = self._named()
        self._handles = [
            hooks.register_module_forward_pre_hook(self._enter),
            hooks.register_module_forward_hook(self._leave),
        ]

    def stop(self) -> None:
        """Look no more, and let the tensors go."""
        while self._handles:
            self._handles.pop().remove()
        self._made, self._nodes, self._held, self._open = {}, {}, [], []

    def _named(self) -> dict[int, str]:
        inner = {id(part) for module in list(self.modules) for part in module.children()}
        found: dict[int, str] = {}
        for module in sorted(self.modules, key=lambda each: self.modules[each]):
            if id(module) in inner:
                continue
            root = type(module).__name__
            while root in found.values():
                root += "'"
            for name, part in module.named_modules():
                path = f"{root}/{name.replace('.', '/')}" if name else root
                found.setdefault(id(part), path)
        return found

    def _path(self, module: Any) -> str:
        return self._paths.get(id(module)) or type(module).__name__

    def _forget(self, root: str) -> None:
        """A model that runs again begins anew: of several passes the last is kept."""
        for path in [p for p in self.calls if p == root or p.startswith(f"{root}/")]:
            del self.calls[path]
        self._made, self._nodes, self._held = {}, {}, []

    def _enter(self, module: Any, given: Any) -> None:
        if threading.get_ident() != self._thread:
            return
        path = self._path(module)
        if not self._open:
            if not self.torch.is_grad_enabled():
                return
            if path in self.calls:
                self._forget(path)
        call = self.calls.get(path)
        if call is None:
            call = self.calls[path] = _Call(path, type(module).__name__)
            held = (p for p in module._parameters.values() if p is not None)
            call.parameters = sum(p.numel() for p in held)
        tensors = _tensors(given, self.torch)
        if self._open:
            self._open[-1][0].has_children = True
        else:
            self._note_inputs(tensors)
        for tensor in tensors:
            for source in self._sources(tensor):
                if source != path:
                    call.inputs[source] = None
        self._open.append((call, time.perf_counter()))

    def _leave(self, module: Any, given: Any, result: Any) -> None:
        here = threading.get_ident() == self._thread
        if not here or not self._open or self._open[-1][0].path != self._path(module):
            return
        ended = time.perf_counter()
        call, began = self._open.pop()
        call.seconds += ended - began
        call.calls += 1
        found = _tensors(result, self.torch)
        call.shape = ", ".join("x".join(map(str, t.shape)) or "number" for t in found[:4])
        for tensor in found:
            if id(tensor) not in self._made:
                self._made[id(tensor)] = call.path
                self._held.append(tensor)
            node = tensor.grad_fn
            if node is not None and id(node) not in self._nodes:
                self._nodes[id(node)] = call.path
                self._held.append(node)

    def _note_inputs(self, tensors: list[Any]) -> None:
        """What an outermost module is given, and no module made, is the graph's input."""
        for tensor in tensors:
            if tensor.grad_fn is None and id(tensor) not in self._made:
                self._made[id(tensor)] = "input"
                self._held.append(tensor)

    def _sources(self, tensor: Any) -> list[str]:
        """The modules that a tensor comes from; "input" for the graph's."""
        known = self._made.get(id(tensor))
        if known is not None:
            return [known]
        found: dict[str, None] = {}
        seen: set[int] = set()
        waiting = [tensor.grad_fn]
        while waiting and len(seen) < _MOST_STEPS_BACK:
            node = waiting.pop()
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            self._held.append(node)
            if id(node) in self._nodes:
                found[self._nodes[id(node)]] = None
                continue
            waiting += [each for each, _ in node.next_functions]
        return list(found)

    def rows(self) -> list[dict[str, Any]]:
        """The nodes, as `insight.jsonl` has them. What a module that has others in it was given,
        those have too."""
        rows: list[dict[str, Any]] = []
        if any("input" in call.inputs for call in self.calls.values()):
            rows.append({"path": "input", "kind": "Input", "inputs": []})
        for call in list(self.calls.values()):
            rows.append({
                "path": call.path, "kind": call.kind,
                "inputs": [] if call.has_children else list(call.inputs),
                "shape": call.shape, "seconds": call.seconds, "parameters": call.parameters,
                "words": f"{call.calls} calls" if call.calls > 1 else "",
            })  # fmt: skip
        return rows
