"""Backward passes that are repeated: where a graph of nodes is built as one before it was, the
rules that ran for that one run again, one after another, without a queue and without keys.

A pass is noted from the third on that starts at nodes of one plan: which nodes it visited in which
order, along which edges, and the cached rules that it called (:mod:`.vjp_cache`). Of one that is
met again a function is generated, which first checks everything that the pass followed from, all
nodes' plans, edges, hooks and saved tensors, and does nothing where something differs.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from sys import getrefcount
from typing import Any

from ..autograd.nodes import RELEASED, AccumulateGrad, Node
from ..dispatch import VIEW, bound
from ..reference_counts import ONE_VARIABLE
from ..switches import switches
from .codegen import code_of

_MOST_NODES = 128  # of a pass that is repeated; longer ones spend their time elsewhere
_MOST_PASSES = 4  # from nodes of one plan
_MOST_NOTED = 64  # passes that are noted without one that is met again
_UNNOTED = 2  # passes until rules are cached


class Passes:
    """Passes that started at nodes of one plan.

    Attributes:
        known: the functions made of passes, the one used last first.
        noted: how many passes were noted since one was met again.
        met: what tells passes apart, of those noted.
        count: how many passes there were before noting begins.
    """

    __slots__ = ("count", "known", "met", "noted")

    def __init__(self) -> None:
        self.known: list[Callable[..., bool]] = []
        self.met: set[Any] = set()
        self.noted = self.count = 0


def repeat(run: Any, node: Any, index: int, gradient: Any) -> bool:
    """Do what ``run``, a :class:`..autograd.backward.Pass` without targets that records nothing,
    has to do from one root on; whether it was a known pass. One that is to be noted gets a
    trace."""
    if node.__class__ is not Node or not switches.vjp_cache:
        return False
    passes = node.plan.passes
    if passes is None:
        passes = node.plan.passes = Passes()
    known = passes.known
    if known and known[0](node, index, gradient, run):
        return True
    for at, follow in enumerate(known[1:], 1):
        if follow(node, index, gradient, run):
            known.insert(0, known.pop(at))
            return True
    if passes.count < _UNNOTED:
        passes.count += 1
    elif passes.noted < _MOST_NOTED:
        run.trace = Trace(passes, node, index, gradient)
    return False


class _Step:
    """A node that was visited.

    Attributes:
        node: it.
        call: its cached rule.
        given: the indices of its results whose gradients had arrived.
        sends: for each edge None, or whether a gradient went along it.
        saved: the avals of what it saved; None for what is absent.
    """

    def __init__(self, node: Any, call: Any, given: tuple[int, ...], sends: list[Any]) -> None:
        self.node, self.call, self.given, self.sends = node, call, given, sends
        self.edges = node.edges
        self.params = node.params if node.plan.kind == VIEW else None
        self.kept = node.kept
        self.saved = [None if x is None else x.aval for x in node.saved]
        self.numbers = [
            x.flat.tobytes() if x is not None and x.aval.weak else None for x in node.saved
        ]


class Trace:
    """What a pass did, as it is noted.

    Args:
        passes: those that it is to be one of.
        root, index, gradient: where it starts.
    """

    def __init__(self, passes: Passes, root: Any, index: int, gradient: Any) -> None:
        self.passes, self.root, self.index, self.aval = passes, root, index, gradient.aval
        self.steps: list[_Step] = []
        self.possible = not gradient.aval.weak

    def note(self, node: Any, key: Any, gradients: list[Any], results: Any) -> None:
        """A node was visited whose rule is called by ``key``, with its ``results``."""
        rules = getattr(node.plan, "rules", None) or {}
        call = None if key is None else rules.get(key)
        made = [g for g in (*gradients, *results) if g is not None]
        if (
            call.__class__ is not types.FunctionType or node.hooks is not None
            or len(self.steps) >= _MOST_NODES or any(g.aval.weak or g._by_methods for g in made)
            or (self.steps and self.steps[-1].node.sequence <= node.sequence)
        ):
            self.possible = False
        if self.possible:
            sends = [
                None if edge is None else result is not None
                for edge, result in zip(node.edges, results, strict=True)
            ]
            given = tuple([i for i, g in enumerate(gradients) if g is not None])
            self.steps.append(_Step(node, call, given, sends))

    def end(self) -> None:
        """The pass is done: have a function of it where it was met before."""
        passes = self.passes
        passes.noted += 1
        if not self.possible:
            return
        numbers = {id(step.node): at for at, step in enumerate(self.steps)}
        signature: list[Any] = [self.index, self.aval]
        for step in self.steps:
            signature.append(step.call)
            for edge, sent in zip(step.edges, step.sends, strict=True):
                if sent:
                    if edge[0].__class__ is AccumulateGrad:
                        number = numbers.setdefault(id(edge[0]), len(numbers))
                    elif id(edge[0]) in numbers:
                        number = numbers[id(edge[0])]
                    else:
                        return  # a node that had no turn
                    signature += number, edge[1]
                else:
                    signature.append(sent)
        key = tuple(signature)
        if key not in passes.met:
            passes.met.add(key)
            return
        passes.noted = 0
        passes.met.clear()
        passes.known.insert(0, _Code(self).function())
        del passes.known[_MOST_PASSES:]


class _Code:
    """The function of a pass: lines that check, then lines that run the rules."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.constants: list[Any] = []
        self.checks: list[str] = []
        self.tests: list[str] = []
        self.lines: list[str] = []
        self.names: dict[int, str] = {id(trace.root): "n0"}  # of nodes and leaves
        self.leaves: list[str] = []
        # what has arrived: of a node's results, by index
        self.arrived: dict[tuple[str, int], str] = {("n0", trace.index): "gradient"}

    def constant(self, value: Any) -> str:
        for at, known in enumerate(self.constants):
            if known is value:
                return f"c{at}"
        self.constants.append(value)
        return f"c{len(self.constants) - 1}"

    def function(self) -> Callable[..., bool]:
        """``follow(node, index, gradient, run)``; whether the pass was this one."""
        trace = self.trace
        self.tests += [
            f"index != {trace.index}", f"gradient.aval is not {self.constant(trace.aval)}",
            "gradient._by_methods",
        ]
        for at, step in enumerate(trace.steps):
            self._check(at, step)
            self._run(at, step)
        if len(self.leaves) > 1:
            distinct = "{" + ", ".join(self.leaves) + "}"
            self.checks.append(f"if len({distinct}) != {len(self.leaves)}: return False")
        for leaf in self.leaves:
            self._leaf(leaf)
        errors = self.constant((AttributeError, TypeError, ValueError))
        body = [
            "try:", *[f"    {line}" for line in self.checks], f"except {errors}: return False",
            "release = not run.retain_graph", *self.lines, "return True",
        ]
        code = code_of(
            "backward", ("n0", "index", "gradient", "run"), len(self.constants), "\n".join(body)
        )
        return bound(code, *self.constants)

    def _name(self, node: Any) -> tuple[str, bool]:
        """The name of a node or leaf, and whether it is new."""
        name = self.names.get(id(node))
        if name is not None:
            return name, False
        kind = "l" if node.__class__ is AccumulateGrad else "n"
        name = self.names[id(node)] = f"{kind}{len(self.names)}"
        return name, True

    def _check(self, at: int, step: _Step) -> None:
        """The lines that find out whether a node is as this one was."""
        name, tests = self.names[id(step.node)], self.tests
        tests += [
            f"{name}.plan is not {self.constant(step.node.plan)}", f"{name}.hooks is not None"
        ]
        if at:
            before = self.names[id(self.trace.steps[at - 1].node)]
            tests.append(f"{before}.sequence <= {name}.sequence")
        if step.params:
            tests.append(f"{name}.params != {self.constant(step.params)}")
        targets = []
        for i, (edge, sent) in enumerate(zip(step.edges, step.sends, strict=True)):
            each = f"e{i}"
            if sent:
                of, new = self._name(edge[0])
                targets.append(f"({of if new else each}, i{i})")
                tests.append(f"i{i} != {edge[1]}")
                if not new:
                    tests.append(f"{each} is not {of}")
                elif of[0] == "l":
                    self._check_leaf(of)
            else:
                targets.append(each)
                tests.append(f"{each} is {'not ' if sent is None else ''}None")
        self.checks.append(f"{', '.join([*targets, ''])} = {name}.edges")
        self._check_saved(name, step)
        self._end_of_tests()

    def _check_leaf(self, name: str) -> None:
        self.leaves.append(name)
        kind = self.constant(AccumulateGrad)
        self.tests += [
            f"{name}.__class__ is not {kind}", f"{name}.hooks is not None",
            f"(v{name} := {name}.variable_reference()) is None",
        ]

    def _check_saved(self, name: str, step: _Step) -> None:
        if not step.saved:
            return
        names = [f"{name}s{i}" for i in range(len(step.saved))]
        self.checks.append(f"{', '.join([*names, ''])} = {name}.saved")
        versions = [
            "0" if described is None else f"(0 if (s := {each}._storage) is None else s.version)"
            for each, described in zip(names, step.saved, strict=True)
        ]
        self.tests.append(f"({', '.join(versions)},) != {name}.versions")
        for i, (each, described) in enumerate(zip(names, step.saved, strict=True)):
            if described is None:
                self.tests.append(f"{each} is not None")
                continue
            self.tests.append(f"{each}.aval is not {self.constant(described)}")
            if step.numbers[i] is not None:
                self.tests.append(f"{each}.flat.tobytes() != {step.numbers[i]!r}")
            kind, place = step.kept[i]
            if kind == "in":
                edge = step.edges[place]
                if edge is not None and edge[0].__class__ is not AccumulateGrad:
                    self.tests.append(f"{each}._node is None")

    def _end_of_tests(self) -> None:
        self.checks.append(f"if {' or '.join(self.tests)}: return False")
        self.tests.clear()

    def _run(self, at: int, step: _Step) -> None:
        """The lines that call a node's rule, and let go what nobody needs any more."""
        name = self.names[id(step.node)]
        gradients = [self.arrived.pop((name, i)) for i in step.given]
        saved = [f"{name}s{i}" for i, x in enumerate(step.saved) if x is not None]
        results = [f"g{at}_{i}" for i in range(len(step.sends))]
        given = ", ".join([*gradients, *saved])
        self.lines.append(f"{', '.join([*results, ''])} = {self.constant(step.call)}({given})")
        if step.kept:
            self.lines.append(f"if release: {name}.saved = {self.constant(RELEASED)}")
        self.lines.append(f"{' = '.join([*gradients, *saved])} = None")
        for i, sent in enumerate(step.sends):
            if sent:
                edge = step.edges[i]
                self._send(self.names[id(edge[0])], edge[1], results[i])

    def _send(self, to: str, index: int, gradient: str) -> None:
        place = to, 0 if to[0] == "l" else index
        before = self.arrived.setdefault(place, gradient)
        if before is not gradient:
            self.lines += [
                f"held = [{before}]", f"{before} = None", f"run.join(held, 0, {gradient})",
                f"{before} = held.pop()", f"{gradient} = None",
            ]

    def _leaf(self, name: str) -> None:
        """The lines that add to the gradient of a leaf, as ``accumulate`` does in general."""
        gradient, variable = self.arrived.pop((name, 0)), f"v{name}"
        count = self.constant(getrefcount)
        self.lines += [
            f"if {variable}._grad is None and {gradient}._storage is None and "
            f"{gradient}.aval is {variable}.aval and {count}({gradient}) == {ONE_VARIABLE}:",
            f"    {gradient}._node = None",
            f"    {variable}._grad = {gradient}",
            "else:",
            f"    held = [{gradient}]",
            f"    {gradient} = None",
            f"    run.add_to_leaf({name}, held)",
        ]
