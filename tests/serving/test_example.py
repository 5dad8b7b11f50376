"""The examples of serving: trained, exported, served and asked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from mindtorch.serving.front.hosting import Host


def test_from_training_to_answers(repository: Path, tmp_path: Path) -> None:
    folder = tmp_path / "example"
    shutil.copytree(repository / "migration_examples" / "mindspore_serving", folder,
                    ignore=shutil.ignore_patterns("*.mindir", "__pycache__"))  # fmt: skip

    def run(script: str, *arguments: str) -> list[str]:
        command = [sys.executable, str(folder / script), *arguments]
        given = subprocess.run(command, capture_output=True, text=True, timeout=240)
        assert (given.returncode, given.stderr) == (0, "")
        return given.stdout.splitlines()

    trained, _ = run("train.py")
    host = Host()
    try:
        host.follow(folder, 1, all_versions=False, seconds=0)
        assert host.servables.failed == {}
        port = host.start_grpc("127.0.0.1:0")
        answers, first, wrong = run("ask.py", f"127.0.0.1:{port}")
    finally:
        host.stop()
    share = trained.split()[1]
    assert answers == f"360 answers, {share} of them right"
    assert first.startswith("the first: 2 share ")
    assert wrong.endswith("ValueError: an image has the shape (8, 8), not (7, 8)")


def test_one_table_of_what_is_deployed(repository: Path, tmp_path: Path) -> None:
    script = repository / "migration_examples" / "deploy_digits" / "run.py"
    command = [sys.executable, str(script), "--epochs", "3", "--output", str(tmp_path)]
    given = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert given.returncode == 0, given.stderr
    rows = [[part.strip() for part in line.split("│")[1:-1]] for line in given.stdout.splitlines()]
    shares = {row[0]: float(row[1].rstrip("%")) for row in rows if len(row) == 4}
    assert len(shares) == 6 and min(shares.values()) > 85
    assert max(shares.values()) - min(shares.values()) <= 1.5
    assert shares["Lite, eight bits"] == shares["the same, asked through the server"]
    eager, _, eight, four, *_ = (int(row[2].replace(",", "")) for row in rows if len(row) == 4)
    assert four < eight < eager / 3
