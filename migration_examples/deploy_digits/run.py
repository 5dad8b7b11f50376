"""Digits from training to answers: a network is trained, exported, converted, quantised, served and
asked, and one table says what each form of it costs.

    make demo-deploy
    python migration_examples/deploy_digits/run.py [--output DIR] [--epochs 12]
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

import mindtorch.torch as torch
import mindtorch.torch.nn.functional as F
from mindtorch import lite
from mindtorch.serving import server
from mindtorch.serving.client import Client
from mindtorch.torch import nn

TEST, CALIBRATION, CALLS = 397, 100, 200
WEIGHTS = """[common_quant_param]
quant_type=WEIGHT_QUANT
bit_num={bits}
min_quant_weight_channel=4
"""
EIGHT_BITS = """[common_quant_param]
quant_type=FULL_QUANT
bit_num=8
[full_quant_param]
activation_quant_method=MAX_MIN
[data_preprocess_param]
calibrate_path=image:{examples}
calibrate_size={count}
input_type=BIN
"""
SERVABLE = '''import numpy as np
from mindspore_serving.server import register

model = register.declare_model("digits.ms", model_format="MindIR_Lite")


def scaled(image):
    return image.astype(np.float32)[None] / 16


def best(scores):
    return np.int32(scores.argmax())


@register.register_method(output_names=["label"])
def classify(image):
    scores = register.add_stage(model, register.add_stage(scaled, image, outputs_count=1),
                                outputs_count=1)
    return register.add_stage(best, scores, outputs_count=1)
'''


class DigitsNet(nn.Module):
    """Two convolutions with batch norm and two linear layers: (n, 1, 8, 8) to (n, 10) scores."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.conv2, self.norm2 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.fc1, self.fc2 = nn.Linear(128, 128), nn.Linear(128, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(image))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return self.fc2(F.relu(self.fc1(torch.flatten(x, 1))))


def trained(images: torch.Tensor, labels: torch.Tensor, epochs: int) -> nn.Module:
    torch.manual_seed(0)
    model = DigitsNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(epochs):
        for part in torch.randperm(len(images)).split(32):
            optimizer.zero_grad()
            F.cross_entropy(model(images[part]), labels[part]).backward()
            optimizer.step()
    return model.eval()


def fastest(call, count: int) -> float:
    """The least milliseconds of a call."""
    best = float("inf")
    for _ in range(count):
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
    return best * 1000


def converted(folder: Path, name: str, settings: str) -> Path:
    """The exported network as a file of Lite's, quantised as the settings say."""
    file = ""
    if settings:
        file = str(folder / f"{name}.cfg")
        Path(file).write_text(settings)
    lite.Converter().convert(
        lite.FmkType.ONNX, str(folder / "digits.onnx"), str(folder / name), config_file=file
    )
    return folder / f"{name}.ms"


def lite_row(name: str, file: Path, images: np.ndarray, labels: np.ndarray) -> tuple:
    """What a file of Lite's gets right, its bytes, and its time for one image on one thread."""
    context = lite.Context()
    context.cpu.thread_num = 1
    model = lite.Model()
    model.build_from_file(str(file), lite.ModelType.MINDIR_LITE, context)

    def scores(part: np.ndarray) -> np.ndarray:
        model.resize(model.get_inputs(), [part.shape])
        return model.predict([lite.Tensor(part)])[0].get_data_to_numpy()

    right = (scores(images).argmax(1) == labels).mean()
    scores(images[:1])
    one = [lite.Tensor(images[:1])]
    return name, right, file.stat().st_size, fastest(lambda: model.predict(one), CALLS)


def served_row(folder: Path, file: Path, images: np.ndarray, labels: np.ndarray) -> tuple:
    """The same of a server that runs the file, asked by a client: also what each request takes."""
    version = folder / "models" / "digits" / "1"
    version.mkdir(parents=True)
    (version.parent / "servable_config.py").write_text(SERVABLE)
    (version / "digits.ms").write_bytes(file.read_bytes())
    config = server.ServableStartConfig(str(folder / "models"), "digits", num_parallel_workers=1)
    server.start_servables(config)
    try:
        address = f"unix:{folder / 'server.sock'}"
        server.start_grpc_server(address)
        client = Client(address, "digits", "classify")
        pixels = np.asarray(images[:, 0] * 16)
        answers = client.infer([{"image": each} for each in pixels])
        right = (np.array([answer["label"] for answer in answers]) == labels).mean()
        one = fastest(lambda: client.infer({"image": pixels[0]}), CALLS)
    finally:
        server.stop()
    return "the same, asked through the server", right, file.stat().st_size, one


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--output", type=Path, help="where the files go; a temporary folder")
    parser.add_argument("--epochs", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        show(run(options.output or Path(temporary), options.epochs))


def run(folder: Path, epochs: int) -> list[tuple]:
    """Rows of the table: name, share of right answers, bytes, milliseconds for one image."""

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    folder.mkdir(parents=True, exist_ok=True)
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.images))
    images = (data.images[order].astype(np.float32) / 16)[:, None]
    labels = data.target[order]
    say(f"training on {len(images) - TEST} digits, {epochs} epochs")
    model = trained(torch.from_numpy(images[TEST:]), torch.from_numpy(labels[TEST:]), epochs)
    say("exporting digits.onnx")
    example = torch.from_numpy(images[:1])
    torch.onnx.export(
        model, (example,), str(folder / "digits.onnx"), input_names=["image"],
        dynamic_axes={"image": {0: "n"}},
    )
    examples = folder / "examples"
    examples.mkdir(exist_ok=True)
    for number, image in enumerate(images[TEST : TEST + CALIBRATION]):
        image.tofile(examples / f"{number}.bin")
    seen = images[:TEST], labels[:TEST]
    with torch.no_grad():
        right = (model(torch.from_numpy(seen[0])).argmax(1).numpy() == seen[1]).mean()
        torch.set_num_threads(1)
        eager = fastest(lambda: model(example), CALLS)
    weights = sum(p.numel() * 4 for p in model.parameters())
    rows = [("the network that was trained, eager", right, weights, eager)]
    forms = {
        "Lite, float32": ("float32", ""),
        "Lite, weights of 8 bits": ("weights8", WEIGHTS.format(bits=8)),
        "Lite, weights of 4 bits": ("weights4", WEIGHTS.format(bits=4)),
        "Lite, eight bits": (
            "eight", EIGHT_BITS.format(examples=examples, count=CALIBRATION)
        ),
    }
    files = {}
    for name, (file, settings) in forms.items():
        say(f"converting: {name}")
        files[name] = converted(folder, file, settings)
        rows.append(lite_row(name, files[name], *seen))
    say(f"serving {files['Lite, eight bits'].name}")
    rows.append(served_row(folder, files["Lite, eight bits"], *seen))
    return rows


def show(rows: list[tuple]) -> None:
    table = Table(title=f"{TEST} digits that were not seen in training, on one thread")
    for name in ("form", "right", "bytes", "ms for one image"):
        table.add_column(name, justify="left" if name == "form" else "right")
    for name, right, size, milliseconds in rows:
        table.add_row(name, f"{right:.1%}", f"{size:,}", f"{milliseconds:.3f}")
    Console(width=90).print(table)


if __name__ == "__main__":
    main()
