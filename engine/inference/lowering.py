"""From nodes to steps.

A value has its elements as floats, as bytes for the layers that take it so, or both: whoever makes
it writes what is asked for. The sum and the limits that follow a layer, and that alone reads its
result, are computed with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mindtorch.kernels.cpu.inference import inference_packing as packing
from mindtorch.kernels.cpu.inference import inference_steps as steps
from mindtorch.kernels.cpu.inference.packed_tile import FIRST_ACTIVATION, POOL, pools
from mindtorch.kernels.cpu.inference.vector_activations import ACTIVATIONS
from mindtorch.kernels.cpu.processor import cache_bytes
from mindtorch.kernels.cpu.threads.thread_pool import get_num_threads
from mindtorch.kernels.cpu.vectors.simd import tile_rows

from .layers import (
    Layer,
    function_of,
    is_border,
    is_limit,
    layer_of,
    limits_of,
    winograd_tile,
)
from .step_list import External, Memory, Step, StepList
from .weights import is_run, packed

__all__ = ["Lowering"]

_FEW = 4  # channels of images whose pixels are read without a gap between
_INFINITE = float("inf")
_FLOATS = "floats"  # what layers of floats ask for; others (scale, zero point)
_WINOGRAD_SHARE = 0.4  # of the second cache, for turned tiles that are kept at a time


@dataclass
class _Image:
    """Where a value is.

    Attributes:
        held: memory by what was asked for.
    """

    count: int
    channels: int
    height: int
    width: int
    held: dict[Any, Memory] = field(default_factory=dict)

    @property
    def pixels(self) -> int:
        return self.count * self.height * self.width

    @property
    def pitch(self) -> int:
        return packing.pitch_of(self.channels)


@dataclass
class _End:
    """How a layer ends: the value that it makes, and where its elements go.

    Attributes:
        floats, chosen: memory for floats, and (kind, memory) for bytes; more: further kinds.
        added: a value that is added.
        limits: the least and the greatest result.
        after: what a tile does then; apart: the function that a step of its own applies.
    """

    result: int
    image: _Image
    floats: Any
    chosen: Any = None
    more: list[Any] = field(default_factory=list)
    added: int | None = None
    limits: tuple[float, float] = (-_INFINITE, _INFINITE)
    after: int = 0
    apart: str = ""


def _shape(aval: Any) -> tuple[int, int, int, int]:
    shape = aval.shape
    return shape if len(shape) == 4 else (shape[0], shape[1], 1, 1)


_METHODS: dict[str, Any] = {}


def _for(*ops: str) -> Any:
    """Enter a method that makes the steps of ops of these names."""

    def entered(method: Any) -> Any:
        _METHODS.update(dict.fromkeys(ops, method))
        return method

    return entered


class Lowering:
    """Makes the steps of nodes.

    Args:
        nodes: all of which :func:`.layers.suits`.
        inputs, outputs: values that are given and wanted.
        avals, arrays: of values, and constants, by their places.
        uses: how often each value is read.
        packed: weights of other lengths, by their nodes' results.
    """

    def __init__(
        self, nodes: Sequence[Any], inputs: Sequence[int], outputs: Sequence[int],
        avals: Any, arrays: Any, uses: Any, packed: dict[Any, Any],
    ) -> None:  # fmt: skip
        self.nodes, self.inputs, self.outputs = list(nodes), list(inputs), list(outputs)
        self.avals, self.arrays, self.uses, self.packed = avals, arrays, uses, packed
        self.list = StepList()
        self.parts = get_num_threads()
        self.images: dict[int, _Image] = {}
        self.readers: dict[int, list[int]] = {}
        for number, node in enumerate(self.nodes):
            for place in node.inputs:
                if place is not None and place not in arrays:
                    self.readers.setdefault(place, []).append(number)
        self.asked = self._asked()
        self.done: set[int] = set()
        self.borders: dict[int, Any] = {}
        self._zeros: dict[Any, int] = {}

    # --- what is asked for ---

    def _asked(self) -> dict[int, list[Any]]:
        """For each value how its readers take it."""
        asked: dict[int, list[Any]] = {place: [_FLOATS] for place in self.outputs}
        for node in reversed(self.nodes):
            made = asked.setdefault(node.outputs[0], [])
            for place in node.inputs:
                if place is None or place in self.arrays:
                    continue
                wanted = asked.setdefault(place, [])
                for kind in self._takes(node, made):
                    if kind not in wanted:
                        wanted.append(kind)
        return asked

    def _takes(self, node: Any, made: list[Any]) -> list[Any]:
        if node.op.startswith("quantized"):
            return [(float(np.float32(node.params["scale"])), node.params["zero"])]
        if node.op == "view" or is_border(node.op) or (node.op == "max_pool" and len(made) == 1):
            return made
        return [_FLOATS]

    # --- all of them ---

    def lower(self) -> StepList:
        """The steps, from reading the inputs to writing the outputs."""
        for number, place in enumerate(self.inputs):
            self._read(place, number)
        for number, node in enumerate(self.nodes):
            if number not in self.done:
                _METHODS.get(node.op, Lowering._map)(self, number, node)
        first = len(self.inputs)
        for number, place in enumerate(self.outputs):
            image = self.images[place]
            self.list.add(Step(
                steps.WRITE, image.count,
                {27: image.channels, 28: image.height * image.width, 29: image.pitch},
                {2: image.held[_FLOATS], 17: External(first + number)}, work=image.pixels,
            ))  # fmt: skip
        return self.list

    def zeros(self, kind: Any, count: int) -> int:
        """The address of so many numbers that stand for zero."""
        key = kind, count
        if key not in self._zeros:
            if kind == _FLOATS:
                made = np.zeros(count, np.float32)
            else:
                made = np.full(count, kind[1], np.uint8)
            self._zeros[key] = self.list.address(made)
        return self._zeros[key]

    def _read(self, place: int, number: int) -> None:
        """Bring an input into our order, as its readers want it."""
        image = self.images[place] = _Image(*_shape(self.avals[place]))
        for kind in self.asked[place] or [_FLOATS]:
            border = self._first_layer(place)
            down, across, top, left = border or (image.height, image.width, 0, 0)
            pitch = image.pitch if border is None else image.channels
            as_bytes = kind != _FLOATS
            size = 1 if as_bytes else 4
            held = self.list.memory(image.count * down * across * pitch * size, pitch * size)
            image.held[kind] = held
            self.list.add(Step(
                steps.READ, image.count * down,
                {27: image.channels, 28: image.height, 29: image.width, 30: pitch, 31: down,
                 32: across, 33: top, 34: left, 35: int(as_bytes)},
                {2: External(number), 17: held}, (-_INFINITE, _INFINITE, *_to_bytes(kind)),
                image.pixels * image.channels,
            ))  # fmt: skip

    def _first_layer(self, place: int) -> Any:
        """Rows and columns of a bordered image, and those before it, where the only layer that
        reads an input reads few channels: then a row of its window is one run of numbers."""
        readers = self.readers.get(place, [])
        shape = self.avals[place].shape
        if len(readers) != 1 or len(shape) != 4 or shape[1] > _FEW or place in self.outputs:
            return None
        node, more = self.nodes[readers[0]], (0, 0)
        if is_border(node.op):
            more = _before(node)
            node = self.nodes[self.readers[node.outputs[0]][0]]
        if not node.op.endswith("convolution") or node.params.get("groups", 1) != 1:
            return None
        layer = layer_of(node, shape[1:], self.arrays)
        if layer.dilation[1] != 1:
            return None
        made = self.avals[node.outputs[0]].shape[2:]
        down, across = (
            (made[i] - 1) * layer.stride[i] + (layer.window[i] - 1) * layer.dilation[i] + 1
            for i in (0, 1)
        )
        return down, across, *[a + b for a, b in zip(layer.padding, more, strict=True)]

    # --- results ---

    def _room(self, image: _Image, kind: Any) -> Memory:
        size = 4 if kind == _FLOATS else 1
        pixels = max(image.pixels, tile_rows())  # a tile may go beyond few pixels
        return self.list.memory(pixels * image.pitch * size, image.pitch * size)

    def _targets(self, place: int, image: _Image) -> tuple[Any, Any, list[Any]]:
        """Memory for floats, (kind, memory) for bytes, and the kinds that remain."""
        self.images[place] = image
        kinds = list(self.asked[place])
        quantized = [kind for kind in kinds if kind != _FLOATS]
        floats = None
        if _FLOATS in kinds or len(quantized) != 1:
            floats = image.held[_FLOATS] = self._room(image, _FLOATS)
        chosen = None
        if quantized:
            chosen = quantized[0], self._room(image, quantized[0])
            image.held[quantized[0]] = chosen[1]
        return floats, chosen, quantized[1:]

    def _remaining(self, image: _Image, kinds: list[Any]) -> None:
        """Bytes of further kinds, from the floats."""
        for kind in kinds:
            held = image.held[kind] = self._room(image, kind)
            count = image.pixels * image.pitch
            self.list.add(Step(
                steps.COMBINE, count, {},
                {2: image.held[_FLOATS], 14: None, 17: None, 20: held},
                (-_INFINITE, _INFINITE, *_to_bytes(kind)), count,
            ))  # fmt: skip

    def _follow(self, place: int, limits: Any, adds: bool) -> tuple[int, int | None, Any]:
        """The value that a node's result becomes by what is computed with it: its place, the
        value that is added, and limits.

        Args:
            adds: whether a value may be added.
        """
        added = None
        while True:
            readers = self.readers.get(place, [])
            if len(readers) != 1 or self.uses[place] != 1:
                return place, added, limits
            node = self.nodes[readers[0]]
            if limits == (-_INFINITE, _INFINITE) and is_limit(node.op):
                limits = limits_of(node.op, node.inputs[1:], node.params, self.arrays)
            elif node.op == "add" and adds and added is None and limits == (-_INFINITE, _INFINITE):
                (other,) = [i for i in node.inputs if i != place]
                if other is None or _FLOATS not in getattr(self.images.get(other), "held", ()):
                    return place, added, limits
                added = other
            else:
                return place, added, limits
            place = self._done_with(place)

    # --- single nodes ---

    @_for("view")
    def _view(self, number: int, node: Any) -> None:
        """A flattened image is the image itself; who reads it knows the order."""
        self.images[node.outputs[0]] = self.images[node.inputs[0] or 0]

    @_for("constant_pad_nd")
    def _border(self, number: int, node: Any) -> None:
        """The convolution behind it has zeros around its image."""
        self.images[node.outputs[0]] = self.images[node.inputs[0] or 0]
        self.borders[node.outputs[0]] = node

    @_for("add")
    def _add(self, number: int, node: Any) -> None:
        a, b = (self.images[i or 0] for i in node.inputs)
        # a second sum would have no operand left
        place, _, limits = self._follow(node.outputs[0], (-_INFINITE, _INFINITE), adds=False)
        self._combine(a, b, place, limits)

    @_for("relu", "clamp", "hardtanh", "clamp_min", "clamp_max")
    def _limit(self, number: int, node: Any) -> None:
        limits = limits_of(node.op, node.inputs[1:], node.params, self.arrays)
        self._combine(self.images[node.inputs[0] or 0], None, node.outputs[0], limits)

    def _combine(self, a: _Image, b: _Image | None, place: int, limits: Any) -> None:
        image = _Image(a.count, a.channels, a.height, a.width)
        floats, chosen, more = self._targets(place, image)
        kind, held = chosen or (_FLOATS, None)
        count = image.pixels * image.pitch
        self.list.add(Step(
            steps.COMBINE, count, {},
            {2: a.held[_FLOATS], 14: None if b is None else b.held[_FLOATS], 17: floats, 20: held},
            (*limits, *_to_bytes(kind)), count,
        ))  # fmt: skip
        self._remaining(image, more)

    @_for("max_pool")
    def _largest(self, number: int, node: Any) -> None:
        x, place = self.images[node.inputs[0] or 0], node.outputs[0]
        _, channels, height, width = self.avals[place].shape
        image = self.images[place] = _Image(x.count, channels, height, width)
        kinds = self.asked[place]
        kind = kinds[0] if len(kinds) == 1 else _FLOATS
        as_bytes = kind != _FLOATS
        held = self._room(image, kind)
        image.held[kind] = held
        params, pixel = node.params, x.pitch * (1 if as_bytes else 4)
        window = params["kernel_size"]
        places = packing.places_of(
            x.count, x.height * x.width * pixel, (x.height, x.width), pixel, window,
            params["stride"], params["padding"], params["dilation"], (height, width), False,
        )  # fmt: skip
        table = packing.panel_table(image.pitch)
        least = np.full(image.pitch, 0 if as_bytes else -_INFINITE, np.float32)
        ones = self.list.address(np.ones(image.pitch, np.float32))
        zeros, start = self.zeros(_FLOATS, image.pitch), self.list.address(least)
        outside = zeros if as_bytes else start
        self.list.add(Step(
            steps.CONVOLVE, table.size // 3 * places.whole,
            {4: outside, 42: pixel, 5: self.list.address(places.table), 6: places.whole,
             7: image.pixels, 8: window[0] * window[1], 9: 1, 10: zeros, 11: start, 12: zeros,
             13: ones, 16: 0,
             19: image.pitch * 4, 22: image.pitch, 23: self.list.address(table),
             24: table.size // 3, 25: steps.LARGEST + int(as_bytes), 26: 0},
            {2: x.held[kind], 14: None, 17: None if as_bytes else held,
             20: held if as_bytes else None},
            work=image.pixels * image.pitch * window[0] * window[1],
        ))  # fmt: skip
        self._remaining(image, [k for k in kinds if k not in (kind, _FLOATS)])

    def _map(self, number: int, node: Any) -> None:
        """A function of every number."""
        place = node.outputs[0]
        function = function_of(node.op, (), node.params, self.avals[place])
        x = self.images[node.inputs[0] or 0]
        image = _Image(x.count, x.channels, x.height, x.width)
        self._apply(function, x.held[_FLOATS], place, image)

    def _apply(self, function: str, held: Memory, place: int, image: _Image) -> None:
        floats, chosen, more = self._targets(place, image)
        kind, as_bytes = chosen or (_FLOATS, None)
        count = image.pixels * image.pitch
        self.list.add(Step(
            steps.MAP, count, {}, {2: held, 17: floats, 20: as_bytes},
            (-_INFINITE, _INFINITE, *_to_bytes(kind)), 4 * count, function,
        ))  # fmt: skip
        self._remaining(image, more)

    @_for("multiply")
    def _factors(self, number: int, node: Any) -> None:
        place = node.outputs[0]
        a, b = (self.images[i or 0] for i in node.inputs)
        x, factors = (a, b) if a.pixels > b.pixels else (b, a)
        image = _Image(x.count, x.channels, x.height, x.width)
        floats, chosen, more = self._targets(place, image)
        kind, held = chosen or (_FLOATS, None)
        self.list.add(Step(
            steps.SCALE, x.pixels, {27: x.height * x.width, 28: x.pitch},
            {2: x.held[_FLOATS], 14: factors.held[_FLOATS], 17: floats, 20: held},
            (-_INFINITE, _INFINITE, *_to_bytes(kind)), x.pixels * x.pitch,
        ))  # fmt: skip
        self._remaining(image, more)

    @_for("cat")
    def _joined(self, number: int, node: Any) -> None:
        place, begin = node.outputs[0], 0
        image = self.images[place] = _Image(*self.avals[place].shape)
        held = image.held[_FLOATS] = self._room(image, _FLOATS)
        for each in node.inputs:
            x = self.images[each]
            self.list.add(Step(
                steps.PLACE, x.pixels,
                {27: x.channels, 28: x.pitch, 29: image.pitch, 30: begin},
                {2: x.held[_FLOATS], 17: held}, work=x.pixels * x.pitch,
            ))  # fmt: skip
            begin += x.channels
        self._remaining(image, [k for k in self.asked[place] if k != _FLOATS])

    @_for("adaptive_avg_pool", "mean")
    def _mean(self, number: int, node: Any) -> None:
        x = self.images[node.inputs[0] or 0]
        image = self.images[node.outputs[0]] = _Image(x.count, x.channels, 1, 1)
        held = image.held[_FLOATS] = self._room(image, _FLOATS)
        self.list.add(Step(
            steps.MEAN, x.count, {27: x.height * x.width, 28: x.pitch},
            {2: x.held[_FLOATS], 17: held}, work=x.pixels * x.pitch,
        ))  # fmt: skip
        self._remaining(image, [k for k in self.asked[node.outputs[0]] if k != _FLOATS])

    # --- layers ---

    @_for("convolution", "linear", "quantized_convolution", "quantized_linear")
    def _layer(self, number: int, node: Any) -> None:
        place = node.inputs[0] or 0
        x = self.images[place]
        result = node.outputs[0]
        size = x.channels, x.height, x.width
        layer = layer_of(node, size, self.arrays, self.avals[result])
        if place in self.borders:
            top, left = _before(self.borders[place])
            layer.padding = layer.padding[0] + top, layer.padding[1] + left
            place = self.borders[place].inputs[0]
        pixels = _Image(*_shape(self.avals[result]))
        tiles = winograd_tile(layer, x, pixels)
        end = self._end(result, layer, pixels, tiles)
        kind, (bytes_kind, held) = layer.quantization or _FLOATS, end.chosen or (_FLOATS, None)
        step = Step(
            steps.CONVOLVE, 0, self._numbers(layer, end.image, kind),
            {2: x.held[kind], 17: end.floats, 20: held}, (*end.limits, *_to_bytes(bytes_kind)),
            pixels.pixels * layer.weight.size,
        )  # fmt: skip
        step.operands[14] = None if end.added is None else self.images[end.added].held[_FLOATS]
        step.numbers |= {16: end.image.pitch * 4, 44: end.after}
        border = self._first_layer(place) if place in self.inputs else None
        if tiles:
            self._winograd(step, node, layer, x, end.image, tiles)
        elif layer.each:
            self._plain(step, node, layer, x, pixels, "each")
        else:
            self._plain(step, node, layer, x, pixels, "first" if border else "all", border)
        self.list.add(step)
        self._remaining(end.image, end.more)
        if end.apart:
            self._apply(end.apart, end.floats, end.result, end.image)

    def _end(self, result: int, layer: Layer, image: _Image, tiles: int) -> _End:
        """What is computed with a layer, and where its results go."""
        if layer.function and (tiles or layer.function not in ACTIVATIONS):
            return _End(result, image, self._room(image, _FLOATS), apart=layer.function)
        after, added, limits = 0, None, layer.limits
        if layer.function:
            after = FIRST_ACTIVATION + list(ACTIVATIONS).index(layer.function)
        else:
            result, added, limits = self._follow(result, limits, adds=True)
            if added is None and not tiles and self._is_pooled(result, layer, image):
                result, after = self._done_with(result), POOL
                image = _Image(image.count, image.channels, image.height // 2, image.width // 2)
                result, _, limits = self._follow(result, limits, adds=False)
        floats, chosen, more = self._targets(result, image)
        return _End(result, image, floats, chosen, more, added, limits, after)

    def _done_with(self, place: int) -> int:
        """The result of the only node that reads a value, which is computed with it."""
        (number,) = self.readers[place]
        self.done.add(number)
        return self.nodes[number].outputs[0]

    def _is_pooled(self, place: int, layer: Layer, image: _Image) -> bool:
        """Whether all that reads a layer's result takes the largest of windows of 2 x 2, and a tile
        can do it: the larger sum gives the larger result."""
        readers = self.readers.get(place, [])
        if not pools() or layer.each or len(readers) != 1 or self.uses[place] != 1:
            return False
        node = self.nodes[readers[0]]
        if node.op != "max_pool" or (layer.factor is not None and not np.all(layer.factor >= 0)):
            return False
        settings = [node.params[name] for name in ("kernel_size", "stride", "padding", "dilation")]
        halves = image.height // 2, image.width // 2
        return (
            [tuple(each) for each in settings] == [(2, 2), (2, 2), (0, 0), (1, 1)]
            and tuple(self.avals[node.outputs[0]].shape[2:]) == halves
        )

    def _numbers(self, layer: Layer, image: _Image, kind: Any) -> dict[int, int]:
        """What is the same for all forms of a layer."""
        def column(array: np.ndarray | None) -> int:
            if array is None:
                return self.zeros(_FLOATS, image.pitch)
            return self.list.address(packing.padded(np.ascontiguousarray(array), image.pitch))

        quantized = kind != _FLOATS
        return {
            7: image.pixels, 11: column(layer.start if quantized else layer.bias),
            12: column(layer.bias), 13: column(layer.factor), 19: image.pitch * 4,
            22: image.pitch, 25: (steps.BYTES if quantized else steps.FLOAT)
            + (steps.DEPTHWISE if layer.each else 0),
        }  # fmt: skip

    def _weights(self, node: Any, form: str, make: Any) -> Any:
        key = node.outputs[0], node.inputs[1], form
        if key not in self.packed:
            self.packed[key] = make()
        return self.packed[key]

    def _plain(
        self, step: Step, node: Any, layer: Layer, x: _Image, image: _Image, form: str,
        border: Any = None,
    ) -> None:  # fmt: skip
        """A convolution by its definition; ``form``: "all" channels, "each", or the "first" layer,
        a row of whose window is one tap; so it is ("rows") where nothing is around the image."""
        quantized = layer.quantization is not None
        size_of = 1 if quantized else 4  # bytes of a number
        weight, window = layer.weight, layer.window
        size, padding, pixel = (x.height, x.width), layer.padding, x.pitch * size_of
        taps, kind = window, layer.quantization or _FLOATS
        if form == "all" and window == size and x.pitch == x.channels and max(padding) == 0:
            form = "whole"  # the window is the image: one run of numbers
            taps, pixel, size = (1, 1), pixel * window[0] * window[1], (1, 1)
        elif form == "all" and window[1] > 1 and is_run(layer, x, size_of):
            form, taps = "rows", (window[0], 1)
        if form == "first":
            pixel = x.channels * size_of
            size, padding, taps = border[:2], (0, 0), (window[0], 1)
        is_pooled = step.numbers[44] == POOL
        places = packing.places_of(
            x.count, size[0] * size[1] * pixel, size, pixel, taps, layer.stride, padding,
            layer.dilation, (image.height, image.width), form != "each", is_pooled,
        )  # fmt: skip
        table = self._weights(node, form, lambda: packed(weight, form, quantized))
        run = {
            "each": 1, "first": -(-window[1] * pixel // 4),
            "all": -(-weight.shape[1] * size_of // 4), "whole": pixel // 4,
            "rows": window[1] * pixel // 4,
        }[form]  # fmt: skip
        panels = table[1].size // 3
        step.units = panels * (places.whole + places.single)
        step.numbers |= {
            4: self.zeros(kind, x.pitch), 42: x.pitch * size_of if places.outside else 0,
            5: self.list.address(places.table),
            6: places.whole, 8: taps[0] * taps[1], 9: run, 10: self.list.address(table[0]),
            23: self.list.address(table[1]), 24: panels, 26: places.single,
        }  # fmt: skip

    def _winograd(
        self, step: Step, node: Any, layer: Layer, x: _Image, image: _Image, made: int
    ) -> None:
        down, across = -(-image.height // made), -(-image.width // made)
        tiles, places = x.count * down * across, (made + 2) ** 2
        rows = tile_rows()
        room = int(_WINOGRAD_SHARE * cache_bytes(2))
        fitting = room // (4 * places * (x.pitch + image.pitch)) // rows * rows
        share = -(-tiles // self.parts // rows) * rows
        together = max(rows, min(fitting, share))
        weight, table, place_step = self._weights(
            node, f"winograd{made}", lambda: packing.turned_weight(layer.weight, made)
        )
        step.kind = steps.WINOGRAD2 if made == 2 else steps.WINOGRAD4
        step.units = -(-tiles // together)
        apart = 16
        scratch_bytes = 4 * (
            places * (together * (x.pitch + image.pitch) + 2 * apart)
            + places * max(x.pitch, image.pitch)
        )
        scratch = self.list.memory(scratch_bytes * self.parts)
        lines = np.minimum(np.arange(together + rows), together - 1) * x.pitch * 4
        step.numbers |= {
            4: self.zeros(_FLOATS, max(x.pitch, image.pitch)),
            5: self.list.address(lines.astype(np.int32)), 6: together, 7: tiles, 9: place_step,
            10: self.list.address(weight), 23: self.list.address(table), 24: table.size // 3,
            43: scratch_bytes,
        }  # fmt: skip
        given = (x.height, x.width, x.pitch, *layer.padding, down, across)
        results = (image.height, image.width, image.pitch, 0, 0, down, across)
        step.numbers |= {27 + i: n for i, n in enumerate((*given, *results))}
        step.operands[41] = scratch
        step.work = step.work * places // (9 * made * made)


def _before(node: Any) -> tuple[int, int]:
    """The zeros above and on the left of an image."""
    (top, _), (left, _) = node.params["padding"][-2:]
    return top, left


def _to_bytes(kind: Any) -> tuple[float, float]:
    """The inverse of a scale and the zero point."""
    if kind == _FLOATS:
        return 1.0, 0.0
    return float(np.float32(1 / kind[0])), float(kind[1])
