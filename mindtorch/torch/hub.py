"""torch.hub: weights from a URL into a cache, and models from a local repository.

The cache is torch's own: `$TORCH_HOME/hub`, else `$XDG_CACHE_HOME/torch/hub`, else
`~/.cache/torch/hub`, so that what PyTorch downloaded is found.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import re
import sys
import zipfile
from types import ModuleType
from typing import Any
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from mindtorch.kernels.support.atomic_file import replacing

from ._compat.unsupported_names import refuse
from .serialization import load as load_file

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
MODULE_HUBCONF = "hubconf.py"
READ_DATA_CHUNK = 2**17

_directory: str | None = None


class tqdm:
    """A progress bar on stderr, in the form in which torch's users call it.

    Args:
        iterable: what is run through.
        total: how many there are.
        disable: show nothing.
        unit, unit_scale, unit_divisor: what is counted, and how large numbers are shortened.
        desc: a text before the bar.
    """

    def __init__(
        self,
        iterable: Any = None,
        total: float | None = None,
        disable: bool = False,
        unit: str = "it",
        unit_scale: bool = False,
        unit_divisor: int = 1000,
        desc: str | None = None,
    ) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self.iterable = iterable
        self.n: float = 0
        self.disable = disable
        if total is None and hasattr(iterable, "__len__"):
            total = len(iterable)
        self.total = total
        self._bar = Progress(console=Console(stderr=True), disable=disable)
        self._task = self._bar.add_task(desc or "", total=total)
        self._bar.start()

    def update(self, n: float) -> None:
        self.n += n
        self._bar.update(self._task, advance=n)

    def set_description(self, desc: str, refresh: bool = True) -> None:
        self._bar.update(self._task, description=desc, refresh=refresh)

    def close(self) -> None:
        self._bar.stop()

    def __iter__(self) -> Any:
        with self:
            for item in self.iterable:
                yield item
                self.update(1)

    def __enter__(self) -> tqdm:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _get_torch_home() -> str:
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of the cache."""
    return _directory or os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Make `d` the folder of the cache."""
    global _directory
    _directory = os.path.expanduser(d)


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Download into `dst`, which appears when it is whole.

    Args:
        hash_prefix: what the SHA-256 of the content begins with.
        progress: show a bar on stderr.
        url: where from.

    Raises:
        RuntimeError: the content's hash is another.
    """
    dst = os.path.expanduser(dst)
    request = Request(url, headers={"User-Agent": "torch.hub"})
    with urlopen(request) as response, replacing(dst) as file:
        length = response.headers.get("Content-Length")
        digest = hashlib.sha256()
        with tqdm(total=int(length) if length else None, disable=not progress, unit="B") as bar:
            while chunk := response.read(READ_DATA_CHUNK):
                file.write(chunk)
                digest.update(chunk)
                bar.update(len(chunk))
        found = digest.hexdigest()
        if hash_prefix is not None and not found.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')


def _inside_zip(path: str, folder: str) -> str:
    """The one file of an old-style zip of weights, unpacked beside it."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) != 1:
            raise RuntimeError("Only one file(not dir) is allowed in the zipfile")
        return archive.extract(members[0], folder)


def _is_zip_of_weights(path: str) -> bool:
    """A zip that is not itself what torch.save writes."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return not any(name.endswith(("/data.pkl", "/version")) for name in archive.namelist())


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """Weights from a URL, downloaded once into the cache.

    Args:
        model_dir: another folder than `get_dir()/checkpoints`.
        check_hash: compare the content with the hash in the name, `name-<hash>.ext`.
        file_name: another name than the URL's.
        url: where from.
        map_location, weights_only: as of :func:`torch.load`.
        progress: show a bar on stderr.

    Raises:
        RuntimeError: the content's hash is another.
    """
    if os.getenv("TORCH_MODEL_ZOO"):
        import warnings

        warnings.warn(
            "TORCH_MODEL_ZOO is deprecated, please use env TORCH_HOME instead", stacklevel=2
        )
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    try:
        os.makedirs(folder)
    except OSError as error:
        if error.errno != errno.EEXIST:
            raise
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        match = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, match.group(1) if match else None, progress=progress)
    if _is_zip_of_weights(path):
        path = _inside_zip(path, folder)
    content: dict[str, Any] = load_file(path, map_location=map_location, weights_only=weights_only)
    return content


# -- models from a repository ----------------------------------------------------------------------


def _hubconf(repo_or_dir: str, source: str) -> ModuleType:
    """The module `hubconf.py` of a repository."""
    if source.lower() not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source.lower() == "github":
        refuse(
            "torch.hub with source='github'",
            "code is not fetched and run; clone the repository and use source='local'",
        )
    folder = os.path.expanduser(repo_or_dir)
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location(
            MODULE_HUBCONF, os.path.join(folder, MODULE_HUBCONF)
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    for package in getattr(module, "dependencies", ()):
        if importlib.util.find_spec(package) is None:
            raise RuntimeError(f"Missing dependencies: {package}")
    return module


def _entry(module: ModuleType, name: str) -> Any:
    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    function = getattr(module, name, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return function


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    verbose: bool = True,
    *,
    source: str = "github",
) -> Any:
    """The entry points of a repository's `hubconf.py`. `source` must be 'local'.

    Args:
        github: the folder of the repository.
        force_reload, skip_validation, trust_repo, verbose: of repositories on GitHub, which are not
            loaded.
    """
    module = _hubconf(github, source)
    return [name for name in dir(module) if callable(vars(module)[name]) and name[0] != "_"]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    *,
    source: str = "github",
) -> str | None:
    """The docstring of an entry point. `source` must be 'local'.

    Args:
        github: the folder of the repository.
        model: the entry point's name.
        force_reload, skip_validation, trust_repo: of repositories on GitHub, which are not loaded.
    """
    doc: str | None = _entry(_hubconf(github, source), model).__doc__
    return doc


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Call an entry point of a local repository's `hubconf.py`.

    Only `source='local'`; the arguments that concern downloading have nothing to act on then, as in
    torch.

    Args:
        repo_or_dir: the folder of the repository.
        model: the entry point's name.
        force_reload, skip_validation, trust_repo, verbose: of repositories on GitHub, which are not
            loaded.

    Raises:
        NotImplementedError: `source='github'`.
        RuntimeError: no such entry point, or a package that it needs is missing.
    """
    return _entry(_hubconf(repo_or_dir, source), model)(*args, **kwargs)
