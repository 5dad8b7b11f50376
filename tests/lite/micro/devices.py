"""Generated C code on ARM64 and on a Cortex-M4, both emulated: `make micro-check`.

Debian's gcc-aarch64-linux-gnu, qemu-user, gcc-arm-none-eabi, libnewlib-arm-none-eabi and
qemu-system-arm compile and run it; results are compared with this machine's and with ours. Not part
of CI, which has no cross compilers.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import mindtorch.torch as torch
import mindtorch.torch.nn.functional as F
from mindtorch.lite import micro
from mindtorch.torch import nn

WARNINGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
CORTEX = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
STARTUP = """
#include <stdint.h>
#include <stdlib.h>

extern uint32_t stack_top[], bss_begin[], bss_end[];
extern int main(void);
extern void initialise_monitor_handles(void);

void _init(void) {}
void _fini(void) {}

void reset(void)
{
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20; /* the float unit */
    __asm volatile("dsb\\n isb");
    for (uint32_t *word = bss_begin; word < bss_end; ++word) {
        *word = 0;
    }
    initialise_monitor_handles();
    exit(main());
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    stack_top, (const void *)reset,
};
"""
LINKER = """
ENTRY(reset)
MEMORY { memory : ORIGIN = 0, LENGTH = 4M }
SECTIONS {
    .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } > memory
    .ARM.exidx : { *(.ARM.exidx*) } > memory
    .data : { *(.data*) } > memory
    .bss : { . = ALIGN(4); bss_begin = .; *(.bss*) *(COMMON) . = ALIGN(4); bss_end = .; } > memory
    end = .;
    stack_top = ORIGIN(memory) + LENGTH(memory);
}
"""


class LeNet(nn.Module):
    """28x28 digits."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2).flatten(1)
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


class KeywordNet(nn.Module):
    """A small depthwise separable network on 49 frames of 10 MFCCs, 12 words."""

    def __init__(self) -> None:
        super().__init__()
        first = nn.Conv2d(1, 32, (10, 4), stride=2, padding=(5, 1))
        layers = [first, nn.BatchNorm2d(32), nn.ReLU()]
        for _ in range(3):
            layers += [nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.BatchNorm2d(32), nn.ReLU()]
            layers += [nn.Conv2d(32, 32, 1), nn.BatchNorm2d(32), nn.ReLU()]
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 12)]
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


def main_of(inputs: dict[str, np.ndarray], calls: str, prints: str) -> str:
    """A main that has its inputs within."""
    arrays = "".join(
        f"static const {'float' if x.dtype.kind == 'f' else 'int32_t'} {name}[{x.size}] = {{"
        + ", ".join(f"{v!r}f" if x.dtype.kind == "f" else str(v) for v in x.reshape(-1).tolist())
        + "};\n"
        for name, x in inputs.items()
    )
    return (
        f'#include <stdio.h>\n#include "model.h"\n{arrays}\nint main(void)\n{{\n{calls}\n'
        f'    {prints}\n    return 0;\n}}\n'
    )


RUN = ("    static float y[MODEL_OUTPUT_SIZE];\n    model_run(x, y);",
       'for (int i = 0; i < MODEL_OUTPUT_SIZE; ++i) {\n'
       '        printf("%.9g ", (double)y[i]);\n    }')  # fmt: skip
TRAIN = ("    float loss = 0.0f;",
         "for (int i = 0; i < 10; ++i) {\n        model_train_step(x + i * MODEL_TRAIN_INPUT_SIZE, "
         "t + i * MODEL_TARGET_SIZE, &loss);\n"
         '        printf("%.9g ", (double)loss);\n    }')  # fmt: skip


def projects(root: Path):
    """(name, folder, what ours gives, allowed relative difference) of each project."""
    torch.manual_seed(0)
    for name, model, shape in (("lenet", LeNet(), (1, 1, 28, 28)),
                               ("keywords", KeywordNet(), (1, 1, 49, 10))):  # fmt: skip
        model.eval()
        samples = [torch.randn(*shape) for _ in range(20)]
        ours = model(samples[0]).detach().numpy().reshape(-1)
        for kind, calibration, allowed in (("float32", None, 1e-5), ("int8", samples, 0.05)):
            folder = root / f"{name}_{kind}"
            micro.generate(model, samples[0], folder, calibration=calibration)
            (folder / "main.c").write_text(main_of({"x": samples[0].numpy()}, *RUN))
            yield folder.name, folder, ours, allowed
    model, xs, ts = LeNet(), torch.randn(10, 4, 1, 28, 28), torch.randint(0, 10, (10, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    folder = root / "lenet_training"
    micro.generate_training(model, F.cross_entropy, xs[0], ts[0], optimizer, folder)
    (folder / "main.c").write_text(main_of({"x": xs.numpy(), "t": ts.numpy()}, *TRAIN))
    losses = []
    for x, t in zip(xs, ts, strict=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), t)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    yield folder.name, folder, np.array(losses), 1e-5


def ran(folder: Path, device: str) -> np.ndarray:
    """What a project prints on a device."""
    program = str(folder / device)
    own = [str(folder / name) for name in ("model.c", "model_weights.c", "main.c")]
    if device == "here":
        make, run = ["gcc", *WARNINGS, *own, "-o", program, "-lm"], [program]
    elif device == "arm64":
        make = ["aarch64-linux-gnu-gcc", *WARNINGS, "-static", *own, "-o", program, "-lm"]
        run = ["qemu-aarch64", program]
    else:
        (folder / "startup.s.c").write_text(STARTUP)
        (folder / "memory.ld").write_text(LINKER)
        subprocess.run(["arm-none-eabi-gcc", *CORTEX, "-O2", "-c", str(folder / "startup.s.c"),
                        "-o", str(folder / "startup.o")], check=True)  # fmt: skip
        make = ["arm-none-eabi-gcc", *CORTEX, *WARNINGS, "--specs=rdimon.specs", "-nostartfiles",
                "-T", str(folder / "memory.ld"), str(folder / "startup.o"), *own, "-o", program,
                "-lm"]  # fmt: skip
        run = ["qemu-system-arm", "-M", "mps2-an386", "-kernel", program, "-nographic", "-monitor",
               "none", "-serial", "none", "-semihosting-config", "enable=on,target=native"]
    subprocess.run(make, check=True)
    made = subprocess.run(run, capture_output=True, text=True, check=True, timeout=300,
                          stdin=subprocess.DEVNULL)  # fmt: skip
    return np.array(made.stdout.split(), float)


def main() -> int:
    """Print a line for each project and device; 1 where one is wrong."""
    tools = ("gcc", "aarch64-linux-gnu-gcc", "qemu-aarch64", "arm-none-eabi-gcc", "qemu-system-arm")
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        print(f"micro-check needs {', '.join(missing)} (see docs/micro.md)", file=sys.stderr)
        return 1
    wrong = 0
    with tempfile.TemporaryDirectory() as root:
        for name, folder, ours, allowed in projects(Path(root)):
            here = ran(folder, "here")
            for device in ("here", "arm64", "cortex-m4"):
                got = here if device == "here" else ran(folder, device)
                scale = np.abs(ours).max()
                away, apart = (np.abs(got - x).max() / scale for x in (ours, here))
                good = away <= allowed and apart <= 1e-5
                wrong += not good
                print(f"{name:15} {device:10} from ours {away:.1e}, from gcc here {apart:.1e} "
                      f"{'ok' if good else 'WRONG'}")  # fmt: skip
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
