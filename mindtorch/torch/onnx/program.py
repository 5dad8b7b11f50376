"""ONNXProgram: an exported model in memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import version_converter
from onnx.reference import ReferenceEvaluator

from mindtorch.engine.tensor import Tensor
from mindtorch.exporting.arguments import Arguments, tensors_in
from mindtorch.kernels.support.atomic_file import replacing
from mindtorch.torch import from_numpy, no_grad

from .errors import OnnxExporterError, OnnxExporterWarning
from .model_writer import OLDEST

__all__ = ["ONNXProgram"]

_LARGEST = 1_800_000_000  # bytes of one file; protobuf ends at 2 GiB
_SMALL = 256  # bytes of a constant that stays in the model
_ALIGNED = 4096  # where constants begin in a file of their own, so that it can be mapped


def _write_beside(model: onnx.ModelProto, path: str) -> None:
    """Write large constants to a file of their own, to which ``model`` then refers."""
    large = [x for x in model.graph.initializer if len(x.raw_data) > _SMALL]
    if not large:
        return
    with replacing(path) as file:
        end = 0
        for each in large:
            begin = -(-end // _ALIGNED) * _ALIGNED
            file.write(b"\0" * (begin - end) + each.raw_data)
            end = begin + len(each.raw_data)
            place = {"location": os.path.basename(path), "offset": begin, "length": end - begin}
            for key, value in place.items():
                each.external_data.add(key=key, value=str(value))
            each.data_location = onnx.TensorProto.EXTERNAL
            each.ClearField("raw_data")


class ONNXProgram:
    """A model as ONNX has it, and ways to save and run it.

    Args:
        model_proto: the model.
        model, given: what was exported and with which arguments, to compare with.
    """

    def __init__(self, model_proto: onnx.ModelProto, model: Any = None, given: Any = None) -> None:
        self.model_proto = model_proto
        self._model, self._given = model, given
        self._evaluator: Any = None

    @property
    def model(self) -> onnx.ModelProto:
        """The same as `model_proto`."""
        return self.model_proto

    def __repr__(self) -> str:
        shown = onnx.ModelProto()
        shown.CopyFrom(self.model_proto)
        del shown.graph.initializer[:]
        return str(onnx.printer.to_text(shown))

    # --- when it is made --------------------------------------------------------------------------

    def convert(self, opset: int) -> None:
        """Bring the model to an older opset, where the converter of `onnx` can."""
        if opset >= OLDEST:
            return
        try:
            self.model_proto = version_converter.convert_version(self.model_proto, opset)
        except Exception as error:  # the converter raises what C++ gives it
            warnings.warn(
                f"the model is of opset {OLDEST}: onnx cannot convert it to {opset} ({error})",
                OnnxExporterWarning, stacklevel=3,
            )  # fmt: skip

    def check(self) -> None:
        """Raise where `onnx` finds the model wrong, such as types that an operator lacks."""
        if self.model_proto.ByteSize() >= _LARGEST:
            return
        try:
            onnx.checker.check_model(self.model_proto, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
            raise OnnxExporterError(f"onnx refuses the model: {error}") from error

    def verify(self) -> None:
        """Raise where the model, run by `onnx.reference`, differs from what was exported."""
        assert isinstance(self._given, Arguments)
        with no_grad():
            made = self._given.call(self._model, self._given.tensors)
        expected = [x for _, x in tensors_in(made)]
        for name, mine, theirs in zip(
            self._output_names(), self._run(self._given.tensors), expected, strict=True
        ):
            if not np.allclose(mine, theirs.array(), 1e-3, 1e-4, equal_nan=True):
                raise OnnxExporterError(f"the output {name!r} of the ONNX model differs")

    # --- run --------------------------------------------------------------------------------------

    def _output_names(self) -> list[str]:
        return [each.name for each in self.model_proto.graph.output]

    def _run(self, tensors: Sequence[Tensor]) -> list[Any]:
        if self._evaluator is None:
            self._evaluator = ReferenceEvaluator(self.model_proto)
        names = [each.name for each in self.model_proto.graph.input]
        feeds = {name: x.array() for name, x in zip(names, tensors, strict=False)}
        return [np.asarray(x) for x in self._evaluator.run(None, feeds)]

    def __call__(self, *args: Any, **kwargs: Any) -> list[Tensor]:
        """The model's outputs for these arguments, by onnx's reference evaluator."""
        tensors = [x.detach() for _, x in tensors_in((*args, *kwargs.values()))]
        return [from_numpy(np.array(x, order="C")) for x in self._run(tensors)]

    call_reference = __call__

    def optimize(self) -> None:
        """Nothing is left to do: constants are computed at the export."""

    def release(self) -> None:
        """Forget what `__call__` has prepared."""
        self._evaluator = None

    # --- change -----------------------------------------------------------------------------------

    def apply_weights(self, state_dict: Mapping[str, Any]) -> None:
        """Put other parameters into the model, by their names; those it does not have are warned
        of."""
        known = {each.name: each for each in self.model_proto.graph.initializer}
        for name, tensor in state_dict.items():
            if name not in known:
                warnings.warn(f"the model has no initializer {name!r}", stacklevel=2)
                continue
            known[name].CopyFrom(
                onnx.numpy_helper.from_array(np.array(tensor.detach().array(), order="C"), name)
            )
        self._evaluator = None

    def rename_axes(self, rename_mapping: Mapping[str, str]) -> None:
        """Call lengths that are open by other names."""
        graph = self.model_proto.graph
        for value in (*graph.input, *graph.output, *graph.value_info):
            for length in value.type.tensor_type.shape.dim:
                if length.dim_param in rename_mapping:
                    length.dim_param = rename_mapping[length.dim_param]

    # --- files ------------------------------------------------------------------------------------

    def save(
        self,
        destination: Any,
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Write the model; a file that is there is replaced once the new one is whole.

        Args:
            destination: a path, or a file open for writing.
            include_initializers: False leaves the constants out.
            keep_initializers_as_inputs: constants are inputs, too.
            external_data: constants of more than 256 bytes go to ``<destination>.data``; if None,
                where the model is too large for one file.
        """
        model = self._changed(include_initializers, keep_initializers_as_inputs)
        if external_data is None:
            external_data = model.ByteSize() >= _LARGEST
        if hasattr(destination, "write"):
            destination.write(model.SerializeToString())
            return
        path = os.fspath(destination)
        if external_data:
            _write_beside(model, f"{path}.data")
        with replacing(path) as file:
            file.write(model.SerializeToString())

    def _changed(self, initializers: bool, inputs: bool) -> onnx.ModelProto:
        model = onnx.ModelProto()
        model.CopyFrom(self.model_proto)
        graph = model.graph
        if inputs:
            known = {each.name for each in graph.input}
            graph.input.extend([
                onnx.helper.make_tensor_value_info(x.name, x.data_type, list(x.dims))
                for x in graph.initializer if x.name not in known
            ])  # fmt: skip
        if not initializers:
            del graph.initializer[:]
        return model
