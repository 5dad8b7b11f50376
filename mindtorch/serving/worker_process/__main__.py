"""A worker process: `python -m mindtorch.serving.worker_process FD MEMORY NAME`.

The server starts it. FD is its end of a pair of sockets, MEMORY the file of the inputs' slots. It
loads one version of one servable, tells what that is, and then answers one batch after another
until the other end is closed.
"""

from __future__ import annotations

import base64
import gc
import os
import select
import signal
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from mindtorch.module_hooker import torch_disable
from mindtorch.serving.errors import FAILED, ServingError
from mindtorch.serving.frames import Slots, encode, receive, send
from mindtorch.serving.server.register.definition import Method, Servable, Source, Stage, read
from mindtorch.serving.server.register.model import Model, declare_model

from .batched_model import BatchedModel
from .models import LoadedModel, load_model, model_file_in, share_cores
from .pipeline import run_method


def _end_with_the_front(connection: socket.socket) -> None:
    """End this process when the server has ended, also in the middle of a batch."""
    watcher = select.poll()
    watcher.register(connection, select.POLLRDHUP)

    def watch() -> None:
        watcher.poll()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def _load(start: dict[str, Any]) -> Servable:
    """The servable that the server asks for, its models loaded."""
    folder = Path(start["directory"]) / start["name"] / str(start["version"])
    key = base64.b64decode(start["key"]) if start["key"] else None

    def load(model: Model) -> LoadedModel:
        loaded = load_model(model.declaration, folder, key, start["mode"])
        model.runner = BatchedModel(loaded, model.model_key)
        model.runner.warm_up()
        return loaded

    def declare_default(servable: Servable) -> None:
        """A folder without servable_config.py: its model file is the method `predict`."""
        file, model_format = model_file_in(folder)
        model = declare_model(file.name, model_format, module="model.py:build")
        loaded = load(model)
        inputs, outputs = tuple(info.name for info in loaded.inputs), tuple(loaded.outputs)
        given = len(model.runner.output_forms)  # known if the file told the inputs' shapes
        if given not in (0, len(outputs)):
            outputs = tuple(f"output_{i}" for i in range(given))
        stage = Stage(model, tuple((0, i) for i in range(len(inputs))), len(outputs), tag=file.name)
        returned = tuple((1, i) for i in range(len(outputs)))
        servable.methods["predict"] = Method("predict", inputs, outputs, [stage], returned)

    share_cores(start["workers"])
    servable = read(Path(start["directory"]), start["name"], declare_default)
    for model in servable.models:
        if model.runner is None:
            load(model)
    return servable


def _describe(servable: Servable) -> dict[str, Any]:
    """What the server has to know: methods, what is known of their inputs, the size of a batch."""
    sizes = [m.runner.model.batch_size for m in servable.models if m.runner.model.with_batch_dim]
    methods = []
    for method in servable.methods.values():
        inputs: dict[int, Any] = {}
        outputs: dict[Source, Any] = {}
        for number, stage in enumerate(method.stages, 1):
            if isinstance(stage.target, Model):
                runner = stage.target.runner
                infos = runner.model.inputs
                for (of_stage, index), info in zip(stage.sources, infos, strict=False):
                    if of_stage == 0:
                        inputs[index] = (info.dtype, info.shape)
                outputs.update(((number, i), form) for i, form in enumerate(runner.output_forms))
        methods.append({
            "name": method.name,
            "inputs": [(name, *inputs.get(i, (None, None)))
                       for i, name in enumerate(method.inputs)],
            "outputs": [(name, *outputs.get(source, (None, None)))
                        for name, source in zip(method.outputs, method.returned, strict=True)],
            "stages": [stage.tag for stage in method.stages],
        })  # fmt: skip
    return {"kind": "ready", "methods": methods, "batch_size": max(sizes, default=32),
            "models": [m.declaration.model_format for m in servable.models]}  # fmt: skip


def _answer(servable: Servable, frame: dict[str, Any]) -> list[Any]:
    began = time.perf_counter()
    rows = frame["rows"]
    try:
        method, given = servable.methods[frame["method"]], frame["columns"]
        if not all(isinstance(stage.target, Model) for stage in method.stages):
            # a function may keep what it is given, and the next batch will lie in the same memory
            given = {name: [block.copy() for block in column] for name, column in given.items()}
        columns, errors = run_method(method, given, rows)
    except Exception as error:
        traceback.print_exc()
        failure = ServingError(FAILED, f"{type(error).__name__}: {error}")
        columns, errors = {}, dict.fromkeys(range(rows), failure)
    told = {str(row): (error.kind.name, str(error)) for row, error in errors.items()}
    seconds = time.perf_counter() - began
    header = {"kind": "done", "id": frame["id"], "errors": told, "seconds": seconds}
    return encode(header, columns)


def main(arguments: list[str]) -> int:
    """Serve the version that the server names, until it closes the connection.

    Args:
        arguments: the numbers of the socket and of the memory; what comes after is for `ps`.
    """
    # Ctrl+C and what ends a whole group of processes is for the server, which then ends us. A
    # function and not SIG_IGN: programs that a stage starts shall not inherit it.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    connection = socket.socket(fileno=int(arguments[0]))
    connection.set_inheritable(False)
    slots = Slots(int(arguments[1]))
    os.close(int(arguments[1]))
    torch_disable()
    start = receive(connection)
    if start is None:
        return 0
    _end_with_the_front(connection)
    try:
        servable = _load(start)
        description = _describe(servable)
    except BaseException as error:
        traceback.print_exc()
        text = f"{type(error).__name__}: {error}"
        send(connection, encode({"kind": "failed", "text": text}))
        return 1
    gc.collect()
    gc.freeze()  # what is loaded stays
    send(connection, encode(description))
    while (frame := receive(connection, slots)) is not None and frame["kind"] != "stop":
        send(connection, _answer(servable, frame))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
