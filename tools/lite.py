"""`mindtorch lite`: convert models to Lite files, describe them and take their time.

The options are converter_lite's and benchmark's. What is not supported is refused by its name.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

from . import lite_micro
from .cli_types import count

__all__ = ["DESCRIPTION", "add_arguments", "main"]

DESCRIPTION = """`convert` makes a Lite file (.ms) of a MindIR or ONNX file, `info` says what is in
one, `benchmark` takes the time of its calls, `micro` writes a script's model as C for
microcontrollers. Exit status 0: done; 1: it could not be done."""

_ON = ("on", "off")
_TRUTH = ("true", "false")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="ACTION", help="what to do; each has a --help"
    )
    convert = actions.add_parser("convert", help="make a Lite file of a model's file")
    add = convert.add_argument
    known = "MINDIR, ONNX, TFLITE, CAFFE or MSLITE"
    add("--fmk", required=True, type=str.upper, help=f"what the model is: {known}")
    add("--modelFile", required=True, help="the model")
    add("--outputFile", required=True, help='where the result goes; ".ms" is added')
    add("--weightFile", default="", help="the weights of a model of Caffe (caffemodel)")
    add("--configFile", default="", help="INI sections of quantisation and of C code")
    add("--inputShape", default="", help='of open inputs: "a:1,3,32,32;b:1,8"')
    add("--fp16", choices=_ON, default="off", help="keep weights in 16 bits (off)")
    add("--optimize", default="general", help="general: folding and fusion (general), or none")
    add("--saveType", default="MINDIR_LITE", help="MINDIR_LITE, the only one")
    add("--inputDataFormat", default="NCHW", help="NCHW, the only one")
    add("--inputDataType", default="FLOAT32", help="FLOAT32 or DEFAULT")
    add("--outputDataType", default="FLOAT32", help="FLOAT32 or DEFAULT")
    add("--outputDataFormat", default="NCHW", help="NCHW, the only one")
    add("--encryption", choices=_TRUTH, default="false", help="false, the only one")
    add("--decryptKey", default="", help="of an encrypted MindIR file, in hexadecimal digits")
    add("--decryptMode", choices=["AES-GCM", "AES-CBC"], default="AES-GCM")
    add("--infer", choices=_TRUTH, default="false", help="run the result once with zeros (false)")
    info = actions.add_parser("info", help="what is in a Lite file")
    info.add_argument("--modelFile", required=True, help="the Lite file")
    micro = actions.add_parser("micro", help="C code for microcontrollers from a script's model")
    lite_micro.add_arguments(micro)
    benchmark = actions.add_parser("benchmark", help="take the time of a Lite file's calls")
    add = benchmark.add_argument
    add("--modelFile", required=True, help="the Lite file")
    add("--loopCount", type=count, default=10, help="calls that are timed (10)")
    add("--warmUpLoopCount", type=count, default=3, help="calls before these (3)")
    add("--numThreads", type=count, default=1, help="that kernels may use (1)")
    add("--inputShapes", default="", help='other shapes: "a:1,3,32,32;b:1,8"')


class OptionError(ValueError):
    """An option has a value that cannot be read."""


def shapes_of(text: str) -> dict[str, tuple[int, ...]]:
    """{input: shape} of ``a:1,3,32,32;b:1,8``.

    Raises:
        OptionError: it has another form.
    """
    found = {}
    for part in text.split(";") if text else ():
        name, colon, lengths = part.rpartition(":")
        try:
            shape = tuple(int(n) for n in lengths.split(","))
        except ValueError:
            shape = ()
        if not name or not colon or not shape or min(shape) < 1:
            raise OptionError(f'the shape {part!r} is not of the form "name:1,3,32,32"')
        found[name] = shape
    return found


def main(options: argparse.Namespace) -> int:
    """Do what ``options.action`` names."""
    if options.action == "micro":
        return lite_micro.main(options)
    from mindtorch import lite  # the engine, which other commands do not need

    act = {"convert": _convert, "info": _info, "benchmark": _benchmark}[options.action]
    try:
        return act(lite, options)
    except (lite.ConvertError, lite.LiteFileError, OSError, ValueError) as error:
        print(f"mindtorch lite {options.action}: {error}", file=sys.stderr)
        if options.action == "convert":
            print("CONVERT RESULT FAILED:1")
        return 1


def _only(option: str, value: str, *allowed: str) -> None:
    if value.upper() not in allowed:
        raise OptionError(f"{option}={value} is not supported: only {', '.join(allowed)}")


def _convert(lite: Any, options: argparse.Namespace) -> int:
    _only("--saveType", options.saveType, "MINDIR_LITE")
    _only("--inputDataFormat", options.inputDataFormat, "NCHW")
    _only("--outputDataFormat", options.outputDataFormat, "NCHW")
    _only("--inputDataType", options.inputDataType, "FLOAT32", "DEFAULT")
    _only("--outputDataType", options.outputDataType, "FLOAT32", "DEFAULT")
    _only("--encryption", options.encryption, "FALSE")
    converter = lite.Converter()
    converter.input_shape = shapes_of(options.inputShape)
    converter.optimize = options.optimize
    converter.weight_fp16 = options.fp16 == "on"
    converter.decrypt_key = options.decryptKey
    converter.decrypt_mode = options.decryptMode
    converter.infer = options.infer == "true"
    converter.convert_file(
        options.fmk, options.modelFile, options.outputFile, options.weightFile, options.configFile
    )
    print("CONVERT RESULT SUCCESS:0")
    return 0


def _loaded(lite: Any, options: argparse.Namespace, threads: int = 0) -> Any:
    model, context = lite.Model(), lite.Context()
    context.cpu.thread_num = threads
    model.build_from_file(options.modelFile, lite.ModelType.MINDIR_LITE, context)
    return model


def _info(lite: Any, options: argparse.Namespace) -> int:
    for line in lite.described(options.modelFile):
        print(line)
    return 0


def _benchmark(lite: Any, options: argparse.Namespace) -> int:
    model = _loaded(lite, options, options.numThreads)
    shapes = shapes_of(options.inputShapes)
    if shapes:
        inputs = model.get_inputs()
        wrong = sorted(set(shapes) - {x.name for x in inputs})
        if wrong:
            raise OptionError(f"the model has no input {wrong[0]!r}")
        model.resize(inputs, [shapes.get(x.name, x.shape) for x in inputs])
    took = model.seconds(model.get_inputs(), options.loopCount, options.warmUpLoopCount)
    print(
        f"Model = {options.modelFile}, NumThreads = {options.numThreads}, "
        f"MinRunTime = {min(took) * 1e3:.6f} ms, MaxRuntime = {max(took) * 1e3:.6f} ms, "
        f"AvgRunTime = {statistics.fmean(took) * 1e3:.6f} ms"
    )
    return 0
