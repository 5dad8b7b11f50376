"""LeNet, a keyword-spotting network and a training step compile without a warning, pass the
sanitizers and give our results."""

import numpy as np

from tests.lite.micro.compiling import compiled, outputs
from tests.lite.micro.devices import projects


def test_models_of_the_device_check(tmp_path):
    seen = []
    for name, folder, ours, allowed in projects(tmp_path):
        (got,) = outputs(compiled(folder), [[]])
        assert np.abs(got - ours).max() <= allowed * np.abs(ours).max(), name
        seen.append(name)
    assert len(seen) == 5
