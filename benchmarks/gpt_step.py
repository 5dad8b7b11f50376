"""One step of a GPT of 16 layers, for `mindtorch parallel plan benchmarks/gpt_step.py`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mindtorch import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.models import gpt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--width", type=int, default=256)
    options = parser.parse_args()
    shape = {"layers": options.layers, "width": options.width}
    model = gpt(torch, batch=1, length=128, dropout=0.0, **shape)[0][0]
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(0, 65, (8, 129))
    logits = model(tokens[:, :-1])
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
    optimizer.step()


if __name__ == "__main__":
    main()
