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

from .findings import Agreement, Count, EventRow, tolerance_at
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


def chosen_rows(rows: list[EventRow]) -> tuple[list[EventRow], str]:
    """All calls, or those that differ most, still in their order."""
    if len(rows) <= MOST_LAYERS:
        return rows, ""
    ranked = sorted(rows, key=lambda x: (not x.cause, -max(x.output, x.gradient or 0)))
    chosen = {id(row) for row in ranked[:MOST_LAYERS]}
    note = f", the {MOST_LAYERS} of {len(rows)} calls that differ most"
    return [row for row in rows if id(row) in chosen], note


def rows_table(agreement: Agreement) -> Table:
    """The relative differences of each call in the step recorded in full."""
    rows, note = chosen_rows(agreement.rows)
    allowed = tolerance_at(agreement.full_step, agreement.tolerance)
    title = f"Largest relative difference in step {agreement.full_step + 1}{note}"
    columns = ("call", "kind", "output", "its gradient", "parameters' gradient")
    table = new_table(title, *columns, left=2)
    for row in rows:
        cells = [coloured(x, allowed) for x in (row.output, row.gradient, row.parameters)]
        if row.choices:
            cells[1] = Text(f"{figure(row.gradient)} (ties: {row.choices})", style="yellow")
        label = Text(row.label, style="bold red" if row.cause else "")
        table.add_row(label, row.name if row.kind == "module" else "function", *cells)
    if any(row.choices for row in rows):
        table.caption = "ties: elements whose gradient went to another one of (almost) equal value"
        table.caption_justify = "left"
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


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def outcome_table(agreement: Agreement, names: tuple[str, str]) -> Table:
    """Accuracy and time."""
    table = new_table("Outcome", "", *names, "")
    if agreement.accuracies is not None:
        first, second = agreement.accuracies
        same = "the same" if first == second else f"differ by {abs(first - second):.2g}"
        table.add_row("last accuracy printed", f"{first:g}", f"{second:g}", same)
    if agreement.seconds is not None:
        first, second = agreement.seconds
        factor = first / second
        text = f"{factor:.2f}x as fast" if factor >= 1 else f"{1 / factor:.2f}x as slow"
        table.add_row("time of a step, median", milliseconds(first), milliseconds(second), text)
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
    if agreement.accuracies or agreement.seconds:
        parts.append(outcome_table(agreement, outcome.names))
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
