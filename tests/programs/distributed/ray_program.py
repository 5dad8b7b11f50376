"""A training with Ray, as its users write it: nothing here knows of mindtorch.

    MINDTORCH_ENABLE=1 python ray_program.py FILE

writes FILE: what each report said, and what is in the last checkpoint. One process fails in its
second epoch, once, and Ray begins again from the checkpoint.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import ray
import torch
from ray import train
from ray.train import Checkpoint, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, get_device, prepare_data_loader, prepare_model
from torch import nn


def train_loop(config: dict[str, Any]) -> None:
    torch.manual_seed(0)
    model = prepare_model(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)))
    x = torch.arange(64.0).reshape(16, 4) / 64
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    loader = prepare_data_loader(torch.utils.data.DataLoader(data, batch_size=4, shuffle=True))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9)
    context, begun, losses = train.get_context(), 0, []
    checkpoint = train.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as folder:
            state = torch.load(os.path.join(folder, "state.pt"))
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        begun, losses = state["epoch"] + 1, state["losses"]
    for epoch in range(begun, 3):
        loader.sampler.set_epoch(epoch)
        for features, targets in loader:
            assert features.device == get_device()
            loss = nn.functional.mse_loss(model(features), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        flag = Path(config["flag"])
        if epoch == 1 and context.get_world_rank() == 1 and not flag.exists():
            flag.touch()
            raise RuntimeError("a failure that is wanted")
        losses = [*losses, loss.item()]
        told = {"loss": loss.item(), "epoch": epoch, "size": context.get_world_size()}
        with tempfile.TemporaryDirectory() as folder:
            saved = None
            if context.get_world_rank() == 0:
                state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(),
                         "epoch": epoch, "losses": losses}  # fmt: skip
                torch.save(state, os.path.join(folder, "state.pt"))
                saved = Checkpoint.from_directory(folder)
            train.report(told | {"begun": begun, "torch": torch.__version__}, checkpoint=saved)


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False)
    with tempfile.TemporaryDirectory() as folder:
        trainer = TorchTrainer(
            train_loop, train_loop_config={"lr": 0.05, "flag": f"{folder}/failed"},
            scaling_config=ScalingConfig(num_workers=2, use_gpu=False),
            run_config=RunConfig(
                storage_path=folder, failure_config=FailureConfig(max_failures=1)
            ),
        )  # fmt: skip
        result = trainer.fit()
        with result.checkpoint.as_directory() as place:
            state = torch.load(os.path.join(place, "state.pt"))
    weights = {name: value.tolist() for name, value in state["model"].items()}
    found = {"metrics": result.metrics, "losses": state["losses"], "weights": weights}
    Path(sys.argv[1]).write_text(json.dumps(found))
    ray.shutdown()


if __name__ == "__main__":
    main()
