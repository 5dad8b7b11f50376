"""The links and what is built from them agree, on every supported Python."""

import email
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import mindtorch
from mindtorch._distribution import DISTRIBUTION
from tests.architecture.sources import REPOSITORY, product, sources

STARTUP = "mindtorch_enable.pth"
LINKS = ("engine", "kernels", "tools")
PYTHONS = ("3.11", "3.12", "3.13")
# Standard modules of 3.11 that 3.12 or 3.13 no longer have (PEP 594 and others).
REMOVED = set(
    "aifc asynchat asyncore audioop cgi cgitb chunk crypt distutils imghdr imp lib2to3 mailcap "
    "msilib nis nntplib ossaudiodev pipes smtpd sndhdr spwd sunau telnetlib uu xdrlib".split()
)


def pyproject() -> dict[str, Any]:
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text())


def packages() -> list[str]:
    """The names of all packages of an installation."""
    return sorted({source.package for source in product()})


def files_below(*folders: str) -> list[Path]:
    """All files of the folders but Python's caches; links are not followed."""
    found = []
    for folder in folders:
        for parent, names, files in os.walk(REPOSITORY / folder):
            names[:] = sorted(set(names) - {"__pycache__"})
            found += [Path(parent, name) for name in sorted(files)]
    return found


def installed_path(source: Path) -> str:
    """Where a source file lies in an installation: engine/op.py in mindtorch/engine/op.py."""
    relative = source.relative_to(REPOSITORY)
    return (Path("mindtorch", relative) if relative.parts[0] in LINKS else relative).as_posix()


def expected_files() -> set[str]:
    """What an installation must hold: every file of the four folders, and the start's .pth."""
    return {installed_path(path) for path in files_below("mindtorch", *LINKS)} | {STARTUP}


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Standard output of a command that must succeed, without this checkout on its path."""
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    result = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=variables | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize("name", LINKS)
def test_links_are_relative_and_lead_to_their_folder(name: str) -> None:
    """An absolute link would break in every other clone."""
    assert os.readlink(REPOSITORY / "mindtorch" / name) == f"../{name}"
    assert (REPOSITORY / "mindtorch" / name / "__init__.py").is_file()


def test_every_package_has_an_init() -> None:
    """A folder without one would be a namespace package, open to other distributions."""
    for name in packages():
        path = REPOSITORY.joinpath("mindtorch", *name.split(".")[1:], "__init__.py")
        assert path.is_file(), name


def test_dependencies_are_pinned_once() -> None:
    """constraints.txt pins everything that pyproject.toml or the Makefile installs."""
    lines = (REPOSITORY / "constraints.txt").read_text().split("\n")
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    pinned = {re.sub(r"[-_.]+", "-", name).lower() for name in pins}
    assert len(pinned) == len(pins)
    project = pyproject()["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *pyproject()["build-system"]["requires"]]
    wanted += [line for lines in extras.values() for line in lines]
    names = [re.match(r"[\w-]+", line) for line in wanted]
    assert {re.sub(r"_", "-", name[0]) for name in names if name} - pinned == set()
    for name in ("torch", "torchvision"):
        assert f"{name}=={pins[name]}" in extras["compare"]
    for script in ("Makefile", ".ci/run"):
        assert "==" not in (REPOSITORY / script).read_text(), "versions belong in constraints.txt"


@pytest.fixture(scope="module")
def installation(
    distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder where pip has installed the wheel, outside of the checkout."""
    target = tmp_path_factory.mktemp("installation") / "site"
    options = "--no-deps --no-index --no-compile --target".split()
    install = (sys.executable, "-m", "pip", "install", *options)
    run(*install, target, distributions[1], cwd=target.parent)
    return target


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An sdist of a copy of the checkout, and the wheel that pip builds from that sdist."""
    folder = tmp_path_factory.mktemp("distributions")
    copy = folder / "copy"
    copy.mkdir()
    skipped = shutil.ignore_patterns("__pycache__")
    for name in ("mindtorch", *LINKS, "tests"):
        shutil.copytree(REPOSITORY / name, copy / name, symlinks=True, ignore=skipped)
    for path in filter(Path.is_file, REPOSITORY.iterdir()):
        shutil.copy(path, copy)
    before = set(copy.iterdir())
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=copy)
    assert set(copy.iterdir()) == before, "building leaves nothing behind"
    (sdist,) = folder.glob("*.tar.gz")
    options = "--no-build-isolation --no-deps --no-index --wheel-dir".split()
    run(sys.executable, "-m", "pip", "wheel", *options, folder, sdist, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


def test_wheel_holds_every_file_once(distributions: tuple[Path, Path]) -> None:
    """Followed links would bring each engine file in twice, a forgotten package not at all."""
    with zipfile.ZipFile(distributions[1]) as wheel:
        names = [name for name in wheel.namelist() if ".dist-info/" not in name]
        (metadata,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        fields = email.message_from_bytes(wheel.read(metadata))
    assert len(names) == len(set(names))
    assert set(names) == expected_files()
    assert fields["Name"] == DISTRIBUTION
    assert fields["Version"] == mindtorch.__version__
    assert fields["Requires-Python"] == "<3.14,>=3.11"


def test_sdist_holds_every_file_once(distributions: tuple[Path, Path]) -> None:
    """Folders stand where the checkout has links."""
    with tarfile.open(distributions[0]) as sdist:
        members = [member for member in sdist.getmembers() if not member.isdir()]
    assert all(member.isfile() for member in members)
    names = [member.name.partition("/")[2] for member in members]
    others = {"pyproject.toml", "LICENSE", "README.md", "constraints.txt", ".gitignore", "PKG-INFO",
              "hatch_build.py"}  # fmt: skip
    assert len(names) == len(set(names))
    assert set(names) == expected_files() | others


def test_a_wheel_may_hold_kernels(tmp_path: Path) -> None:
    """They are installed where `mindtorch warm --installed` would write them."""
    kernels = tmp_path / "kernels" / "py3-of-a-processor"
    kernels.mkdir(parents=True)
    (kernels / "exp.nbc").write_bytes(b"code")
    run(*(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path),
        cwd=REPOSITORY, MINDTORCH_WHEEL_KERNELS=str(kernels.parent))  # fmt: skip
    (path,) = tmp_path.glob("*.whl")
    tag = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert path.name.endswith(f"-py3-none-{tag}.whl")
    with zipfile.ZipFile(path) as wheel:
        (name,) = [each for each in wheel.namelist() if each.endswith(".nbc")]
    assert name.endswith(".data/data/share/mindtorch/kernels/py3-of-a-processor/exp.nbc")


IMPORT_ALL = """
import importlib, json, sys
print(json.dumps({name: importlib.import_module(name).__file__ for name in sys.argv[1:]}))
"""


def test_wheel_works_outside_the_checkout(installation: Path) -> None:
    """Installed without links, every package imports from where it was installed."""
    # The CUDA kernels, event files and pages need packages of extras; their own tests import them.
    extras = (
        "mindtorch.kernels.cuda.", "mindtorch.torch.utils.tensorboard", "mindtorch.insight.pages",
    )  # fmt: skip
    names = [name for name in packages() if not name.startswith(extras)]
    output = run(
        *(sys.executable, "-c", IMPORT_ALL, *names),
        cwd=installation.parent,
        PYTHONPATH=str(installation),
    )
    for name, path in json.loads(output).items():
        assert path == str(installation.joinpath(*name.split("."), "__init__.py"))


def test_variable_switches_at_the_start_of_python(installation: Path) -> None:
    """MINDTORCH_ENABLE=1 needs no line in the script: Python's start reads the .pth file."""
    libraries = sysconfig.get_path("purelib")
    startup = f"import site, sys; sys.path += [{libraries!r}]"
    startup += f"; site.addsitedir({str(installation)!r})"
    command = (sys.executable, "-I", "-S", "-c", f"{startup}; import torch; print(torch.__file__)")
    output = run(*command, cwd=installation.parent, MINDTORCH_ENABLE="1")
    assert output.strip() == str(installation / "mindtorch" / "torch" / "__init__.py")


def test_console_script_leads_somewhere(installation: Path) -> None:
    """`mindtorch --help` as installed prints its usage."""
    script = installation / "bin" / "mindtorch"
    output = run(script, "--help", cwd=installation.parent, PYTHONPATH=str(installation))
    assert output.startswith("usage: mindtorch")


def interpreter(version: str) -> str | None:
    """A Python of this version: this one, one on the path, or one of pyenv's."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}")]
    candidates += [str(path) for path in sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]
    for path in filter(None, candidates):
        # A pyenv shim exists for versions that it then refuses to run.
        if subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return path
    return None


COMPILE = """
import json, sys
for path in sys.stdin.read().split("\\n"):
    compile(open(path, encoding="utf-8").read(), path, "exec", dont_inherit=True)
print(json.dumps([sys.version_info[:2], sorted(sys.stdlib_module_names)]))
"""


@functools.cache
def compiled_by(executable: str) -> tuple[list[int], list[str]]:
    """The version of an interpreter that compiles every source, and its standard modules."""
    result = subprocess.run(
        [executable, "-W", "error", "-c", COMPILE],
        input="\n".join(str(REPOSITORY / source.path) for source in sources()),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    running, standard = json.loads(result.stdout)
    return running, standard


@pytest.mark.parametrize(
    "version",
    [pytest.param(each, marks=pytest.mark.exhaustive if 0 < at < len(PYTHONS) - 1 else ())
     for at, each in enumerate(PYTHONS)],
)  # fmt: skip
def test_sources_suit_a_python(version: str) -> None:
    """Every source compiles without a warning and imports no module that a version lacks.

    Where the version is not installed, the running one compiles (syntax that an older Python
    accepts stays valid) and the list of removed modules decides.
    """
    texts = (source.text for source in sources())
    imported = {
        name for text in texts for name in re.findall(r"^\s*(?:import|from) (\w+)", text, re.M)
    }
    assert imported & REMOVED == set()
    found = interpreter(version)
    running, standard = compiled_by(found or sys.executable)
    if found:
        assert running == [int(part) for part in version.split(".")]
    assert imported & (set(sys.stdlib_module_names) - set(standard)) == set()


def test_supported_pythons_are_stated_alike() -> None:
    """pyproject's range, its classifiers and the versions tested here are the same three."""
    project = pyproject()["project"]
    assert project["requires-python"] == ">=3.11,<3.14"
    stated = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert tuple(stated) == PYTHONS


def test_make_bench_names_the_scripts_that_measure_cpus() -> None:
    """A module of the GPU's benchmark, or one without a main program, would end `make bench`."""
    text = (REPOSITORY / "Makefile").read_text().replace("\\\n", " ")
    found = re.search(r"^BENCHMARKS := (.*)$", text, re.MULTILINE)
    assert found is not None
    scripts = {path.stem: path.read_text() for path in (REPOSITORY / "benchmarks").glob("*.py")}
    mains = {name for name, text in scripts.items() if "--rounds" in text and "__main__" in text}
    assert mains == set(found[1].split())
