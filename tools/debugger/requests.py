"""What can be asked of a program that stands still: requests and replies for programs.

A request is a dict with `do` and arguments; a reply has what was asked for, or `error`. Both are
made of numbers, texts, lists and dicts alone, so they may be written as JSON.
"""

from __future__ import annotations

import fnmatch
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch import traceback_filtering
from mindtorch.engine.tensor import Tensor

from .conditions import CONDITIONS, ConditionError
from .records import Kept, Node
from .session import Debugger, TerminatedError, describe_hit
from .tensor_view import Reference, view

__all__ = ["Requests"]

_MOST_LISTED = 2000


class Requests:
    """Answers requests on behalf of a session.

    Args:
        session: the program.
        reference: what real PyTorch had, where it was recorded.
        dump: writes what is kept into a folder.
    """

    def __init__(
        self, session: Debugger, reference: Reference | None = None,
        dump: Callable[[Debugger, str], str] | None = None,
    ) -> None:  # fmt: skip
        self.session = session
        self.reference = reference
        self.dump = dump

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to a request; what cannot be done is told in `error`."""
        name = str(request.get("do", ""))
        method = getattr(self, f"_do_{name}", None)
        if method is None:
            known = sorted(x[4:] for x in dir(self) if x.startswith("_do_"))
            return {"error": f"no request {name!r}; there are {', '.join(known)}"}
        arguments = {x: y for x, y in request.items() if x not in ("do", "id")}
        try:
            reply: dict[str, Any] = method(**arguments)
        except (ConditionError, LookupError, ValueError, TypeError, OSError) as error:
            return {"error": str(error.args[0] if error.args else error)}
        return reply

    # -- what there is ----------------------------------------------------------------------------

    def _do_status(self) -> dict[str, Any]:
        session = self.session
        return {
            "step": session.step, "level": session.level, "hits": len(session.hits),
            "output_gradients": session.output_gradients, "detached": session.detached,
            "watchpoints": len(session.watchpoints.all), "nodes": len(session.record.nodes),
        }  # fmt: skip

    def _do_nodes(self, pattern: str = "*") -> dict[str, Any]:
        found = [x for x in self.session.record if fnmatch.fnmatch(x.name, pattern)]
        return {"nodes": [_node(x) for x in found[:_MOST_LISTED]], "count": len(found)}

    def _do_tensors(self, pattern: str = "*") -> dict[str, Any]:
        """Names of all tensors; `*` and `?` in the pattern stand for any letters."""
        named = ((x, y) for x, y in self._tensors() if fnmatch.fnmatch(x, pattern))
        found = [{"tensor": x, **_description(y)} for x, y in named]
        return {"tensors": found[:_MOST_LISTED], "count": len(found)}

    def _tensors(self) -> Iterator[tuple[str, Any]]:
        """Every tensor that can be looked at, with its name."""
        session = self.session
        for node in session.record:
            for kind, kepts in (("inputs", node.inputs), ("outputs", node.outputs)):
                for at, kept in enumerate(kepts):
                    yield _numbered(kind, node, at, len(kepts)), kept
            for at, kept in node.gradients.items():
                yield _numbered("output_gradients", node, at, len(node.outputs)), kept
        for name, gradient in session.gradients.items():
            yield f"gradients:{name}", gradient
        for name, parameter in self.weights().items():
            yield f"weights:{name}", parameter
        for module, path in session.names.values():
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    prefix = "" if path == type(module).__name__ else f"{path}."
                    yield f"buffers:{prefix}{name}", buffer
        yield from self._optimizer_states()

    def weights(self) -> dict[str, Any]:
        """The parameters of optimizers and of the modules that were called."""
        session = self.session
        found: dict[str, Any] = {}
        for optimizer in session.optimizers.values():
            found |= session.parameters_of(optimizer)
        known = {id(x) for x in found.values()}
        for module, path in session.names.values():
            for name, parameter in module._parameters.items():
                if parameter is not None and id(parameter) not in known:
                    prefix = "" if path == type(module).__name__ else f"{path}."
                    found.setdefault(f"{prefix}{name}", parameter)
        return found

    def _optimizer_states(self) -> Iterator[tuple[str, Any]]:
        for optimizer in self.session.optimizers.values():
            for name, parameter in self.session.parameters_of(optimizer).items():
                for key, value in optimizer.state.get(parameter, {}).items():
                    if isinstance(value, Tensor):
                        yield f"optimizer:{name}.{key}", value

    def _do_tensor(self, name: str, part: str = "") -> dict[str, Any]:
        """One tensor; `part` is a slice such as [0, :, 2:5]."""
        for each, tensor in self._tensors():
            if each == name:
                return {"tensor": name, **view(self.session, name, tensor, part, self.reference)}
        raise LookupError(f"no tensor {name!r} here; `tensors` lists them")

    def _do_where(self) -> dict[str, Any]:
        """The lines of the program that led here, the innermost last."""
        frame, lines = self.session.frame, []
        while frame is not None:
            file = frame.f_code.co_filename
            if not traceback_filtering.is_library(file) and not file.startswith("<frozen"):
                summary = traceback.FrameSummary(file, frame.f_lineno, frame.f_code.co_name)
                lines.append({"file": file, "line": summary.lineno, "function": summary.name,
                              "source": summary.line or ""})  # fmt: skip
            frame = frame.f_back
        return {"lines": lines[::-1], "layer": self.session.layer()}

    # -- watchpoints ------------------------------------------------------------------------------

    def _do_conditions(self) -> dict[str, Any]:
        return {
            "conditions": [
                {"name": x.name, "kinds": list(x.kinds), "parameters": dict(x.parameters),
                 "says": x.says}
                for x in CONDITIONS.values()
            ]
        }  # fmt: skip

    def _do_watch(
        self, condition: str, parameters: dict[str, Any] | None = None, nodes: str = "*",
        kinds: list[str] | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        made = self.session.watchpoints.add(condition, parameters or {}, nodes, kinds or ())
        return {"watchpoint": made.described()}

    def _do_unwatch(self, number: int) -> dict[str, Any]:
        self.session.watchpoints.remove(number)
        return {}

    def _do_enable(self, number: int, on: bool = True) -> dict[str, Any]:
        self.session.watchpoints.enable(number, on)
        return {"watchpoint": self.session.watchpoints.get(number).described()}

    def _do_watchpoints(self) -> dict[str, Any]:
        return {"watchpoints": [x.described() for x in self.session.watchpoints.all.values()]}

    def _do_hits(self, last: int = 100) -> dict[str, Any]:
        return {"hits": [describe_hit(x) for x in self.session.hits[-last:]]}

    def _do_recheck(self) -> dict[str, Any]:
        return {"hits": [describe_hit(x) for x in self.session.recheck()]}

    # -- settings ---------------------------------------------------------------------------------

    def _do_level(self, level: str = "") -> dict[str, Any]:
        if level:
            self.session.set_level(level)
        return {"level": self.session.level}

    def _do_output_gradients(self, on: bool = True) -> dict[str, Any]:
        self.session.output_gradients = on
        return {"output_gradients": on}

    def _do_dump(self, folder: str) -> dict[str, Any]:
        if self.dump is None:
            raise ValueError("dumps are not available here")
        return {"folder": self.dump(self.session, folder)}

    # -- going on ---------------------------------------------------------------------------------

    def _do_continue(self) -> dict[str, Any]:
        self.session.go()
        return {}

    def _do_step(self, count: int = 1) -> dict[str, Any]:
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"step takes a number of steps, 1 at least, not {count!r}")
        self.session.go(steps=count)
        return {}

    def _do_node(self, pattern: str = "*") -> dict[str, Any]:
        """Stop at the next call of a module or op that a pattern matches."""
        if self.session.level == "steps":
            raise ValueError("modules are not seen at level steps; `level modules` sees them")
        self.session.go(node=pattern)
        return {}

    def _do_pause(self) -> dict[str, Any]:
        self.session.pause_requested = True
        return {}

    def _do_terminate(self) -> dict[str, Any]:
        raise TerminatedError


def _numbered(kind: str, node: Node, position: int, count: int) -> str:
    return f"{kind}:{node.name}" if count == 1 else f"{kind}:{node.name}[{position}]"


def _description(tensor: Any) -> dict[str, Any]:
    if isinstance(tensor, Kept):
        return {"shape": list(tensor.shape), "dtype": tensor.dtype}
    return {"shape": list(tensor.aval.shape), "dtype": str(tensor.dtype)}


def _node(node: Node) -> dict[str, Any]:
    return {
        "node": node.name, "kind": node.kind, "made_by": node.made_by, "file": node.place.file,
        "line": node.place.line, "inputs": [_description(x) for x in node.inputs],
        "outputs": [_description(x) for x in node.outputs],
    }  # fmt: skip
