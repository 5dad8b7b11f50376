"""Real MindSpore runs the MindIR files of a folder and compares with the arrays beside them.

    python tests/programs/mindir_in_mindspore.py FOLDER

NAME.npz holds input0, ... and the outputs that are expected. It needs mindspore 2.10 and nothing of
ours; `python -m tests.support.mindir_models FOLDER` writes such a folder.
"""

import importlib
import sys
from pathlib import Path

import numpy as np


def flat(value):
    """The tensors in what a network gives."""
    if isinstance(value, (tuple, list)):
        return [x for part in value for x in flat(part)]
    return [value]


def main(folder):
    mindspore = importlib.import_module("mindspore")
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    names = sorted(path.stem for path in folder.glob("*.npz"))
    good = 0
    for name in names:
        arrays = np.load(folder / f"{name}.npz")
        given = [mindspore.Tensor(arrays[k]) for k in arrays if k.startswith("input")]
        expected = [arrays[k] for k in arrays if k.startswith("output")]
        try:
            cell = mindspore.nn.GraphCell(mindspore.load(str(folder / f"{name}.mindir")))
            found = [each.asnumpy() for each in flat(cell(*given))]
            assert len(found) == len(expected)
            for place, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
                assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), place
                np.testing.assert_allclose(mine, theirs, 1e-4, 1e-5, err_msg=f"output {place}")
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error).strip()[:300]}", flush=True)
            continue
        good += 1
    print(f"{good} of {len(names)}")
    return 0 if good == len(names) else 1


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
