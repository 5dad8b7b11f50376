"""What `compare` prints: what was the same, the layers, the losses, the outcome, a verdict."""

import io
from collections import defaultdict
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from mindtorch.kernels.support.atomic_file import write_whole

from ..env import processor
from .event_rows import OUTSIDE, chosen, weight
from .findings import Agreement, Count, EventRow, RowsLeftOut, tolerance_at
from .statistics import number_difference
from .verdict import Outcome

__all__ = ["print_report"]

MOST_LAYERS = 40
MOST_EPOCHS = 12


def figure(value: float | None) -> str:
    """A relative difference in a cell: a dash where there is none to speak of."""
    if value is None:
        return "-"
    return "0" if value == 0 else f"{value:.1e}"


def coloured(value: float | None, allowed: float) -> Text:
    style = "" if value is None else "red" if value > allowed else "green"
    return Text(figure(value), style=style)


def new_table(title: str, *columns: str, left: int = 1) -> Table:
    table = Table(title=f"\n{title}", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.show_edge = False
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position < left else "right", overflow="fold")
    return table


def answer(count: Count, noun: str, allowed: float) -> Text:
    """`yes (8 of 8)`, or how many and by how much they differ."""
    if count.total == 0:
        return Text(f"no {noun} seen", style="dim")
    if count.equal == count.total:
        return Text(f"yes ({count.total} of {count.total})", style="green")
    largest = f"largest difference {count.largest:.1e}" if count.largest else "all within rounding"
    text = f"no ({count.equal} of {count.total}); {largest}"
    return Text(text, style="red" if count.largest > allowed else "yellow")


def phases_table(outcome: Outcome) -> Table:
    """The first difference of each phase, and what is known of its cause."""
    table = new_table("First difference of each phase", "phase", "what", "judged", left=3)
    for row in outcome.phases():
        if row.difference is None:
            table.add_row(row.phase, Text("none", style="green"), "")
        else:
            style = "red" if row.difference.is_real else "yellow"
            table.add_row(row.phase, Text(str(row.difference), style=style), row.because)
    return table


def bits_table(agreement: Agreement) -> Table:
    """Which things had the same bits on both sides."""
    table = new_table("Bit for bit the same?", "what", "answer", left=2)
    strict = tolerance_at(0, agreement.tolerance)
    table.add_row("initial parameters", answer(agreement.parameters, "parameters", strict))
    if agreement.buffers.total:
        table.add_row("buffers, first step", answer(agreement.buffers, "buffers", strict))
    table.add_row("batches", answer(agreement.batches, "DataLoader", strict))
    table.add_row("dropout masks", answer(agreement.masks, "dropout", 0.0))
    table.add_row("random state, each step", answer(agreement.generators, "steps", 0.0))
    table.add_row("updates", answer(agreement.updates, "steps", strict))
    table.add_row("parameters at the end", answer(agreement.final, "parameters", np.inf))
    return table


def shown_rows(agreement: Agreement) -> tuple[list[EventRow], RowsLeftOut]:
    """All calls, or those that say most, still in their order; and what is left out."""

    def rank(row: EventRow) -> tuple[int, float]:
        size = max(row.output, row.gradient or 0)
        return weight(row.kind, row.path, row.phase, bool(row.cause)), -size

    rows, before = agreement.rows, agreement.rows_left_out
    if len(rows) > MOST_LAYERS:  # then what only prepares data, and agrees, has no place either
        said = [row for row in rows if rank(row)[0] < OUTSIDE or rank(row)[1]]
        rows = chosen(said or rows, MOST_LAYERS, rank)
    known = {id(row) for row in rows}
    others = [row for row in agreement.rows if id(row) not in known]
    modules = sum(row.kind == "module" for row in others)
    largest = max([before.largest, *(row.output for row in others)])
    functions = before.functions + len(others) - modules
    return rows, RowsLeftOut(before.modules + modules, functions, largest)


def rows_table(agreement: Agreement) -> Table:
    """The relative differences of each call in the step recorded in full."""
    rows, left_out = shown_rows(agreement)
    allowed = tolerance_at(agreement.full_step, agreement.tolerance)
    title = f"Largest relative difference in step {agreement.full_step + 1}"
    columns = ("call", "kind", "output", "its gradient", "parameters' gradient")
    table = new_table(title, *columns, left=2)
    for row in rows:
        cells = [coloured(x, allowed) for x in (row.output, row.gradient, row.parameters)]
        if row.choices:
            cells[1] = Text(f"{figure(row.gradient)} (ties: {row.choices})", style="yellow")
        label = Text(row.label, style="bold red" if row.cause else "")
        table.add_row(label, row.name if row.kind == "module" else "function", *cells)
    captions = [str(left_out)] if str(left_out) else []
    if any(row.choices for row in rows):
        captions.append("ties: elements whose gradient went to another one of (almost) equal value")
    if captions:
        table.caption, table.caption_justify = "\n".join(captions), "left"
    return table


def losses_table(agreement: Agreement, names: tuple[str, str]) -> Table:
    """Mean loss of each epoch, and the largest difference of a single step in it."""
    epochs: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for first, second, epoch in agreement.losses:
        epochs[epoch].append((first, second))
    table = new_table("Loss", "epoch", "losses", *names, "largest difference of a step")
    numbers = sorted(epochs)
    half = MOST_EPOCHS // 2
    for position, epoch in enumerate(numbers):
        if len(numbers) > MOST_EPOCHS and half <= position < len(numbers) - half:
            if position == half:
                table.add_row("...", "", "", "", "")
            continue
        values = np.array(epochs[epoch])
        largest = max(number_difference(a, b) for a, b in epochs[epoch])
        means = [f"{mean:.6f}" for mean in values.mean(axis=0)]
        cell = coloured(largest, agreement.tolerance)
        table.add_row(str(epoch + 1), str(len(values)), *means, cell)
    return table


def outcome_table(agreement: Agreement, names: tuple[str, str]) -> Table:
    """Accuracy."""
    table = new_table("Outcome", "", *names, "")
    if agreement.accuracies is not None:
        first, second = agreement.accuracies
        same = "the same" if first == second else f"differ by {abs(first - second):.2g}"
        table.add_row("last accuracy printed", f"{first:g}", f"{second:g}", same)
    return table


def times_table(outcome: Outcome) -> Table:
    """How long steps took that both runs made in turns; no ratio, which noise makes large."""
    count = len(outcome.times[0].seconds)
    names = [each.name for each in outcome.times]
    table = new_table("Time of a step (ms)", "", *names)
    rows = (("minimum", 0.0), ("lower quartile", 0.25), ("median", 0.5), ("upper quartile", 0.75))
    for word, share in rows:
        table.add_row(word, *(f"{each.quantile(share) * 1e3:.3f}" for each in outcome.times))
    threads = f"{outcome.threads} thread{'s' if outcome.threads != 1 else ''}"
    machine = processor()
    lines = [f"{count} steps of each run, in turns", f"{machine['name']}, {threads}",
             f"load of the machine: {outcome.load:.1f}"]  # fmt: skip
    if outcome.load > 0.5 * machine["cores"]:
        lines.append("it is busy: times say little")
    table.caption, table.caption_justify = "\n".join(lines), "left"
    return table


def verdict(outcome: Outcome) -> list[Text]:
    """The words, the first of them in the colour of the outcome."""
    colours = {"agree": "bold green", "rounding": "bold green", "differ": "bold red"}
    words = outcome.words()
    colour = colours.get(outcome.kind, "bold yellow")
    return [Text(words[0], style=colour), *(Text(line) for line in words[1:])]


def head(outcome: Outcome) -> Text:
    pairs = zip(outcome.names, outcome.versions, strict=True)
    versions = " | ".join(f"{name} {version}" for name, version in pairs)
    steps = len(outcome.agreement.steps)
    threads = f"{outcome.threads} thread{'s' if outcome.threads != 1 else ''}"
    model = outcome.model or "no model seen"
    return Text(f"{outcome.script}\n{model}: {steps} steps, {threads}, {versions}", style="bold")


def body(outcome: Outcome) -> RenderableType:
    agreement, detail = outcome.agreement, outcome.detail
    parts: list[RenderableType] = [head(outcome), bits_table(agreement)]
    if detail.rows:
        parts.append(rows_table(detail))
    if agreement.losses:
        parts.append(losses_table(agreement, outcome.names))
    if agreement.accuracies:
        parts.append(outcome_table(agreement, outcome.names))
    if outcome.times:
        parts.append(times_table(outcome))
    if outcome.differences:
        parts.append(phases_table(outcome))
    return Group(*parts, Text(""), *verdict(outcome))


def print_report(outcome: Outcome, output: Path | None) -> None:
    """Print the report, and write it to `output` as plain text."""
    shown = body(outcome)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 100)
    console.print(shown)
    if output is not None:
        text = io.StringIO()
        Console(file=text, width=100, highlight=False, color_system=None).print(shown)
        write_whole(output, text.getvalue())
