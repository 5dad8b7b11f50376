"""The debugger's front end in a terminal: commands with help, tables by rich."""

from __future__ import annotations

import cmd
import shlex
import sys
from collections.abc import Callable
from typing import Any, TextIO

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .conditions import CONDITIONS
from .protocol import RESUMING

__all__ = [
    "Terminal", "figures", "parse_watch", "shape_of", "values_text", "watchpoint_words",
]  # fmt: skip

_ALIASES = {
    "c": "continue", "s": "step", "n": "node", "p": "tensor", "w": "where", "q": "terminate",
}  # fmt: skip
_BAR = 40


class Terminal(cmd.Cmd):
    """Reads commands until one lets the program go on.

    Args:
        ask: sends a request to the program, and gives its reply.
        output: where it is shown; standard error.
        source: where commands come from; standard input.

    Attributes:
        gone: whether the input has ended.
    """

    prompt = "(debugger) "
    doc_header = "commands (help COMMAND):"

    def __init__(
        self, ask: Callable[[dict[str, Any]], dict[str, Any]], output: TextIO | None = None,
        source: TextIO | None = None,
    ) -> None:  # fmt: skip
        self.source = sys.stdin if source is None else source
        self.written = sys.stderr if output is None else output
        super().__init__(stdin=self.source, stdout=self.written)
        self.use_rawinput = self.source is sys.stdin and sys.stdin.isatty()
        width = None if self.written.isatty() else 110
        self.console = Console(file=self.written, width=width, highlight=False)
        self.ask = ask
        self.gone = False

    # -- the loop ---------------------------------------------------------------------------------

    def precmd(self, line: str) -> str:
        if not self.use_rawinput and line != "EOF":
            print(line, file=self.written)
        word, _, rest = line.strip().partition(" ")
        return f"{_ALIASES.get(word, word)} {rest}".strip()

    def emptyline(self) -> bool:
        return False

    def default(self, line: str) -> None:
        self.say(f"no command {line.split()[0]!r}; `help` lists them")

    def do_EOF(self, line: str) -> bool:  # noqa: N802 (cmd's name for the end of the input)
        """The input has ended: the program runs on without the debugger."""
        self.gone = True
        return True

    def get_names(self) -> list[str]:
        return [name for name in super().get_names() if name != "do_EOF"]

    def onecmd(self, line: str) -> bool:
        try:
            return bool(super().onecmd(line))
        except (ValueError, IndexError) as error:
            self.say(f"{error}")
            return False

    def run(self, stop: dict[str, Any]) -> None:
        """Show a stop, and read commands until the program is to go on."""
        self.show_stop(stop)
        while True:
            try:
                self.cmdloop()
                return
            except KeyboardInterrupt:
                self.say("\n`continue` lets the program go on, `terminate` ends it")

    def say(self, text: str) -> None:
        self.console.print(Text(text))

    def reply(self, do: str, **arguments: Any) -> dict[str, Any] | None:
        """What the program answers; an error is shown."""
        found = self.ask({"do": do, **arguments})
        if "error" in found:
            self.say(found["error"])
            return None
        return found

    def _resume(self, do: str, **arguments: Any) -> bool:
        assert do in RESUMING
        return self.reply(do, **arguments) is not None

    # -- showing ----------------------------------------------------------------------------------

    def show_stop(self, stop: dict[str, Any]) -> None:
        reason = {
            "start": "before the first call of the model", "pause": "paused",
            "step": f"step {stop['step']} has ended",
            "node": f"{stop['node']} was called", "watchpoint": "watchpoints were met",
        }[stop["reason"]]  # fmt: skip
        rank = f"rank {stop['rank']}, " if "rank" in stop else ""
        self.console.rule(Text(f"{rank}step {stop['step']}: {reason}"), align="left")
        if stop["layer"]:
            self.say(f"in {stop['layer']}")
        if stop["file"]:
            self.say(f"{stop['file']}:{stop['line']}")
            self.say(f"    {stop['source']}")
        self._show_hits(stop["hits"])

    def _show_hits(self, hits: list[dict[str, Any]]) -> None:
        for hit in hits:
            self.say(f"  [{hit['watchpoint']}] step {hit['step']}: {hit['text']}")
            if hit["file"]:
                self.say(f"      {hit['file']}:{hit['line']}")

    def _table(self, *columns: str) -> Table:
        table = Table(box=None, pad_edge=False)
        for name in columns:
            table.add_column(name, overflow="fold")
        return table

    def _show_histogram(self, found: dict[str, Any]) -> None:
        most = max(found["counts"], default=0)
        for count, low, high in zip(
            found["counts"], found["edges"], found["edges"][1:], strict=False
        ):
            bar = "█" * round(_BAR * count / most) if most else ""
            self.say(f"{low:>12.4g} .. {high:<12.4g} {count:>8} {bar}")

    # -- looking ----------------------------------------------------------------------------------

    def do_status(self, line: str) -> None:
        """status: step, level, and how much was met."""
        found = self.reply("status")
        if found is not None:
            self.say(", ".join(f"{name}: {value}" for name, value in found.items()))

    def do_nodes(self, line: str) -> None:
        """nodes [PATTERN]: modules and ops that were called in this step, with the user's line."""
        found = self.reply("nodes", pattern=line or "*")
        if found is None:
            return
        table = self._table("node", "made by", "outputs", "line")
        for node in found["nodes"]:
            shapes = ", ".join(shape_of(x) for x in node["outputs"])
            place = f"{node['file'].rpartition('/')[2]}:{node['line']}" if node["file"] else ""
            table.add_row(node["node"], node["made_by"], shapes, place)
        self.console.print(table)

    def do_tensors(self, line: str) -> None:
        """tensors [PATTERN]: names of what can be looked at: inputs:, outputs:, output_gradients:,
        gradients:, weights:, buffers: and optimizer: with a path, e.g. `tensors gradients:*`."""
        found = self.reply("tensors", pattern=line or "*")
        if found is None:
            return
        table = self._table("tensor", "shape", "type")
        for each in found["tensors"]:
            table.add_row(each["tensor"], shape_of(each), each["dtype"].removeprefix("torch."))
        self.console.print(table)

    def do_tensor(self, line: str) -> None:
        """tensor NAME [SLICE] (p): values, statistics, a histogram, the difference to the step
        before and to PyTorch's: `tensor weights:0.weight [0, 2:5]`."""
        name, _, part = line.strip().partition(" ")
        if not name:
            raise ValueError("tensor needs a name; `tensors` lists them")
        found = self.reply("tensor", name=name, part=part)
        if found is None:
            return
        self.say(f"{name}: {shape_of(found)} {found['dtype']}")
        if "note" in found:
            self.say(found["note"])
        if "values" not in found:
            return
        self.say(values_text(found))
        self.say(figures(found["statistics"]))
        self._show_histogram(found["histogram"])
        for other, title in (("before", "the step before"), ("torch", "PyTorch")):
            if other in found:
                said = {x: y for x, y in found[other].items() if x != "statistics"}
                self.say(f"against {title}: {figures(said)}")

    def do_where(self, line: str) -> None:
        """where (w): the lines of the program that led here, the innermost last."""
        found = self.reply("where")
        for each in found["lines"] if found else ():
            self.say(f"{each['file']}:{each['line']} in {each['function']}")
            self.say(f"    {each['source']}")

    # -- watchpoints ------------------------------------------------------------------------------

    def do_conditions(self, line: str) -> None:
        """conditions: what can be watched, with parameters and defaults."""
        found = self.reply("conditions")
        table = self._table("condition", "parameters", "of", "met where")
        for each in found["conditions"] if found else ():
            own = ", ".join(
                name if value is None else f"{name}={value:g}"
                for name, value in each["parameters"].items()
            )
            table.add_row(each["name"], own, ", ".join(each["kinds"]), each["says"])
        self.console.print(table)

    def do_watch(self, line: str) -> None:
        """watch CONDITION [PARAMETER=NUMBER ...] [at PATTERN] [of KIND,KIND]: stop where it is met:
        `watch weight_change_too_large abs_mean_update_ratio_gt=0.2 at conv*`. `conditions` lists
        them; kinds are outputs, output_gradients, gradients, weights and losses."""
        found = self.reply("watch", **parse_watch(line))
        if found is not None:
            self.say(watchpoint_words(found["watchpoint"]))

    def complete_watch(self, text: str, *rest: Any) -> list[str]:
        return [name for name in CONDITIONS if name.startswith(text)]

    def do_watchpoints(self, line: str) -> None:
        """watchpoints: those that there are."""
        found = self.reply("watchpoints")
        for each in found["watchpoints"] if found else ():
            self.say(watchpoint_words(each))

    def do_unwatch(self, line: str) -> None:
        """unwatch NUMBER: remove a watchpoint."""
        self.reply("unwatch", number=int(line))

    def do_enable(self, line: str) -> None:
        """enable NUMBER: look at a watchpoint again."""
        self.reply("enable", number=int(line), on=True)

    def do_disable(self, line: str) -> None:
        """disable NUMBER: do not look at a watchpoint for now."""
        self.reply("enable", number=int(line), on=False)

    def do_hits(self, line: str) -> None:
        """hits [N]: the last watchpoints that were met."""
        found = self.reply("hits", last=int(line or 20))
        if found is not None:
            self._show_hits(found["hits"])

    def do_recheck(self, line: str) -> None:
        """recheck: look at this step's tensors again, with the watchpoints of now."""
        found = self.reply("recheck")
        if found is not None:
            self._show_hits(found["hits"])
            if not found["hits"]:
                self.say("nothing is met")

    # -- settings ---------------------------------------------------------------------------------

    def do_level(self, line: str) -> None:
        """level [steps|modules|ops]: how much is seen: losses, gradients and parameters; also
        modules; also every op."""
        found = self.reply("level", level=line.strip())
        if found is not None:
            self.say(f"level {found['level']}")

    def do_gradients(self, line: str) -> None:
        """gradients on|off: keep the gradients of what modules give, too."""
        if line.strip() not in ("on", "off"):
            raise ValueError("gradients on, or gradients off")
        self.reply("output_gradients", on=line.strip() == "on")

    def do_dump(self, line: str) -> None:
        """dump FOLDER: write what is kept of this step as files for DumpAnalyzer."""
        found = self.reply("dump", folder=line.strip())
        if found is not None:
            self.say(f"written to {found['folder']}")

    # -- going on ---------------------------------------------------------------------------------

    def do_continue(self, line: str) -> bool:
        """continue (c): run until a watchpoint is met, or Ctrl+C."""
        return self._resume("continue")

    def do_step(self, line: str) -> bool:
        """step [N] (s): run N steps (1): of the optimizer, or calls of the model without one."""
        return self._resume("step", count=int(line or 1))

    def do_node(self, line: str) -> bool:
        """node [PATTERN] (n): run to the end of the next call of a module or op, or of the next
        one that the pattern matches."""
        return self._resume("node", pattern=line.strip() or "*")

    def do_terminate(self, line: str) -> bool:
        """terminate (q): end the program."""
        return self._resume("terminate")


def parse_watch(line: str) -> dict[str, Any]:
    """The request that the words of a `watch` command stand for.

    Raises:
        ValueError: they make no sense.
    """
    words = shlex.split(line)
    if not words:
        raise ValueError("watch needs a condition; `conditions` lists them")
    found: dict[str, Any] = {"condition": words.pop(0), "parameters": {}}
    while words:
        word = words.pop(0)
        if word in ("at", "of") and words:
            key, value = words.pop(0), word
            found |= {"nodes": key} if value == "at" else {"kinds": key.split(",")}
            continue
        name, sign, value = word.partition("=")
        if not sign:
            raise ValueError(f"{word!r} is no PARAMETER=NUMBER, `at PATTERN` or `of KIND`")
        found["parameters"][name] = _parsed(name, value)
    return found


def _parsed(name: str, value: str) -> float | bool:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{name} must be a number, not {value!r}") from None


def values_text(found: dict[str, Any]) -> str:
    """The values of a tensor's reply, six digits each."""
    values = found["values"]
    array = np.array(values, dtype=object if _has_words(values) else None)
    text = np.array2string(array, precision=6, threshold=1000, max_line_width=100)
    left_out = found.get("values_left_out")
    return f"{text}\n... {left_out} more elements; a slice shows others" if left_out else text


def shape_of(tensor: dict[str, Any]) -> str:
    """A tensor's shape in words."""
    return f"({', '.join(map(str, tensor['shape']))})"


def figures(found: dict[str, Any]) -> str:
    """Names and numbers in a line."""
    return ", ".join(
        f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in found.items()
    )


def watchpoint_words(found: dict[str, Any]) -> str:
    """A watchpoint in a line."""
    own = "".join(
        f" {name}={value:g}" for name, value in found["parameters"].items()
    )
    off = "" if found["enabled"] else ", disabled"
    where = f" at {found['nodes']}" if found["nodes"] != "*" else ""
    kinds = ", ".join(found["kinds"])
    times = f"; met {found['count']} times" if found["count"] else ""
    return f"[{found['number']}] {found['condition']}{own}{where} of {kinds}{off}{times}"


def _has_words(values: Any) -> bool:
    if isinstance(values, list):
        return any(_has_words(each) for each in values)
    return isinstance(values, str)
