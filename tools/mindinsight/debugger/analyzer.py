"""The analyzer of a dump: its ranks, iterations, nodes and tensors, and watchpoints on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ...watchpoints.tensor_statistics import Statistics, statistics
from .dump_folder import DumpError, files_of, iteration_folders, ranks_of, read_json
from .nodes import DebuggerTensor, Node
from .watchpoints import Watchpoint, WatchpointHit, check

__all__ = ["DumpAnalyzer"]


class DumpAnalyzer:
    """Reads a dump of `mindtorch run --dump` or the debugger, or MindSpore's NumPy files.

    Args:
        dump_dir: the folder that holds `rank_0`.
        mem_limit: megabytes that a tensor may have to be looked at by watchpoints; None: any.

    Raises:
        DumpError: the folder holds no dump.
    """

    def __init__(self, dump_dir: str | Path, mem_limit: int | None = None) -> None:
        self._limit = None if mem_limit is None else mem_limit * 2**20
        self._ranks = ranks_of(Path(dump_dir))
        self._nodes: dict[int, dict[str, Node]] = {rank: {} for rank in self._ranks}
        self._iterations: dict[int, set[int]] = {rank: set() for rank in self._ranks}
        self._has_graph = False
        for rank, folder in self._ranks.items():
            for _, graph, iteration, each in iteration_folders(folder):
                self._iterations[rank].add(iteration)
                self._read(rank, graph, iteration, each)

    def _read(self, rank: int, graph: int, iteration: int, folder: Path) -> None:
        """The nodes of an iteration: those that nodes.json describes, and those of files alone."""
        nodes = self._nodes[rank]
        described = read_json(folder / "nodes.json").get("nodes", [])
        known = {x["name"]: x for x in described if isinstance(x, dict) and "name" in x}
        for each in files_of(folder):
            if each.name not in nodes:
                stack = known.get(each.name, {}).get("stack", [])
                nodes[each.name] = Node(each.name, rank, graph, each.type, stack)
            node = nodes[each.name]
            node.files[each.is_output].setdefault(iteration, {})[each.slot] = each.path
            node.order.setdefault(iteration, each.time)
        for name, facts in known.items():
            self._has_graph = True
            for given in facts.get("inputs", []):
                source, slot = given if isinstance(given, list) and len(given) == 2 else ("", 0)
                if source in nodes and name in nodes:
                    maker, user = nodes[source], nodes[name]
                    user.sources.setdefault(iteration, []).append((maker, int(slot)))
                    if user not in maker.users:
                        maker.users.append(user)

    # -- what there is ----------------------------------------------------------------------------

    def get_ranks(self) -> list[int]:
        """The ranks that were dumped."""
        return list(self._ranks)

    def get_iterations(self, ranks: int | Iterable[int] | None = None) -> list[int]:
        """The iterations that were dumped, in increasing order.

        Args:
            ranks: of which ranks; None: of any.
        """
        return sorted({x for rank in self._chosen_ranks(ranks) for x in self._iterations[rank]})

    def _chosen_ranks(self, ranks: int | Iterable[int] | None) -> list[int]:
        chosen = _numbers(ranks, self.get_ranks())
        unknown = [x for x in chosen if x not in self._ranks]
        if unknown:
            raise ValueError(f"no rank {unknown[0]} in this dump; it has {self.get_ranks()}")
        return chosen

    def select_nodes(
        self, query_string: str, use_regex: bool = False, select_by: str = "node_name",
        ranks: int | Iterable[int] | None = None, case_sensitive: bool = True,
    ) -> list[Node]:  # fmt: skip
        """The nodes whose name, or a line that led to them, holds a text.

        Args:
            query_string: the text.
            use_regex: whether it is a regular expression.
            select_by: "node_name" or "code_stack".
            ranks: of which ranks; None: of all.
            case_sensitive: whether capital letters differ from small ones.

        Raises:
            ValueError: `select_by` is another word, or there is no such rank.
        """
        matches = _matcher(query_string, use_regex, case_sensitive)
        if select_by not in ("node_name", "code_stack"):
            raise ValueError(f"select_by must be 'node_name' or 'code_stack', not {select_by!r}")

        def fits(node: Node) -> bool:
            if select_by == "node_name":
                return matches(node.name)
            return any(matches(str(value)) for line in node.stack for value in line.values())

        chosen = self._chosen_ranks(ranks)
        return [x for rank in chosen for x in self._nodes[rank].values() if fits(x)]

    def select_tensors(
        self, query_string: str, use_regex: bool = False, select_by: str = "node_name",
        iterations: int | Iterable[int] | None = None, ranks: int | Iterable[int] | None = None,
        slots: list[int] | None = None, case_sensitive: bool = True,
    ) -> list[DebuggerTensor]:  # fmt: skip
        """What the nodes of :meth:`select_nodes` gave.

        Args:
            query_string, use_regex, select_by, ranks, case_sensitive: see there.
            iterations: which; None: all that were dumped.
            slots: positions among a node's outputs; None: all.
        """
        nodes = self.select_nodes(query_string, use_regex, select_by, ranks, case_sensitive)
        chosen = _numbers(iterations, self.get_iterations(ranks))
        return [x for node in nodes for x in node.get_output_tensors(chosen, slots)]

    def select_tensor_statistics(
        self, iterations: int | Iterable[int] | None = None,
        ranks: int | Iterable[int] | None = None,
    ) -> dict[int, dict[int, dict[str, list[Statistics]]]]:  # fmt: skip
        """Statistics of all outputs: rank -> iteration -> node -> one for each slot.

        Args:
            iterations, ranks: which; None: all.
        """
        chosen = _numbers(iterations, self.get_iterations(ranks))
        found: dict[int, dict[int, dict[str, list[Statistics]]]] = {}
        for rank in self._chosen_ranks(ranks):
            of_rank = found[rank] = {}
            for iteration in chosen:
                named = of_rank.setdefault(iteration, {})
                for node in self._nodes[rank].values():
                    values = [x.value() for x in node.get_output_tensors([iteration])]
                    own = [statistics(x.ravel()) for x in values if x is not None]
                    if own:
                        named[node.name] = own
        return found

    # -- the graph --------------------------------------------------------------------------------

    def list_affected_nodes(self, tensor: DebuggerTensor) -> list[Node]:
        """The nodes that were given a tensor.

        Raises:
            DumpError: the dump does not say what nodes were given.
        """
        self._need_graph()
        found = []
        for node in tensor.node.users:
            given = node.sources.get(tensor.iteration, [])
            if any(source is tensor.node and slot == tensor.slot for source, slot in given):
                found.append(node)
        return found

    def get_input_nodes(self, node: Node) -> list[Node]:
        """The nodes whose outputs a node was given.

        Raises:
            DumpError: see :meth:`list_affected_nodes`.
        """
        self._need_graph()
        found = {id(x): x for given in node.sources.values() for x, _ in given}
        return list(found.values())

    def get_output_nodes(self, node: Node) -> list[Node]:
        """The nodes that were given outputs of a node.

        Raises:
            DumpError: see :meth:`list_affected_nodes`.
        """
        self._need_graph()
        return list(node.users)

    def _need_graph(self) -> None:
        if not self._has_graph:
            raise DumpError("this dump has no nodes.json, so what nodes were given is not known")

    # -- watchpoints ------------------------------------------------------------------------------

    def check_watchpoints(
        self, watchpoints: Iterable[Watchpoint], error_on_no_value: bool = False
    ) -> list[WatchpointHit]:
        """The tensors that meet watchpoints, in the order in which they were written.

        Args:
            watchpoints: what is looked for.
            error_on_no_value: whether tensors that were not dumped are told, too.

        Raises:
            DumpError: a file cannot be read.
        """
        hits = []
        for watchpoint in watchpoints:
            for tensor in watchpoint.tensors:
                hit = check(tensor, watchpoint.condition, self._limit, error_on_no_value)
                if hit is not None:
                    hits.append(hit)
        return sorted(hits, key=_written)


def _written(hit: WatchpointHit) -> tuple[int, int, int]:
    tensor: Any = hit.tensor
    return tensor.iteration, tensor.node.order.get(tensor.iteration, 0), tensor.rank


def _numbers(given: int | Iterable[int] | None, every: list[int]) -> list[int]:
    if given is None:
        return every
    return [given] if isinstance(given, int) else list(given)


def _matcher(text: str, use_regex: bool, case_sensitive: bool) -> Callable[[str], bool]:
    if use_regex:
        pattern = re.compile(text, 0 if case_sensitive else re.IGNORECASE)
        return lambda name: pattern.search(name) is not None
    wanted = text if case_sensitive else text.lower()
    return lambda name: wanted in (name if case_sensitive else name.lower())
