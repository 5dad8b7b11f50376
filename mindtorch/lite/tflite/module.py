"""A TFLite model as a module, to be traced.

TFLite's images have their channels last. They are kept with channels first as long as operators
can work on them so, and turned where one cannot.

A quantised value is kept as the floats that its numbers stand for. Products and convolutions of
quantised numbers become ours once the module is traced (:mod:`..reading_tflite`); what they alone
read is rounded by them, and by nobody before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.torch import nn

from ..errors import ConvertError
from .model import Operator, TFLiteModel
from .operators import OPERATORS, PASSING, quantized_weight

__all__ = ["TFLiteModule", "weight_name"]


def weight_name(place: int) -> str:
    """What a constant is called in the module."""
    return f"constant_{place}"


class TFLiteModule(nn.Module):
    """What a file computes, on torch's tensors.

    Args:
        model: of the file.

    Raises:
        ConvertError: an operator is not known.
    """

    def __init__(self, model: TFLiteModel) -> None:
        super().__init__()
        self.model = model
        unknown = sorted({o.name for o in model.operators} - set(OPERATORS))
        if unknown:
            raise ConvertError(f"operators that are not known: {', '.join(unknown)}")
        self.quantized: dict[str, Operator] = {}
        for operator in model.operators:
            if quantized_weight(model, operator) is not None:
                self.quantized[weight_name(operator.inputs[1])] = operator
        for place, tensor in enumerate(model.tensors):
            if tensor.data is not None:
                array = np.ascontiguousarray(tensor.real()).reshape(tensor.shape)
                self.register_buffer(weight_name(place), torch.from_numpy(array.copy()))
        for operator in model.operators:
            OPERATORS[operator.name].prepare(self, operator)
        self.rounded = self._rounded()

    def _rounded(self) -> set[int]:
        """The quantised values that somebody reads who does not round them by himself."""
        found = set(self.model.outputs)
        for operator in reversed(self.model.operators):
            passes = operator.name in PASSING and not found.intersection(operator.outputs)
            for number, place in enumerate(operator.inputs):
                own = quantized_weight(self.model, operator) is not None and number == 0
                if not own and not (passes and number == 0):
                    found.add(place)
        return found

    def forward(self, *inputs: Any) -> Any:
        run = Run(self)
        for place, x in zip(self.model.inputs, inputs, strict=True):
            run.give(place, x)
        for operator in self.model.operators:
            OPERATORS[operator.name].compute(run, operator)
        made = [run.taken(place) for place in self.model.outputs]
        return made[0] if len(made) == 1 else tuple(made)


class Run:
    """One run: what the values are.

    Attributes:
        last, first: values as TFLite has them, and images with channels first.
    """

    def __init__(self, module: TFLiteModule) -> None:
        self.module, self.model = module, module.model
        self.last: dict[int, Any] = {}
        self.first: dict[int, Any] = {}

    def tensor(self, place: int) -> Any:
        """What is known of a value."""
        return self.model.tensors[place]

    def constant(self, place: int) -> np.ndarray:
        """A constant that an operator needs as numbers.

        Raises:
            ConvertError: it is computed.
        """
        data = self.tensor(place).data
        if data is None:
            raise ConvertError(f"{self.tensor(place).name!r} is computed: a constant is needed")
        return np.asarray(data)

    def give(self, place: int, x: Any) -> None:
        """An input, whose numbers may be quantised."""
        known = self.tensor(place)
        if known.levels is not None:
            scale, zero = known.levels
            x = (x.to(torch.float32) - float(zero)) * scale
        self.last[place] = x

    def taken(self, place: int) -> Any:
        """An output, quantised if the model's is."""
        x, known = self.value(place), self.tensor(place)
        if known.levels is None:
            return x
        scale, zero = known.levels
        limits = np.iinfo(known.dtype)
        levels = torch.clamp(torch.round(x / scale) + float(zero), limits.min, limits.max)
        return levels.to(torch.int8 if known.dtype == np.int8 else torch.uint8)

    def value(self, place: int) -> Any:
        """A value as TFLite has it."""
        if place not in self.last:
            if place in self.first:
                self.last[place] = self.first[place].permute(0, 2, 3, 1).contiguous()
            elif self.tensor(place).data is not None:
                self.last[place] = getattr(self.module, weight_name(place))
            else:
                raise ConvertError(f"{self.tensor(place).name!r} is read before it is computed")
        return self.last[place]

    def image(self, place: int) -> Any:
        """An image with its channels first."""
        if place not in self.first:
            x = self.value(place)
            if x.ndim != 4:
                raise ConvertError(f"{self.tensor(place).name!r} is no image: it has {x.ndim} axes")
            self.first[place] = x.permute(0, 3, 1, 2).contiguous()
        return self.first[place]

    def store(self, operator: Operator, x: Any, first: bool = False, number: int = 0) -> None:
        """An operator's result, rounded to the numbers that stand for it where somebody needs it
        so."""
        place = operator.outputs[number]
        known = self.tensor(place)
        if known.levels is not None and place in self.module.rounded:
            scale, zero = known.levels
            limits = np.iinfo(known.dtype)
            x = torch.fake_quantize_per_tensor_affine(
                x, scale, zero, int(limits.min), int(limits.max)
            )
        (self.first if first else self.last)[place] = x
