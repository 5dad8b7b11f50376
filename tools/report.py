"""What `compare` prints: what was the same, the layers, the losses, the outcome, a verdict."""

import argparse
import io
from collections import defaultdict
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from .agreement import Agreement, Count, LayerRow, Side, number_difference
from .records import write_text_atomically

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
    text = f"no ({count.equal} of {count.total}); largest difference {count.largest:.1e}"
    return Text(text, style="red" if count.largest > allowed else "yellow")


def bits_table(agreement: Agreement) -> Table:
    """Which things had the same bits on both sides."""
    table = new_table("Bit for bit the same?", "what", "answer", left=2)
    strict = agreement.strict
    table.add_row("initial parameters", answer(agreement.parameters, "parameters", strict))
    if agreement.buffers.total:
        table.add_row("buffers, first step", answer(agreement.buffers, "buffers", strict))
    table.add_row("batches", answer(agreement.batches, "DataLoader", strict))
    table.add_row("dropout masks", answer(agreement.masks, "dropout", 0.0))
    table.add_row("random state, each step", answer(agreement.generators, "steps", 0.0))
    table.add_row("parameters after step 1", answer(agreement.updates, "steps", strict))
    table.add_row("parameters at the end", answer(agreement.final, "parameters", np.inf))
    return table


def chosen_layers(rows: list[LayerRow]) -> tuple[list[LayerRow], str]:
    """All layers, or those that differ most, still in the order of their calls."""
    if len(rows) <= MOST_LAYERS:
        return rows, ""
    ranked = sorted(rows, key=lambda row: -max(row.output, row.gradient or 0, row.parameters or 0))
    chosen = {row.name for row in ranked[:MOST_LAYERS]}
    note = f", the {MOST_LAYERS} of {len(rows)} that differ most"
    return [row for row in rows if row.name in chosen], note


def layers_table(agreement: Agreement) -> Table:
    """The largest relative differences of each layer in the step recorded in detail."""
    rows, note = chosen_layers(agreement.layers)
    title = f"Largest relative difference in step {agreement.detail_step + 1}{note}"
    columns = ("layer", "kind", "output", "its gradient", "parameters' gradient")
    table = new_table(title, *columns, left=2)
    for row in rows:
        cells = [coloured(x, agreement.strict) for x in (row.output, row.gradient, row.parameters)]
        if row.choices:
            cells[1] = Text(f"{figure(row.gradient)} (ties: {row.choices})", style="yellow")
        table.add_row(row.name, row.kind, *cells)
    if any(row.choices for row in rows):
        table.caption = "ties: elements whose gradient went to another one of (almost) equal value"
        table.caption_justify = "left"
    return table


def losses_table(agreement: Agreement, sides: tuple[Side, Side]) -> Table:
    """Mean loss of each epoch, and the largest difference of a single step in it."""
    epochs: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for first, second, epoch in agreement.losses:
        epochs[epoch].append((first, second))
    names = [side.name for side in sides]
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


def outcome_table(agreement: Agreement, sides: tuple[Side, Side]) -> Table:
    """Accuracy and time."""
    names = [side.name for side in sides]
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


def verdict(agreement: Agreement, detail: Agreement, reproduction: Path | None) -> list[Text]:
    """One line if the sides agree; else the first difference, the layer and the file."""
    if agreement.is_empty:
        text = "nothing to compare: no model, no loss and no accuracy was seen"
        return [Text(text, style="bold yellow")]
    if not agreement.differences:
        largest = agreement.largest_loss_difference
        text = f"agree: largest difference of a loss {largest:.1e}, {agreement.tolerance:g} allowed"
        return [Text(text, style="bold green")]
    lines = [Text(f"DIFFER: first the {agreement.differences[0]}", style="bold red")]
    if detail is not agreement and detail.differences:
        step = detail.detail_step + 1
        lines.append(Text(f"looked at again in step {step}: first the {detail.differences[0]}"))
    fault = next((each for each in detail.differences if each.layer is not None), None)
    if fault is not None and fault.layer is not None:
        layer = f"{fault.layer.name}: {fault.layer.description}"
        lines.append(Text(f"first layer that differs: {layer}", style="bold"))
        if fault is not detail.differences[0]:
            lines.append(Text(f"there it is the {fault}"))
    elif agreement.layers:
        lines.append(Text(f"every layer agrees in step {detail.detail_step + 1}"))
    if reproduction is not None:
        lines.append(Text(f"what the layer was given and gave on both sides: {reproduction}"))
    if len(agreement.differences) > 1:
        lines.append(Text(f"{len(agreement.differences)} differences in all; --json lists them"))
    return lines


def head(sides: tuple[Side, Side], options: argparse.Namespace) -> Text:
    versions = " | ".join(f"{side.name} {side.record.version}" for side in sides)
    steps = len(sides[0].record.steps)
    threads = f"{options.threads} thread{'s' if options.threads != 1 else ''}"
    model = sides[0].record.model or "no model seen"
    return Text(f"{options.script}\n{model}: {steps} steps, {threads}, {versions}", style="bold")


def body(
    agreement: Agreement,
    detail: Agreement,
    sides: tuple[Side, Side],
    options: argparse.Namespace,
    reproduction: Path | None,
) -> RenderableType:
    parts: list[RenderableType] = [head(sides, options), bits_table(agreement)]
    if agreement.layers:
        parts.append(layers_table(agreement))
    if detail is not agreement and detail.layers:
        parts.append(layers_table(detail))
    if agreement.losses:
        parts.append(losses_table(agreement, sides))
    if agreement.accuracies or agreement.seconds:
        parts.append(outcome_table(agreement, sides))
    return Group(*parts, Text(""), *verdict(agreement, detail, reproduction))


def print_report(
    agreement: Agreement,
    detail: Agreement,
    sides: tuple[Side, Side],
    options: argparse.Namespace,
    reproduction: Path | None,
) -> None:
    """Print the report, and write it to `--output` as plain text.

    `detail` is the comparison of the step that was looked at more closely, or `agreement` itself.
    """
    shown = body(agreement, detail, sides, options, reproduction)
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 100)
    console.print(shown)
    if options.output is not None:
        text = io.StringIO()
        Console(file=text, width=100, highlight=False, color_system=None).print(shown)
        write_text_atomically(options.output, text.getvalue())
